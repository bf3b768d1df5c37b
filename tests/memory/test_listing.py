import os
import socket
from pathlib import Path

import pytest

from memory.listing import Listing, list_notes
from memory.note_folders import NoteFolder, NoteFolders
from memory.notes import Notes


def own(folder: Path) -> NoteFolders:
    return NoteFolders(NoteFolder(folder))


def paths(listing: Listing) -> list[str]:
    return sorted(note.path for note in listing.notes)


def problems(listing: Listing) -> dict[str, str]:
    return {problem.path: problem.reason for problem in listing.problems}


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")


def test_a_missing_folder_has_no_notes_and_is_not_made(tmp_path: Path) -> None:
    assert list_notes(own(tmp_path / "memory")) == Listing([], [])
    assert not (tmp_path / "memory").exists()


def test_every_note_is_found_with_its_size_time_and_inode(tmp_path: Path) -> None:
    write(tmp_path, "MEMORY.md", "2026-11-21.md", "a.MD", "trips/oslo.md", "x.md/y.md", "日記/明日 2.md")
    write(tmp_path, "readme.txt", ".hidden.md", ".git/x.md", "trips/.trash/x.md", "notes.md~", "x.md.bak")
    listing = list_notes(own(tmp_path))
    assert paths(listing) == [
        "2026-11-21.md",
        "MEMORY.md",
        "a.MD",
        "trips/oslo.md",
        "x.md/y.md",
        "日記/明日 2.md",
    ]
    assert listing.problems == []
    for note in listing.notes:
        found = (tmp_path / note.path).stat()
        assert note[1:] == (found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)


def test_every_listed_path_can_be_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.md",
        "b c/d.md",
        "é.md",
        "e\u0301.md",
        "10:30.md",
        "CONSOLE.md",
        "x..md",
        "－.md",
        "a\u202eb.md",
    )
    notes = Notes(tmp_path, private=tmp_path / "private")
    found = paths(notes.walk())
    assert len(found) == 9
    for path in found:
        assert notes.load(path).stat.path == path


def test_links_are_not_followed_and_those_out_of_the_folder_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    write(folder, "a/x.md")
    write(tmp_path, "outside.md")
    (folder / "l.md").symlink_to("a/x.md")
    (folder / "b").symlink_to("a")
    (folder / "a/loop").symlink_to("..")
    (folder / "self.md").symlink_to("self.md")
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "out.md").symlink_to("../outside.md")
    (folder / "up").symlink_to("..")
    (folder / "photo.jpg").symlink_to("/etc/hostname")
    listing = list_notes(own(folder))
    assert paths(listing) == ["a/x.md"]
    assert problems(listing) == {
        "self.md": "it is a symbolic link that leads nowhere",
        "gone.md": "it is a symbolic link that leads nowhere",
        "out.md": "it is a symbolic link that leads out of the memory folder",
        "up": "it is a symbolic link that leads out of the memory folder",
    }


def test_one_file_under_two_names_is_one_note(tmp_path: Path) -> None:
    write(tmp_path, "b.md")
    os.link(tmp_path / "b.md", tmp_path / "c.md")
    os.link(tmp_path / "b.md", tmp_path / "a.md")
    assert paths(list_notes(own(tmp_path))) == ["a.md"]


def test_a_special_file_is_a_problem_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.md"))
        listing = list_notes(own(tmp_path))
    assert listing.notes == []
    assert set(problems(listing)) == {"pipe.md", "s.md"}


def test_names_that_cannot_be_requested_are_problems(tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b"a\\b.md", b"nul.md", b"two\nlines.md"):
        (tmp_path / os.fsdecode(name)).write_text("x\n")
    (tmp_path / "aux").mkdir()
    listing = list_notes(own(tmp_path))
    assert listing.notes == []
    assert set(problems(listing)) == {"caf\\udce9.md", "a\\b.md", "nul.md", "two\\nlines.md", "aux"}


def test_a_file_in_the_place_of_the_folder_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, "memory")
    assert problems(list_notes(own(tmp_path / "memory"))) == {".": "it is not a folder"}


def test_a_folder_that_may_not_be_read_is_a_problem(nobody_path: Path) -> None:
    write(nobody_path, "a.md", "closed/b.md")
    (nobody_path / "closed").chmod(0)
    try:
        listing = list_notes(own(nobody_path))
    finally:
        (nobody_path / "closed").chmod(0o700)
    assert paths(listing) == ["a.md"]
    assert "permission denied" in problems(listing)["closed"]


def test_a_link_into_a_folder_that_may_not_be_read_hides_nothing_else(nobody_path: Path) -> None:
    write(nobody_path, "memory/a.md", "memory/closed/in/b.md", "closed/in/c.md")
    folder = nobody_path / "memory"
    for name in ("inside", "inside.md"):
        (folder / name).symlink_to("closed/in")
    (folder / "note.md").symlink_to("closed/in/b.md")
    (folder / "outside").symlink_to("../closed/in")
    (folder / "outside.md").symlink_to("../closed/in/c.md")
    closed = (folder / "closed", nobody_path / "closed")
    for each in closed:
        each.chmod(0)
    try:
        listing = list_notes(own(folder))
    finally:
        for each in closed:
            each.chmod(0o700)
    assert paths(listing) == ["a.md"]
    out = "it is a symbolic link that leads out of the memory folder"
    unknown = "it is a symbolic link whose target cannot be read: permission denied"
    assert {path: why.split(";")[0] for path, why in problems(listing).items()} == {
        "closed": problems(listing)["closed"].split(";")[0],
        "inside.md": unknown,
        "note.md": unknown,
        "outside.md": out,
    }


@pytest.mark.parametrize("depth", [60])
def test_deep_folders_are_walked(tmp_path: Path, depth: int) -> None:
    write(tmp_path, "d/" * depth + "x.md")
    assert paths(list_notes(own(tmp_path))) == ["d/" * depth + "x.md"]
