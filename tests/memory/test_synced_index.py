import asyncio
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import apsw
import pytest

from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.index.fingerprint import compute_fingerprint
from memory.index.location import IndexFileLocation
from memory.index.sqlite_file import IndexFile
from memory.memory import Memory
from memory.notes import Notes
from memory.progress import RunningJobs
from memory.settings import MemorySettings
from memory.synced_index import SyncedIndex


async def test_a_known_backend_is_not_waited_for(tmp_path: Path) -> None:
    private, settings, jobs = tmp_path / ".commonplace", MemorySettings(), RunningJobs()
    vectors = EmbeddingBackfill(Embedding(), embed=settings.embedding, search=settings.search, jobs=jobs)
    location = IndexFileLocation(private, fingerprint=compute_fingerprint(settings.chunk))
    notes = Notes(tmp_path / "memory", private=private)
    index = SyncedIndex(notes, location, chunk=settings.chunk, vectors=vectors, jobs=jobs, lasting=False)
    chosen = await index.choose_backend()
    has_begun, is_ranked = Event(), Event()

    def rank() -> None:
        has_begun.set()
        is_ranked.wait()

    ranking = asyncio.create_task(index.run_in_search_thread(rank))
    await asyncio.to_thread(has_begun.wait)
    try:
        # Otherwise each search would send its query to be embedded only after those before it.
        async with asyncio.timeout(5):
            assert await index.choose_backend() is chosen
    finally:
        is_ranked.set()
        await ranking
        await index.close()


PREVIOUS_VERSION = "5/3/3/400/80"
"""The fingerprint before words were stemmed by their script; the tables were the same."""


def read_fingerprint(file: Path) -> str:
    with closing(apsw.Connection(str(file))) as db:
        (value,) = db.execute("SELECT value FROM about WHERE key = 'fingerprint'").fetchone() or ("",)
        return str(value)


@pytest.mark.parametrize("lasting", [True, False])
async def test_an_index_of_the_previous_version_answers_until_the_new_one_is_built(
    tmp_path: Path, lasting: bool
) -> None:
    def opened() -> Memory:
        return Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC), lasting=lasting)

    async def found(query: str) -> list[str]:
        results = await memory.search(query)
        assert not results.notice
        return [hit.path for hit in results.hits]

    folder, file = tmp_path / "memory", tmp_path / ".commonplace/index.db"
    folder.mkdir()
    (folder / "old.md").write_text("- the passport is in the desk")
    async with opened() as memory:
        await memory.sync()
    current = read_fingerprint(file)
    with closing(apsw.Connection(str(file))) as db:
        db.execute("UPDATE about SET value = ? WHERE key = 'fingerprint'", (PREVIOUS_VERSION,))
    (folder / "new.md").write_text("- the passport is in the safe")
    # While another process builds the new one.
    lock = IndexFile(file, fingerprint="any").lock_rebuild()
    try:
        async with opened() as memory:
            for _ in range(3):
                assert await found("passport") == ["old.md"]
            assert read_fingerprint(file) == PREVIOUS_VERSION
    finally:
        lock.release()
    async with opened() as memory:
        first = await found("passport")
        assert "old.md" in first
        assert ("new.md" in first) or lasting
        await memory.sync()
        assert read_fingerprint(file) == current
        assert sorted(await found("passport")) == ["new.md", "old.md"]
