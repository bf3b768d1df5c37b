"""Files beside the notes."""

from pathlib import Path

import pytest

from memory.errors import NoteMissing, NoteUnreadable, PathRefused
from memory.folder_files import MAX_TARGETS, FileFinder, open_file
from memory.note_folders import NoteFolder, NoteFolders


@pytest.fixture
def folders(tmp_path: Path) -> NoteFolders:
    for name in (
        "memory/trips/img",
        "memory/img",
        "memory/.hidden",
        "vault/assets",
        "vault/left-out",
        "elsewhere",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        *("memory/trips/a.png", "memory/trips/img/b.png", "memory/img/b.png", "memory/img/c.png"),
        *("memory/note.md", "memory/.hidden/x.png", "memory/.x.png", "elsewhere/x.png"),
        *("vault/assets/d.png", "vault/left-out/e.png", "vault/c.png"),
    ):
        (tmp_path / name).write_bytes(name.encode())
    vault = NoteFolder(tmp_path / "vault", "vault", exclude=("left-out/",))
    return NoteFolders(NoteFolder(tmp_path / "memory"), (vault,))


def test_a_file_is_found_as_in_obsidian(folders: NoteFolders) -> None:
    in_trips, in_vault = FileFinder(folders, "trips/oslo.md"), FileFinder(folders, "vault/n/x.md")
    found = {target: in_trips.find(target) for target in ("a.png", "img/b.png", "b.png", "c.png", "D.PNG")}
    assert found == {
        "a.png": "trips/a.png",
        "img/b.png": "trips/img/b.png",
        "b.png": "trips/img/b.png",
        "c.png": "img/c.png",
        "D.PNG": "vault/assets/d.png",
    }
    assert in_trips.find("../img/b.png") == "img/b.png"
    assert in_trips.find("./a.png") == "trips/a.png"
    assert in_vault.find("assets/d.png") == "vault/assets/d.png"
    assert in_vault.find("c.png") == "vault/c.png"


@pytest.mark.parametrize(
    "target",
    [
        *("", "nothing.png", "../../elsewhere/x.png", "/etc/passwd", "x.png", ".x.png", ".hidden/x.png"),
        *("note.md", "../note.md", "img", "img/", "a\0.png", "..\\x.png", "e.png", "vault/left-out/e.png"),
    ],
)
def test_nothing_else_is_found(folders: NoteFolders, target: str) -> None:
    assert FileFinder(folders, "trips/oslo.md").find(target) == ""


@pytest.mark.parametrize(
    "path",
    [
        *("../elsewhere/x.png", "/etc/passwd", ".x.png", ".hidden/x.png", "a\0.png", "..\\x.png", "note.md"),
        *("NOTE.MD", "out.png", "into.png", "vault/left-out/e.png", "", "img/../.x.png", "x" * 5000),
    ],
)
def test_nothing_else_is_opened(folders: NoteFolders, tmp_path: Path, path: str) -> None:
    (tmp_path / "memory/out.png").symlink_to("../elsewhere/x.png")
    (tmp_path / "memory/into.png").symlink_to("note.md")
    with pytest.raises(PathRefused):
        open_file(folders, path)


def test_a_file_is_opened_by_its_path_or_by_a_link_inside(folders: NoteFolders, tmp_path: Path) -> None:
    (tmp_path / "memory/link.png").symlink_to("img/c.png")
    for path in ("img/c.png", "link.png"):
        opened = open_file(folders, path)
        with opened.file:
            assert (opened.path, opened.size, opened.file.read()) == ("img/c.png", 16, b"memory/img/c.png")
    for path, error in (
        ("img", NoteUnreadable),
        ("img/none.png", NoteMissing),
        ("note.md/x.png", NoteMissing),
    ):
        with pytest.raises(error):
            open_file(folders, path)


def test_a_note_of_thousands_of_targets_is_not_looked_through(folders: NoteFolders) -> None:
    finder = FileFinder(folders, "trips/oslo.md")
    assert finder.find("a.png")
    for number in range(MAX_TARGETS):
        finder.find(f"{number}.png")
    assert finder.find("b.png") == ""
    assert finder.find("a.png")
