import errno
import os
import re
import resource
import stat
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import disk
from memory.errors import EditRefused, NoteMissing, NoteUnreadable, NoteUnwritable, NothingToWrite
from memory.formatting import format_entry
from memory.note_file import NOTE_MAX_BYTES
from memory.notes import Notes

DAY = "2026-11-21.md"


def log(notes: Notes, *texts: str) -> None:
    for text in texts:
        notes.append(DAY, format_entry(text), title="2026-11-21")


def trash(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder.parent / ".commonplace/trash").iterdir()}


# Appending


def test_nothing_is_created_before_the_first_write(notes: Notes, tmp_path: Path) -> None:
    with pytest.raises(NoteMissing, match=r"There is no note MEMORY\.md\."):
        notes.read("MEMORY.md")
    assert notes.walk().notes == []
    assert list(tmp_path.iterdir()) == []


def test_a_daily_log_looks_like_a_persons(notes: Notes, folder: Path) -> None:
    log(
        notes,
        "Anna's passport is in the blue folder.",
        "Next fact.",
        "```\ncode\n```",
        "- last",
        "Addr\nline 2",
        "End",
    )
    assert (folder / DAY).read_text() == (
        "# 2026-11-21\n\n- Anna's passport is in the blue folder.\n- Next fact.\n\n```\ncode\n```\n\n"
        "- last\n- Addr\n  line 2\n- End\n"
    )


def test_the_memory_folder_contains_only_note_files(notes: Notes, folder: Path) -> None:
    log(notes, "a")
    notes.append("trips/oslo.md", "- b", title="Oslo")
    notes.edit("trips/oslo.md", "b", "c")
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        DAY,
        "trips",
        "trips/oslo.md",
    ]


def test_the_lines_and_the_offset_are_those_of_the_entry(notes: Notes, folder: Path) -> None:
    first = notes.append(DAY, "- Übung", title="T")
    assert (first.path, first.line_start, first.line_end) == (DAY, 3, 3)
    block = notes.append(DAY, "# Block\n\ntext\n", title="T")
    assert (block.line_start, block.line_end) == (5, 7)
    assert notes.read(DAY, line=5, limit=3).text == "# Block\n\ntext\n"
    assert (folder / DAY).read_bytes()[block.offset :] == b"# Block\n\ntext\n"


@pytest.mark.parametrize("before", [b"", b"\n", b"  \n\n", b"\xef\xbb\xbf"])
def test_an_empty_note_gets_its_title(notes: Notes, folder: Path, before: bytes) -> None:
    folder.mkdir()
    (folder / DAY).write_bytes(before)
    written = notes.append(DAY, "- a", title="2026-11-21")
    assert notes.load(DAY).text.lstrip() == "# 2026-11-21\n\n- a\n"
    assert notes.read(DAY, line=written.line_start).text == "- a\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"- torn wor", b"- torn wor\n- new\n"),
        (b"# T\r\n\r\n- a\r\n", b"# T\r\n\r\n- a\r\n- new\r\n"),
        (b"# T\r\n\r\n- a\r", b"# T\r\n\r\n- a\r- new\r\n"),
        (b"words\r\nwords\r", b"words\r\nwords\r\r\n- new\r\n"),
        (b"words\nwords\r", b"words\nwords\r\n\n- new\n"),
        (b"caf\xe9", b"caf\xe9\n\n- new\n"),
        ("- a\n- 明".encode()[:-1], "- a\n- 明".encode()[:-1] + b"\n- new\n"),
        (b"\xff\xfe-\0 \0a\0", b"\xff\xfe-\0 \0a\0\n\0-\0 \0n\0e\0w\0\n\0"),
        (b"\xff\xfe-\0 \0a\0\n\0-", b"\xff\xfe-\0 \0a\0\n\0-\0\n\0\n\0-\0 \0n\0e\0w\0\n\0"),
    ],
)
def test_an_entry_always_begins_on_a_new_line(
    notes: Notes, folder: Path, before: bytes, after: bytes
) -> None:
    folder.mkdir()
    (folder / DAY).write_bytes(before)
    written = notes.append(DAY, "- new", title="T")
    assert (folder / DAY).read_bytes() == after
    assert notes.read(DAY, line=written.line_start).text == "- new\n"
    assert written.line_start == written.line_end == notes.read(DAY).total_lines


def test_blank_entries_are_refused_and_leave_nothing(notes: Notes, folder: Path) -> None:
    with pytest.raises(NothingToWrite):
        notes.append(DAY, " \n", title="T")
    assert not folder.exists()


def test_unsafe_characters_in_an_entry_are_made_safe(notes: Notes) -> None:
    notes.append(DAY, "- a\x00\ud800\r\n  b", title="T\n#")
    assert notes.read(DAY).text == "# T #\n\n- a\ufffd\ufffd\n  b\n"


@pytest.mark.thorough
@settings(deadline=None)
@given(texts=st.lists(st.text(), min_size=1, max_size=6))
def test_any_text_is_read_back_by_its_lines(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp()))
    notes = Notes(folder / "memory", private=folder / "private")
    kept = []
    for text in texts:
        try:
            entry = format_entry(text)
        except NothingToWrite:
            continue
        kept.append((entry, notes.append(DAY, entry, title="T")))
    for entry, written in kept:
        limit = written.line_end - written.line_start + 1
        assert notes.read(DAY, line=written.line_start, limit=limit).text == f"{entry}\n"
        data = (folder / "memory" / DAY).read_bytes()
        assert data[written.offset :].startswith(f"{entry}\n".encode())


def test_a_note_does_not_grow_beyond_what_can_be_indexed(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).write_bytes(b"x" * (NOTE_MAX_BYTES - 3))
    with pytest.raises(NoteUnwritable, match="16 MiB"):
        notes.append(DAY, "- abc", title="T")
    assert (folder / DAY).stat().st_size == NOTE_MAX_BYTES - 3


# Editing


def test_an_edit_replaces_one_passage_and_keeps_the_old(notes: Notes, folder: Path) -> None:
    log(notes, "Anna lives in Rome.", "Bob lives in Bonn.")
    written = notes.edit(DAY, "Anna lives in Rome", "Anna lives in Oslo")
    assert (written.line_start, written.line_end) == (3, 3)
    assert (folder / DAY).read_text() == "# 2026-11-21\n\n- Anna lives in Oslo.\n- Bob lives in Bonn.\n"
    [(name, kept)] = trash(folder).items()
    stamp = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z"
    assert re.fullmatch(rf"{stamp} \.line-3-[0-9a-f]{{8}}-1-[0-9a-f]{{8}} 2026-11-21\.md", name)
    assert kept == "- Anna lives in Rome.\n"


def test_an_edit_of_several_lines_returns_the_new_lines(notes: Notes) -> None:
    log(notes, "one", "two", "three")
    written = notes.edit(DAY, "- one\n- two\n", "- 1\n- 1b\n- 2\n")
    assert (written.line_start, written.line_end) == (3, 5)
    assert notes.read(DAY).text == "# 2026-11-21\n\n- 1\n- 1b\n- 2\n- three\n"


@pytest.mark.parametrize("old", ["two", "- two", "- two\n", "\n- two"])
def test_removing_a_fact_leaves_no_empty_line(notes: Notes, old: str) -> None:
    log(notes, "one", "two", "three")
    notes.edit(DAY, old, "")
    assert notes.read(DAY).text == "# 2026-11-21\n\n- one\n- three\n"


def test_removing_a_part_of_a_line_removes_only_that(notes: Notes) -> None:
    log(notes, "one or two", "three")
    notes.edit(DAY, " or two", "")
    notes.edit(DAY, "three", "3")
    assert notes.read(DAY).text == "# 2026-11-21\n\n- one\n- 3\n"


def test_the_passage_must_occur_exactly_once(notes: Notes, folder: Path) -> None:
    log(notes, "aaa", "b")
    for old, why in (
        ("zzz", "does not contain"),
        ("aa", "more than once"),
        ("a", "more than once"),
        (" \n", "blank"),
        ("", "blank"),
        ("A", "does not contain"),
        (".", "does not contain"),
    ):
        with pytest.raises(EditRefused, match=why):
            notes.edit(DAY, old, "x")
    with pytest.raises(EditRefused, match="the same"):
        notes.edit(DAY, "b", "b")
    assert notes.read(DAY).text == "# 2026-11-21\n\n- aaa\n- b\n"
    assert not (folder.parent / ".commonplace/trash").exists()


def test_an_edit_keeps_line_ends_encoding_mode_and_every_other_byte(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    note = folder / "n.md"
    note.write_bytes(b"\xef\xbb\xbfcaf\xe9 \x81\r\none\r\ntwo\rthree\nlast")
    note.chmod(0o640)
    written = notes.edit("n.md", "one\ntwo\nthree", "1\n2\ud800")
    assert (
        note.read_bytes() == "\ufeff".encode() + b"caf\xe9 \x81\r\n1\r\n2" + "\ufffd".encode() + b"\nlast\r\n"
    )
    assert (written.line_start, written.line_end) == (2, 3)
    assert stat.S_IMODE(note.stat().st_mode) == 0o640
    note.write_bytes("\ufeff一\r\n二\r\n".encode("utf-16-le"))
    notes.edit("n.md", "二\n", "三")
    assert note.read_bytes() == "\ufeff一\r\n三\r\n".encode("utf-16-le")
    note.write_bytes(b"\xff\xfea\0\0\xd8b\0")
    with pytest.raises(EditRefused, match="damaged UTF-16"):
        notes.edit("n.md", "b", "c")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_an_edit_keeps_the_owner(notes: Notes, folder: Path) -> None:
    log(notes, "one")
    os.chown(folder / DAY, 1234, 4321)
    notes.edit(DAY, "one", "two")
    found = (folder / DAY).stat()
    assert (found.st_uid, found.st_gid) == (1234, 4321)


def test_an_edit_through_a_link_edits_its_target(notes: Notes, folder: Path) -> None:
    notes.append("real/n.md", "- one", title="T")
    (folder / "link.md").symlink_to("real/n.md")
    assert notes.edit("link.md", "one", "two").path == "real/n.md"
    assert notes.append("link.md", "- three", title="T").path == "real/n.md"
    assert (folder / "link.md").is_symlink()
    assert (folder / "real/n.md").read_text() == "# T\n\n- two\n- three\n"


def test_an_edited_note_ends_in_a_newline_or_is_empty(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).write_text("a")
    notes.edit(DAY, "a\n", "b")
    assert (folder / DAY).read_text() == "b\n"
    notes.edit(DAY, "b", "")
    assert (folder / DAY).read_text() == ""


@settings(deadline=None)
@given(
    before=st.lists(
        st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"\xe9", "é明".encode(), b"- ", b"  ", b"\0"])
    ),
    cut=st.tuples(st.integers(0, 12), st.integers(1, 8)),
    new=st.text("ab é\n-\r", max_size=6),
)
def test_an_edit_changes_the_one_passage_and_no_other_byte(
    tmp_path_factory: pytest.TempPathFactory, before: list[bytes], cut: tuple[int, int], new: str
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path_factory.getbasetemp()))
    notes = Notes(folder, private=folder / "private")
    data = b"".join(before)
    (folder / "n.md").write_bytes(data)
    text = notes.load("n.md").text
    text += "\n" * (not text.endswith("\n"))
    old = text[cut[0] : cut[0] + cut[1]]
    places = [at for at in range(len(text)) if old and text.startswith(old, at)]
    try:
        written = notes.edit("n.md", old, new)
    except EditRefused:
        assert (folder / "n.md").read_bytes() == data
        assert len(places) != 1 or not old.strip() or old == new or "\r" in new
        return
    [at] = places
    after = notes.load("n.md").text
    clean = new.replace("\r\n", "\n").replace("\r", "\n")
    if clean:
        expected = text[:at] + clean + text[at + len(old) :]
        assert after == expected + "\n" * (not expected.endswith("\n"))
        assert written.line_start == text.count("\n", 0, at) + 1
        assert (folder / "n.md").read_bytes()[written.offset :].startswith(clean.split("\n")[0].encode())
    kept = b"".join(path.read_bytes() for path in (folder / "private/trash").iterdir())
    ends = [kept, kept.removesuffix(b"\n"), kept.removesuffix(b"\r\n")]
    assert any(end in data or end.removesuffix(b"\n") in data for end in ends)


def test_a_missing_note_is_not_edited(notes: Notes, folder: Path) -> None:
    with pytest.raises(NoteMissing):
        notes.edit("trips/oslo.md", "a", "b")
    assert not folder.exists()


def test_text_saved_by_another_program_during_an_edit_is_not_lost(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(notes, "one", "two")
    sync = os.fsync
    saves = iter(["editor\n", None])

    def save_in_an_editor(fd: int) -> None:
        sync(fd)
        if text := next(saves, None):
            (folder / "x.tmp").write_text(f"{text}- two\n")
            (folder / "x.tmp").rename(folder / DAY)

    monkeypatch.setattr(os, "fsync", save_in_an_editor)
    notes.edit(DAY, "two", "2")
    assert (folder / DAY).read_text() == "editor\n- 2\n"
    assert list(trash(folder).values()) == ["- two\n"]


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    here = tmp_path.stat().st_dev
    disks = (Path(name) for name in ("/dev/shm", "/var/tmp", "/tmp") if os.access(name, os.W_OK))
    disk = next((each for each in disks if each.stat().st_dev != here), None)
    if disk is None:
        pytest.skip("no second file system")
    with tempfile.TemporaryDirectory(dir=disk) as name:
        yield Path(name)


def test_an_edit_works_with_the_private_folder_on_another_file_system(folder: Path, other_disk: Path) -> None:
    notes = Notes(folder, private=other_disk)
    log(notes, "one")
    (folder / DAY).chmod(0o600)
    (folder / f".note-{zlib.crc32(DAY.encode()):08x}").write_text("left by a crash")
    inode = (folder / DAY).stat().st_ino
    notes.edit(DAY, "one", "two")
    assert (folder / DAY).read_text() == "# 2026-11-21\n\n- two\n"
    assert (folder / DAY).stat().st_ino != inode
    assert stat.S_IMODE((folder / DAY).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [DAY]
    assert list((other_disk / "tmp").iterdir()) == []


def test_a_draft_that_a_crash_left_beside_a_note_is_removed_by_the_next_write(
    notes: Notes, folder: Path
) -> None:
    left = folder / f".note-{zlib.crc32(DAY.encode()):08x}"
    log(notes, "one")
    left.write_text("left by a crash")
    log(notes, "two")
    assert not left.exists()
    left.write_text("left by a crash")
    notes.edit(DAY, "one", "1")
    assert not left.exists()


def test_a_note_in_a_closed_folder_is_edited_in_place_and_kept_whole(nobody_path: Path) -> None:
    folder = nobody_path / "memory"
    notes = Notes(folder, private=nobody_path / "private")
    log(notes, "one", "two")
    inode = (folder / DAY).stat().st_ino
    folder.chmod(0o500)
    notes.edit(DAY, "two", "2")
    notes.append(DAY, "- 3", title="T")
    assert (folder / DAY).stat().st_ino == inode
    assert notes.read(DAY).text == "# 2026-11-21\n\n- one\n- 2\n- 3\n"
    kept = sorted(path.read_text() for path in (nobody_path / "private/trash").iterdir())
    assert kept == ["# 2026-11-21\n\n- one\n- two\n", "- two\n"]
    with pytest.raises(NoteUnwritable, match="permission denied"):
        notes.append("new.md", "- x", title="T")
    folder.chmod(0o700)


def test_missing_permissions_are_reported(nobody_path: Path) -> None:
    folder = nobody_path / "memory"
    notes = Notes(folder, private=nobody_path / "private")
    log(notes, "one")
    (folder / DAY).chmod(0o400)
    with pytest.raises(NoteUnwritable, match="permission denied"):
        notes.append(DAY, "- two", title="T")
    (folder / DAY).chmod(0)
    with pytest.raises(NoteUnreadable, match="permission denied"):
        notes.load(DAY)
    (folder / DAY).chmod(0o600)
    assert notes.read(DAY).text == "# 2026-11-21\n\n- one\n"
    (nobody_path / "private/locks").chmod(0o500)
    with pytest.raises(NoteUnwritable, match="lock"):
        notes.append("other.md", "- x", title="T")
    (nobody_path / "private/locks").chmod(0o700)


def test_old_temporary_files_are_removed_and_recent_ones_kept(notes: Notes, folder: Path) -> None:
    log(notes, "one")
    temporary = folder.parent / ".commonplace/tmp"
    temporary.mkdir()
    for name in ("note-old", "note-young", "another"):
        (temporary / name).touch()
    os.utime(temporary / "note-old", (0, 0))
    os.utime(temporary / "another", (0, 0))
    notes.edit(DAY, "one", "two")
    assert sorted(path.name for path in temporary.iterdir()) == ["another", "note-young"]


# Locks, and others who write


def test_a_lock_timeout_is_reported(folder: Path) -> None:
    notes = Notes(folder, private=folder.parent / "private", lock_timeout=0.05)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        from memory.locks import lock_note

        with lock_note(folder.parent / "private/locks", DAY):
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(10)
    try:
        with pytest.raises(NoteUnwritable, match=r"another program for more than 0\.05 seconds"):
            notes.append(DAY, "- x", title="T")
        notes.append("other.md", "- x", title="T")
    finally:
        leave.set()
        holder.join()
    notes.append(DAY, "- x", title="T")


@pytest.mark.thorough
def test_threads_append_and_edit_at_once(notes: Notes) -> None:
    log(notes, "counter 0.")
    faults = []

    def work(name: str) -> None:
        for number in range(25):
            notes.append(DAY, f"- {name}{number:02}!", title="T")
            for _ in range(100):
                line = next(iter(re.findall(r"counter \d+\.", notes.read(DAY).text)))
                try:
                    notes.edit(DAY, line, f"counter {int(line.split()[1][:-1]) + 1}.")
                except EditRefused:
                    continue
                break
            else:
                faults.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = notes.read(DAY).text
    assert not faults
    assert "counter 75.\n" in text
    assert [text.count(f"- {name}{n:02}!\n") for name in "abc" for n in range(25)] == [1] * 75


def test_an_editor_that_saves_by_rename_loses_no_entry(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor replaces the file after we opened it: the entry must go into the new one."""
    log(notes, "one")
    write = disk.append_bytes
    saves = iter([True])

    def append_bytes(fd: int, data: bytes) -> int:
        if next(saves, False):
            (folder / "x.tmp").write_text("# By hand\n")
            (folder / "x.tmp").rename(folder / DAY)
        return write(fd, data)

    monkeypatch.setattr(disk, "append_bytes", append_bytes)
    written = notes.append(DAY, "- two", title="T")
    assert (folder / DAY).read_text() == "# By hand\n\n- two\n"
    assert (written.line_start, written.offset) == (3, 11)


def test_an_entry_survives_an_editor_that_overwrites_the_note(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor emptied the note before we read it, and rewrites it from the start."""
    log(notes, "one")
    write = disk.append_bytes
    saves = iter([True])

    def append_bytes(fd: int, data: bytes) -> int:
        start = write(fd, data)
        if next(saves, False):
            (folder / DAY).write_text("# By hand, and rather longer than what was there before\n")
        return start

    monkeypatch.setattr(disk, "append_bytes", append_bytes)
    notes.append(DAY, "- two", title="T")
    assert (folder / DAY).read_text() == "# By hand, and rather longer than what was there before\n\n- two\n"


def test_a_note_that_an_editor_has_just_emptied_is_waited_for(notes: Notes, folder: Path) -> None:
    folder.mkdir()
    (folder / DAY).touch()
    editor = threading.Timer(0.02, (folder / DAY).write_text, ["by hand\n"])
    editor.start()
    notes.append(DAY, "- two", title="T")
    editor.join()
    assert (folder / DAY).read_text() == "by hand\n\n- two\n"


def test_a_note_deleted_during_a_write_is_created_again(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(notes, "one")
    write = disk.append_bytes
    deletions = iter([True])

    def append_bytes(fd: int, data: bytes) -> int:
        if next(deletions, False):
            (folder / DAY).unlink()
        return write(fd, data)

    monkeypatch.setattr(disk, "append_bytes", append_bytes)
    notes.append(DAY, "- two", title="T")
    assert (folder / DAY).read_text() == "# T\n\n- two\n"


def test_lines_are_right_when_another_program_appends_in_between(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(notes, "one")
    write = disk.append_bytes

    def append_bytes(fd: int, data: bytes) -> int:
        with (folder / DAY).open("a") as file:
            file.write("- by a script\n")
        return write(fd, data)

    monkeypatch.setattr(disk, "append_bytes", append_bytes)
    written = notes.append(DAY, "- two", title="T")
    assert notes.read(DAY, line=written.line_start).text == "- two\n"
    assert (folder / DAY).read_bytes()[written.offset :] == b"- two\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("when", ["write", "fsync"])
def test_a_write_that_fails_half_way_is_undone(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, when: str
) -> None:
    log(notes, "one")
    before = (folder / DAY).read_bytes()
    write = os.write

    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    def write_some(fd: int, data: bytes) -> int:
        if len(data) < 10:
            fail()
        return write(fd, data[: len(data) - 5])

    with monkeypatch.context() as patched:
        patched.setattr(os, when, write_some if when == "write" else fail)
        with pytest.raises(NoteUnwritable, match=r"2026-11-21\.md could not be written: the disk"):
            notes.append(DAY, "- a longer line that does not fit", title="T")
        assert (folder / DAY).read_bytes() == before
        with pytest.raises(NoteUnwritable):
            notes.append("new.md", "- a longer line that does not fit", title="T")
        with pytest.raises(NoteUnwritable):
            notes.edit(DAY, "one", "a longer line that does not fit")
    assert (folder / DAY).read_bytes() == before
    assert not (folder / "new.md").exists()
    assert list((folder.parent / ".commonplace/tmp").glob("*")) == []
    log(notes, "two")
    assert notes.read(DAY).text == "# 2026-11-21\n\n- one\n- two\n"


def test_a_file_size_limit_leaves_no_partial_line(tmp_path: Path) -> None:
    child = """
import resource, sys
from pathlib import Path
from memory.errors import NoteUnwritable
from memory.notes import Notes
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
notes = Notes(Path(sys.argv[1]) / "memory", private=Path(sys.argv[1]) / "private")
try:
    for number in range(100):
        notes.append("x.md", f"- line {number:03} with some words in it", title="T")
        print(number, flush=True)
except NoteUnwritable as fault:
    print(fault)
"""
    run = subprocess.run(
        [sys.executable, "-c", child, str(tmp_path)], capture_output=True, text=True, check=True
    )
    *acknowledged, fault = run.stdout.splitlines()
    assert "larger than the system allows" in fault
    lines = (tmp_path / "memory/x.md").read_text().removeprefix("# T\n\n").splitlines(keepends=True)
    assert lines == [f"- line {int(number):03} with some words in it\n" for number in acknowledged]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_no_partial_line_and_the_note_intact(small_disk: Path) -> None:
    notes = Notes(small_disk / "memory", private=small_disk / "private")
    acknowledged = 0
    try:
        while True:
            notes.append(DAY, f"- fact {acknowledged} {'x' * 1000}", title="T")
            acknowledged += 1
    except NoteUnwritable as fault:
        told = str(fault)
    assert told == f"{DAY} could not be written: the disk is full; free some space and try again."
    text = notes.read(DAY).text
    assert acknowledged > 10
    assert re.findall(r"fact (\d+)", text) == [str(number) for number in range(acknowledged)]
    assert text.endswith("x\n")
    with pytest.raises(NoteUnwritable, match="the disk is full"):
        notes.append("new.md", "- x", title="T")
    with pytest.raises(NoteUnwritable, match="the disk is full"):
        notes.edit(DAY, "fact 3 ", "fact three ")
    assert notes.read(DAY).text == text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file")
def test_a_note_mounted_by_itself_is_edited_in_place(notes: Notes, folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "MEMORY.md").touch()
    (tmp_path / "real.md").write_text("one\ntwo, which is longer\n")
    mount = ["mount", "--bind", str(tmp_path / "real.md"), str(folder / "MEMORY.md")]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file cannot be mounted here")
    try:
        notes.edit("MEMORY.md", "two, which is longer", "2")
    finally:
        subprocess.run(["umount", str(folder / "MEMORY.md")], check=True)
    assert (tmp_path / "real.md").read_text() == "one\n2\n"
    assert set(trash(folder).values()) == {"one\ntwo, which is longer\n", "two, which is longer\n"}


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """The notes' folder on a read-only file system of its own, except for `mine.md`."""
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- one\n")
    (folder / "mine.md").write_text("- mine\n")
    mounted: list[Path] = []
    try:
        for place in (folder, folder / "mine.md"):
            mount = ["mount", "--bind", str(place), str(place)]
            if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
                pytest.skip("a folder cannot be mounted here")
            mounted.append(place)
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield folder
    finally:
        for place in reversed(mounted):
            subprocess.run(["umount", str(place)], check=True)


def test_a_read_only_folder_is_reported_with_the_fix_and_a_writable_note_in_it_is_edited(
    notes: Notes, read_only: Path
) -> None:
    told = "the file system is read-only; mount it so that it can be written to"
    with pytest.raises(NoteUnwritable, match=told):
        notes.append(DAY, "- x", title="T")
    with pytest.raises(NoteUnwritable, match=told):
        notes.append("MEMORY.md", "- x", title="T")
    with pytest.raises(NoteUnwritable, match=told):
        notes.edit("MEMORY.md", "one", "two")
    with notes.held("MEMORY.md", existing=True) as note, pytest.raises(NoteUnwritable, match=told):
        note.remove(["- one"])
    assert notes.read("MEMORY.md").text == "- one\n"
    notes.edit("mine.md", "mine", "still mine")
    assert (read_only / "mine.md").read_text() == "- still mine\n"


RENAMING = """
import errno, os, sys
from pathlib import Path
from memory.notes import Notes
folder, meanwhile = Path(sys.argv[1]), sys.argv[2]

def just_before(event, arguments):
    # What the system is asked for in this instant is told before it is done.
    if event in ("os.rename", "os.link") and str(arguments[1]) == "new.md":
        if meanwhile == "created" and not (folder / "new.md").exists():
            (folder / "new.md").write_text("somebody else's\\n")
        if meanwhile == "saved" and event == "os.link":
            (folder / "x.tmp").write_text("- edited\\n")
            (folder / "x.tmp").replace(folder / "old.md")

if meanwhile == "no links":
    def link(*_, **__):
        raise OSError(errno.EPERM, "this file system has none")
    os.link = link
sys.addaudithook(just_before)
with Notes(folder, private=folder.parent / ".commonplace").held("old.md", existing=True) as note:
    print(note.rename("new.md"))
"""


def renamed(folder: Path, meanwhile: str = "") -> bool:
    run = subprocess.run(
        [sys.executable, "-c", RENAMING, str(folder), meanwhile],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout == "True\n"


@pytest.mark.thorough
@pytest.mark.parametrize("meanwhile", ["", "no links"])
def test_a_rename_never_replaces_another_note(folder: Path, meanwhile: str) -> None:
    folder.mkdir()
    (folder / "old.md").write_text("- tea\n")
    (folder / "new.md").write_text("somebody else's\n")
    assert not renamed(folder, meanwhile)
    assert {file.name: file.read_text() for file in folder.iterdir()} == {
        "old.md": "- tea\n",
        "new.md": "somebody else's\n",
    }
    (folder / "new.md").unlink()
    assert renamed(folder, meanwhile)
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"new.md": "- tea\n"}


def test_a_note_created_during_a_rename_is_kept(folder: Path) -> None:
    folder.mkdir()
    (folder / "old.md").write_text("- tea\n")
    assert not renamed(folder, "created")
    assert (folder / "new.md").read_text() == "somebody else's\n"
    assert (folder / "old.md").read_text() == "- tea\n"


def test_a_version_saved_during_a_rename_is_the_one_renamed(folder: Path) -> None:
    folder.mkdir()
    (folder / "old.md").write_text("- tea\n")
    assert renamed(folder, "saved")
    assert [file.read_text() for file in folder.glob("*.md")] == ["- edited\n"]


def test_a_rename_interrupted_by_a_crash_is_finished_by_the_next(folder: Path) -> None:
    folder.mkdir()
    (folder / "old.md").write_text("- tea\n")
    os.link(folder / "old.md", folder / "new.md")
    assert renamed(folder)
    assert [file.name for file in folder.iterdir()] == ["new.md"]


@pytest.mark.parametrize("how", ["edited", "removed"])
def test_text_written_during_a_rename_is_kept(
    notes: Notes, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    log(notes, "secret", "tea")
    rename = os.rename

    def late(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        with (folder / DAY).open("a") as file:
            file.write("- late words\n")
        monkeypatch.undo()
        rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", late)
    if how == "edited":
        notes.edit(DAY, "- secret\n", "")
    else:
        with notes.held(DAY, existing=True) as note:
            note.remove(["- secret"])
    assert (folder / DAY).read_text() == "# 2026-11-21\n\n- tea\n"
    kept = "".join(trash(folder).values())
    assert "- late words\n" in kept
    assert ("secret" in kept) is (how == "edited")
