from datetime import date

from memory.search_query import read_query, truncate_query
from memory.tokenizer import MAX_QUERY_CHARS

TODAY = date(2026, 11, 21)


def test_a_query_names_terms_and_times() -> None:
    terms, times = read_query("who visited in march 2025", TODAY)
    assert "visit" in " ".join(map(str, terms))
    (march,) = times
    assert (march.first, march.last) == (date(2025, 3, 1), date(2025, 3, 31))
    assert set(march.terms) <= set(terms)


def test_a_query_is_cut_by_its_normal_form() -> None:
    assert truncate_query("x" * (MAX_QUERY_CHARS + 5)) == "x" * MAX_QUERY_CHARS
    assert (
        len(truncate_query("\ufdfa" * MAX_QUERY_CHARS)) == MAX_QUERY_CHARS
    )  # one character that becomes eighteen
