"""A question about now prefers the newest, a question about a day what was told last by then."""

from datetime import date, timedelta

from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates
from memory.ranking.day_preference import prefer_days
from memory.ranking.query import NamedTime
from memory.ranking.term_counter import count_frequencies
from memory.search import rank
from memory.search_query import read_query
from memory.tokenizer import tokenize

TODAY = date(2026, 6, 1)
TOLD = [date(2024, 1, 10), date(2024, 9, 10), date(2025, 6, 10), date(2026, 3, 10)]
MAY_2025 = NamedTime(date(2025, 5, 1), date(2025, 5, 31), ())


def logs(*texts: str) -> tuple[PassageRun, ...]:
    """Return a daily log of one line for each day of `TOLD`."""
    return tuple(
        PassageRun(f"{day}.md", (CandidatePassage(3, 3, "", False, text, " ".join(tokenize(text)), day=day),))
        for day, text in zip(TOLD, texts, strict=True)
    )


def days(query: str, runs: tuple[PassageRun, ...]) -> list[str]:
    """Return the logs that are found, best first."""
    terms, times = read_query(query, TODAY)
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), len(runs))
    found = rank(terms, candidates, limit=9, snippet_max_chars=700, source="fts", times=times, today=TODAY)
    return [hit.path for hit in found]


def test_a_fact_told_anew_in_other_words_is_answered_as_of_the_day_that_is_asked_about() -> None:
    runs = logs(
        "Alma's favourite cafe is Wacholder",
        "Alma's favourite cafe is Distel these days",
        "Alma has a new favourite cafe: Quitte",
        "Favourite cafe of Alma from now on: Tulpe",
    )
    assert days("What is Alma's favourite cafe?", runs)[0] == "2026-03-10.md"
    assert days("What was Alma's favourite cafe on 8 May 2025?", runs)[0] == "2024-09-10.md"
    assert days("What was Alma's favourite cafe in August 2025?", runs)[0] == "2025-06-10.md"
    assert days("What was Alma's favourite cafe on 3 February 2024?", runs)[0] == "2024-01-10.md"


def test_what_is_asked_about_decides_before_the_day_that_is_named() -> None:
    runs = logs(
        "Alma's favourite cafe is Wacholder", "We bought a lamp", "We painted the shed", "We went away"
    )
    assert days("What was Alma's favourite cafe on 10 September 2024?", runs)[0] == "2024-01-10.md"
    assert days("What happened on 10 September 2024?", runs)[0] == "2024-09-10.md"


def test_the_newest_counts_most_if_no_time_is_named_and_notes_without_a_day_do_not_age() -> None:
    now = prefer_days((), [*TOLD, None], today=TODAY)
    factors = [now.factor(day, 1) for day in TOLD]
    assert factors == sorted(factors)
    assert factors[-1] == 1 == now.factor(None, 1)


def test_what_matches_less_gains_less_by_being_new() -> None:
    now = prefer_days((), TOLD, today=TODAY)
    old, new = TOLD[0], TOLD[-1]
    assert now.factor(new, 0.8) > now.factor(old, 0.8)
    assert 0.8 * now.factor(new, 0.8) > now.factor(old, 1)
    assert 0.3 * now.factor(new, 0.3) < now.factor(old, 1)


def test_ages_are_counted_from_the_newest_passage_and_days_to_come_are_today() -> None:
    long_ago = prefer_days((), TOLD, today=TODAY + timedelta(10_000))
    assert long_ago.factor(TOLD[-1], 1) == 1
    planned = prefer_days((), [*TOLD, date(2030, 1, 1)], today=TODAY)
    assert planned.factor(TODAY, 1) == planned.factor(date(2030, 1, 1), 1) == 1


def test_what_was_told_last_before_the_named_time_counts_most_and_what_was_told_later_least() -> None:
    then = prefer_days([MAY_2025], TOLD, today=TODAY)
    just_before, long_before, soon_after, long_after = (
        then.factor(day, 0.5)
        for day in (date(2025, 4, 20), date(2020, 1, 1), date(2025, 6, 5), date(2025, 12, 1))
    )
    assert 1 >= just_before > soon_after > long_before > long_after > 0


def test_open_ranges_and_the_ends_of_the_calendar_are_taken() -> None:
    since = NamedTime(date(2025, 1, 1), date.max, ())
    until = NamedTime(date.min, date(2024, 12, 31), ())
    assert prefer_days([since], TOLD, today=TODAY).factor(TOLD[-1], 1) == 1
    told_by_then = prefer_days([until], TOLD, today=TODAY)
    assert told_by_then.factor(TOLD[1], 1) > told_by_then.factor(TOLD[2], 1)
    assert 0 < prefer_days((), [], today=date.max).factor(date.min, 1) <= 1


def test_the_versions_of_a_fact_come_newest_first_as_of_the_day_that_is_asked_about() -> None:
    runs = logs("My bank is GLS", "We met Tom at the lake", "My bank is Triodos", "We went to Bonn")
    assert days("Is my bank GLS?", runs)[:2] == ["2025-06-10.md", "2024-01-10.md"]
    assert days("Was my bank GLS in May 2025?", runs)[:2] == ["2024-01-10.md", "2025-06-10.md"]


def test_age_leaves_half_of_the_places_to_those_that_match_best() -> None:
    old = [f"2019-01-{day:02}" for day in range(1, 9)]
    new = [f"2026-05-{day:02}" for day in range(1, 9)]
    runs = tuple(
        PassageRun(
            f"{day}.md",
            (CandidatePassage(3, 3, "", False, t, " ".join(tokenize(t)), day=date.fromisoformat(day)),),
        )
        for day, t in [(day, "The boiler code is 12") for day in old]
        + [(day, "About the boiler, and how long the code stays the same in there") for day in new]
    )
    terms, _ = read_query("boiler code", TODAY)
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), len(runs))
    found = rank(terms, candidates, limit=8, snippet_max_chars=700, source="fts", today=TODAY)
    assert sum(hit.path.startswith("2019") for hit in found) >= 4


def test_what_was_told_on_the_named_day_is_shown_even_if_it_shares_no_word() -> None:
    runs = logs(
        "Jonas cooked pizza", "Jonas works at Siemens", "In the evening, read a book", "Jonas works at home"
    )
    assert days("What did Jonas do on 10 June 2025?", runs)[0] == "2025-06-10.md"
    assert days("Where did Jonas work on 10 June 2025?", runs)[:2] == ["2024-09-10.md", "2025-06-10.md"]


def test_age_does_not_count_if_something_is_looked_up() -> None:
    runs = logs("Invoice 12 paid to Lena", "Invoice from Max", "-", "Invoice from Ben, still open")
    terms, _ = read_query("invoice paid", TODAY)
    candidates = SearchCandidates(runs, count_frequencies(terms, runs), len(runs))
    found = rank(terms, candidates, limit=3, snippet_max_chars=700, source="fts", looked_up=True, today=TODAY)
    assert found[0].path == "2024-01-10.md"
