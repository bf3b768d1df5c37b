from datetime import date

from memory.search_query import read_query, truncate_query
from memory.tokenizer import LONGEST_QUERY

TODAY = date(2026, 11, 21)


def test_a_query_names_terms_and_times() -> None:
    terms, times = read_query("who visited in march 2025", TODAY)
    assert "visit" in " ".join(map(str, terms))
    (march,) = times
    assert (march.first, march.last) == (date(2025, 3, 1), date(2025, 3, 31))
    assert set(march.terms) <= set(terms)


def test_a_query_is_cut_by_its_normal_form() -> None:
    assert truncate_query("x" * (LONGEST_QUERY + 5)) == "x" * LONGEST_QUERY
    assert (
        len(truncate_query("\ufdfa" * LONGEST_QUERY)) == LONGEST_QUERY
    )  # one character that becomes eighteen
