"""A search over an index of one's own, as whoever keeps something else than notes builds it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.errors import IndexUnavailable
from memory.index.location import IndexFileLocation
from memory.memory import Memory
from memory.note_search import NoteSearch
from memory.notes import Notes
from memory.progress import RunningJobs
from memory.settings import ChunkSettings, EmbeddingSettings, MemorySettings, SearchSettings
from memory.synced_index import SyncedIndex


@asynccontextmanager
async def opened_search(root: Path) -> AsyncIterator[tuple[NoteSearch, SyncedIndex]]:
    """A search of `root/talk` without a scan, its index in `root/private/talk.db`."""
    private, jobs = root / "private", RunningJobs()
    vectors = EmbeddingBackfill(Embedding(), embed=EmbeddingSettings(), search=SearchSettings(), jobs=jobs)
    index = SyncedIndex(
        Notes(root / "talk", private=private),
        IndexFileLocation(private, fingerprint="test", name="talk.db"),
        chunk=ChunkSettings(),
        vectors=vectors,
        jobs=jobs,
        lasting=False,
    )
    try:
        yield NoteSearch(index, vectors, settings=SearchSettings(), now=lambda: datetime.now(UTC)), index
    finally:
        await index.close()


async def test_it_finds_what_was_just_written(tmp_path: Path) -> None:
    (tmp_path / "talk").mkdir()
    async with opened_search(tmp_path) as (search, index):
        assert (await search.search("passport")).hits == ()
        for name in ("a", "b"):
            (tmp_path / f"talk/{name}.md").write_text(f"- the passport of {name}")
        index.note_written()
        assert {hit.path for hit in (await search.search("passport")).hits} == {"a.md", "b.md"}
        assert len((await search.search("passport", limit=1)).hits) == 1
        search.set_settings(SearchSettings(final_top_k=1))
        assert len((await search.search("passport")).hits) == 1
        assert (await search.search("  ")).hits == ()
    assert [file.name for file in (tmp_path / "private").glob("*.db")] == ["talk.db"]


async def test_without_a_scan_it_says_that_the_index_cannot_be_used(tmp_path: Path) -> None:
    async with opened_search(tmp_path) as (search, _):
        (tmp_path / "private").mkdir()
        (tmp_path / "private/talk.db").mkdir()
        with pytest.raises(IndexUnavailable):
            await search.search("passport")


async def test_some_folders_are_searched_as_if_there_were_no_others(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / f"talk/{folder}").mkdir(parents=True)
        (tmp_path / f"talk/{folder}/1.md").write_text("- the passport is in the desk\n")
    (tmp_path / "talk/1.md").write_text("- the passport is in the desk\n")
    async with opened_search(tmp_path) as (search, _):

        async def found(within: list[str] | None) -> set[str]:
            return {hit.path for hit in (await search.search("passport", within=within)).hits}

        assert await found(None) == {"a/1.md", "b/1.md", "1.md"}
        assert await found(["a"]) == {"a/1.md"}
        assert await found(["b", "a", "c"]) == {"a/1.md", "b/1.md"}
        assert await found(["1.md"]) == await found([""]) == await found([]) == set()


async def test_a_search_of_some_folders_says_nothing_of_what_is_in_others(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / f"talk/{folder}").mkdir(parents=True)
        with (tmp_path / f"talk/{folder}/huge.md").open("wb") as file:
            file.truncate(17 << 20)
    async with opened_search(tmp_path) as (search, _):

        async def notice(within: list[str] | None) -> str:
            return (await search.search("passport", within=within)).notice

        assert "And 1 more" in await notice(None)
        assert (await notice(["a"])).startswith("Not searched: a/huge.md")
        assert (await notice(["b"])).startswith("Not searched: b/huge.md")
        assert "more" not in f"{await notice(['a'])}{await notice(['b'])}"
        assert await notice(["c"]) == ""


async def test_some_folders_are_searched_without_the_index_too(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / f"memory/{folder}").mkdir(parents=True)
        (tmp_path / f"memory/{folder}/1.md").write_text("- the passport is in the desk\n")
    (tmp_path / ".commonplace/index.db").mkdir(parents=True)
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory:
        results = await memory.search("passport", within=["a"])
        assert [(hit.path, hit.source) for hit in results.hits] == [("a/1.md", "scan")]
        assert (await memory.search("passport", within=[])).hits == ()
