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
from memory.note_search import NoteSearch
from memory.notes import Notes
from memory.progress import RunningJobs
from memory.settings import ChunkSettings, EmbeddingSettings, SearchSettings
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
