"""One folder of notes, without what is below it."""

import os
from pathlib import Path

import pytest

from memory.errors import NoteMissing, NoteUnreadable, PathRefused
from memory.folder_listing import FolderLister, FolderListing, NoteNames
from memory.note_folders import NoteFolder, NoteFolders


@pytest.fixture
def lister(tmp_path: Path) -> FolderLister:
    for name in ("memory/trips/deep", "memory/.hidden", "vault/notes", "vault/left-out", "memory/empty"):
        (tmp_path / name).mkdir(parents=True)
    for name in (
        *("memory/MEMORY.md", "memory/Zebra.md", "memory/apple.md", "memory/ä.md", "memory/picture.png"),
        *("memory/2026-11-20.md", "memory/2026-11-21.md", "memory/2026-11-21 x.md", "memory/.x.md"),
        *(
            "memory/trips/oslo.md",
            "memory/trips/deep/a.md",
            "vault/notes/b.md",
            "vault/c.md",
            "vault/left-out/d.md",
        ),
    ):
        (tmp_path / name).write_text("x")
    vault = NoteFolder(tmp_path / "vault", "vault", exclude=("left-out/", "c.md"))
    return FolderLister(NoteFolders(NoteFolder(tmp_path / "memory"), (vault,)))


def names(listing: FolderListing) -> list[str]:
    return [*listing.notes.between(0, len(listing.notes))]


@pytest.mark.parametrize("kinds", ["rest", "days", "core", "all"])
def test_the_first_names_are_those_of_the_whole_order(kinds: str) -> None:
    rest = [f"{chr(97 + number * 7 % 26)}{'Ab'[number % 2]}{number}.md" for number in range(200)]
    days = [f"2026-{1 + number % 12:02}-{1 + number:02}.md" for number in range(20)]
    given = {
        "rest": rest,
        "days": [*rest, *days],
        "core": [*rest, "MEMORY.md"],
        "all": [*rest, "MEMORY.md", *days],
    }
    whole = NoteNames(given[kinds]).between(0, 10_000)
    for stop in (0, 1, 5, 21, 25, 150):
        assert list(NoteNames(given[kinds]).between(0, stop)) == list(whole[:stop])


def test_the_core_note_and_the_latest_days_come_first(lister: FolderLister) -> None:
    root = lister.list("")
    assert list(root.folders) == ["empty", "trips", "vault"]
    days = ["2026-11-21 x.md", "2026-11-21.md", "2026-11-20.md"]
    assert names(root) == ["MEMORY.md", *days, "apple.md", "Zebra.md", "ä.md"]
    assert not root.problems
    assert [each.path for each in lister.stat("", ["apple.md", "gone.md", "Zebra.md"])] == [
        "apple.md",
        "Zebra.md",
    ]


def test_a_folder_is_listed_without_what_is_below(lister: FolderLister) -> None:
    for path, folders, notes in (
        ("trips", ["deep"], ["oslo.md"]),
        ("trips/deep", [], ["a.md"]),
        ("vault", ["notes"], []),
        ("empty", [], []),
    ):
        listed = lister.list(path)
        assert (list(listed.folders), names(listed)) == (folders, notes), path
    assert [each.path for each in lister.stat("trips", ["oslo.md"])] == ["trips/oslo.md"]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        *(("nothing", NoteMissing), ("MEMORY.md", NoteMissing), ("vault/left-out", NoteMissing)),
        *(("link", NoteMissing), ("..", PathRefused), ("trips/../..", PathRefused), ("/etc", PathRefused)),
        *((".hidden", PathRefused), ("a\0", PathRefused), ("trips\\deep", PathRefused)),
    ],
)
def test_nothing_else_is_listed(
    lister: FolderLister, tmp_path: Path, path: str, error: type[Exception]
) -> None:
    (tmp_path / "memory/link").symlink_to("/etc")
    with pytest.raises(error):
        lister.list(path)


def test_what_is_no_note_is_a_problem(lister: FolderLister, tmp_path: Path) -> None:
    (tmp_path / "memory/out.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "memory/pipe.md")
    (tmp_path / "memory/vault").mkdir()
    assert {each.path for each in lister.list("").problems} == {"out.md", "pipe.md", "memory/vault"}


def test_a_new_note_is_listed_at_once(lister: FolderLister, tmp_path: Path) -> None:
    folder = tmp_path / "memory/trips"
    os.utime(folder, (1, 1))
    for number in range(5):
        listed = lister.list("trips")
        assert len(listed.notes) == number + 1
        assert lister.list("trips") is listed or number, "it is kept as long as nothing changes"
        (folder / f"new{number}.md").touch()
    (folder / "oslo.md").unlink()
    assert "oslo.md" not in names(lister.list("trips"))


def test_a_folder_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    vault = NoteFolder(tmp_path / "vault", "vault")
    lister = FolderLister(NoteFolders(NoteFolder(tmp_path / "memory"), (vault,)))
    assert list(lister.list("").folders) == ["vault"]
    with pytest.raises(NoteUnreadable, match="away"):
        lister.list("vault")
