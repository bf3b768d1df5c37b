from bot.note_refs import NoteRef, format_note_ref, parse_note_ref
from tests.fakes.table_test import table_test


@table_test(
    ("text", "place"),
    [
        ("2026-11-21.md", NoteRef("2026-11-21.md")),
        ("trips/oslo.md:3", NoteRef("trips/oslo.md", 3, 3)),
        ("trips/oslo.md:3-9", NoteRef("trips/oslo.md", 3, 9)),
        ("trips/oslo.md:9-3", NoteRef("trips/oslo.md", 9, 3)),
        ("trips/oslo.md:0", NoteRef("trips/oslo.md", 0, 0)),
        ("a.md:b.md:1", NoteRef("a.md:b.md", 1, 1)),
        ("2026-11-21:3-9", NoteRef("2026-11-21", 3, 9)),
        ("at 9:30.md", NoteRef("at 9:30.md")),
    ],
)
def test_a_place_is_read_with_or_without_lines(text: str, place: NoteRef) -> None:
    assert parse_note_ref(text) == place


def test_what_is_written_can_be_read() -> None:
    assert parse_note_ref(format_note_ref("a.md", 3, 9)) == NoteRef("a.md", 3, 9)
    assert parse_note_ref(format_note_ref("a.md", 3, 3)) == NoteRef("a.md", 3, 3)
