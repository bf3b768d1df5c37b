"""The trash: removed text in files named so that it can be put back."""

from pathlib import Path

import pytest

from memory.forgetting import WordsToForget
from memory.note_edits import LineAnchor, LinesChecksum
from memory.notes import Notes
from memory.trash import (
    TrashItem,
    delete_matching,
    find_in_trash,
    find_note,
    list_trash,
    list_trash_page,
    mark_restored,
    read_trash_item,
    save_removed,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".commonplace" / "trash"


def listed(folder: Path) -> list[str]:
    return [each.note for each in list_trash(folder) if not each.is_restored]


def test_a_missing_trash_is_empty(folder: Path) -> None:
    assert list_trash(folder) == ()
    assert not folder.exists()


@pytest.mark.parametrize(
    "note", ["MEMORY.md", "trips/oslo.md", "a--b/100 % sure.md", "家/旅行 2.md", ".x/y.MD"]
)
@pytest.mark.parametrize("stood", [None, LineAnchor(3, "0123abcd"), LineAnchor(1, "top")])
@pytest.mark.parametrize("new", [None, LinesChecksum(12, "89abcdef")])
def test_a_trash_item_is_listed_with_its_note_and_lines(
    folder: Path, note: str, stood: LineAnchor | None, new: LinesChecksum | None
) -> None:
    save_removed(folder, note=note, removed=b"- gone\r\n", anchor=stood, new_lines=new)
    [found] = list_trash(folder)
    assert (found.note, found.stood, found.is_whole, found.is_exact) == (note, stood, stood is None, True)
    assert found.new_lines == (new if stood else None)
    assert read_trash_item(folder, found.file) == "- gone\n"


def test_the_newest_item_is_first_and_a_restored_one_is_gone(folder: Path) -> None:
    for name in ("one.md", "two.md", "three.md"):
        save_removed(folder, note=name, removed=b"- x\n")
    assert listed(folder) == ["three.md", "two.md", "one.md"]
    mark_restored(folder, list_trash(folder)[1].file)
    assert listed(folder) == ["three.md", "one.md"]
    assert list_trash(folder)[1].is_restored
    assert not any("two" in path.name for path in folder.iterdir())


def test_a_number_never_means_another_item(folder: Path) -> None:
    """Even if some share their first four digits; a number that has become ambiguous is refused when used."""
    folder.mkdir(parents=True)
    known: dict[str, str] = {}
    for minute in range(6):
        for second in range(60):
            (folder / f"2026-11-21T14-{minute:02}-{second:02}.123456Z .note {minute}-{second}.md").touch()
        now = list_trash(folder)
        for number, note in [*known.items()][::20]:
            assert note in [each.note for each in find_in_trash(folder, number)]
        assert all(find_in_trash(folder, each.number) == [each] for each in now[::20])
        known |= {each.number: each.note for each in now}
    assert {len(number) for number in known} == {4, 5}
    mark_restored(folder, now[7].file)
    for each in now[100:200]:
        (folder / each.file).unlink()
    assert [each.is_restored for each in find_in_trash(folder, now[7].number)] == [True]
    assert not any(find_in_trash(folder, each.number) for each in now[100:200:10])
    assert find_in_trash(folder, now[0].number[:3]) == ()


def test_a_page_of_the_trash_has_what_the_whole_list_has(folder: Path) -> None:
    assert list_trash_page(folder, first=0, count=3).count == 0
    for number in range(8):
        save_removed(folder, note=f"{number}.md", removed=b"- x\n")
    (folder / "something else.txt").touch()
    mark_restored(folder, list_trash(folder)[2].file)
    whole = [each for each in list_trash(folder) if not each.is_restored]
    for first, expected in ((0, whole[:3]), (3, whole[3:6]), (6, whole[6:]), (900, whole[6:])):
        page = list_trash_page(folder, first=first, count=3)
        assert [each.note for each in page.items] == [each.note for each in expected]
        assert (page.count, page.first) == (7, min(first, 6))
        for each, known in zip(page.items, expected, strict=True):
            assert each.number.startswith(known.number)
            assert find_in_trash(folder, each.number) == [each]


def test_a_crash_during_restoring_leaves_the_item_restored(folder: Path) -> None:
    kept = save_removed(folder, note="one.md", removed=b"- x\n")
    (folder / f"{kept.name.split(' ')[0]} .restored").touch()
    assert listed(folder) == []
    mark_restored(folder, kept.name)
    mark_restored(folder, kept.name)
    assert len(list(folder.iterdir())) == 1


def test_items_of_an_earlier_version_are_listed(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "2026-11-21T14-30-02.123456Z trips--oslo.md").write_text("Boats")
    (folder / "2026-11-21T14-30-03.123456Z 2026-11-21.md").write_text("- tea\n")
    (folder / "2026-11-21T14-30-03.123456Z 2026-11-21.md.new").write_text("torn")
    (folder / "notes of mine.txt").write_text("?")
    save_removed(folder, note="new.md", removed=b"- x\n")
    assert listed(folder) == ["new.md", "2026-11-21.md", "trips--oslo.md"]
    oslo = list_trash(folder)[2]
    assert (oslo.is_exact, oslo.stood, oslo.at.isoformat()) == (
        False,
        None,
        "2026-11-21T14:30:02.123456+00:00",
    )
    assert find_note(oslo, ["trips/oslo.md", "oslo.md"]) == "trips/oslo.md"
    assert find_note(oslo, ["trips--oslo.md"]) == "trips--oslo.md"
    assert find_note(oslo, []) == "trips/oslo.md"


def test_a_path_that_is_too_long_is_known_by_its_end(folder: Path) -> None:
    path = f"{'deep/' * 50}the note.md"
    kept = save_removed(folder, note=path, removed=b"- x\n", anchor=LineAnchor(3, "0123abcd"))
    assert len(kept.name.encode()) < 255
    [found] = list_trash(folder)
    assert not found.is_exact
    assert find_note(found, [path, "the note.md"]) == path


def test_forgotten_words_leave_the_trash(folder: Path) -> None:
    save_removed(folder, note="a.md", removed=b"- the blue folder\n", anchor=LineAnchor(3, "0123abcd"))
    save_removed(folder, note="b.md", removed=b"- the blue folder\n- tea\n")
    assert delete_matching(folder, WordsToForget("blue folder")) == 2
    assert [(each.note, read_trash_item(folder, each.file)) for each in list_trash(folder)] == [
        ("b.md", "- tea\n")
    ]


def test_an_edit_keeps_the_whole_lines_that_it_changes_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    note = tmp_path / "memory" / "n.md"
    notes = Notes(tmp_path / "memory", private=tmp_path / ".commonplace")

    def kept(old: str, new: str) -> tuple[str, int]:
        note.write_bytes(b"# N\r\n\r\n- one or two\r\n- three\r\n  and more\r\n- four")
        notes.edit("n.md", old, new)
        found: TrashItem = list_trash(tmp_path / ".commonplace" / "trash")[0]
        assert found.stood
        return read_trash_item(tmp_path / ".commonplace" / "trash", found.file), found.stood.line

    assert kept("or two", "") == ("- one or two\n", 3)
    assert kept("three\n  and", "3") == ("- three\n  and more\n", 4)
    assert kept("\n- three", "") == ("- three\n", 4)
    assert kept("four", "4") == ("- four\n", 6)
    assert kept("# N", "# M") == ("# N\n", 1)
