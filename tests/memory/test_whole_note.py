"""A whole note that somebody edits in a form."""

import os
from pathlib import Path

import pytest

from memory.charset import decode
from memory.errors import EditRefused, NoteChanged, NoteUnwritable
from memory.note_folders import NoteFolder
from memory.notes import Notes
from memory.whole_note import rewrite
from memory.write_recovery import compute_digest


def save(notes: Notes, path: str, text: str) -> None:
    whole = notes.read_whole(path)
    with notes.held(path) as note:
        wanted, _, _ = note.plan_rewrite(text, digest=whole.digest)
        note.replace(wanted)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    (tmp_path / "memory").mkdir()
    return Notes(tmp_path / "memory", private=tmp_path / "private")


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (b"one\ntwo\n", "one\n2\n", b"one\n2\n"),
        (b"one\r\ntwo\r\nthree\r\n", "one\n2\nthree\n", b"one\r\n2\r\nthree\r\n"),
        (b"one\r\ntwo\nthree\r", "one\ntwo\nthree\nfour\n", b"one\r\ntwo\nthree\rfour\r\n"),
        (b"one\ntwo", "one\ntwo\nthree", b"one\ntwo\nthree\n"),
        (b"one\n", "", b""),
        (b"", "one\n\n\n", b"one\n\n\n"),
        (b"one\n\n\n", "one\n", b"one\n"),
        ("\ufeffone\n".encode(), "two\n", "\ufefftwo\n".encode()),
        ("one\ntwo\n".encode("utf-16"), "one\nzwei ü\n", "one\nzwei ü\n".encode("utf-16")),
        (b"a\x0cb\nc\n", "a\x0cb\nd\x07\n", "a\x0cb\nd\ufffd\n".encode()),
    ],
)
def test_what_is_not_edited_keeps_its_bytes(
    notes: Notes, tmp_path: Path, before: bytes, text: str, after: bytes
) -> None:
    file = tmp_path / "memory/a.md"
    file.write_bytes(before)
    save(notes, "a.md", text)
    assert file.read_bytes() == after


def test_another_version_is_not_overwritten(notes: Notes, tmp_path: Path) -> None:
    file = tmp_path / "memory/a.md"
    file.write_text("one\n")
    digest = notes.read_whole("a.md").digest
    file.write_text("two\n")
    with notes.held("a.md") as note:
        with pytest.raises(NoteChanged):
            note.plan_rewrite("three\n", digest=digest)
        with pytest.raises(NoteChanged):
            note.plan_deletion(digest=digest)


@pytest.mark.parametrize("data", [b"caf\xe9\n", b"a\0b\n", "a".encode("utf-16") + b"\0", b"\xff\xfe\0\xd8"])
def test_what_a_form_would_spoil_is_not_edited(notes: Notes, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "memory/a.md").write_bytes(data)
    whole = notes.read_whole("a.md")
    assert "a.md" in whole.fault
    assert whole.digest == compute_digest(data)
    with notes.held("a.md") as note, pytest.raises(EditRefused):
        note.plan_rewrite("b\n", digest=whole.digest)
    assert (tmp_path / "memory/a.md").read_bytes() == data


def test_hidden_lines_are_neither_shown_nor_moved_nor_overwritten(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("one\nsecret\n")
    (tmp_path / "memory").mkdir()

    def opened(*, writable: bool) -> Notes:
        folder = NoteFolder(vault, "vault", is_writable=writable)
        return Notes(tmp_path / "memory", private=tmp_path / "private", others=[folder])

    reading = opened(writable=False)
    reading.hide("vault/a.md", ["secret"])
    assert "read-only" in reading.read_whole("vault/a.md").fault
    notes = opened(writable=True)
    whole = notes.read_whole("vault/a.md")
    assert whole.text == "one\n\n"
    assert "forget" in whole.fault
    with notes.held("vault/a.md") as note:
        for refused in (
            lambda: note.plan_rewrite("one\n", digest=whole.digest),
            lambda: note.plan_deletion(digest=whole.digest),
            note.check_nothing_hidden,
        ):
            with pytest.raises(EditRefused, match="forget"):
                refused()


def test_a_text_that_says_the_same_is_no_change() -> None:
    with pytest.raises(EditRefused):
        rewrite(decode(b"one\r\ntwo"), "one\ntwo\n", path="a.md")


def move(notes: Notes, path: str, to: str) -> bool:
    with notes.held_both(path, to) as (note, target):
        return note.move(target)


def test_a_note_moves_to_another_folder_and_leaves_no_empty_one(notes: Notes, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (memory / "a").mkdir()
    (memory / "a/one.md").write_text("one\n")
    assert move(notes, "a/one.md", "b/c/two.md")
    assert [str(each.relative_to(memory)) for each in memory.rglob("*")] == ["b", "b/c", "b/c/two.md"]
    assert (memory / "b/c/two.md").read_text() == "one\n"


def test_a_note_does_not_move_onto_another_one_or_itself(notes: Notes, tmp_path: Path) -> None:
    for name in ("one.md", "two.md"):
        (tmp_path / f"memory/{name}").write_text(name)
    for to in ("two.md", "one.md"):
        assert not move(notes, "one.md", to)
    assert (tmp_path / "memory/one.md").read_text() == "one.md"
    assert (tmp_path / "memory/two.md").read_text() == "two.md"


def test_a_note_does_not_wait_for_itself_if_it_is_moved_onto_a_link_to_it(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    notes = Notes(tmp_path / "memory", private=tmp_path / "private", lock_timeout=0.05)
    (tmp_path / "memory/one.md").write_text("one")
    (tmp_path / "memory/link.md").symlink_to("one.md")
    assert not move(notes, "link.md", "one.md")
    assert not move(notes, "one.md", "./link.md")
    assert move(notes, "link.md", "two.md")
    assert (tmp_path / "memory/two.md").read_text() == "one"


def test_only_the_case_of_a_name_changes(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "memory/one.md").write_text("one")
    assert move(notes, "one.md", "One.md")
    assert [each.name for each in (tmp_path / "memory").iterdir()] == ["One.md"]


def test_a_spelling_of_the_same_name_is_the_same_note(notes: Notes, tmp_path: Path) -> None:
    (tmp_path / "memory/u\u0308.md").write_text("one")
    assert not move(notes, "u\u0308.md", "\u00fc.md")
    assert (tmp_path / "memory/u\u0308.md").read_text() == "one"


def test_a_move_that_a_crash_cut_off_is_completed(notes: Notes, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (memory / "one.md").write_text("one")
    (memory / "b").mkdir()
    with notes.held("one.md") as note:
        assert not note.finish_move("b/two.md")
        os.link(memory / "one.md", memory / "b/two.md")
        assert note.finish_move("b/two.md")
    assert not (memory / "one.md").exists()
    assert (memory / "b/two.md").read_text() == "one"


def test_a_note_does_not_move_into_a_folder_that_may_only_be_read(tmp_path: Path) -> None:
    for name in ("memory", "vault"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(name)
    notes = Notes(
        tmp_path / "memory",
        private=tmp_path / "private",
        others=[NoteFolder(tmp_path / "vault", "vault", is_writable=False)],
    )
    for path, to in (("a.md", "vault/b.md"), ("vault/a.md", "b.md")):
        with pytest.raises(NoteUnwritable, match="read-only"):
            move(notes, path, to)
