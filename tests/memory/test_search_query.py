from datetime import date

from memory.search_query import read_phrases, read_query, truncate_query
from memory.tokenizer import MAX_QUERY_CHARS, is_lookup

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


def test_phrases_are_what_a_note_may_be_called() -> None:
    def phrases(query: str) -> list[str]:
        return read_phrases(query, read_query(query, TODAY)[0])

    assert phrases("the big apples") == ["the big", "the big appl", "big", "big appl", "appl"]
    assert "护 照" in phrases("护照在哪里")
    assert len(phrases("word " * 5_000)) <= 8
    assert phrases("") == []


def test_a_tag_is_a_term_of_its_own() -> None:
    terms, _ = read_query("#Work/Old plans #1", TODAY)
    assert [term.tokens[0] for term in terms if not term.is_beginning] == [
        "work",
        "old",
        "plan",
        "1",
        "＃work／old",
    ]
    assert is_lookup("#a/b/c", read_query("#a/b/c", TODAY)[0])
