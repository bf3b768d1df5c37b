"""The memory: a folder of Markdown notes that can be written, edited and searched."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar
from uuid import uuid4

from memory.backlinks import NoteLinks, read_note_links
from memory.dates import CORE_NOTE as CORE_NOTE
from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.errors import IndexCorrupted, IndexUnavailable, NoteUnreadable
from memory.folder_files import FileFinder, OpenedFile, open_file
from memory.folder_listing import FolderLister, FolderPage
from memory.folder_scope import top_folders
from memory.forgetting import NoteLines, WordsToForget
from memory.forgotten_lines import (
    ForgottenLines,
    FoundLines,
    RemoveBlocks,
    RenameNote,
    find_lines,
    remove_lines,
    remove_names,
)
from memory.formatting import format_entry
from memory.index.fingerprint import compute_fingerprint
from memory.index.location import (
    IndexFileLocation,
    IndexLocation,
    IndexServerLocation,
    redact_server_address,
)
from memory.index.protocol import IndexCounts, VectorCounts
from memory.listing import Listing, Problem
from memory.locked_note import LockedNote
from memory.moved_links import MovedLinks
from memory.note_days import NotesByDay, group_by_day
from memory.note_draft import NoteDraft, WriteTarget
from memory.note_edits import LineCorrection
from memory.note_folders import NoteFolder
from memory.note_search import NoteSearch
from memory.notes import NotePart, Notes, NoteText
from memory.progress import JobProgress, RunningJobs
from memory.restoration import find_correction
from memory.scan import scan_notes
from memory.search import SearchResults
from memory.settings import MemorySettings, SearchSettings
from memory.status import CacheStatus, FolderStatus, MemoryStatus, count_embeddings
from memory.sync import SyncReport
from memory.synced_index import SyncedIndex
from memory.translatable import Translatable
from memory.trash import TrashItem, TrashPage, find_note
from memory.whole_note import WholeNote
from memory.write_result import WriteResult

if TYPE_CHECKING:
    from memory.embeddings.model_files import DownloadProgress as Fetching
    from memory.health.report import HealthReport
    from memory.postgres.note_locks import NoteLocks as SharedNoteLocks
    from memory.postgres.server import Server
    from memory.ranking.candidates import SearchCandidates
    from memory.watcher import Watcher, WatchState

log = logging.getLogger(__name__)

HEALTH_SECONDS = 100.0
"""How long an examination of the notes may take."""

STALE_SECONDS = 5.0
"""Age of the index from which a list of notes has it synced; watchers do so much sooner."""
SYNC_SECONDS = 0.02
"""How long a list of notes waits for the latest changes."""
FIRST_SYNC_SECONDS = 3.0
"""… and for the first look through the notes after a start."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class CacheClearing:
    """How many vectors the cache gave up and how many it kept."""

    vectors: int
    queries: int
    """Number of query vectors that were deleted."""
    kept: int
    """Vectors that notes still need."""


class Memory:
    """A folder of Markdown notes with its index. Use it as an async context manager.

    Every error is a `MemoryFault`. Blocking work runs in threads; see `SyncedIndex`.
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
        self._member = uuid4().hex
        location: IndexLocation
        self._locks: SharedNoteLocks | None = None
        if server:
            from memory.postgres.note_locks import NoteLocks

            self._locks = NoteLocks(server)
            fingerprint = compute_fingerprint(settings.chunk, folders=settings.folders)
            location = IndexServerLocation(
                server, fingerprint=fingerprint, user=instance, member=self._member
            )
        else:
            location = IndexFileLocation(private, fingerprint=compute_fingerprint(settings.chunk))
        self._notes = Notes(
            workspace / settings.path,
            private=private,
            others=[*map(NoteFolder.of, settings.folders)],
            shared=self._locks,
        )
        self._closed = self._stopping = False
        self._examining: asyncio.Future[HealthReport] | None = None
        self._jobs = RunningJobs()
        self._embedding = embedding or Embedding()
        self._vectors = EmbeddingBackfill(
            self._embedding,
            embed=settings.embedding,
            search=settings.search,
            jobs=self._jobs,
        )
        self._index = SyncedIndex(
            self._notes,
            location,
            chunk=settings.chunk,
            vectors=self._vectors,
            jobs=self._jobs,
            lasting=lasting,
        )
        self._search = NoteSearch(
            self._index,
            self._vectors,
            settings=settings.search,
            now=now,
            scan=partial(scan_notes, self._notes, max_tokens=settings.chunk.target_tokens),
            show=self._show_candidates,
        )
        self._lister = FolderLister(self._notes.folders)
        self._days = NotesByDay()
        self._watchers: dict[str, Watcher] = {}
        self._followers: list[Callable[[], None]] = []

    @property
    def index_file(self) -> Path | None:
        """The index file; None if the index is on a server."""
        return self._index.location.file

    @property
    def index_problem(self) -> str:
        """Why the index server was unreachable when last used; "" while it works. Makes no request."""
        return self._index.location.problem

    def redact_server_address(self, text: str) -> str:
        """Return `text` without the index server's address; see `memory.index.location.redact_server_address`."""
        return redact_server_address(text, self._index.location)

    def set_search_settings(self, search: SearchSettings) -> None:
        """Use these settings for all searches that start from now on."""
        self._search.set_settings(search)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def stop(self) -> None:
        """Tell running indexing and examinations to stop soon, so that `close` need not wait long."""
        self._stopping = True
        self._index.stop()

    async def close(self) -> None:
        """Stop indexing, wait for running work and close the index. An unfinished sync is resumed next time."""
        self.stop()
        if self._closed:
            return
        self._closed = True
        if self._examining:
            await asyncio.wait([self._examining])
        await self._search.close()
        await self._vectors.close()
        await self._index.close()
        if self._locks:
            await asyncio.to_thread(self._locks.close)

    def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return the tasks, by name, that keep index and vectors up to date with the folder.

        Each runs until it is cancelled, or returns if it has nothing to do. A task that failed may be started
        again.
        """
        tasks: dict[str, Callable[[], Awaitable[None]]] = {"vectors": self._run_backfill}
        if self._index.location.file is None:
            tasks["index news"] = self._follow_notifications
        if self._settings.watch.enabled:
            for folder in self._notes.folders:
                tasks[f"watcher {folder.name}".rstrip()] = partial(self._watch, folder)
        return tasks

    async def _run_backfill(self) -> None:
        await self._vectors.run_forever(self._index.run)

    def on_notes_changed(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Call `tell` when a watcher finds that notes may have changed; return a function that ends that.

        `tell` must not wait, and must not raise.
        """
        self._followers.append(tell)
        return lambda: self._followers.remove(tell)

    async def _watch(self, folder: NoteFolder) -> None:
        from memory.watcher import Watcher

        watcher = self._watchers[folder.name] = Watcher(
            folder.path,
            debounce_seconds=self._settings.watch.debounce_seconds,
            excludes=folder.excludes_all_in,
        )
        async with contextlib.aclosing(watcher.changes()) as changes:
            async for _ in changes:
                try:
                    await self.sync()
                except (IndexCorrupted, IndexUnavailable) as error:
                    log.warning("a change was not indexed: %s", error)
                for tell in self._followers:
                    tell()

    async def fill_vectors(self) -> None:
        """Sync, then embed every text that has no vector. Raises `EmbeddingError` if the providers fail."""
        await self._index.sync_recent()
        await self._vectors.fill(self._index.run)

    async def probe(self) -> None:
        """Ask the embedding provider for a test vector, so that `status` is current.

        Sends no text of the notes.
        """
        await self._vectors.probe()

    async def clear_cache(self) -> CacheClearing:
        """Delete the query vectors and all vectors that no note needs."""
        queries = self._vectors.clear_queries()
        vectors = await self._vectors.delete_unneeded(self._index.run)
        return CacheClearing(vectors, queries, (await self.status()).cache.entries or 0)

    async def forget_vectors(self) -> int:
        """Delete all vectors so that they are made again; return how many.

        Raises `EmbeddingError` if no provider answers; then nothing is deleted.
        """
        self._vectors.clear_queries()
        return await self._vectors.delete_all(self._index.run)

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
        self._index.note_written()
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
            self._index.note_written()

    async def hold_both(
        self, path: str, target: str, work: Callable[[LockedNote, LockedNote], _Result]
    ) -> _Result:
        """Run `work` in a thread while holding the locks of a note and of the path that it is to be moved to."""

        def held() -> _Result:
            with self._notes.held_both(path, target) as both:
                return work(*both)

        try:
            return await asyncio.to_thread(held)
        finally:
            self._index.note_written()

    def rewrite_moved_links(self, text: str, *, path: str, to: str) -> Mapping[int, str]:
        """Return the lines of a note's text that have to change when it is moved, by number (1-based). Blocks.

        Its relative links, pictures and wikilinks then lead where they lead now.
        """
        links = MovedLinks(
            self._notes.folders,
            path,
            to,
            list_notes=lambda: (note.path for note in self._notes.walk().notes),
        )
        return links.rewrite(text)

    async def read_whole(self, path: str) -> WholeNote:
        """Return a whole note, as somebody edits it. Raises `NoteMissing`, `NoteUnreadable`, `PathRefused`."""
        return await asyncio.to_thread(self._notes.read_whole, path)

    def file_finder(self, path: str) -> FileFinder:
        """Return what finds the files that the links of a note name."""
        return FileFinder(self._notes.folders, path)

    async def open_file(self, path: str) -> OpenedFile:
        """Open a file beside the notes. Raises what `memory.folder_files.open_file` raises."""
        return await asyncio.to_thread(open_file, self._notes.folders, path)

    async def find_lines(self, words: WordsToForget, *, limit: int) -> FoundLines:
        """Return up to `limit` matches from all notes, and count the matches in trash and file names."""
        return await asyncio.to_thread(find_lines, self._notes, words, limit)

    async def forget_lines(
        self,
        lines: Sequence[NoteLines],
        words: WordsToForget,
        *,
        remove: RemoveBlocks = LockedNote.remove,
        rename: RenameNote = LockedNote.rename,
    ) -> ForgottenLines:
        """Delete these lines from their notes, `words` from the trash, and both from the index.

        Lines in folders that may only be read are hidden instead: no search finds them, and `get` leaves them out.
        Documents with a match in their name are renamed. `remove` and `rename` run in a thread, with the note's lock.
        """
        hidden, missed = await asyncio.to_thread(remove_lines, self._notes, lines, words, remove)
        in_names = await asyncio.to_thread(remove_names, self._notes, words, rename)
        in_trash = await asyncio.to_thread(self._notes.trash.delete_matching, words)
        self._vectors.clear_queries()
        self._index.note_written()
        problem = ""
        try:
            await self._index.purge()
        except (IndexCorrupted, IndexUnavailable) as error:
            problem = self.redact_server_address(error.text)
        removed = len(lines) - len(hidden) - len(missed)
        return ForgottenLines(removed, missed, hidden, in_trash, in_names, problem)

    async def get(self, path: str, *, line: int = 1, limit: int | None = None) -> NoteText:
        """Return at most `limit` lines of a note, starting with the 1-based `line`."""
        return await asyncio.to_thread(self._notes.read, path, line=line, limit=limit)

    async def get_part(self, path: str, *, line: int, weigh: Callable[[bytes], int], most: int) -> NotePart:
        """Return the part of a note that contains a line (1-based); see `Notes.read_part`."""
        return await asyncio.to_thread(self._notes.read_part, path, line=line, weigh=weigh, most=most)

    async def resolve_path(self, asked: str) -> str:
        """Return the path of the note that `asked` means; `.md` and the folder may be left out.

        Raises `NoteMissing` if no note or several notes fit, naming the closest ones; `PathRefused`.
        """
        return await asyncio.to_thread(self._notes.resolve_path, asked)

    def is_elsewhere(self, path: str) -> bool:
        """Return whether a note at this path is, or would be, in another folder than the memory's own."""
        return bool(self._notes.folders.folder_of(path).name)

    def find_read_only_folder(self, path: str) -> str:
        """Return the name of the folder of a note that may only be read; "" if the note may be changed."""
        folder = self._notes.folders.folder_of(path)
        return "" if folder.is_writable else folder.name

    async def listing(self) -> Listing:
        """Walk the folder; return every note, and every file that cannot be read as one."""
        return await asyncio.to_thread(self._notes.walk)

    async def list_folder(self, path: str, *, first: int, count: int) -> FolderPage:
        """Return `count` entries of a folder from the one with number `first` (0-based) on, folders before notes.

        If there are fewer, it returns the last `count` from a multiple of `count` on. Raises as `FolderLister.list`.
        """

        def read() -> FolderPage:
            listing = self._lister.list(path)
            entries = len(listing.folders) + len(listing.notes)
            start = min(first, max(entries - 1, 0) // count * count)
            folders = listing.folders[start : start + count]
            begin = max(start - len(listing.folders), 0)
            names = listing.notes.between(begin, begin + count - len(folders))
            notes = self._lister.stat(path, names)
            titles = self._notes.read_titles([note.path for note in notes])
            return FolderPage(folders, notes, titles, start, entries, len(listing.notes), listing.problems)

        return await asyncio.to_thread(read)

    async def titles_of(self, paths: Sequence[str]) -> Sequence[str]:
        """Return the title of each note, from its beginning; "" for one that has none or cannot be read."""
        return await asyncio.to_thread(self._notes.read_titles, paths)

    @property
    def has_synced(self) -> bool:
        """Return whether the index has been brought up to date since the start."""
        return self._index.has_synced

    async def notes_by_day(self) -> Mapping[date, list[str]]:
        """Return the notes whose name begins with a date, by day, the latest first.

        They are those of the index, which is given a moment for the latest changes, and longer after a start (see
        `has_synced`). Without an index, the folder is walked.
        """
        if self._index.is_stale(STALE_SECONDS):
            syncing = asyncio.ensure_future(self._index.sync_recent())
            syncing.add_done_callback(
                lambda task: task.cancelled() or task.exception()
            )  # reading tells it as well
            await asyncio.wait([syncing], timeout=SYNC_SECONDS if self.has_synced else FIRST_SYNC_SECONDS)
        try:
            return await self._index.read(self._days.read)
        except (IndexCorrupted, IndexUnavailable):
            listing = await self.listing()
            return await asyncio.to_thread(group_by_day, [note.path for note in listing.notes])

    async def health(self, *, seconds: float = HEALTH_SECONDS) -> "HealthReport":
        """Examine the notes for about `seconds` at most, or join an examination that is already running.

        It changes nothing, and asks no model and no provider.
        """
        from memory.health.examination import examine_notes

        if self._examining is None or self._examining.done():
            self._examining = asyncio.ensure_future(
                examine_notes(
                    self._notes,
                    self._search.search_by_words,
                    today=self._now().date(),
                    seconds=seconds,
                    is_stopped=lambda: self._stopping,
                )
            )
        return await asyncio.shield(self._examining)

    async def removed(self) -> Sequence[TrashItem]:
        """Return everything in the trash, newest first, each item with the path of its note."""
        return await asyncio.to_thread(lambda: self._name_notes(self._notes.trash.items()))

    async def removed_page(self, *, first: int, count: int) -> TrashPage:
        """Return some of what is in the trash and was not restored; see `memory.trash.list_trash_page`."""

        def listed() -> TrashPage:
            page = self._notes.trash.page(first=first, count=count)
            return replace(page, items=self._name_notes(page.items))

        return await asyncio.to_thread(listed)

    async def find_removed(self, number: str) -> Sequence[TrashItem]:
        """Return the items in the trash with this number; see `memory.trash.find_in_trash`."""
        return await asyncio.to_thread(lambda: self._name_notes(self._notes.trash.find(number)))

    def _name_notes(self, removed: Sequence[TrashItem]) -> Sequence[TrashItem]:
        """Return trash items with the paths of their notes, which those of earlier versions tell vaguely."""
        if all(each.is_exact for each in removed):
            return [*removed]
        notes = [each.path for each in self._notes.walk().notes]
        return [replace(each, note=find_note(each, notes)) for each in removed]

    async def read_trash(self, removed: TrashItem) -> str:
        """Return the text of a trash item, with LF line ends."""
        return await asyncio.to_thread(self._notes.trash.read, removed)

    async def read_removed(self, *, limit: int) -> list[str]:
        """Return the texts that the latest `limit` edits removed, unless they were put back since."""

        def read() -> list[str]:
            texts = list[str]()
            for item in self._notes.trash.items()[:limit]:
                with contextlib.suppress(NoteUnreadable):  # put back or forgotten meanwhile
                    texts.append("" if item.is_restored else self._notes.trash.read(item))
            return texts

        return await asyncio.to_thread(read)

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
        self._index.note_written()
        return written

    async def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        within: Collection[str] | None = None,
        vector_seconds: float | None = None,
        neighbours: bool = True,
    ) -> SearchResults:
        """Sync the index, then return the best passages; scan the files if the index is unavailable.

        For `within`, `vector_seconds` and `neighbours` see `NoteSearch.search`.
        """
        return await self._search.search(
            query, limit=limit, within=within, vector_seconds=vector_seconds, neighbours=neighbours
        )

    async def folder_names(self) -> Sequence[str]:
        """Return the names of the top-level folders with notes, as far as they are indexed, sorted.

        Raises `IndexUnavailable`, `IndexCorrupted`.
        """
        return await self._index.read(lambda index: top_folders(index.stamps()[0]))

    async def links_of(self, path: str, *, within: Collection[str] | None = None) -> NoteLinks:
        """Sync the index, then return what a note links to and which notes link to it, with their lines.

        For `within` see `NoteSearch.search`. Raises `IndexUnavailable`, `IndexCorrupted`.
        """
        found = await self._index.ask(lambda index: read_note_links(index, path, within=within))
        if not self._notes.hides_on_server:
            return found
        shown = tuple(replace(each, text=self._notes.blank(each.path, each.text)) for each in found.backlinks)
        return replace(found, backlinks=shown)

    def _show_candidates(self, candidates: "SearchCandidates") -> "SearchCandidates":
        """Return candidates without lines that are hidden here but that another instance has indexed."""
        if not self._notes.hides_on_server:
            return candidates
        from memory.hidden_passages import blank_passages

        return blank_passages(candidates, self._notes.blank)

    async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
        """Bring the index up to date; with `rebuild`, create it from scratch while searches go on.

        With `whole`, also wait for notes that other instances are indexing now. Raises `IndexUnavailable`,
        `IndexCorrupted`.
        """
        return await self._index.sync(rebuild=rebuild, whole=whole)

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
        in_folders: Mapping[str, int] = {}
        folders = self._notes.folders
        try:
            if look:
                numbers = await self._index.ask(lambda index: index.numbers())
            else:
                numbers = await self._index.read(lambda index: index.numbers())
            if model:
                counted = state.models if state.serving != model else state.models[:1]
                model, have = await self._index.read(partial(count_embeddings, models=counted))
            else:
                have = VectorCounts(0, 0, 0, (), 0, 0, 0)
            if folders.others:
                in_folders = await self._index.read(lambda index: folders.count_notes(index.stamps()[0]))
        except (IndexCorrupted, IndexUnavailable) as error:
            listing = await self._index.run_in_search_thread(self._notes.walk)
            files, numbers, have = len(listing.notes), None, None
            in_folders = folders.count_notes(note.path for note in listing.notes)
            index_problem, problems = error.text, tuple(listing.problems)
        else:
            files, problems = numbers.notes, self._index.problems
        refused = [
            Problem(path, Translatable("part of it could not be embedded: {reason}", reason=why))
            for path, why in (have.refused if have else ())
        ]
        compared = await self._index.choose_backend() if model else None
        hidden = await asyncio.to_thread(self._notes.count_hidden_lines) if folders.others else {}
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
            fts=self._index.location.words,
            index=self._index.location.shown,
            index_on_server=self.index_file is None,
            index_problem=index_problem,
            last_indexed_at=numbers.last_indexed_at if numbers else None,
            cache=CacheStatus(have.kept, have.hits, have.misses) if have else CacheStatus(None, None, None),
            watch=self._watch_state(""),
            folders=tuple(
                FolderStatus(
                    folder.name,
                    str(folder.path),
                    folder.is_writable,
                    next((each.reason for each in problems if each.away and each.path == folder.name), ""),
                    self._watch_state(folder.name),
                    in_folders[folder.name],
                    hidden.get(folder.name, 0),
                )
                for folder in folders.others
            ),
            jobs=self._jobs.now(),
            fetching=state.fetching,
            problems=(*problems, *refused),
        )

    def _watch_state(self, folder: str) -> "WatchState | None":
        return self._watchers[folder].state if folder in self._watchers else None

    async def _follow_notifications(self) -> None:
        """Wake the backfill when another instance has indexed notes, since it may not embed them."""
        news = self._index.location.news()
        if news is None:
            return
        async with contextlib.aclosing(news.changes()) as changes:
            async for _ in changes:
                self._vectors.wake()
