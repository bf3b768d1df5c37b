"""The memory: a folder of Markdown notes that can be written, edited and searched."""

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Literal, Self, TypeVar
from uuid import uuid4

from memory.dates import CORE_NOTE as CORE_NOTE
from memory.dates import read_dates
from memory.document_paths import parse_title, untitled_path
from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.embeddings.protocol import ModelId
from memory.errors import IndexCorrupted, IndexUnavailable, MemoryFault, NoteMissing
from memory.forgetting import NoteLines, WordsToForget
from memory.formatting import format_entry
from memory.index.fingerprint import compute_fingerprint
from memory.index.location import (
    BackendChoice,
    IndexFileLocation,
    IndexLocation,
    IndexServerLocation,
    VectorBackend,
)
from memory.index.protocol import Index, IndexCounts, VectorCounts, VectorQuery
from memory.listing import Listing, Problem
from memory.locked_note import LockedNote
from memory.normalization import normalize
from memory.note_edits import LineCorrection
from memory.notes import Notes, NoteText
from memory.postgres.errors import ServerUnreachable
from memory.progress import JobName, JobProgress, ReportProgress, RunningJobs
from memory.ranking.candidates import DayRange, SearchCandidates
from memory.ranking.fusion import Weights
from memory.ranking.query import NamedTime
from memory.restoration import find_correction
from memory.scan import scan_notes
from memory.search import SearchResults, Source, rank
from memory.settings import MemorySettings, SearchSettings
from memory.sync import SyncReport, rebuild_index, sync_index
from memory.tokenizer import LONGEST_QUERY, Term, is_lookup, parse_query
from memory.trash import TrashItem, find_note
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching
    from memory.postgres.note_locks import NoteLocks as SharedNoteLocks
    from memory.postgres.server import Server
    from memory.watcher import Watcher, WatchState

log = logging.getLogger(__name__)

WriteTarget = Literal["core", "daily"]

MIN_SYNC_INTERVAL = 0.5
"""Minimum seconds between two scans of the folder that searches start."""

_TRIES = 3
_QUICK_QUERY = 300
"""Queries up to this many characters are parsed on the event loop, longer ones in a thread."""

_Result = TypeVar("_Result")
_IndexingWork = Callable[[Index, ReportProgress], SyncReport]


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """Counters of the embedding cache; a field is None while the index is unavailable."""

    entries: int | None = 0
    hits: int | None = 0
    misses: int | None = 0


@dataclass(frozen=True, slots=True)
class CacheClearing:
    """How many vectors the cache gave up and how many it kept."""

    vectors: int
    queries: int
    """Number of query vectors that were deleted."""
    kept: int
    """Vectors that notes still need."""


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What the memory holds and how it can be searched.

    A field that only the index can answer is None while the index is unavailable.
    """

    files: int
    total_chunks: int | None
    chunks_with_embedding: int | None
    vector_search_enabled: bool
    embedding_provider: str
    embedding_model: str
    dimensions: int
    embedding_reason: str
    """Why this provider was chosen, or why there is none."""
    embedding_problem: str
    """What is wrong with the provider; empty while it works."""
    embedding_next_try: str
    """When the provider is tried again; empty while it works."""
    embedding_fallback: str
    """Name of the fallback provider; empty if there is none."""
    embedding_serving: str
    """Whichever of the two makes vectors now; empty if both fail or semantic search is off."""
    embedding_serving_model: str
    """Model of the provider that is serving."""
    missing_vectors: int | None
    """Number of texts without a vector.

    While the provider fails, the smaller of its own number and its fallback's.
    """
    vector_backend: VectorBackend | Literal["none"]
    vector_backend_reason: str
    """Why this backend was chosen; empty if no vectors are compared."""
    fts: str
    """How text is tokenized and matched."""
    index: str
    """Location of the index: a path, or a server address without its password."""
    index_on_server: bool
    """True if the index is on a server, whose address must not appear in a chat."""
    index_problem: str
    """Why the index is unavailable; empty while it works."""
    last_indexed_at: str | None
    """ISO 8601 in UTC; empty before the first sync."""
    cache: CacheStatus
    watch: "WatchState | None"
    """How changes are noticed; None if the folder is not watched."""
    jobs: tuple[JobProgress, ...]
    """Jobs that are running now."""
    fetching: "Fetching | None"
    """Progress of a local model's download; None if none is running."""
    problems: tuple[Problem, ...]
    """Notes that could not be read completely, and other problems in the folder."""


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A block of Markdown and the note that it will be written to."""

    path: str
    block: str
    title: str
    """Heading for the note if it does not exist yet."""
    at: str = ""
    """Time for the entry, such as `14:05`; empty if the note is not a daily log."""


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Lines that match the words to forget."""

    lines: tuple[NoteLines, ...]
    more: bool
    """True if there are more matches than requested."""
    in_trash: int
    """Number of trash files with a match."""
    in_names: int
    """Number of filed documents with a match in their name."""
    unread: tuple[Problem, ...]
    """Notes that could not be read."""


@dataclass(frozen=True, slots=True)
class ForgottenLines:
    """What was deleted."""

    lines: int
    missed: tuple[NoteLines, ...]
    """Lines that had changed or moved since they were found."""
    in_trash: int
    in_names: int
    problem: str
    """Why some of the text may remain in the index; empty if none does."""


@dataclass(frozen=True, slots=True)
class _LastSync:
    """What the last sync covered."""

    at: float
    """When it began, in monotonic seconds."""
    writes: int
    """How many of our own writes preceded it."""
    index: str


class Memory:
    """A folder of Markdown notes with its index. Use it as an async context manager.

    Every error is a `MemoryFault`. Blocking work runs in three threads, for searching, indexing and
    rebuilding, so that a search waits only for recent changes to be indexed.
    """

    def __init__(
        self,
        settings: MemorySettings,
        *,
        workspace: Path,
        now: Callable[[], datetime],
        embedding: Embedding | None = None,
        lasting: bool = False,
        server: "Server | None" = None,
        instance: str = "",
    ) -> None:
        """Store the settings; open nothing yet.

        `now` returns the time in the owner's zone, which decides the day of a daily log. Set `lasting` if
        many searches will follow, so that caching for them pays off. `server` holds the index and the locks
        that instances on several hosts share; closing the memory does not close it. `instance` is the name
        that other instances see.
        """
        private = workspace / ".commonplace"
        self._settings = settings
        self._now = now
        self._folder = workspace / settings.path
        self._member = uuid4().hex
        self._location: IndexLocation
        self._locks: SharedNoteLocks | None = None
        fingerprint = compute_fingerprint(settings.chunk)
        if server:
            from memory.postgres.note_locks import NoteLocks

            self._locks = NoteLocks(server)
            self._location = IndexServerLocation(
                server, fingerprint=fingerprint, user=instance, member=self._member
            )
        else:
            self._location = IndexFileLocation(private, fingerprint=fingerprint)
        self._notes = Notes(self._folder, private=private, shared=self._locks)
        self._lasting = lasting
        self._search_index: Index = self._location.open()
        self._sync_index: Index = self._location.open()
        self._rebuild_index: Index = self._location.open()
        self._searching = ThreadPoolExecutor(1, "memory-search")
        self._indexing = ThreadPoolExecutor(1, "memory-index")
        self._rebuilding = ThreadPoolExecutor(1, "memory-rebuild")
        self._stop = Event()
        self._closed = False
        self._jobs = RunningJobs()
        self._embedding = embedding or Embedding()
        self._vectors = EmbeddingBackfill(
            self._embedding,
            embed=settings.embedding,
            search=settings.search,
            jobs=self._jobs,
        )
        self._backend: BackendChoice | None = None
        self._watcher: Watcher | None = None
        self._writes = 0
        self._synced = _LastSync(at=float("-inf"), writes=0, index="")
        self._problems: tuple[Problem, ...] = ()

    @property
    def index_file(self) -> Path | None:
        """The index file; None if the index is on a server."""
        return self._location.file

    @property
    def index_problem(self) -> str:
        """Why the index server was unreachable when last used; "" while it works. Makes no request."""
        return self._location.problem

    def redact_server_address(self, text: str) -> str:
        """Return `text` without the index server's address, which must not appear in a chat.

        The server's own message, in parentheses after it, is removed too, since it may name the host.
        """
        if self.index_file or self._location.shown not in text:
            return text
        return re.sub(r" \(.*\)", "", text.replace(self._location.shown, "the index server"))

    def renew(self, search: SearchSettings) -> None:
        """Use these settings for all searches that start from now on."""
        self._settings = self._settings.model_copy(update={"search": search})
        self._vectors.renew(search)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stop(self) -> None:
        """Tell running indexing to stop soon, so that `close` need not wait long."""
        self._stop.set()

    async def close(self) -> None:
        """Stop indexing, wait for running work and close the index. An unfinished sync is resumed next time."""
        self.stop()
        if self._closed:
            return
        self._closed = True
        await self._vectors.close()
        for thread, index in (
            (self._searching, self._search_index),
            (self._indexing, self._sync_index),
            (self._rebuilding, self._rebuild_index),
        ):
            await self._run(thread, index.close)
            thread.shutdown()
        if self._locks:
            await asyncio.to_thread(self._locks.close)

    def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return the tasks, by name, that keep index and vectors up to date with the folder.

        Each runs until it is cancelled, or returns if it has nothing to do. A task that failed may be started
        again.
        """
        tasks: dict[str, Callable[[], Awaitable[None]]] = {"vectors": self._run_backfill}
        if self._location.file is None:
            tasks["index news"] = self._follow_notifications
        if self._settings.watch.enabled:
            tasks["watcher"] = self._watch
        return tasks

    async def _run_backfill(self) -> None:
        await self._vectors.run_forever(self._run_on_index)

    async def _watch(self) -> None:
        from memory.watcher import Watcher

        self._watcher = Watcher(self._folder, debounce_seconds=self._settings.watch.debounce_seconds)
        async with contextlib.aclosing(self._watcher.changes()) as changes:
            async for _ in changes:
                try:
                    await self.sync()
                except (IndexCorrupted, IndexUnavailable) as error:
                    log.warning("a change was not indexed: %s", error)

    async def fill_vectors(self) -> None:
        """Sync, then embed every text that has no vector. Raises `EmbeddingError` if the providers fail."""
        await self._run(self._indexing, self._sync_if_due)
        await self._vectors.fill(self._run_on_index)

    async def probe(self) -> None:
        """Ask the embedding provider for a test vector, so that `status` is current.

        Sends no text of the notes.
        """
        await self._vectors.probe()

    async def clear_cache(self) -> CacheClearing:
        """Delete the query vectors and all vectors that no note needs."""
        queries = self._vectors.clear_queries()
        vectors = await self._vectors.delete_unneeded(self._run_on_index)
        return CacheClearing(vectors, queries, (await self.status()).cache.entries or 0)

    async def forget_vectors(self) -> int:
        """Delete all vectors so that they are made again; return how many.

        Raises `EmbeddingError` if no provider answers; then nothing is deleted.
        """
        self._vectors.clear_queries()
        return await self._vectors.delete_all(self._run_on_index)

    def draft(self, text: str, *, target: WriteTarget = "daily") -> NoteDraft:
        """Return the entry that `write` would add now to today's log or the core note.

        Raises `NothingToWrite`.
        """
        now = self._now()
        day = f"{now:%Y-%m-%d}"
        if target == "core":
            return NoteDraft(CORE_NOTE, format_entry(text), "Memory")
        return NoteDraft(f"{day}.md", format_entry(text), day, f"{now:%H:%M}")

    async def write(self, text: str, *, target: WriteTarget = "daily") -> WriteResult:
        """Append an entry to today's log, or to the core note that every prompt includes.

        Raises `NothingToWrite`, `NoteUnwritable`.
        """
        draft = self.draft(text, target=target)
        written = await asyncio.to_thread(
            self._notes.append, draft.path, draft.block, title=draft.title, at=draft.at
        )
        self._writes += 1
        return written

    async def hold(
        self, path: str, work: Callable[[LockedNote], _Result], *, existing: bool = False
    ) -> _Result:
        """Run `work` in a thread while holding the note's lock; return its result.

        Raises `NoteMissing` if `existing` and there is no such note.
        """

        def held() -> _Result:
            with self._notes.held(path, existing=existing) as note:
                return work(note)

        try:
            return await asyncio.to_thread(held)
        finally:
            self._writes += 1

    async def find_lines(self, wanted: WordsToForget, *, most: int) -> FoundLines:
        """Return up to `most` matches from all notes, and count the matches in trash and file names."""
        return await asyncio.to_thread(self._find_lines, wanted, most)

    async def forget_lines(self, lines: Sequence[NoteLines], wanted: WordsToForget) -> ForgottenLines:
        """Delete these lines from their notes, `wanted` from the trash, and both from the index.

        Documents with a match in their name are renamed.
        """
        removed, missed = await asyncio.to_thread(self._remove_lines, lines)
        in_names = await asyncio.to_thread(self._remove_names, wanted)
        in_trash = await asyncio.to_thread(self._notes.trash.delete_matching, wanted)
        self._vectors.clear_queries()
        self._writes += 1
        problem = ""
        try:
            await self._run_on_index(self._purge)
        except (IndexCorrupted, IndexUnavailable) as error:
            problem = self.redact_server_address(str(error))
        return ForgottenLines(removed, missed, in_trash, in_names, problem)

    async def get(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Return at most `limit` lines of a note, starting with the 1-based `line`."""
        return await asyncio.to_thread(self._notes.read, path, line=line, limit=limit)

    async def resolve_path(self, asked: str) -> str:
        """Return the path of the note that `asked` means; `.md` and the folder may be left out.

        Raises `NoteMissing` if no note or several notes fit, naming the closest ones; `PathRefused`.
        """
        return await asyncio.to_thread(self._notes.resolve_path, asked)

    async def listing(self) -> Listing:
        """Walk the folder; return every note, and every file that cannot be read as one."""
        return await asyncio.to_thread(self._notes.walk)

    async def removed(self) -> Sequence[TrashItem]:
        """Return everything in the trash, newest first, each item with the path of its note."""

        def listed() -> Sequence[TrashItem]:
            found = self._notes.trash.items()
            notes = (
                ()
                if all(each.is_exact for each in found)
                else [each.path for each in self._notes.walk().notes]
            )
            return [replace(each, note=find_note(each, notes)) for each in found]

        return await asyncio.to_thread(listed)

    async def read_trash(self, removed: TrashItem) -> str:
        """Return the text of a trash item, with LF line ends."""
        return await asyncio.to_thread(self._notes.trash.read, removed)

    async def find_replacement(self, removed: TrashItem, *, block: str) -> LineCorrection | None:
        """Return the correction that puts a trash item back where it was; None if its place cannot be found.

        `block` is the text to restore. Raises `EditRefused` if it is already there.
        """
        return await asyncio.to_thread(find_correction, self._notes, removed, block=block)

    def is_in_trash(self, file: str) -> bool:
        """Return whether the file with this name (`TrashItem.file`) is still in the trash."""
        return self._notes.trash.has(file)

    def mark_restored(self, file: str) -> None:
        """Remove a restored file (`TrashItem.file`) from the trash. Blocks."""
        self._notes.trash.mark_restored(file)

    async def edit(self, path: str, old: str, new: str) -> WriteResult:
        """Replace the only occurrence of `old` by `new`; the old text is kept in the trash.

        Raises what `Notes.edit` raises.
        """
        written = await asyncio.to_thread(self._notes.edit, path, old, new)
        self._writes += 1
        return written

    async def search(self, query: str, *, limit: int | None = None) -> SearchResults:
        """Sync the index, then return the best passages; scan the files if the index is unavailable."""
        settings = self._settings.search
        most = limit or settings.final_top_k
        asked = _truncate_query(query)
        if not query.strip():
            return SearchResults(query, ())
        today = self._now().date()
        # Parsing a long query, such as one full of month names, takes a tenth of a second.
        is_long = len(asked) > _QUICK_QUERY
        terms, times = (
            await asyncio.to_thread(_parse_query, asked, today) if is_long else _parse_query(asked, today)
        )
        days = [(time.first, time.last) for time in times if not time.is_open]
        likeness, notice = await self._embed_query(asked, most=max(settings.vector_top_k, most))
        source: Source = "fts"
        try:
            candidates = await self._ask_index(
                lambda: self._search_index.candidates(
                    terms, most=max(settings.fts_top_k, most), likeness=likeness, days=days, today=today
                )
            )
        except (IndexCorrupted, IndexUnavailable) as error:
            # Only `status` and `doctor` may name the server.
            away = "the index server cannot be reached right now"
            why = away if isinstance(error, ServerUnreachable) else self.redact_server_address(str(error))
            notice, source = f"Searched the files one by one: {why}.", "scan"
            candidates = await self._scan_notes(terms, days)
        if source != "scan" and (left_out := [problem for problem in self._problems if problem.hides_notes]):
            notice = " ".join(filter(None, (notice, _skipped_notice(left_out))))
        hits = await self._run(
            self._searching,
            lambda: rank(
                terms,
                candidates,
                limit=most,
                snippet_max_chars=settings.snippet_max_chars,
                source=source,
                looked_up=is_lookup(asked, terms),
                weights=Weights(settings.vector_weight, settings.text_weight),
                times=times,
                today=today,
            ),
        )
        return SearchResults(query, tuple(hits), notice)

    async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
        """Bring the index up to date; with `rebuild`, create it from scratch while searches go on.

        With `whole`, also wait for notes that other instances are indexing now. Raises `IndexUnavailable`,
        `IndexCorrupted`.
        """
        if rebuild:
            work = partial(self._sync, self._rebuild_work, self._rebuild_index, job="rebuilding")
            report = await self._run(self._rebuilding, work)
            if self._vectors.models:
                await self._run_on_index(self._retry_refused)
        else:
            report = await self._run(self._indexing, partial(self._sync, self._sync_work, self._sync_index))
        while whole and report.elsewhere:
            await asyncio.sleep(MIN_SYNC_INTERVAL)
            more = await self._run(self._indexing, partial(self._sync, self._sync_work, self._sync_index))
            report = report.combine(more)
        self._vectors.wake()
        return report

    def jobs(self) -> tuple[JobProgress, ...]:
        """Jobs that are running now, with their progress."""
        return self._jobs.now()

    def fetching(self) -> "Fetching | None":
        """Progress of a local model's download; None if none is running."""
        return self._vectors.state.fetching

    async def status(self, *, look: bool = True) -> MemoryStatus:
        """Return the memory's state after a scan of the folder; without `look`, use the last scan, which is cheap."""
        numbers: IndexCounts | None = None
        have: VectorCounts | None = None
        index_problem = ""
        state = self._vectors.state
        model = state.models[0] if state.models else None
        try:
            if look:
                numbers = await self._ask_index(self._search_index.numbers)
            else:
                numbers = await self._run(self._searching, lambda: self._search_index.numbers())
            if model:
                counted = state.models if state.serving != model else state.models[:1]
                model, have = await self._run(
                    self._searching, partial(_embedding_counts, self._search_index, counted)
                )
            else:
                have = VectorCounts(0, 0, 0, (), 0, 0, 0)
        except (IndexCorrupted, IndexUnavailable) as error:
            listing = await self._run(self._searching, self._notes.walk)
            files, numbers, have = len(listing.notes), None, None
            index_problem, problems = str(error), tuple(listing.problems)
        else:
            files, problems = numbers.notes, self._problems
        refused = [
            Problem(path, f"part of it could not be embedded: {why}")
            for path, why in (have.refused if have else ())
        ]
        compared = await self._run(self._searching, self._choose_backend) if model else None
        return MemoryStatus(
            files=files,
            total_chunks=numbers.chunks if numbers else None,
            chunks_with_embedding=have.chunks_with_embedding if have else None,
            vector_search_enabled=model is not None,
            embedding_provider=model.provider if model else "none",
            embedding_model=model.model if model else "",
            dimensions=model.dimensions if model else 0,
            embedding_reason=state.reason,
            embedding_problem=state.problem,
            embedding_next_try=state.next_try,
            embedding_fallback=state.models[1].provider if state.models[1:] else "",
            embedding_serving=state.serving.provider if state.serving else "",
            embedding_serving_model=state.serving.model if state.serving else "",
            missing_vectors=have.missing if have else None,
            vector_backend=compared.name if compared else "none",
            vector_backend_reason=compared.reason if compared else "",
            fts=self._location.words,
            index=self._location.shown,
            index_on_server=self.index_file is None,
            index_problem=index_problem,
            last_indexed_at=numbers.last_indexed_at if numbers else None,
            cache=CacheStatus(have.kept, have.hits, have.misses) if have else CacheStatus(None, None, None),
            watch=self._watcher.state if self._watcher else None,
            jobs=self._jobs.now(),
            fetching=state.fetching,
            problems=(*problems, *refused),
        )

    async def _embed_query(self, query: str, *, most: int) -> tuple[VectorQuery | None, str]:
        """Return the query's vector, or None and a notice if vectors were expected."""
        if not self._vectors.enabled:
            return None, ""
        if self._backend is None:
            await self._run(self._searching, self._choose_backend)
        return await self._vectors.make_query(query, most=most)

    def _choose_backend(self) -> BackendChoice:
        """Choose the vector backend once; loads numpy if needed."""
        if self._backend is None:
            self._search_index.close()
            self._search_index, self._backend = self._location.open_with_backend(lasting=self._lasting)
        return self._backend

    async def _follow_notifications(self) -> None:
        """Wake the backfill when another instance has indexed notes, since it may not embed them."""
        news = self._location.news()
        if news is None:
            return
        async with contextlib.aclosing(news.changes()) as changes:
            async for _ in changes:
                self._vectors.wake()

    async def _scan_notes(self, terms: Sequence[Term], days: Sequence[DayRange]) -> SearchCandidates:
        size = self._settings.chunk.target_tokens
        return await self._run(
            self._searching, lambda: scan_notes(self._notes, terms, most_tokens=size, days=days)
        )

    async def _ask_index(self, question: Callable[[], _Result]) -> _Result:
        """Return the index's answer for the current notes; rebuild a corrupted index once."""
        try:
            return await self._sync_and_ask(question)
        except IndexCorrupted as error:
            log.warning("%s; rebuilding it from the notes", error)
            await self._run(
                self._indexing, partial(self._sync, self._sync_work, self._sync_index, reset=True)
            )
            self._vectors.wake()
            return await self._sync_and_ask(question)

    async def _sync_and_ask(self, question: Callable[[], _Result]) -> _Result:
        for _ in range(_TRIES):
            if await self._run(self._indexing, self._sync_if_due):
                self._vectors.wake()
            answer, index = await self._run(
                self._searching, lambda: (question(), self._search_index.identity())
            )
            # If the file was deleted in between, an empty index answered.
            if index == self._synced.index:
                return answer
        raise IndexUnavailable("the index keeps being replaced")

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

    def _sync_work(self, index: Index, tell: ReportProgress) -> SyncReport:
        return sync_index(self._notes, index, self._settings.chunk, stop=self._stop, tell=tell)

    def _rebuild_work(self, index: Index, tell: ReportProgress) -> SyncReport:
        return rebuild_index(self._notes, index, self._settings.chunk, stop=self._stop, tell=tell)

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
        self._problems = report.problems
        return report

    def _find_lines(self, wanted: WordsToForget, most: int) -> FoundLines:
        found: list[NoteLines] = []
        listing = self._notes.walk()
        unread = [problem for problem in listing.problems if problem.hides_notes]
        for stat in sorted(listing.notes):
            try:
                text = self._notes.load(stat.path).text
            except NoteMissing:
                continue
            except MemoryFault as error:
                unread.append(Problem(stat.path, str(error), hides_notes=True))
                continue
            lines = text.split("\n")
            found += (
                NoteLines(stat.path, first + 1, last + 1, "\n".join(lines[first : last + 1]))
                for first, last in wanted.find_matches(text)
            )
            if len(found) > most:
                break
        in_trash = self._notes.trash.count_matching(wanted)
        in_names = sum(wanted.is_in(parse_title(stat.path)) for stat in listing.notes)
        return FoundLines(tuple(found[:most]), len(found) > most, in_trash, in_names, tuple(unread))

    def _remove_lines(self, lines: Sequence[NoteLines]) -> tuple[int, tuple[NoteLines, ...]]:
        missed = []
        for path in dict.fromkeys(each.path for each in lines):
            here = [each for each in lines if each.path == path]
            gone: frozenset[str] = frozenset()
            with contextlib.suppress(NoteMissing), self._notes.held(path, existing=True) as note:
                gone = note.remove(each.text for each in here)
            missed += [each for each in here if each.text not in gone]
        return len(lines) - len(missed), tuple(missed)

    def _remove_names(self, wanted: WordsToForget) -> int:
        named = sorted(stat.path for stat in self._notes.walk().notes if wanted.is_in(parse_title(stat.path)))
        for path in named:
            with contextlib.suppress(NoteMissing), self._notes.held(path, existing=True) as note:
                names = (untitled_path(path, number).rpartition("/")[2] for number in count(1))
                next(name for name in names if note.rename(name))
        return len(named)

    def _purge(self, index: Index) -> None:
        self._sync(self._sync_work, index)
        index.purge()

    def _retry_refused(self, index: Index) -> None:
        for model in self._vectors.models:
            index.retry_refused(index.resolve_dimensions(model))

    async def _run_on_index(self, work: Callable[[Index], _Result]) -> _Result:
        """Run `work` with the index in the indexing thread; if it is corrupted, rebuild it and try again."""

        def done() -> _Result:
            try:
                if self._synced.index != self._sync_index.identity():
                    # A new index does not know yet which vectors are in use.
                    self._sync(self._sync_work, self._sync_index)
                return work(self._sync_index)
            except IndexCorrupted as error:
                log.warning("%s; rebuilding it from the notes", error)
                self._sync(self._sync_work, self._sync_index, reset=True)
                return work(self._sync_index)

        return await self._run(self._indexing, done)

    async def _run(self, thread: ThreadPoolExecutor, work: Callable[[], _Result]) -> _Result:
        try:
            running = thread.submit(work)
        except RuntimeError as error:
            raise IndexUnavailable("the memory was closed") from error
        return await asyncio.wrap_future(running)


def _truncate_query(query: str) -> str:
    """Return the part of the query that is parsed. NFKC may turn one character into eighteen."""
    beginning = query[:LONGEST_QUERY]
    normal = normalize("NFKC", beginning)
    return beginning if len(normal) <= LONGEST_QUERY else normal[:LONGEST_QUERY]


def _parse_query(query: str, today: date) -> tuple[list[Term], list[NamedTime]]:
    """Return the query's search terms and the times that it names."""
    terms = parse_query(query)
    return terms, _find_times(query, terms, today)


def _find_times(query: str, terms: Sequence[Term], today: date) -> list[NamedTime]:
    """Return the times that a query names, each with the terms that name it."""
    asked = set(terms)
    return [
        NamedTime(
            span.first,
            span.last,
            tuple(t for t in parse_query(query[span.start : span.end]) if t in asked),
        )
        for span in read_dates(query, today)
    ]


def _embedding_counts(index: Index, models: Sequence[ModelId]) -> tuple[ModelId, VectorCounts]:
    """Return the first model with its dimensions, and the counts of the model with the fewest missing vectors."""
    complete = [index.resolve_dimensions(model) for model in models]
    numbers = [index.count_vectors(model) for model in complete]
    return complete[0], min(numbers, key=lambda each: each.missing)


def _skipped_notice(left_out: Sequence[Problem]) -> str:
    path, reason = left_out[0].path, left_out[0].reason.rstrip(".")
    what = "the notes folder" if path == "." else path
    first = reason if reason.startswith(path) else f"{what} ({reason})"
    return f"Not searched: {first}{f', and {len(left_out) - 1} more' if len(left_out) > 1 else ''}."
