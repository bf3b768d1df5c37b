"""Memory: notes that can be written, corrected and found; joins the parts."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Literal, Self, TypeVar

from memory import chunker, words
from memory.errors import IndexBroken, IndexUnavailable
from memory.index.protocol import Index, IndexNumbers
from memory.index.sqlite import SqliteIndex
from memory.listing import Problem
from memory.notes import Notes, NoteText, Written, as_entry
from memory.scan import scan_notes
from memory.search import SearchResults, Source, rank
from memory.settings import ChunkSettings, MemorySettings
from memory.sync import SyncReport, rebuild_index, sync_index
from memory.words import is_look_up, query_terms

log = logging.getLogger(__name__)

Target = Literal["core", "daily"]

CORE_NOTE = "MEMORY.md"
CANDIDATE_CHUNKS = 50
"""Chunks whose passages are ranked; on real conversations 20 lose nothing against all."""

LOOK_AGAIN_SECONDS = 0.5
"""A search looks at the folder itself, but not more often than this."""

_TRIES = 3

_Result = TypeVar("_Result")
_Work = Callable[[Notes, Index, ChunkSettings], SyncReport]


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """The embedding cache."""

    entries: int = 0
    hits: int = 0
    misses: int = 0


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What the memory holds and how it can be searched."""

    files: int
    total_chunks: int
    chunks_with_embedding: int
    vector_search_enabled: bool
    embedding_provider: str
    embedding_model: str
    dimensions: int
    vector_backend: Literal["sqlite-vec", "numpy", "pgvector", "none"]
    fts: str
    """How text becomes words, and what matches them."""
    last_indexed_at: str
    """ISO 8601 in UTC; empty before the first time."""
    cache: CacheStatus
    problems: tuple[Problem, ...]
    """Notes that could not be read in full, and what else is not as it should be."""


@dataclass(frozen=True, slots=True)
class _Synced:
    """What the last sync is known to cover."""

    at: float
    """Monotonic seconds when it began."""
    writes: int
    """How many writes of ours it came after."""
    index: str


class Memory:
    """A folder of Markdown, written to and searched. Use it as an async context manager.

    Errors are `MemoryFault`s. Work that blocks is done in threads: one for searching, one for indexing, so
    that a search does not wait for a long re-index behind the scenes.
    """

    def __init__(self, settings: MemorySettings, *, workspace: Path, now: Callable[[], datetime]) -> None:
        """Touch nothing yet. `now` gives the time in the owner's zone, which decides the day of a daily log."""
        private = workspace / ".commonplace"
        self._settings = settings
        self._now = now
        self._notes = Notes(workspace / settings.path, private=private)
        chunk = settings.chunk
        fingerprint = f"{words.VERSION}/{chunker.VERSION}/{chunk.target_tokens}/{chunk.overlap_tokens}"
        self._search_index: Index = SqliteIndex(private / "index.db", fingerprint=fingerprint)
        self._sync_index: Index = SqliteIndex(private / "index.db", fingerprint=fingerprint)
        self._searching = ThreadPoolExecutor(1, "memory-search")
        self._indexing = ThreadPoolExecutor(1, "memory-index")
        self._stop = Event()
        self._sync_work: _Work = partial(sync_index, stop=self._stop)
        self._rebuild_work: _Work = partial(rebuild_index, stop=self._stop)
        self._rebuilds: list[Future[SyncReport]] = []
        self._writes = 0
        self._synced = _Synced(at=float("-inf"), writes=0, index="")
        self._problems: tuple[Problem, ...] = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for running work and let go of the index; indexing ends where it is, and goes on another time."""
        self._stop.set()
        await self._run(self._searching, self._search_index.close)
        await self._run(self._indexing, self._sync_index.close)
        self._searching.shutdown()
        self._indexing.shutdown()

    async def write(self, text: str, *, target: Target = "daily") -> Written:
        """Note something: in today's log, or in the core note that is always at hand."""
        entry = as_entry(text)
        day = f"{self._now():%Y-%m-%d}"
        path, title = (f"{day}.md", day) if target == "daily" else (CORE_NOTE, "Memory")
        written = await asyncio.to_thread(self._notes.append, path, entry, title=title)
        self._writes += 1
        return written

    async def get(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Read a note from `line` (1-based) on, at most `limit` lines."""
        return await asyncio.to_thread(self._notes.read, path, line=line, limit=limit)

    async def edit(self, path: str, old: str, new: str) -> Written:
        """Replace the one place where `old` stands; what it removes is kept in the trash."""
        written = await asyncio.to_thread(self._notes.edit, path, old, new)
        self._writes += 1
        return written

    async def search(self, query: str, *, limit: int | None = None) -> SearchResults:
        """Find passages, after bringing the index up to date; a file scan answers where the index cannot."""
        most = limit or self._settings.search.final_top_k
        terms = query_terms(query)
        if not terms:
            return SearchResults(query, ())
        notice = ""
        source: Source = "fts"
        if rebuilding := self._rebuilding:
            notice = "The index is being rebuilt: what was written since that began is found when it is done."
        try:
            candidates = await self._ask_index(
                lambda: self._search_index.candidates(terms, most=max(CANDIDATE_CHUNKS, most))
            )
            if rebuilding and not candidates.chunks:
                raise IndexUnavailable("the index is being built")
        except (IndexBroken, IndexUnavailable) as error:
            notice, source = f"Searched the files one by one: {error}.", "scan"
            size = self._settings.chunk.target_tokens
            candidates = await self._run(
                self._searching, lambda: scan_notes(self._notes, terms, most_tokens=size)
            )
        if not notice and (left_out := [problem for problem in self._problems if problem.hides_notes]):
            notice = _not_searched(left_out)
        hits = rank(
            terms,
            candidates,
            limit=most,
            snippet_max_chars=self._settings.search.snippet_max_chars,
            source=source,
            looked_up=is_look_up(query, terms),
        )
        return SearchResults(query, tuple(hits), notice)

    async def sync(self, *, rebuild: bool = False) -> SyncReport:
        """Bring the index up to date now; with `rebuild`, from nothing."""
        if not rebuild:
            return await self._run(self._indexing, lambda: self._sync(self._sync_work))
        # By the work itself, since that goes on where its caller is cancelled.
        work = self._indexing.submit(self._sync, self._rebuild_work)
        self._rebuilds = [*filter(_runs, self._rebuilds), work]
        return await asyncio.wrap_future(work)

    @property
    def _rebuilding(self) -> bool:
        return any(map(_runs, self._rebuilds))

    async def status(self) -> MemoryStatus:
        """What is there; looks at the folder first."""
        numbers = IndexNumbers(0, 0, "")
        problems: tuple[Problem, ...] = ()
        try:
            numbers = await self._ask_index(self._search_index.numbers)
        except (IndexBroken, IndexUnavailable) as error:
            listing = await self._run(self._searching, self._notes.walk)
            numbers = IndexNumbers(len(listing.notes), 0, "")
            problems = (Problem(".commonplace/index.db", str(error)), *listing.problems)
        return MemoryStatus(
            files=numbers.notes,
            total_chunks=numbers.chunks,
            chunks_with_embedding=0,
            vector_search_enabled=False,
            embedding_provider="none",
            embedding_model="",
            dimensions=0,
            vector_backend="none",
            fts="words folded and stemmed, single characters where scripts have no spaces (FTS5)",
            last_indexed_at=numbers.last_indexed_at,
            cache=CacheStatus(),
            problems=problems or self._problems,
        )

    async def _ask_index(self, question: Callable[[], _Result]) -> _Result:
        """Have the index answer for the notes as they are now; a damaged one is built again, once."""
        try:
            return await self._look_and_ask(question)
        except IndexBroken as error:
            log.warning("%s; building it again from the notes", error)
            await self._run(self._indexing, lambda: self._sync(self._sync_work, reset=True))
            return await self._look_and_ask(question)

    async def _look_and_ask(self, question: Callable[[], _Result]) -> _Result:
        for _ in range(_TRIES):
            if not self._rebuilding:
                await self._run(self._indexing, self._look)
            answer, index = await self._run(
                self._searching, lambda: (question(), self._search_index.identity())
            )
            # Where the file was deleted in between, an empty one has answered.
            if self._rebuilding or index == self._synced.index:
                return answer
        raise IndexUnavailable("the index is being replaced again and again")

    def _look(self) -> None:
        synced = self._synced
        if (
            time.monotonic() - synced.at >= LOOK_AGAIN_SECONDS
            or synced.writes != self._writes
            or synced.index != self._sync_index.identity()
        ):
            self._sync(self._sync_work)

    def _sync(self, work: _Work, *, reset: bool = False) -> SyncReport:
        began, writes = time.monotonic(), self._writes
        try:
            if reset:
                self._sync_index.reset()
            # The one that was there before: a sync cannot vouch for what took its place meanwhile.
            index = self._sync_index.identity()
            report = work(self._notes, self._sync_index, self._settings.chunk)
        except IndexBroken:
            if reset:
                raise
            return self._sync(work, reset=True)
        self._synced = _Synced(at=began, writes=writes, index=index)
        self._problems = report.problems
        return report

    async def _run(self, thread: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(thread, work)


def _runs(work: Future[SyncReport]) -> bool:
    return not work.done()


def _not_searched(left_out: Sequence[Problem]) -> str:
    path, reason = left_out[0].path, left_out[0].reason.rstrip(".")
    what = "the notes' folder" if path == "." else path
    first = reason if reason.startswith(path) else f"{what} ({reason})"
    return f"Not searched: {first}{f', and {len(left_out) - 1} more' if len(left_out) > 1 else ''}."
