import asyncio
from pathlib import Path
from threading import Event

from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.index.fingerprint import compute_fingerprint
from memory.index.location import IndexFileLocation
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
