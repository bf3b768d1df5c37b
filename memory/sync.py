"""Bring the index up to date with the notes by comparing what there is with what is indexed."""

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from memory.chunker import split_chunks, split_passages, split_segments
from memory.deadline import Deadline
from memory.errors import (
    IndexCorrupted,
    IndexUnavailable,
    NoteMissing,
    NoteUnreadable,
    PathRefused,
    RebuildRunning,
)
from memory.index.protocol import CLAIM_SECONDS, Index, IndexChanged, IndexedNote, KnownNote, Stamp
from memory.listing import NoteStat, Problem
from memory.note_references import read_references
from memory.note_source import LoadedNote, NoteSource
from memory.progress import ReportProgress
from memory.settings import ChunkSettings
from memory.translatable import Translatable

BATCH_BYTES = 4 * 1024 * 1024
"""Notes are indexed in transactions of about this many bytes: large enough to be fast, small enough for memory."""

REBUILD_BATCH_BYTES = 512 * 1024
"""Bytes per transaction if other processes write too, so that they wait only about a tenth of a second."""

RACY_NS = 100_000_000
"""A note changed within this many nanoseconds may change again within one tick of the file system's clock."""

COARSE_RACY_NS = 2_000_000_000
"""The same for file systems that count in steps of one or two seconds, and for other hosts' clocks."""

MAX_AWAITED_NOTES = 8
"""Wait for notes that another instance is indexing only if there are at most this many."""

MAX_WAIT_SECONDS = 2.0
"""Seconds to wait for them, so that a search finds what has just changed."""

EMPTIED_NOTES = 20
"""A shared index of this many notes is never emptied at once, since the folder may not be mounted."""

EMPTIED_SHARE = 20
"""A sync counts as emptying if it keeps at most one note in this many; an unmounted folder may contain a few."""

_LOOK_AGAIN_SECONDS = 0.05
_RENEW_SECONDS = CLAIM_SECONDS / 3
_TRIES = 20
_LATEST_NS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync found and did."""

    added: int
    changed: int
    removed: int
    problems: tuple[Problem, ...]
    seconds: float
    elsewhere: int = 0
    """Number of notes that other instances are indexing now."""

    def combine(self, later: "SyncReport") -> "SyncReport":
        """Return the sum of this report and a later one."""
        return SyncReport(
            self.added + later.added,
            self.changed + later.changed,
            self.removed + later.removed,
            later.problems,
            self.seconds + later.seconds,
            later.elsewhere,
        )


@dataclass(slots=True)
class _SyncCounts:
    added: int = 0
    changed: int = 0
    removed: int = 0

    def report(self, problems: Sequence[Problem], *, began: float, elsewhere: int) -> SyncReport:
        seconds = time.monotonic() - began
        return SyncReport(self.added, self.changed, self.removed, tuple(problems), seconds, elsewhere)


def sync_index(
    notes: NoteSource,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    report: ReportProgress = lambda done, total: None,
) -> SyncReport:
    """Index what is new or changed and drop what is gone; unreadable notes are listed in the report.

    An outdated index is rebuilt beside the old one; if another process is doing that, all notes are left to it.
    Raises `IndexUnavailable` once `stop` is set; the next sync resumes there.
    """
    began = time.monotonic()
    counts = _SyncCounts()
    for left in reversed(range(_TRIES)):
        # Asked each time, since another process with other settings may have replaced the index meanwhile.
        if index.is_outdated():
            try:
                return rebuild_index(notes, index, settings, stop=stop, report=report)
            except RebuildRunning:
                return counts.report((), began=began, elsewhere=max(1, index.numbers().notes))
        # Another process may have indexed newer versions than we have read; do not overwrite them.
        with contextlib.suppress(IndexChanged):
            comparison = _FolderDiff(
                notes,
                index,
                settings,
                counts,
                version=index.version() if left else "",
                stop=stop,
                report=report,
                batch_bytes=REBUILD_BATCH_BYTES if notes.is_shared else BATCH_BYTES,
            )
            elsewhere = comparison.apply_changes()
            return counts.report(comparison.problems, began=began, elsewhere=elsewhere)
    raise IndexUnavailable("the index keeps being started over")


class _FolderDiff:
    """The difference between folder and index at one moment, and the work that resolves it."""

    def __init__(
        self,
        notes: NoteSource,
        index: Index,
        settings: ChunkSettings,
        counts: _SyncCounts,
        *,
        version: str,
        stop: Event | None,
        report: ReportProgress,
        batch_bytes: int,
    ) -> None:
        self._notes, self._index, self._settings, self._counts = notes, index, settings, counts
        self._version, self._stop, self._tell, self._batch_bytes = version, stop, report, batch_bytes
        self._done = 0
        stamps, faults = index.stamps()
        listing = notes.walk(known=stamps)
        self.problems = list(listing.problems)
        self._to_read = [stat for stat in listing.notes if stamps.get(stat.path) != _make_stamp(stat)]
        on_disk = {*listing.unchanged, *(stat.path for stat in listing.notes)}
        if faults:
            staying = on_disk - {stat.path for stat in self._to_read}
            self.problems += [
                Problem(path, Translatable(why), was_read=True)
                for path, why in faults.items()
                if path in staying
            ]
        self._gone: list[str] = []
        if len(listing.unchanged) < len(stamps):
            unreadable = {problem.path for problem in self.problems}
            self._gone = [path for path in stamps if path not in on_disk and not _is_inside(path, unreadable)]
            self._gone += listing.excluded
        staying_notes = len(stamps) - len(self._gone)
        if (
            notes.is_shared
            and len(self._gone) >= EMPTIED_NOTES
            and staying_notes * EMPTIED_SHARE <= len(stamps)
        ):
            raise IndexUnavailable(
                "the notes folder has only {left} of the {all} notes in the shared index: mount the "
                "shared storage; or, if they were deleted on purpose, run: commonplace memory index "
                "--rebuild",
                left=staying_notes,
                all=len(stamps),
            )

    def apply_changes(self) -> int:
        """Index all changes; return how many notes are left to the other instances that have claimed them."""
        to_read = _rotate_randomly(self._to_read) if self._notes.is_shared else self._to_read
        portions = list(_split_by_size(to_read, self._batch_bytes))
        left: list[NoteStat] = []
        for number, portion in enumerate(portions, 1):
            left += self._index_batch(portion, deleted=self._gone if number == len(portions) else ())
        if self._gone and not portions:
            self._apply([], {}, {}, deleted=self._gone)
        deadline = Deadline.after(MAX_WAIT_SECONDS)
        while 0 < len(left) <= MAX_AWAITED_NOTES and not deadline.has_passed:
            time.sleep(_LOOK_AGAIN_SECONDS)
            left = self._index_batch(left)
        return len(left)

    def _index_batch(self, portion: Sequence[NoteStat], *, deleted: Collection[str] = ()) -> list[NoteStat]:
        """Claim and index a batch; return the notes that others have claimed."""
        claimed = _ClaimedNotes(self._index, [stat.path for stat in portion])
        try:
            batch: list[IndexedNote] = []
            restamped: dict[str, Stamp] = {}
            for stat in portion:
                _check_not_stopped(self._stop)
                self._done += 1
                self._tell(min(self._done, len(self._to_read)), len(self._to_read))
                claimed.renew()
                if stat.path in claimed.paths:
                    self._sort_note(stat, claimed.known.get(stat.path), batch, restamped)
            claimed.renew()
            batch = [note for note in batch if note.path in claimed.paths]
            restamped = {path: stamp for path, stamp in restamped.items() if path in claimed.paths}
            if batch or restamped or deleted:
                self._apply(batch, restamped, claimed.known, deleted=deleted)
            claimed.end(applied={*restamped, *(note.path for note in batch)})
        except BaseException:
            with contextlib.suppress(IndexCorrupted, IndexUnavailable):
                claimed.end()
            raise
        return [stat for stat in portion if stat.path not in claimed.paths]

    def _sort_note(
        self,
        stat: NoteStat,
        before: KnownNote | None,
        batch: list[IndexedNote],
        restamped: dict[str, Stamp],
    ) -> None:
        """Put the note into `batch` if its content changed, into `restamped` if only its stamp did, else nowhere."""
        if before and before.stamp == _make_stamp(stat):
            return  # already indexed by somebody else
        loaded = _load_note(self._notes, stat, self.problems)
        if loaded is None:
            return
        # Stamp the version that was read: the walk's may be older, by much on a disk that hosts share.
        stamp = _settle_stamp(_make_stamp(loaded.stat), shared=self._notes.is_shared)
        if before is None or before.digest != loaded.digest:
            batch.append(_index_note(stat.path, stamp, loaded, self._settings))
        elif before.stamp != stamp:
            restamped[stat.path] = stamp

    def _apply(
        self,
        batch: Sequence[IndexedNote],
        restamped: Mapping[str, Stamp],
        known: Mapping[str, KnownNote],
        *,
        deleted: Collection[str],
    ) -> None:
        self._index.write_batch(batch, deleted=deleted, restamped=restamped, version=self._version)
        changed = sum(note.path in known for note in batch)
        self._counts.added += len(batch) - changed
        self._counts.changed += changed
        self._counts.removed += len(deleted)


class _ClaimedNotes:
    """Notes claimed by us, with what the index held of them at that time."""

    def __init__(self, index: Index, paths: Sequence[str]) -> None:
        self._index = index
        self._since = time.monotonic()
        self.paths = frozenset(index.claim(paths))
        self.known = index.known(self.paths)

    def renew(self) -> None:
        """Extend the claims if it is time; drop notes that another instance has claimed meanwhile."""
        now = time.monotonic()
        if now - self._since < _RENEW_SECONDS:
            return
        still = frozenset(self._index.claim(sorted(self.paths)))
        known = self._index.known(still)
        taken = {path for path in still if known.get(path) != self.known.get(path)}
        if taken:
            self._index.release(taken)
        self._since, self.paths = now, still - taken

    def end(self, *, applied: Collection[str] = ()) -> None:
        """Release the claims of all notes that were not written."""
        if rest := self.paths.difference(applied):
            self._index.release(rest)


def _rotate_randomly(stats: list[NoteStat]) -> list[NoteStat]:
    """Return the notes starting at a random one, so that instances rarely meet and share the work."""
    from random import random  # takes 3 ms, needless for a single instance

    start = int(random() * len(stats))  # noqa: S311
    return stats[start:] + stats[:start]


def _split_by_size(stats: Sequence[NoteStat], size: int) -> Iterator[list[NoteStat]]:
    """Split the notes into batches of about `size` bytes."""
    portion: list[NoteStat] = []
    held = 0
    for stat in stats:
        portion.append(stat)
        held += stat.size
        if held >= size:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion


def rebuild_index(
    notes: NoteSource,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    report: ReportProgress = lambda done, total: None,
) -> SyncReport:
    """Index everything into a shadow, while searches use the old index until the new one is complete.

    Raises `IndexUnavailable` once `stop` is set, and if another process is rebuilding; then the old index
    stays.
    """
    began = time.monotonic()
    counts = _SyncCounts()
    # A shadow that is closed before it is promoted leaves nothing behind.
    with contextlib.closing(index.shadow()) as shadow:
        comparison = _FolderDiff(
            notes,
            shadow,
            settings,
            counts,
            version="",
            stop=stop,
            report=report,
            batch_bytes=REBUILD_BATCH_BYTES,
        )
        comparison.apply_changes()
        _check_not_stopped(stop)
        shadow.promote()
    since = sync_index(notes, index, settings, stop=stop)
    added = counts.added + since.added - since.removed
    return SyncReport(added, 0, 0, since.problems, time.monotonic() - began, since.elsewhere)


def _check_not_stopped(stop: Event | None) -> None:
    if stop and stop.is_set():
        raise IndexUnavailable("indexing was stopped")


def _load_note(notes: NoteSource, stat: NoteStat, problems: list[Problem]) -> LoadedNote | None:
    try:
        loaded = notes.load(stat.path)
    except NoteMissing:
        return None
    except (NoteUnreadable, PathRefused) as error:
        problems.append(Problem(stat.path, error.text, hides_notes=True))
        return None
    if loaded.stat.path != stat.path:
        return None  # deleted meanwhile: `memory/a.md` resolves to `a.md` if only that exists
    if fault := _find_fault(loaded):
        problems.append(Problem(stat.path, fault, was_read=True))
    return loaded


def _find_fault(loaded: LoadedNote) -> str:
    if loaded.encoding == "windows-1252":
        return Translatable("it is not UTF-8; other characters were read as Windows-1252")
    return ""


def _index_note(path: str, stamp: Stamp, loaded: LoadedNote, settings: ChunkSettings) -> IndexedNote:
    passages = split_passages(loaded.text, max_tokens=settings.target_tokens)
    chunks = split_chunks(
        passages, target_tokens=settings.target_tokens, overlap_tokens=settings.overlap_tokens
    )
    references = read_references(loaded.text, passages)
    segments = split_segments(passages)
    return IndexedNote(
        path,
        stamp,
        loaded.digest,
        passages,
        references.words,
        chunks,
        segments=segments,
        fault=_find_fault(loaded),
        names=references.names,
        links=references.links,
    )


def is_up_to_date(stat: NoteStat, known: tuple[int, int, int]) -> bool:
    """Return whether a note is as the index knows it, as far as its stamp tells."""
    # One that was read right after a change is read once more, but that it has changed is not known.
    return known in (stamp := _make_stamp(stat), _without_ctime(stamp))


def _make_stamp(stat: NoteStat) -> Stamp:
    # Files may have any time; 64 bits hold those of the years 1678 to 2262.
    return Stamp(stat.size, max(-_LATEST_NS, min(stat.mtime_ns, _LATEST_NS)), stat.ctime_ns)


def _settle_stamp(stamp: Stamp, *, shared: bool) -> Stamp:
    """Return the stamp; for a very recent note, give it an impossible ctime, so that it is read again next time.

    Another change within the clock's resolution would leave the stamp the same. The modification time stays,
    since it orders undated notes. With `shared`, another host's clock may have set the time.
    """
    coarse = shared or stamp.mtime_ns % 1_000_000_000 == stamp.ctime_ns % 1_000_000_000 == 0
    racy, now = COARSE_RACY_NS if coarse else RACY_NS, time.time_ns()
    # `abs`, since a change made now could not have a time far in the future.
    if any(abs(now - changed) < racy for changed in (stamp.mtime_ns, stamp.ctime_ns)):
        return _without_ctime(stamp)
    return stamp


def _without_ctime(stamp: Stamp) -> Stamp:
    return Stamp(stamp.size, stamp.mtime_ns, 0)


def _is_inside(path: str, folders: set[str]) -> bool:
    """Return whether the path is in one of the folders or is one: a folder that cannot be listed is not gone."""
    return path in folders or any(parent in folders for parent in _parent_folders(path))


def _parent_folders(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."
