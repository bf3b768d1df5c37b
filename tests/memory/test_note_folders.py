"""Folders of notes outside the workspace: listed, read, searched, and written only if the settings say so."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.errors import NoteMissing, NoteUnreadable, NoteUnwritable, PathRefused
from memory.folder_checks import find_conflict
from memory.listing import list_notes
from memory.memory import Memory
from memory.note_folders import NoteFolder, NoteFolders
from memory.notes import Notes
from memory.settings import FolderSettings, MemorySettings


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        file = folder / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode)
        for file in folder.rglob("*")
        if file.is_file()
    }


class Places:
    def __init__(self, root: Path, *, writable: bool = False, exclude: tuple[str, ...] = ()) -> None:
        self.own, self.vault, self.private = root / "memory", root / "elsewhere", root / "private"
        write(self.own, MEMORY="# Memory\n\n- likes tea\n")
        write(self.vault, Oslo="# Oslo\n\nThe boat leaves at nine.\n", Trips__Rome="The train to Rome.\n")
        self.folder = NoteFolder(self.vault, "vault", writable, exclude)
        self.notes = Notes(self.own, private=self.private, others=[self.folder])
        self.folders = self.notes.folders

    def paths(self, known: dict[str, tuple[int, int, int]] | None = None) -> list[str]:
        listing = self.notes.walk(known=known)
        return sorted([note.path for note in listing.notes] + listing.unchanged)

    def known(self) -> dict[str, tuple[int, int, int]]:
        return {
            note.path: (note.size, note.mtime_ns, note.ctime_ns) for note in list_notes(self.folders).notes
        }

    def problems(self, known: dict[str, tuple[int, int, int]] | None = None) -> dict[str, tuple[str, bool]]:
        found = self.notes.walk(known=known).problems
        return {each.path: (each.reason, each.hides_notes) for each in found}


def test_its_notes_are_listed_and_read_under_its_name(tmp_path: Path) -> None:
    places = Places(tmp_path)
    write(places.vault / ".obsidian", workspace="hidden")
    assert places.paths() == ["MEMORY.md", "vault/Oslo.md", "vault/Trips/Rome.md"]
    assert places.paths(places.known()) == places.paths()
    assert places.notes.read("vault/Trips/Rome.md").text == "The train to Rome.\n"
    assert places.notes.load("vault/Oslo.md").stat.path == "vault/Oslo.md"
    assert places.notes.read("memory/vault/Oslo.md").path == "vault/Oslo.md"
    assert places.notes.resolve_path("rome") == "vault/Trips/Rome.md"
    assert sorted(places.notes.files(limit=10)) == places.paths()
    with pytest.raises(NoteMissing, match=r"There is no note vault/Bergen.md"):
        places.notes.read("vault/Bergen.md")


def test_a_name_is_found_in_either_spelling_of_its_accents(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", a="x\n")
    notes = Notes(
        tmp_path / "memory",
        private=tmp_path / "p",
        others=[NoteFolder(tmp_path / "elsewhere", "B\u00fccher")],
    )
    assert notes.read("Bu\u0308cher/a.md").path == "B\u00fccher/a.md"


def test_no_path_leads_out_of_it(tmp_path: Path) -> None:
    places = Places(tmp_path)
    write(tmp_path, secret="secret\n")
    (places.vault / "out.md").symlink_to(tmp_path / "secret.md")
    (places.vault / "up").symlink_to("..")
    for path in ("vault/out.md", "vault/up/secret.md", "vault/../secret.md"):
        with pytest.raises(PathRefused):
            places.notes.read(path)
    assert places.problems() == {
        "vault/out.md": ("it is a symbolic link that leads out of the vault folder", False),
        "vault/up": ("it is a symbolic link that leads out of the vault folder", False),
    }


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    places = Places(tmp_path)
    places.vault.rename(tmp_path / "real")
    places.vault.symlink_to("real")
    assert places.notes.read("vault/Oslo.md").line_end == 3
    assert "vault/Oslo.md" in places.paths()


def test_a_read_only_folder_is_never_written(tmp_path: Path) -> None:
    places = Places(tmp_path)
    before = snapshot(places.vault)
    for path in ("vault/Oslo.md", "vault/new.md"):
        with pytest.raises(NoteUnwritable, match=r"read-only.*write = true"):
            places.notes.append(path, "- more", title="T")
    with pytest.raises(NoteUnwritable, match="read-only"):
        places.notes.edit("vault/Oslo.md", "boat", "ship")
    assert snapshot(places.vault) == before


def test_a_writable_folder_is_edited_in_place(tmp_path: Path) -> None:
    places = Places(tmp_path, writable=True)
    assert places.notes.edit("vault/Oslo.md", "boat", "ship").path == "vault/Oslo.md"
    assert places.notes.append("vault/New/day.md", "- more", title="Day").path == "vault/New/day.md"
    assert sorted(snapshot(places.vault)) == ["New/day.md", "Oslo.md", "Trips/Rome.md"]
    assert (places.vault / "Oslo.md").read_text() == "# Oslo\n\nThe ship leaves at nine.\n"
    (removed,) = places.notes.trash.items()
    assert removed.note == "vault/Oslo.md"


def test_what_is_excluded_is_not_there(tmp_path: Path) -> None:
    places = Places(tmp_path, exclude=("Templates/", "*.excalidraw.md", "/Archive/**", "!Archive/kept.md"))
    write(places.vault, Templates__day="x", a__Templates__b="x", Archive__old="x", Archive__kept="x")
    write(places.vault, **{"draw.excalidraw": "x"})
    (places.vault / "Templates/bad\\name.md").write_text("x")
    assert places.paths() == [
        "MEMORY.md",
        "vault/Archive/kept.md",
        "vault/Oslo.md",
        "vault/Trips/Rome.md",
    ]
    assert places.problems() == {}
    with pytest.raises(PathRefused, match="`exclude`"):
        places.notes.read("vault/Templates/day.md")
    assert "vault/draw.excalidraw.md" not in places.notes.files(limit=20)


@pytest.mark.parametrize("gone", ["missing", "empty mount point", "without notes", "a file"])
def test_a_folder_that_is_away_keeps_its_notes_in_the_index(tmp_path: Path, gone: str) -> None:
    places = Places(tmp_path, writable=True)
    known = places.known()
    shutil.rmtree(places.vault)
    if gone == "a file":
        places.vault.write_text("x")
    elif gone != "missing":
        places.vault.mkdir()
    if gone == "without notes":
        (places.vault / ".DS_Store").write_text("x")
    ((path, (why, hides)),) = places.problems(known).items()
    assert path == "vault"
    assert not hides
    assert why.startswith("away: ")
    assert why.endswith("searches still find what was indexed before")
    if gone == "without notes":
        return
    with pytest.raises(NoteUnreadable, match="the folder vault is away"):
        places.notes.read("vault/Oslo.md")
    with pytest.raises(NoteUnwritable, match="the folder vault is away"):
        places.notes.append("vault/new.md", "- x", title="T")
    assert not (places.vault / "new.md").exists()


def test_an_unknown_folder_that_is_away_hides_notes(tmp_path: Path) -> None:
    places = Places(tmp_path)
    shutil.rmtree(places.vault)
    assert places.problems() == {"vault": (f"away: {places.vault} does not exist", True)}
    places.vault.mkdir()  # a mount point
    assert places.problems() == {"vault": (f"away: {places.vault} is empty", True)}
    (places.vault / ".obsidian").mkdir()
    assert places.problems() == {}


def test_a_file_with_an_excluded_name_and_another_one_is_listed_under_the_other(tmp_path: Path) -> None:
    places = Places(tmp_path, exclude=("*.draft.md",))
    write(places.vault, **{"a.draft": "x\n"})
    (places.vault / "b.md").hardlink_to(places.vault / "a.draft.md")
    assert "vault/b.md" in places.paths()
    assert "vault/a.draft.md" not in places.paths()


def test_a_folder_among_the_notes_with_its_name_is_a_problem(tmp_path: Path) -> None:
    places = Places(tmp_path)
    write(places.own, vault__own="mine\n")
    assert "vault/own.md" not in places.paths()
    ((path, (why, hides)),) = places.problems().items()
    assert (path, hides) == ("memory/vault", True)
    assert "[[memory.folders]]" in why


def test_so_is_one_with_its_name_in_the_other_spelling(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", a="x\n")
    write(tmp_path / "memory", Bücher__own="mine\n")
    folder = NoteFolder(tmp_path / "elsewhere", "B\u00fccher", is_writable=False)
    notes = Notes(tmp_path / "memory", private=tmp_path / "private", others=[folder])
    listing = notes.walk()
    assert [note.path for note in listing.notes] == ["B\u00fccher/a.md"]
    assert ["[[memory.folders]]" in each.reason for each in listing.problems] == [True]
    assert "already have a folder" in find_conflict(notes.folders, private=tmp_path / "private")


@asynccontextmanager
async def opened(places: Places) -> AsyncIterator[Memory]:
    settings = MemorySettings(
        folders=(
            FolderSettings(path=str(places.vault), name="vault", write=places.folder.is_writable, exclude=()),
        )
    )
    workspace = places.own.parent
    async with Memory(settings, workspace=workspace, now=lambda: datetime(2026, 11, 28, tzinfo=UTC)) as it:
        yield it


async def test_it_is_searched_and_comes_back_after_being_away(tmp_path: Path) -> None:
    places = Places(tmp_path)
    before = snapshot(places.vault)
    async with opened(places) as memory:
        assert [hit.path for hit in (await memory.search("boat")).hits] == ["vault/Oslo.md"]
        assert [hit.path for hit in (await memory.search("train", within=["vault"])).hits] == [
            "vault/Trips/Rome.md"
        ]
        assert snapshot(places.vault) == before
        places.vault.rename(tmp_path / "unmounted")
        await memory.sync()
        results = await memory.search("boat")
        assert [hit.path for hit in results.hits] == ["vault/Oslo.md"]
        assert results.notice == ""
        ((away,),) = [[each.away for each in (await memory.status()).folders]]
        assert away.startswith(f"away: {places.vault} does not exist; searches still find")
        (tmp_path / "unmounted").rename(places.vault)
        (places.vault / "Oslo.md").unlink()
        await memory.sync()
        assert (await memory.search("boat")).hits == ()
        (folder,) = (await memory.status()).folders
        assert (folder.name, folder.away, folder.write) == ("vault", "", False)


async def test_a_search_says_that_a_folder_was_never_read(tmp_path: Path) -> None:
    places = Places(tmp_path)
    shutil.rmtree(places.vault)
    async with opened(places) as memory:
        results = await memory.search("tea")
        assert len(results.hits) == 1
        assert results.notice == f"Not searched: vault (away: {places.vault} does not exist)."


async def test_a_folder_that_the_settings_no_longer_name_leaves_the_index(tmp_path: Path) -> None:
    places = Places(tmp_path)
    async with opened(places) as memory:
        assert (await memory.search("boat")).hits
    async with Memory(
        MemorySettings(), workspace=tmp_path, now=lambda: datetime(2026, 11, 28, tzinfo=UTC)
    ) as memory:
        assert (await memory.search("boat")).hits == ()


def test_folders_are_located_by_their_names() -> None:
    own, vault = NoteFolder(Path("/m")), NoteFolder(Path("/v"), "vault")
    folders = NoteFolders(own, (vault,))
    assert folders.locate(["vault", "a.md"]) == (vault, ("a.md",))
    assert folders.locate(["Vault", "a.md"]) == (own, ("Vault", "a.md"))
    assert folders.locate(["vault.md"]) == (own, ("vault.md",))
    assert folders.find_file("vault/b/a.md") == Path("/v/b/a.md")


async def test_what_is_excluded_leaves_the_index_though_the_folder_is_away(tmp_path: Path) -> None:
    places = Places(tmp_path)
    async with opened(places) as memory:
        assert (await memory.sync()).added == 3
    places.vault.rename(tmp_path / "unmounted")
    settings = MemorySettings(
        folders=(FolderSettings(path=str(places.vault), name="vault", exclude=("Trips/",)),)
    )
    async with Memory(settings, workspace=tmp_path, now=lambda: datetime(2026, 11, 28, tzinfo=UTC)) as memory:
        assert (await memory.sync()).removed == 1
        assert (await memory.search("train")).hits == ()
        assert (await memory.search("boat")).hits != ()
        assert (await memory.sync()).removed == 0
