import hashlib
import os
import unicodedata
from pathlib import Path

import pytest

from memory import disk
from memory.errors import MemoryFault, NoteMissing, NoteUnreadable, NoteUnwritable, PathRefused
from memory.formatting import format_entry
from memory.notes import Notes

DAY = "2026-11-21.md"


def log(notes: Notes, *texts: str) -> None:
    for text in texts:
        notes.append(DAY, format_entry(text), title="2026-11-21")


def test_a_note_is_loaded_with_its_version(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).write_bytes(b"\xef\xbb\xbfa\r\nb")
    loaded = notes.load(DAY)
    assert (loaded.text, loaded.encoding) == ("a\nb", "utf-8")
    assert loaded.digest == hashlib.sha256(b"\xef\xbb\xbfa\r\nb").hexdigest()
    assert [loaded.stat] == notes.walk().notes


def test_a_note_that_is_not_utf8_is_loaded_and_says_so(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).write_bytes(b"caf\xe9\n")
    assert (notes.load(DAY).text, notes.load(DAY).encoding) == ("café\n", "windows-1252")
    assert notes.read(DAY).text == "café\n"


def test_lines_are_counted_from_one(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).write_text("one\ntwo\nthree")
    text = notes.read(DAY, line=2, limit=1)
    assert (text.text, text.line_start, text.line_end, text.total_lines) == ("two\n", 2, 2, 3)
    assert notes.read(DAY, line=2, limit=99).text == "two\nthree"
    assert notes.read(DAY, line=3).line_end == 3
    with pytest.raises(MemoryFault, match="ends at line 3; there is no line 4"):
        notes.read(DAY, line=4)
    for line, limit in ((0, None), (-1, None), (1, 0), (1, -5)):
        with pytest.raises(MemoryFault, match="Lines count from 1"):
            notes.read(DAY, line=line, limit=limit)


def test_an_empty_note_reads_as_no_lines(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).touch()
    text = notes.read(DAY)
    assert (text.text, text.line_start, text.line_end, text.total_lines) == ("", 1, 0, 0)
    assert notes.load(DAY).text == ""


@pytest.mark.thorough
def test_a_huge_note_is_read_in_part_but_not_loaded(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    with (folder / "big.md").open("wb") as file:
        for start in range(0, 400_000, 100_000):
            file.write(
                b"".join(b"line %06d %s\n" % (n, b"x" * 110) for n in range(start + 1, start + 100_001))
            )
    with pytest.raises(NoteUnreadable, match="has 47 MiB; split it"):
        notes.load("big.md")
    text = notes.read("big.md", line=399_999, limit=2)
    assert text.text.startswith("line 399999 ")
    assert (text.line_end, text.total_lines) == (400_000, 400_000)


def test_a_note_is_never_loaded_half_written(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write continues while we read, and the file's time is that of its beginning."""
    folder.mkdir()
    (folder / DAY).write_text("old old")
    found = (folder / DAY).stat()
    read = disk.read_all
    states = iter(["new old", "new new", "new new"])

    def read_all(fd: int, *, limit: int) -> bytes:
        if state := next(states, None):
            (folder / DAY).write_text(state)
            os.utime(folder / DAY, ns=(found.st_atime_ns, found.st_mtime_ns))
        return read(fd, limit=limit)

    monkeypatch.setattr(disk, "read_all", read_all)
    assert notes.load(DAY).text == "new new"


def test_a_note_that_is_written_continuously_is_refused(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    (folder / DAY).write_text("x\n")
    read = disk.read_all

    def read_all(fd: int, *, limit: int) -> bytes:
        with (folder / DAY).open("a") as file:
            file.write("x\n")
        return read(fd, limit=limit)

    monkeypatch.setattr(disk, "read_all", read_all)
    with pytest.raises(NoteUnreadable, match="keeps being written"):
        notes.load(DAY)


def test_a_special_file_is_refused_without_blocking(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / "dir.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "self.md").symlink_to("self.md")
    for path, why in (("dir.md", "folder"), ("pipe.md", "pipe"), ("self.md", "symbolic link")):
        with pytest.raises(NoteUnreadable, match=why):
            notes.load(path)
        with pytest.raises(NoteUnreadable, match=why):
            notes.read(path)
        with pytest.raises(NoteUnwritable, match=why):
            notes.append(path, "- x", title="T")
        with pytest.raises(NoteUnwritable, match=why):
            notes.edit(path, "x", "y")


def test_a_file_in_the_place_of_a_folder_is_reported(notes: Notes, folder: Path) -> None:
    log(notes, "a")
    with pytest.raises(NoteMissing):
        notes.read(f"{DAY}/x.md")
    with pytest.raises(NoteUnwritable, match="not a folder"):
        notes.append(f"{DAY}/x.md", "- x", title="T")


def test_nothing_outside_is_read_or_written(notes: Notes, folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (tmp_path / "secret.md").write_text("secret\n")
    (folder / "out.md").symlink_to("../secret.md")
    (folder / "up").symlink_to("..")
    for path in ("../secret.md", "out.md", "up/secret.md", str(tmp_path / "secret.md"), "up/new.md"):
        with pytest.raises(PathRefused):
            notes.read(path)
        with pytest.raises(PathRefused):
            notes.append(path, "- x", title="T")
        with pytest.raises(PathRefused):
            notes.edit(path, "secret", "x")
    assert (tmp_path / "secret.md").read_text() == "secret\n"
    assert not (tmp_path / "new.md").exists()


def test_either_spelling_of_a_name_writes_the_one_note(notes: Notes, folder: Path) -> None:
    for form in ("NFD", "NFC", "NFD"):
        notes.append(unicodedata.normalize(form, "Café.md"), f"- {form}", title="T")
    assert [path.name for path in folder.iterdir()] == ["Caf\u00e9.md"]
