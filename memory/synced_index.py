"""The index, kept up to date with the notes whenever it is asked."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TypeVar

from memory.embedding_backfill import EmbeddingBackfill
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.location import BackendChoice, IndexLocation
from memory.index.protocol import Index
from memory.listing import Problem
from memory.note_source import NoteSource
from memory.progress import JobName, ReportProgress, RunningJobs
from memory.settings import ChunkSettings
from memory.sync import SyncReport, rebuild_index, sync_index

log = logging.getLogger(__name__)

MIN_SYNC_INTERVAL = 0.5
"""Minimum seconds between two scans of the folder that searches start."""

_TRIES = 3
_Result = TypeVar("_Result")
_IndexingWork = Callable[[Index, ReportProgress], SyncReport]


@dataclass(frozen=True, slots=True)
class _LastSync:
    """What the last sync covered."""

    at: float
    """When it began, in monotonic seconds."""
    writes: int
    """How many of our own writes preceded it."""
    index: str


class SyncedIndex:
    """The index of the notes, with three threads that search, update and rebuild it.

    A search waits only for recent changes to be indexed.
    """

    def __init__(
        self,
        notes: NoteSource,
        location: IndexLocation,
        *,
        chunk: ChunkSettings,
        vectors: EmbeddingBackfill,
        jobs: RunningJobs,
        lasting: bool,
    ) -> None:
        """Open nothing yet. `vectors` is woken when notes were indexed; `lasting`: see `Memory`."""
        self.location = location
        self.problems: tuple[Problem, ...] = ()
        """What the last sync could not read."""
        self._notes = notes
        self._chunk = chunk
        self._vectors = vectors
        self._jobs = jobs
        self._lasting = lasting
        self._search_index: Index = location.open()
        self._sync_index: Index = location.open()
        self._rebuild_index: Index = location.open()
        self._search_thread = ThreadPoolExecutor(1, "memory-search")
        self._index_thread = ThreadPoolExecutor(1, "memory-index")
        self._rebuild_thread = ThreadPoolExecutor(1, "memory-rebuild")
        self._stop = Event()
        self._backend: BackendChoice | None = None
        self._writes = 0
        self._synced = _LastSync(at=float("-inf"), writes=0, index="")
        self._renewal: asyncio.Future[bool] | None = None

    def stop(self) -> None:
        """Tell running indexing to stop soon, so that `close` need not wait long."""
        self._stop.set()

    async def close(self) -> None:
        """Wait for running work and close the index. An unfinished sync is resumed next time."""
        for thread, index in (
            (self._search_thread, self._search_index),
            (self._index_thread, self._sync_index),
            (self._rebuild_thread, self._rebuild_index),
        ):
            await self._run(thread, index.close)
            thread.shutdown()

    @property
    def has_synced(self) -> bool:
        """Return whether the index has been brought up to date since the start."""
        return bool(self._synced.index)

    def note_written(self) -> None:
        """Have the next search sync, however recent the last sync is."""
        self._writes += 1

    async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
        """Bring the index up to date; see `Memory.sync`."""
        if rebuild:
            work = partial(self._sync, self._rebuild_work, self._rebuild_index, job="rebuilding")
            report = await self._run(self._rebuild_thread, work)
            if self._vectors.models:
                await self.run(self._retry_refused)
        else:
            report = await self._run(
                self._index_thread, partial(self._sync, self._sync_work, self._sync_index)
            )
        while whole and report.elsewhere:
            await asyncio.sleep(MIN_SYNC_INTERVAL)
            more = await self._run(self._index_thread, partial(self._sync, self._sync_work, self._sync_index))
            report = report.combine(more)
        self._vectors.wake()
        return report

    async def sync_recent(self) -> None:
        """Sync if something may have changed since the last sync."""
        await self._run(self._index_thread, self._sync_if_due)

    def is_stale(self, seconds: float) -> bool:
        """Return whether we have written a note since the last sync, or it began more than `seconds` ago."""
        return time.monotonic() - self._synced.at >= seconds or self._synced.writes != self._writes

    async def ask(self, question: Callable[[Index], _Result]) -> _Result:
        """Return the index's answer for the current notes; rebuild a corrupted index once."""
        try:
            return await self._sync_and_ask(question)
        except IndexCorrupted as error:
            log.warning("%s; rebuilding %s", error, self.location.shown)
            await self._run(
                self._index_thread, partial(self._sync, self._sync_work, self._sync_index, reset=True)
            )
            self._vectors.wake()
            return await self._sync_and_ask(question)

    async def read(self, question: Callable[[Index], _Result]) -> _Result:
        """Return the index's answer as it is, without a sync."""
        return await self._run(self._search_thread, lambda: question(self._search_index))

    async def run_in_search_thread(self, work: Callable[[], _Result]) -> _Result:
        """Run work that belongs to a search after the searches that are waiting."""
        return await self._run(self._search_thread, work)

    async def choose_backend(self) -> BackendChoice:
        """Choose the vector backend once; loads numpy if needed."""
        if self._backend:  # once it is known, nobody waits for the searches before
            return self._backend
        return await self._run(self._search_thread, self._choose_backend)

    async def run(self, work: Callable[[Index], _Result]) -> _Result:
        """Run `work` with the index in the indexing thread; if it is corrupted, rebuild it and try again."""

        def done() -> _Result:
            try:
                if self._synced.index != self._sync_index.identity():
                    # A new index does not know yet which vectors are in use.
                    self._sync(self._sync_work, self._sync_index)
                return work(self._sync_index)
            except IndexCorrupted as error:
                log.warning("%s; rebuilding %s", error, self.location.shown)
                self._sync(self._sync_work, self._sync_index, reset=True)
                return work(self._sync_index)

        return await self._run(self._index_thread, done)

    async def purge(self) -> None:
        """Remove from the index's files what is no longer in any note."""
        await self.run(self._purge)

    def _choose_backend(self) -> BackendChoice:
        if self._backend is None:
            self._search_index.close()
            self._search_index, self._backend = self.location.open_with_backend(lasting=self._lasting)
        return self._backend

    async def _sync_and_ask(self, question: Callable[[Index], _Result]) -> _Result:
        # Only a service goes on to rebuild when it has answered.
        if self._lasting and await self.read(lambda index: index.is_outdated()):
            self._start_renewal()
            return await self.read(question)
        for _ in range(_TRIES):
            if await self._run(self._index_thread, self._sync_if_due):
                self._vectors.wake()
            answer, index = await self._run(
                self._search_thread, lambda: (question(self._search_index), self._search_index.identity())
            )
            # If the file was deleted in between, an empty index answered.
            if index == self._synced.index:
                return answer
        raise IndexUnavailable("the index keeps being replaced")

    def _start_renewal(self) -> None:
        """Bring an outdated index up to date, while it goes on answering."""
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.wrap_future(self._index_thread.submit(self._sync_if_due))
            self._renewal.add_done_callback(self._end_renewal)

    def _end_renewal(self, renewal: "asyncio.Future[bool]") -> None:
        if renewal.cancelled():
            return
        if error := renewal.exception():
            if not self._stop.is_set():
                log.warning("the outdated index was not rebuilt: %s", error)
        elif renewal.result():
            self._vectors.wake()

    def _sync_if_due(self) -> bool:
        """Sync if something may have changed; return whether notes were indexed."""
        synced = self._synced
        if (
            time.monotonic() - synced.at >= MIN_SYNC_INTERVAL
            or synced.writes != self._writes
            or synced.index != self._sync_index.identity()
        ):
            report = self._sync(self._sync_work, self._sync_index)
            return bool(report.added or report.changed)
        return False

    def _sync_work(self, index: Index, report: ReportProgress) -> SyncReport:
        return sync_index(self._notes, index, self._chunk, stop=self._stop, report=report)

    def _rebuild_work(self, index: Index, report: ReportProgress) -> SyncReport:
        return rebuild_index(self._notes, index, self._chunk, stop=self._stop, report=report)

    def _sync(
        self, work: _IndexingWork, index: Index, *, reset: bool = False, job: JobName = "indexing"
    ) -> SyncReport:
        began, writes = time.monotonic(), self._writes
        try:
            if reset:
                index.reset()
            # Read before the sync, which cannot vouch for an index that replaces this one meanwhile.
            identity = index.identity()
            index.track_model(
                index.resolve_dimensions(self._vectors.models[0]) if self._vectors.models else None
            )
            report = work(index, self._jobs.tell(job))
        except IndexCorrupted:
            if reset:
                raise
            return self._sync(work, index, reset=True, job=job)
        finally:
            self._jobs.end(job)
        self._synced = _LastSync(at=began, writes=writes, index=identity)
        self.problems = report.problems
        return report

    def _purge(self, index: Index) -> None:
        self._sync(self._sync_work, index)
        index.purge()

    def _retry_refused(self, index: Index) -> None:
        for model in self._vectors.models:
            index.retry_refused(index.resolve_dimensions(model))

    async def _run(self, thread: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
        try:
            running = thread.submit(work)
        except RuntimeError as error:
            raise IndexUnavailable("the memory was closed") from error
        return await asyncio.wrap_future(running)
