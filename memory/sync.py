"""Bring the index up to date with the notes: what is on disk, less what is indexed, as sets."""

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event

from memory.chunker import split_chunks, split_passages, split_segments
from memory.errors import IndexCorrupted, IndexUnavailable, NoteMissing, NoteUnreadable, PathRefused
from memory.index.protocol import CLAIM_SECONDS, Index, IndexChanged, IndexedNote, KnownNote, Stamp
from memory.listing import NoteStat, Problem
from memory.notes import LoadedNote, Notes
from memory.progress import ReportProgress
from memory.settings import ChunkSettings
from memory.tokenizer import tokenize

BATCH_BYTES = 4 * 1024 * 1024
"""Notes are indexed in transactions of about this size: large enough to be fast, small enough for memory."""

REBUILD_BATCH_BYTES = 512 * 1024
"""The same where others write in between and should not have to wait: about a tenth of a second each."""

RACY_NS = 100_000_000
"""A note this young may change again within the same tick of the file system's clock."""

COARSE_RACY_NS = 2_000_000_000
"""The same where the file system counts in seconds, or in two of them, and where other hosts' clocks count."""

FEW_NOTES = 8
"""So many notes that another instance is at are waited for, …"""

PATIENCE_SECONDS = 2.0
"""… for so long: a search then finds what has just changed. For more it looks again another time."""

EMPTIED_NOTES = 20
"""An index of so many notes is not emptied at once, where instances share it: a folder may not be mounted."""

EMPTIED_SHARE = 20
"""Emptied is what loses all but one in so many: in a folder that is not mounted something may have been noted."""

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
    """How many notes other instances are indexing just now."""

    def combine(self, later: "SyncReport") -> "SyncReport":
        """Both as one."""
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
    notes: Notes,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    tell: ReportProgress = lambda done, total: None,
) -> SyncReport:
    """Index what is new or changed, drop what is gone; a note that cannot be read is a line in the report.

    Raises IndexUnavailable once `stop` is set; the next sync goes on from there.
    """
    began = time.monotonic()
    counts = _SyncCounts()
    for left in reversed(range(_TRIES)):
        # What another process has indexed meanwhile may be newer than what we have read, and is not overwritten.
        with contextlib.suppress(IndexChanged):
            comparison = _FolderDiff(
                notes,
                index,
                settings,
                counts,
                version=index.version() if left else "",
                stop=stop,
                tell=tell,
                batch_bytes=REBUILD_BATCH_BYTES if notes.is_shared else BATCH_BYTES,
            )
            elsewhere = comparison.apply_changes()
            return counts.report(comparison.problems, began=began, elsewhere=elsewhere)
    raise IndexUnavailable("the index is being begun anew again and again")


class _FolderDiff:
    """The folder and an index, as they are at one moment, and the work that makes them the same."""

    def __init__(
        self,
        notes: Notes,
        index: Index,
        settings: ChunkSettings,
        counts: _SyncCounts,
        *,
        version: str,
        stop: Event | None,
        tell: ReportProgress,
        batch_bytes: int,
    ) -> None:
        self._notes, self._index, self._settings, self._counts = notes, index, settings, counts
        self._version, self._stop, self._tell, self._batch_bytes = version, stop, tell, batch_bytes
        self._done = 0
        stamps, faults = index.stamps()
        listing = notes.walk(known=stamps)
        self.problems = list(listing.problems)
        self._to_read = [stat for stat in listing.notes if stamps.get(stat.path) != _make_stamp(stat)]
        on_disk = {*listing.unchanged, *(stat.path for stat in listing.notes)}
        if faults:
            staying = on_disk - {stat.path for stat in self._to_read}
            self.problems += [Problem(path, why) for path, why in faults.items() if path in staying]
        self._gone: list[str] = []
        if len(listing.unchanged) < len(stamps):
            unreadable = {problem.path for problem in self.problems}
            self._gone = [path for path in stamps if path not in on_disk and not _is_inside(path, unreadable)]
        staying_notes = len(stamps) - len(self._gone)
        if (
            notes.is_shared
            and len(self._gone) >= EMPTIED_NOTES
            and staying_notes * EMPTIED_SHARE <= len(stamps)
        ):
            raise IndexUnavailable(
                f"the notes' folder holds {staying_notes} of the {len(stamps)} notes of the index that it shares: "
                "mount the shared storage; or where they went on purpose, call commonplace memory index --rebuild"
            )

    def apply_changes(self) -> int:
        """Do the work; tell how many notes are left to other instances, who are at them."""
        to_read = _rotate_randomly(self._to_read) if self._notes.is_shared else self._to_read
        portions = list(_split_by_size(to_read, self._batch_bytes))
        left: list[NoteStat] = []
        for number, portion in enumerate(portions, 1):
            left += self._index_batch(portion, gone=self._gone if number == len(portions) else ())
        if self._gone and not portions:
            self._apply([], {}, {}, gone=self._gone)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while 0 < len(left) <= FEW_NOTES and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN_SECONDS)
            left = self._index_batch(left)
        return len(left)

    def _index_batch(self, portion: Sequence[NoteStat], *, gone: Collection[str] = ()) -> list[NoteStat]:
        """Index those of the notes that nobody else is at; give back the others."""
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
            if batch or restamped or gone:
                self._apply(batch, restamped, claimed.known, gone=gone)
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
        """Put the note to those that are to be indexed, or to have another stamp, or to none of them."""
        if before and before.stamp == _make_stamp(stat):
            return  # somebody has indexed it since we looked
        loaded = _load_note(self._notes, stat, self.problems)
        if loaded is None:
            return
        # Of the version that was read: what a walk finds may be older, on a disk that hosts share by much.
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
        gone: Collection[str],
    ) -> None:
        self._index.write_batch(batch, gone=gone, restamped=restamped, version=self._version)
        changed = sum(note.path in known for note in batch)
        self._counts.added += len(batch) - changed
        self._counts.changed += changed
        self._counts.removed += len(gone)


class _ClaimedNotes:
    """Notes that are ours to index, with what the index held of them when they became so."""

    def __init__(self, index: Index, paths: Sequence[str]) -> None:
        self._index = index
        self._since = time.monotonic()
        self.paths = frozenset(index.claim(paths))
        self.known = index.known(self.paths)

    def renew(self) -> None:
        """Hold them for longer where that is called for; what somebody else was at meanwhile is no longer ours."""
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
        """Leave to others what was not applied."""
        if rest := self.paths.difference(applied):
            self._index.release(rest)


def _rotate_randomly(stats: list[NoteStat]) -> list[NoteStat]:
    """The same from another place on: instances that begin at different places meet late, and share the work."""
    from random import random  # 3 ms, for nothing where there is one instance

    start = int(random() * len(stats))  # noqa: S311
    return stats[start:] + stats[:start]


def _split_by_size(stats: Sequence[NoteStat], size: int) -> Iterator[list[NoteStat]]:
    """Cut into pieces of about so many bytes."""
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
    notes: Notes,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    tell: ReportProgress = lambda done, total: None,
) -> SyncReport:
    """Index everything anew, beside the old state, which searches find until the new one is whole.

    Raises IndexUnavailable once `stop` is set, and where another process is at it; then the old state stays.
    """
    began = time.monotonic()
    counts = _SyncCounts()
    # Closed before it took over, a shadow leaves nothing behind.
    with contextlib.closing(index.shadow()) as shadow:
        comparison = _FolderDiff(
            notes,
            shadow,
            settings,
            counts,
            version="",
            stop=stop,
            tell=tell,
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


def _load_note(notes: Notes, stat: NoteStat, problems: list[Problem]) -> LoadedNote | None:
    try:
        loaded = notes.load(stat.path)
    except NoteMissing:
        return None
    except (NoteUnreadable, PathRefused) as error:
        problems.append(Problem(stat.path, str(error), hides_notes=True))
        return None
    if loaded.stat.path != stat.path:
        return None  # gone meanwhile: `memory/a.md` is understood as `a.md` where only that is there
    if fault := _find_fault(loaded):
        problems.append(Problem(stat.path, fault))
    return loaded


def _find_fault(loaded: LoadedNote) -> str:
    if loaded.encoding == "windows-1252":
        return "it is not UTF-8; what is not was read as Windows-1252"
    return ""


def _index_note(path: str, stamp: Stamp, loaded: LoadedNote, settings: ChunkSettings) -> IndexedNote:
    passages = split_passages(loaded.text, most_tokens=settings.target_tokens)
    chunks = split_chunks(
        passages, target_tokens=settings.target_tokens, overlap_tokens=settings.overlap_tokens
    )
    words = [" ".join(tokenize(passage.text)) for passage in passages]
    segments = split_segments(passages)
    return IndexedNote(
        path, stamp, loaded.digest, passages, words, chunks, segments=segments, fault=_find_fault(loaded)
    )


def _make_stamp(stat: NoteStat) -> Stamp:
    # Files may come with any time; 64 bits hold those of the years 1678 to 2262.
    return Stamp(stat.size, max(-_LATEST_NS, min(stat.mtime_ns, _LATEST_NS)), stat.ctime_ns)


def _settle_stamp(stamp: Stamp, *, shared: bool) -> Stamp:
    """The stamp; of a note so young that another change could leave it the same, with a ctime that no file has.

    The modification time stays: of undated notes it tells which one is newer.

    `shared`: it was the clock of another host that stamped it, which need not quite agree with ours.
    """
    coarse = shared or stamp.mtime_ns % 1_000_000_000 == stamp.ctime_ns % 1_000_000_000 == 0
    racy, now = COARSE_RACY_NS if coarse else RACY_NS, time.time_ns()
    # A time in the future is none that a change of now would have.
    if any(abs(now - changed) < racy for changed in (stamp.mtime_ns, stamp.ctime_ns)):
        return Stamp(stamp.size, stamp.mtime_ns, 0)
    return stamp


def _is_inside(path: str, folders: set[str]) -> bool:
    """Whether the note is in one of the folders, or is one: what cannot be listed is not gone."""
    return path in folders or any(parent in folders for parent in _parent_folders(path))


def _parent_folders(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."
