import pytest

from bot.places import Place, read_place, written_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("2026-11-21.md", Place("2026-11-21.md")),
        ("trips/oslo.md:3", Place("trips/oslo.md", 3, 3)),
        ("trips/oslo.md:3-9", Place("trips/oslo.md", 3, 9)),
        ("trips/oslo.md:9-3", Place("trips/oslo.md", 9, 3)),
        ("trips/oslo.md:0", Place("trips/oslo.md", 0, 0)),
        ("a.md:b.md:1", Place("a.md:b.md", 1, 1)),
        ("2026-11-21:3-9", Place("2026-11-21", 3, 9)),
        ("at 9:30.md", Place("at 9:30.md")),
    ],
)
def test_a_place_is_read_with_or_without_lines(text: str, place: Place) -> None:
    assert read_place(text) == place


def test_what_is_written_can_be_read() -> None:
    assert read_place(written_place("a.md", 3, 9)) == Place("a.md", 3, 9)
    assert read_place(written_place("a.md", 3, 3)) == Place("a.md", 3, 3)
