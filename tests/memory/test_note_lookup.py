"""Find a note by a name without `.md`, without its folder, or by a date alone."""

from memory.note_lookup import match_notes, suggest_notes
from tests.fakes.table_test import table_test

PATHS = [
    "2026-11-21.md",
    "MEMORY.md",
    "a/plan.md",
    "b/plan.md",
    "logs/2026-11-23.md",
    "logs/2026-11-25 standup.md",
    "logs/2026-11-26 one.md",
    "logs/2026-11-26 two.md",
    "trips/oslo.md",
    "trips/Zürich.md",
]


@table_test(
    ("asked", "meant"),
    [
        ("2026-11-21", ["2026-11-21.md"]),
        ("2026-11-23", ["logs/2026-11-23.md"]),
        ("2026-11-25", ["logs/2026-11-25 standup.md"]),
        ("2026-11-25.md", []),
        ("2026-11-26", ["logs/2026-11-26 one.md", "logs/2026-11-26 two.md"]),
        ("2026-11-2", []),
        ("2026-13-45", []),
        ("memory", ["MEMORY.md"]),
        ("Oslo.MD", ["trips/oslo.md"]),
        ("trips/oslo", ["trips/oslo.md"]),
        ("zu\u0308rich", ["trips/Zürich.md"]),
        ("plan", ["a/plan.md", "b/plan.md"]),
        ("A/plan", ["a/plan.md"]),
        ("slo", []),
        ("lan.md", []),
    ],
)
def test_a_note_is_found_by_an_unambiguous_part_of_its_path(asked: str, meant: list[str]) -> None:
    assert match_notes(asked, PATHS) == meant


def test_a_path_precedes_the_same_name_in_a_folder() -> None:
    assert match_notes("2026-11-23", ["logs/2026-11-23.md", "2026-11-23.md"]) == ["2026-11-23.md"]


@table_test(
    ("asked", "nearest"),
    [
        ("2026-11-22", ["2026-11-21.md", "logs/2026-11-23.md", "logs/2026-11-25 standup.md"]),
        ("osol", ["trips/oslo.md"]),
        ("trips/bergen/oslo.md", ["trips/oslo.md"]),
        ("nothing like it", []),
    ],
)
def test_the_nearest_notes_are_suggested(asked: str, nearest: list[str]) -> None:
    assert suggest_notes(asked, PATHS) == nearest
