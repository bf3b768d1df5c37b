"""What was forgotten in folders that may only be read: still in its file, and nowhere else."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.errors import EditRefused, NoteUnreadable
from memory.forgetting import WordsToForget
from memory.hidden_lines import FILE, HiddenLines
from memory.locked_note import LockedNote
from memory.memory import Memory
from memory.note_edits import EMPTY_LINES
from memory.note_folders import NoteFolder
from memory.notes import Notes
from memory.settings import FolderSettings, MemorySettings
from memory.write_result import WriteResult

NOTE = "# People\n\n- Ada's number is 4711\n- Ben likes tea\n\n- Ada's number is 4711\n"


def make_vault(root: Path) -> Path:
    (root / "elsewhere").mkdir()
    (root / "elsewhere/People.md").write_text(NOTE)
    (root / "memory").mkdir()
    (root / "memory/own.md").write_text("- Ada lives in Oslo\n")
    return root / "elsewhere"


def open_memory(root: Path) -> Memory:
    settings = MemorySettings(folders=(FolderSettings(path=str(root / "elsewhere"), name="vault"),))
    return Memory(settings, workspace=root, now=lambda: datetime(2026, 11, 28, tzinfo=UTC))


async def test_forgotten_lines_stay_in_the_file_and_are_found_nowhere(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    async with open_memory(tmp_path) as memory:
        assert (await memory.search("Ada number")).hits
        words = WordsToForget("Ada")
        found = await memory.find_lines(words, limit=10)
        done = await memory.forget_lines(found.lines, words)
        assert done.lines == 1
        assert [(each.path, each.line_start) for each in done.hidden] == [
            ("vault/People.md", 3),
            ("vault/People.md", 6),
        ]
        assert done.missed == ()
        assert (vault / "People.md").read_text() == NOTE
        assert (tmp_path / "memory/own.md").read_text() == ""
        assert "4711" not in str((await memory.search("Ada number 4711")).hits)
        assert (await memory.get("vault/People.md")).text == "# People\n\n\n- Ben likes tea\n\n\n"
        assert (await memory.get("vault/People.md", line=3, limit=2)).text == "\n- Ben likes tea\n"
        (hit,) = (await memory.search("tea")).hits
        assert (hit.line_start, hit.snippet) == (4, "- Ben likes tea")
        assert (await memory.find_lines(words, limit=10)).lines == ()
        stored = (tmp_path / ".commonplace" / FILE).read_text()
        assert "4711" not in stored
        assert "4711" not in (tmp_path / ".commonplace/index.db").read_bytes().decode("latin-1")
    # It holds in another process, after the note has changed, and for an index made from scratch.
    (vault / "People.md").write_text("- new\n" + NOTE)
    async with open_memory(tmp_path) as memory:
        assert "4711" not in str((await memory.search("number new", limit=9)).hits)
        await memory.sync(rebuild=True)
        assert "4711" not in str((await memory.search("number new", limit=9)).hits)


async def test_another_line_of_the_same_note_is_hidden_too(tmp_path: Path) -> None:
    make_vault(tmp_path)
    async with open_memory(tmp_path) as memory:
        for query in ("Ada number", "Ben tea"):
            words = WordsToForget(query)
            await memory.forget_lines((await memory.find_lines(words, limit=10)).lines, words)
        assert (await memory.get("vault/People.md")).text == "# People\n\n\n\n\n\n"
        report = await memory.sync()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)


async def test_a_note_that_is_moved_copied_or_has_a_second_name_shows_nothing_forgotten(
    tmp_path: Path,
) -> None:
    vault = make_vault(tmp_path)
    (vault / "Twin.md").hardlink_to(vault / "People.md")
    async with open_memory(tmp_path) as memory:
        await memory.sync()
        words = WordsToForget("Ada")
        await memory.forget_lines((await memory.find_lines(words, limit=10)).lines, words)
        assert "4711" not in (await memory.get("vault/Twin.md")).text
        (vault / "Old").mkdir()
        (vault / "People.md").rename(vault / "Old/People.md")
        (vault / "Copy.md").write_text(NOTE)
        await memory.sync()
        assert "4711" not in str((await memory.search("Ada number 4711 tea", limit=9)).hits)
        for path in ("vault/Twin.md", "vault/Old/People.md", "vault/Copy.md"):
            assert "4711" not in (await memory.get(path)).text
    settings = MemorySettings(folders=(FolderSettings(path=str(vault), name="renamed"),))
    async with Memory(settings, workspace=tmp_path, now=lambda: datetime(2026, 11, 28, tzinfo=UTC)) as memory:
        assert "4711" not in str((await memory.search("Ada number 4711 tea", limit=9)).hits)
        assert "4711" not in (await memory.get("renamed/Copy.md")).text


async def test_a_folder_is_away_though_each_of_its_notes_has_hidden_lines(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    async with open_memory(tmp_path) as memory:
        await memory.sync()
        words = WordsToForget("Ada")
        await memory.forget_lines((await memory.find_lines(words, limit=10)).lines, words)
        (vault / "People.md").rename(tmp_path / "People.md")
        report = await memory.sync()
        assert (report.removed, [each.path for each in report.problems]) == (0, ["vault"])


async def test_a_folder_that_is_away_is_named_as_not_searched_for_what_to_forget(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    async with open_memory(tmp_path) as memory:
        await memory.sync()
        vault.rename(tmp_path / "unmounted")
        vault.mkdir()
        found = await memory.find_lines(WordsToForget("Ada"), limit=10)
        assert [each.path for each in found.unread] == ["vault"]


async def test_a_correction_in_a_folder_that_may_be_changed_by_now_shows_nothing_forgotten(
    tmp_path: Path,
) -> None:
    vault = make_vault(tmp_path)
    async with open_memory(tmp_path) as memory:
        words = WordsToForget("Ada")
        await memory.forget_lines((await memory.find_lines(words, limit=10)).lines, words)
    settings = MemorySettings(folders=(FolderSettings(path=str(vault), name="vault", write=True),))
    async with Memory(settings, workspace=tmp_path, now=lambda: datetime(2026, 11, 28, tzinfo=UTC)) as memory:

        def correct(line: int, text: str, last: int | None = None) -> Callable[[LockedNote], WriteResult]:
            return lambda note: note.correct(note.correction(line, text, last=last))

        with pytest.raises(EditRefused, match="is empty"):
            await memory.hold("vault/People.md", correct(3, "x"), existing=True)
        with pytest.raises(EditRefused, match="has changed"):
            await memory.hold("vault/People.md", correct(3, EMPTY_LINES, 4), existing=True)
        await memory.hold("vault/People.md", correct(4, "Ben likes coffee"), existing=True)
        assert (vault / "People.md").read_text() == NOTE.replace("tea", "coffee")
        assert (await memory.get("vault/People.md")).text == "# People\n\n\n- Ben likes coffee\n\n\n"
        assert [await memory.read_trash(each) for each in await memory.removed()] == ["- Ben likes tea\n"]


def test_a_damaged_file_hides_its_notes_rather_than_shows_them(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    private = tmp_path / ".commonplace"
    notes = Notes(
        tmp_path / "memory", private=private, others=[NoteFolder(vault, "vault", is_writable=False)]
    )
    notes.hide("vault/People.md", ["- Ada's number is 4711"])
    for damage in ("{", "[]", '{"a": 1}', '{"a": [["x", "y"]]}', '{"a": [["00"]]}'):
        (private / FILE).write_text(damage)
        with pytest.raises(NoteUnreadable, match="restore it from a backup"):
            notes.load("vault/People.md")
        assert notes.load("own.md").text == "- Ada lives in Oslo\n"


def test_lines_of_a_backup_are_adopted(tmp_path: Path) -> None:
    here, there = HiddenLines(tmp_path / "here"), HiddenLines(tmp_path / "there")
    here.hide("a.md", ["one"])
    there.hide("a.md", ["two"])
    there.hide("b.md", ["three"])
    here.merge(tmp_path / "there" / FILE)
    assert here.blank("a.md", "one\ntwo\nthree") == "\n\nthree"
    assert here.blank("b.md", "one\n  three") == "one\n"
    before = json.loads((tmp_path / "here" / FILE).read_text())
    here.merge(tmp_path / "there" / FILE)
    assert json.loads((tmp_path / "here" / FILE).read_text()) == before
    assert set(here.marks()) == {"a.md", "b.md"}
