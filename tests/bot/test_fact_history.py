"""Search results say since when a fact is true, and what was told before."""

from datetime import date

from bot.fact_history import describe_histories
from memory.search import SearchHit


def hit(day: str, text: str, superseded_by: str = "", *, line: int = 3, score: float = 0.5) -> SearchHit:
    told = date.fromisoformat(day) if day else None
    path = f"{day or 'MEMORY'}.md"
    return SearchHit(
        path, line, line, f"- {text}", score, "fts", "", told, superseded_by=superseded_by or None
    )


def test_the_current_passage_tells_since_when_and_what_was_told_before() -> None:
    now = "2025-12-04.md:3"
    assert describe_histories(
        [
            hit("2025-12-04", "Alma has coffee at Tulpe."),
            hit("2024-03-17", "Alma meets people at Wacholder.", now),
            hit("2024-05-10", "Alma prefers Distel now.", now),
            hit("2025-10-19", "Alma found the key.", score=0.2),
            hit("", "Alma is a nurse."),
        ]
    ) == [
        "Since 4 December 2025; before: “Alma prefers Distel now” (10 May 2024); “Alma meets people at Wacholder” "
        "(17 March 2024)",
        "Told on 17 March 2024; changed since, see 2025-12-04.md:3",
        "Told on 10 May 2024; changed since, see 2025-12-04.md:3",
        "",
        "",
    ]


def test_a_statement_told_again_is_true_since_it_was_told_first() -> None:
    now = "2025-12-04.md:3"
    since = "Since 4 December 2025; before: “Phone: 1” (2 January 2023)"
    assert describe_histories(
        [
            hit("2026-01-05", "Phone: 2"),
            hit("2024-02-03", "Phone: 1", now),
            hit("2025-12-04", "Phone: 2"),
            hit("2023-01-02", "Phone: 1", now),
        ]
    )[::2] == [since, since]


def test_a_value_that_came_back_was_told_twice() -> None:
    now = "2025-12-04.md:3"
    found = [
        hit("2025-12-04", "Phone: 1"),
        hit("2024-02-03", "Phone: 2", now),
        hit("2023-01-02", "Phone: 1", now),
    ]
    assert describe_histories(found)[0].endswith(
        "before: “Phone: 2” (3 February 2024); “Phone: 1” (2 January 2023)"
    )


def test_a_better_result_that_was_told_later_may_change_it_again() -> None:
    found = [
        hit("2026-01-01", "Phone lost"),
        hit("2025-12-04", "Phone: 2"),
        hit("2024-02-03", "Phone: 1", "2025-12-04.md:3"),
    ]
    assert describe_histories(found)[1].startswith("From 4 December 2025; before: ")


def test_a_result_that_matches_as_well_may_be_a_version_in_between() -> None:
    found = [
        hit("2025-12-04", "My phone number is 3"),
        hit("2024-02-03", "My phone number is 1", "2025-12-04.md:3"),
        hit("2025-01-01", "My new phone number is 2", score=0.48),
    ]
    assert describe_histories(found)[0].startswith("From 4 December 2025; before: ")


def test_the_current_value_that_was_also_an_earlier_one_is_told_twice() -> None:
    found = [
        hit("2025-12-04", "Anna lives in Leeds"),
        hit("2024-02-03", "Anna lives in York", "2025-12-04.md:3"),
        hit("2023-01-02", "Anna lives in Leeds"),
    ]
    assert describe_histories(found) == [
        "Since 4 December 2025; before: “Anna lives in York” (3 February 2024); “Anna lives in Leeds” (2 January 2023)",
        "Told on 3 February 2024; changed since, see 2025-12-04.md:3",
        "",
    ]


def test_a_result_alone_says_where_it_is_told_later() -> None:
    assert describe_histories([hit("2024-02-03", "Phone: 1", "a b\u202e.md:7")]) == [
        "Told on 3 February 2024; changed since, see a b⟨U+202E⟩.md:7"
    ]


def test_many_versions_are_cut() -> None:
    now = "2025-12-04.md:3"
    older = [hit(f"20{year}-02-03", f"Phone: {year}", now) for year in range(10, 20)]
    told = describe_histories([hit("2025-12-04", "Phone: 99"), *older])[0]
    assert told.count("Phone") == 4
    assert told.endswith("(3 February 2016); …")
