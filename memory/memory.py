"""Memory: notes that can be written, corrected and found; joins the parts."""

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
from memory.normalization import normalize
from memory.note_edits import LineCorrection
from memory.notes import LockedNote, Notes, NoteText, WriteResult, format_entry
from memory.postgres.errors import ServerUnreachable
from memory.progress import JobName, JobProgress, ReportProgress, RunningJobs
from memory.scan import scan_notes
from memory.search import DayRange, NamedTime, SearchCandidates, SearchResults, Source, Weights, rank
from memory.settings import MemorySettings, SearchSettings
from memory.sync import SyncReport, rebuild_index, sync_index
from memory.tokenizer import LONGEST_QUERY, Term, is_lookup, parse_query
from memory.trash import TrashItem, find_note

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching
    from memory.postgres.note_locks import NoteLocks as SharedNoteLocks
    from memory.postgres.server import Server
    from memory.watcher import Watcher, WatchState

log = logging.getLogger(__name__)

WriteTarget = Literal["core", "daily"]

MIN_SYNC_INTERVAL = 0.5
"""A search looks at the folder itself, but not more often than this."""

_TRIES = 3
_QUICK_QUERY = 300
"""Characters that are read on the event loop."""

_Result = TypeVar("_Result")
_IndexingWork = Callable[[Index, ReportProgress], SyncReport]


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """The embedding cache; None for what is not known while the index cannot be asked."""

    entries: int | None = 0
    hits: int | None = 0
    misses: int | None = 0


@dataclass(frozen=True, slots=True)
class CacheClearing:
    """What the embedding cache held beyond what notes need now."""

    vectors: int
    queries: int
    """Vectors of queries."""
    kept: int
    """Vectors that stay, since notes need them."""


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What the memory holds and how it can be searched; None for what the index alone knows, and cannot be asked."""

    files: int
    total_chunks: int | None
    chunks_with_embedding: int | None
    vector_search_enabled: bool
    embedding_provider: str
    embedding_model: str
    dimensions: int
    embedding_reason: str
    """Why it is this provider, or none."""
    embedding_problem: str
    """What is wrong with it; empty while it is well."""
    embedding_next_try: str
    """When it is asked again; empty while it is well."""
    embedding_fallback: str
    """Who stands in for it; empty for nobody."""
    embedding_serving: str
    """Which of the two makes vectors now; empty where both fail, or nobody is to make any."""
    embedding_serving_model: str
    """The model of that one."""
    missing_vectors: int | None
    """Texts that have none yet. While the provider fails: neither of it nor of its fallback, whichever has more."""
    vector_backend: VectorBackend | Literal["none"]
    vector_backend_reason: str
    """Why it is this one; empty where nothing is compared."""
    fts: str
    """How text becomes words, and what matches them."""
    index: str
    """Where the index is; an address without its password."""
    index_on_server: bool
    """Whether that is a server, which is nothing to be told in a chat."""
    index_problem: str
    """Why it cannot be asked just now; empty while it can."""
    last_indexed_at: str | None
    """ISO 8601 in UTC; empty before the first time."""
    cache: CacheStatus
    watch: "WatchState | None"
    """How changes are noticed; None where nobody watches."""
    jobs: tuple[JobProgress, ...]
    """What is being done just now."""
    fetching: "Fetching | None"
    """How far a local model is on its way; None while none is fetched."""
    problems: tuple[Problem, ...]
    """Notes that could not be read in full, and what else is not as it should be."""


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A block of Markdown, and the note that it goes to."""

    path: str
    block: str
    title: str
    """The note's heading where it is new."""
    at: str = ""
    """When it is noted, as `14:05`, where the note is a day's."""


@dataclass(frozen=True, slots=True)
class FoundLines:
    """What there is in the notes that is to be forgotten."""

    lines: tuple[NoteLines, ...]
    more: bool
    """Whether there is more than was asked for."""
    in_trash: int
    """In how many files of the trash it is."""
    in_names: int
    """How many filed documents are named by it."""
    unread: tuple[Problem, ...]
    """Notes that could not be looked at."""


@dataclass(frozen=True, slots=True)
class ForgottenLines:
    """What was removed."""

    lines: int
    missed: tuple[NoteLines, ...]
    """Lines that stood no longer where they were found."""
    in_trash: int
    in_names: int
    problem: str
    """Why something of it may still be in the index; "" where nothing is."""


@dataclass(frozen=True, slots=True)
class _LastSync:
    """What the last sync is known to cover."""

    at: float
    """Monotonic seconds when it began."""
    writes: int
    """How many writes of ours it came after."""
    index: str


class Memory:
    """A folder of Markdown, written to and searched. Use it as an async context manager.

    Errors are `MemoryFault`s. Work that blocks is done in threads: one for searching, one for indexing and one
    for indexing all anew, so that a search waits for nothing but what has just changed.
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
        """Touch nothing yet. `now` gives the time in the owner's zone, which decides the day of a daily log.

        `lasting`: many searches will come, for which it is worth to keep something in memory. `server`: where the
        index is, and what instances on several hosts agree by; it stays open. `instance` is what the others are told.
        """
        private = workspace / ".commonplace"
        self._settings = settings
        self._now = now
        self._folder = workspace / settings.path
        self._member = uuid4().hex
        self._place: IndexLocation
        self._locks: SharedNoteLocks | None = None
        fingerprint = compute_fingerprint(settings.chunk)
        if server:
            from memory.postgres.note_locks import NoteLocks

            self._locks = NoteLocks(server)
            self._place = IndexServerLocation(
                server, fingerprint=fingerprint, user=instance, member=self._member
            )
        else:
            self._place = IndexFileLocation(private, fingerprint=fingerprint)
        self._notes = Notes(self._folder, private=private, shared=self._locks)
        self._lasting = lasting
        self._search_index: Index = self._place.open()
        self._sync_index: Index = self._place.open()
        self._rebuild_index: Index = self._place.open()
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
        self._comparison: BackendChoice | None = None
        self._watcher: Watcher | None = None
        self._writes = 0
        self._synced = _LastSync(at=float("-inf"), writes=0, index="")
        self._problems: tuple[Problem, ...] = ()

    @property
    def index_file(self) -> Path | None:
        """The file that the index is in; None where it is on a server."""
        return self._place.file

    @property
    def index_problem(self) -> str:
        """Why the server of the index cannot be asked, as last seen; "" while it can. Asks nobody."""
        return self._place.problem

    def redact_server_address(self, text: str) -> str:
        """The text without the address of the index's server, which is nothing for a chat.

        Nor are the server's own words, in brackets behind it: they may name its host as well.
        """
        if self.index_file or self._place.shown not in text:
            return text
        return re.sub(r" \(.*\)", "", text.replace(self._place.shown, "the index's server"))

    def renew(self, search: SearchSettings) -> None:
        """Have searches that begin from now on go by these settings."""
        self._settings = self._settings.model_copy(update={"search": search})
        self._vectors.renew(search)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stop(self) -> None:
        """Have indexing end soon, since `close` follows; what waits for it need not wait long."""
        self._stop.set()

    async def close(self) -> None:
        """Wait for running work and let go of the index; indexing ends where it is, and goes on another time."""
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
        """Return what keeps index and vectors up to date with the folder, by name.

        Each runs until it is cancelled, or returns where there is nothing for it to do, and may be started again
        after it failed.
        """
        tasks: dict[str, Callable[[], Awaitable[None]]] = {"vectors": self._run_backfill}
        if self._place.file is None:
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
        """Have a vector for every text that is there now; raises EmbeddingError where who makes them fails."""
        await self._run(self._indexing, self._sync_if_due)
        await self._vectors.fill(self._run_on_index)

    async def probe(self) -> None:
        """Have `status` know whether somebody makes vectors just now; sends nothing of the notes."""
        await self._vectors.probe()

    async def clear_cache(self) -> CacheClearing:
        """Forget the vectors that no note needs now, and those of queries."""
        queries = self._vectors.clear_queries()
        vectors = await self._vectors.delete_unneeded(self._run_on_index)
        return CacheClearing(vectors, queries, (await self.status()).cache.entries or 0)

    async def forget_vectors(self) -> int:
        """Forget all vectors, so that they are made again; return how many. Raises EmbeddingError, losing none."""
        self._vectors.clear_queries()
        return await self._vectors.delete_all(self._run_on_index)

    def draft(self, text: str, *, target: WriteTarget = "daily") -> NoteDraft:
        """How a text would be noted now: in today's log, or in the core note. Raises NothingToWrite."""
        now = self._now()
        day = f"{now:%Y-%m-%d}"
        if target == "core":
            return NoteDraft(CORE_NOTE, format_entry(text), "Memory")
        return NoteDraft(f"{day}.md", format_entry(text), day, f"{now:%H:%M}")

    async def write(self, text: str, *, target: WriteTarget = "daily") -> WriteResult:
        """Note something: in today's log, or in the core note that is always at hand."""
        draft = self.draft(text, target=target)
        written = await asyncio.to_thread(
            self._notes.append, draft.path, draft.block, title=draft.title, at=draft.at
        )
        self._writes += 1
        return written

    async def hold(
        self, path: str, work: Callable[[LockedNote], _Result], *, existing: bool = False
    ) -> _Result:
        """Do something to a note under its lock, in a thread; `existing`: it must be there."""

        def held() -> _Result:
            with self._notes.held(path, existing=existing) as note:
                return work(note)

        try:
            return await asyncio.to_thread(held)
        finally:
            self._writes += 1

    async def find_lines(self, wanted: WordsToForget, *, most: int) -> FoundLines:
        """Look for what is to be forgotten through all notes, line by line, and in the trash."""
        return await asyncio.to_thread(self._find_lines, wanted, most)

    async def forget_lines(self, lines: Sequence[NoteLines], wanted: WordsToForget) -> ForgottenLines:
        """Remove these lines from the notes, `wanted` from the trash, and what was made of them from the index.

        Documents that are named by it are renamed.
        """
        removed, missed = await asyncio.to_thread(self._remove_lines, lines)
        in_names = await asyncio.to_thread(self._remove_names, wanted)
        in_trash = await asyncio.to_thread(self._notes.delete_in_trash, wanted)
        self._vectors.clear_queries()
        self._writes += 1
        problem = ""
        try:
            await self._run_on_index(self._purge)
        except (IndexCorrupted, IndexUnavailable) as error:
            problem = self.redact_server_address(str(error))
        return ForgottenLines(removed, missed, in_trash, in_names, problem)

    async def get(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Read a note from `line` (1-based) on, at most `limit` lines."""
        return await asyncio.to_thread(self._notes.read, path, line=line, limit=limit)

    async def resolve_path(self, asked: str) -> str:
        """Return the path of the note that a person means, who may leave out `.md`, or the folder it is in.

        Raises NoteMissing, which names the nearest ones, where none fits or several do; PathRefused.
        """
        return await asyncio.to_thread(self._notes.resolve_path, asked)

    async def listing(self) -> Listing:
        """Every note that there is, by a walk through the folder, and what cannot be read as one."""
        return await asyncio.to_thread(self._notes.walk)

    async def removed(self) -> Sequence[TrashItem]:
        """Return everything in the trash, newest first, each with the path of its note."""

        def listed() -> Sequence[TrashItem]:
            found = self._notes.removed()
            notes = (
                ()
                if all(each.is_exact for each in found)
                else [each.path for each in self._notes.walk().notes]
            )
            return [replace(each, note=find_note(each, notes)) for each in found]

        return await asyncio.to_thread(listed)

    async def read_trash(self, removed: TrashItem) -> str:
        """Return the text of something in the trash, with LF line ends."""
        return await asyncio.to_thread(self._notes.read_trash, removed)

    async def find_replacement(self, removed: TrashItem, *, block: str) -> LineCorrection | None:
        """Return what now stands in the place of something in the trash; None where that cannot be told.

        `block` is what is to stand there again. Raises EditRefused where it does already.
        """
        return await asyncio.to_thread(self._notes.find_replacement, removed, block=block)

    def is_in_trash(self, file: str) -> bool:
        """Return whether something is in the trash still: its name there tells which."""
        return self._notes.is_in_trash(file)

    def mark_restored(self, file: str) -> None:
        """Remove from the trash what is in a note again; `file`: as in `TrashItem`. Blocks."""
        self._notes.mark_restored(file)

    async def edit(self, path: str, old: str, new: str) -> WriteResult:
        """Replace the one place where `old` stands; what it removes is kept in the trash."""
        written = await asyncio.to_thread(self._notes.edit, path, old, new)
        self._writes += 1
        return written

    async def search(self, query: str, *, limit: int | None = None) -> SearchResults:
        """Find passages, after bringing the index up to date; a file scan answers where the index cannot."""
        settings = self._settings.search
        most = limit or settings.final_top_k
        asked = _truncate_query(query)
        if not query.strip():
            return SearchResults(query, ())
        today = self._now().date()
        # In a thread where it is long: one of nothing but months takes a tenth of a second.
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
            # Status and doctor tell more, and where the server is.
            away = "the index's server cannot be reached just now"
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
        """Bring the index up to date now; with `rebuild`, from nothing, while searches go on.

        `whole`: also wait for what other instances are indexing just now.
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
        """What is being done just now, and how far it is."""
        return self._jobs.now()

    def fetching(self) -> "Fetching | None":
        """How far a local model is on its way; None while none is fetched."""
        return self._vectors.state.fetching

    async def status(self, *, look: bool = True) -> MemoryStatus:
        """What is there, after a look at the folder; without `look` as the latest one found it, at little cost."""
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
            Problem(path, f"part of it has no vector: {why}") for path, why in (have.refused if have else ())
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
            fts=self._place.words,
            index=self._place.shown,
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
        """The question's vector, where there is something to compare it with; else perhaps why not."""
        if not self._vectors.enabled:
            return None, ""
        if self._comparison is None:
            await self._run(self._searching, self._choose_backend)
        return await self._vectors.make_query(query, most=most)

    def _choose_backend(self) -> BackendChoice:
        """Compare vectors from now on in the way that fits; loads numpy where that is it."""
        if self._comparison is None:
            self._search_index.close()
            self._search_index, self._comparison = self._place.open_with_backend(lasting=self._lasting)
        return self._comparison

    async def _follow_notifications(self) -> None:
        """What others have indexed is found by the next search; it may want vectors that they do not make."""
        news = self._place.news()
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
        """Have the index answer for the notes as they are now; a damaged one is built again, once."""
        try:
            return await self._sync_and_ask(question)
        except IndexCorrupted as error:
            log.warning("%s; building it again from the notes", error)
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
            # Where the file was deleted in between, an empty one has answered.
            if index == self._synced.index:
                return answer
        raise IndexUnavailable("the index is being replaced again and again")

    def _sync_if_due(self) -> bool:
        """Sync where that may bring something; tell whether it brought notes."""
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
            # The one that was there before: a sync cannot vouch for what took its place meanwhile.
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
        in_trash = self._notes.count_in_trash(wanted)
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
        """Do something with the index of the indexing thread; where it is damaged, with the next one."""

        def done() -> _Result:
            try:
                if self._synced.index != self._sync_index.identity():
                    # Begun anew, it does not know yet which vectors are in use.
                    self._sync(self._sync_work, self._sync_index)
                return work(self._sync_index)
            except IndexCorrupted as error:
                log.warning("%s; building it again from the notes", error)
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
    """As much of a query as is looked at; in words, one letter may become eighteen."""
    beginning = query[:LONGEST_QUERY]
    normal = normalize("NFKC", beginning)
    return beginning if len(normal) <= LONGEST_QUERY else normal[:LONGEST_QUERY]


def _parse_query(query: str, today: date) -> tuple[list[Term], list[NamedTime]]:
    """Return what is looked for, and the times that are named."""
    terms = parse_query(query)
    return terms, _find_times(query, terms, today)


def _find_times(query: str, terms: Sequence[Term], today: date) -> list[NamedTime]:
    """The times that a query names, each with those of its terms that name it."""
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
    """Return the first model with its dimensions, and the numbers of the model with the fewest texts missing."""
    complete = [index.resolve_dimensions(model) for model in models]
    numbers = [index.count_vectors(model) for model in complete]
    return complete[0], min(numbers, key=lambda each: each.missing)


def _skipped_notice(left_out: Sequence[Problem]) -> str:
    path, reason = left_out[0].path, left_out[0].reason.rstrip(".")
    what = "the notes' folder" if path == "." else path
    first = reason if reason.startswith(path) else f"{what} ({reason})"
    return f"Not searched: {first}{f', and {len(left_out) - 1} more' if len(left_out) > 1 else ''}."
