"""Bring the index up to date with the notes: what is on disk, less what is indexed, as sets."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from memory.chunker import split_chunks, split_passages
from memory.errors import NoteMissing, NoteUnreadable, PathRefused
from memory.index.protocol import Index, IndexedNote, Stamp
from memory.listing import NoteStat, Problem
from memory.notes import Loaded, Notes
from memory.settings import ChunkSettings
from memory.words import cut

BATCH_BYTES = 4 * 1024 * 1024
"""Notes are indexed in transactions of about this size: large enough to be fast, small enough for memory."""

RACY_NS = 100_000_000
"""A note this young may change again within the same tick of the file system's clock."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one sync found and did."""

    added: int
    changed: int
    removed: int
    problems: tuple[Problem, ...]
    seconds: float


def sync_index(notes: Notes, index: Index, settings: ChunkSettings) -> SyncReport:
    """Index what is new or changed, drop what is gone; a note that cannot be read is a line in the report."""
    began = time.monotonic()
    listing = notes.walk()
    known = index.known()
    problems = list(listing.problems)
    on_disk = {stat.path: stat for stat in listing.notes}
    restamped: dict[str, Stamp] = {}
    batch: list[IndexedNote] = []
    held = added = changed = 0
    for path, stat in on_disk.items():
        before = known.get(path)
        if before and before.stamp == _stamp(stat):
            continue
        loaded = _load(notes, stat, problems)
        if loaded is None:
            continue
        stamp = _settled(_stamp(stat))
        if before and before.digest == loaded.digest:
            if before.stamp != stamp:
                restamped[path] = stamp
            continue
        batch.append(_index_note(path, stamp, loaded, settings))
        added, changed = added + (not before), changed + bool(before)
        held += stat.size
        if held >= BATCH_BYTES:
            index.apply(batch)
            batch, held = [], 0
    unreadable = {problem.path for problem in problems}
    gone = [path for path in known if path not in on_disk and not _inside(path, unreadable)]
    if batch or gone or restamped:
        index.apply(batch, gone=gone, restamped=restamped)
    return SyncReport(added, changed, len(gone), tuple(problems), time.monotonic() - began)


def rebuild_index(notes: Notes, index: Index, settings: ChunkSettings) -> SyncReport:
    """Index everything anew; until the last moment searches find the old state."""
    began = time.monotonic()
    listing = notes.walk()
    problems = list(listing.problems)
    added = 0

    def prepared() -> Iterator[IndexedNote]:
        nonlocal added
        for stat in listing.notes:
            loaded = _load(notes, stat, problems)
            if loaded is not None:
                added += 1
                yield _index_note(stat.path, _settled(_stamp(stat)), loaded, settings)

    index.replace_all(prepared())
    return SyncReport(added, 0, 0, tuple(problems), time.monotonic() - began)


def _load(notes: Notes, stat: NoteStat, problems: list[Problem]) -> Loaded | None:
    try:
        loaded = notes.load(stat.path)
    except NoteMissing:
        return None
    except (NoteUnreadable, PathRefused) as error:
        problems.append(Problem(stat.path, str(error)))
        return None
    if loaded.encoding == "windows-1252":
        problems.append(Problem(stat.path, "it is not UTF-8; what is not was read as Windows-1252"))
    return loaded


def _index_note(path: str, stamp: Stamp, loaded: Loaded, settings: ChunkSettings) -> IndexedNote:
    passages = split_passages(loaded.text, most_tokens=settings.target_tokens)
    chunks = split_chunks(
        passages, target_tokens=settings.target_tokens, overlap_tokens=settings.overlap_tokens
    )
    words = [" ".join(cut(passage.text)) for passage in passages]
    return IndexedNote(path, stamp, loaded.digest, passages, words, chunks)


def _stamp(stat: NoteStat) -> Stamp:
    return Stamp(stat.size, stat.mtime_ns, stat.ctime_ns)


def _settled(stamp: Stamp) -> Stamp:
    """The stamp; of a note so young that another change could leave it the same, one that no file has."""
    if time.time_ns() - max(stamp.mtime_ns, stamp.ctime_ns) < RACY_NS:
        return Stamp(stamp.size, 0, 0)
    return stamp


def _inside(path: str, folders: set[str]) -> bool:
    """Whether the note is in one of the folders, or is one: what cannot be listed is not gone."""
    return path in folders or any(f"{parent}" in folders for parent in _parents(path))


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
