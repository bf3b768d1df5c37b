"""Bring the index up to date with the notes: what is on disk, less what is indexed, as sets."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from threading import Event

from memory.chunker import split_chunks, split_passages, split_segments
from memory.errors import IndexUnavailable, NoteMissing, NoteUnreadable, PathRefused
from memory.frozen import dataclass
from memory.index.protocol import Index, IndexChanged, IndexedNote, Stamp
from memory.listing import NoteStat, Problem
from memory.notes import Loaded, Notes
from memory.progress import Tell
from memory.settings import ChunkSettings
from memory.words import cut

BATCH_BYTES = 4 * 1024 * 1024
"""Notes are indexed in transactions of about this size: large enough to be fast, small enough for memory."""

REBUILD_BATCH_BYTES = 512 * 1024
"""The same where others write in between and should not have to wait: about a tenth of a second each."""

RACY_NS = 100_000_000
"""A note this young may change again within the same tick of the file system's clock."""

COARSE_RACY_NS = 2_000_000_000
"""The same where the file system counts in seconds, or in two of them."""

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


@dataclass(slots=True)
class _Counts:
    added: int = 0
    changed: int = 0
    removed: int = 0


def sync_index(
    notes: Notes,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    tell: Tell = lambda done, total: None,
) -> SyncReport:
    """Index what is new or changed, drop what is gone; a note that cannot be read is a line in the report.

    Raises IndexUnavailable once `stop` is set; the next sync goes on from there.
    """
    began = time.monotonic()
    counts = _Counts()
    for left in reversed(range(_TRIES)):
        # What another process has indexed meanwhile may be newer than what we have read, and is not overwritten.
        with contextlib.suppress(IndexChanged):
            version = index.version() if left else ""
            problems = _sync_once(
                notes, index, settings, counts, version=version, stop=stop, tell=tell, batch_bytes=BATCH_BYTES
            )
            break
    return SyncReport(counts.added, counts.changed, counts.removed, tuple(problems), time.monotonic() - began)


def _sync_once(
    notes: Notes,
    index: Index,
    settings: ChunkSettings,
    counts: _Counts,
    *,
    version: str,
    stop: Event | None,
    tell: Tell,
    batch_bytes: int,
) -> list[Problem]:
    stamps, faults = index.stamps()
    listing = notes.walk(known=stamps)
    problems = list(listing.problems)
    to_read = [stat for stat in listing.notes if stamps.get(stat.path) != _stamp(stat)]
    known = index.known([stat.path for stat in to_read])
    restamped: dict[str, Stamp] = {}
    batch: list[IndexedNote] = []
    held = 0

    def apply(gone: Sequence[str] = ()) -> None:
        index.apply(batch, gone=gone, restamped=restamped, version=version)
        changed = sum(note.path in known for note in batch)
        counts.added += len(batch) - changed
        counts.changed += changed
        counts.removed += len(gone)
        batch.clear()
        restamped.clear()

    if faults:
        unread = {stat.path for stat in to_read}
        staying = {*listing.unchanged, *(stat.path for stat in listing.notes)} - unread
        problems += [Problem(path, why) for path, why in faults.items() if path in staying]
    for done, stat in enumerate(to_read, 1):
        _go_on(stop)
        tell(done, len(to_read))
        loaded = _load(notes, stat, problems)
        if loaded is None:
            continue
        path, before = stat.path, known.get(stat.path)
        stamp = _settled(_stamp(stat))
        if before and before.digest == loaded.digest:
            if before.stamp != stamp:
                restamped[path] = stamp
            continue
        batch.append(_index_note(path, stamp, loaded, settings))
        held += stat.size
        if held >= batch_bytes:
            apply()
            held = 0
    unreadable = {problem.path for problem in problems}
    gone: list[str] = []
    if len(listing.unchanged) < len(stamps):
        on_disk = {*listing.unchanged, *(stat.path for stat in listing.notes)}
        gone = [path for path in stamps if path not in on_disk and not _inside(path, unreadable)]
    if batch or gone or restamped:
        apply(gone)
    return problems


def rebuild_index(
    notes: Notes,
    index: Index,
    settings: ChunkSettings,
    *,
    stop: Event | None = None,
    tell: Tell = lambda done, total: None,
) -> SyncReport:
    """Index everything anew, beside the old state, which searches find until the new one is whole.

    Raises IndexUnavailable once `stop` is set, and where another process is at it; then the old state stays.
    """
    began = time.monotonic()
    counts = _Counts()
    # Closed before it took over, a shadow leaves nothing behind.
    with contextlib.closing(index.shadow()) as shadow:
        _sync_once(
            notes, shadow, settings, counts, version="", stop=stop, tell=tell, batch_bytes=REBUILD_BATCH_BYTES
        )
        _go_on(stop)
        shadow.take_over()
    since = sync_index(notes, index, settings, stop=stop)
    added = counts.added + since.added - since.removed
    return SyncReport(added, 0, 0, since.problems, time.monotonic() - began)


def _go_on(stop: Event | None) -> None:
    if stop and stop.is_set():
        raise IndexUnavailable("indexing was stopped")


def _load(notes: Notes, stat: NoteStat, problems: list[Problem]) -> Loaded | None:
    try:
        loaded = notes.load(stat.path)
    except NoteMissing:
        return None
    except (NoteUnreadable, PathRefused) as error:
        problems.append(Problem(stat.path, str(error), hides_notes=True))
        return None
    if loaded.stat.path != stat.path:
        return None  # gone meanwhile: `memory/a.md` is understood as `a.md` where only that is there
    if fault := _fault(loaded):
        problems.append(Problem(stat.path, fault))
    return loaded


def _fault(loaded: Loaded) -> str:
    if loaded.encoding == "windows-1252":
        return "it is not UTF-8; what is not was read as Windows-1252"
    return ""


def _index_note(path: str, stamp: Stamp, loaded: Loaded, settings: ChunkSettings) -> IndexedNote:
    passages = split_passages(loaded.text, most_tokens=settings.target_tokens)
    chunks = split_chunks(
        passages, target_tokens=settings.target_tokens, overlap_tokens=settings.overlap_tokens
    )
    words = [" ".join(cut(passage.text)) for passage in passages]
    segments = split_segments(passages)
    return IndexedNote(
        path, stamp, loaded.digest, passages, words, chunks, segments=segments, fault=_fault(loaded)
    )


def _stamp(stat: NoteStat) -> Stamp:
    # Files may come with any time; 64 bits hold those of the years 1678 to 2262.
    return Stamp(stat.size, max(-_LATEST_NS, min(stat.mtime_ns, _LATEST_NS)), stat.ctime_ns)


def _settled(stamp: Stamp) -> Stamp:
    """The stamp; of a note so young that another change could leave it the same, one that no file has."""
    coarse = stamp.mtime_ns % 1_000_000_000 == stamp.ctime_ns % 1_000_000_000 == 0
    racy, now = COARSE_RACY_NS if coarse else RACY_NS, time.time_ns()
    # A time in the future is none that a change of now would have.
    if any(abs(now - changed) < racy for changed in (stamp.mtime_ns, stamp.ctime_ns)):
        return Stamp(stamp.size, 0, 0)
    return stamp


def _inside(path: str, folders: set[str]) -> bool:
    """Whether the note is in one of the folders, or is one: what cannot be listed is not gone."""
    return path in folders or any(parent in folders for parent in _parents(path))


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield "."
