"""A note's file as other programs may change it: one version of it, and whether it is still in place."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memory import disk
from memory.errors import NoteMissing, NoteUnreadable, NoteUnwritable
from memory.paths import format_path

NOTE_MAX_BYTES = 16 * 1024 * 1024
TRIES = 20
"""Attempts to read or write a note that another program keeps changing."""
_RECENT_NS = 2_000_000_000


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turn an `OSError` during a write into `NoteUnwritable` with a readable reason."""
    try:
        yield
    except OSError as error:
        raise NoteUnwritable(
            "{path} could not be written: {reason}.", path=path, reason=disk.reason(error)
        ) from error


def note_missing(path: str) -> NoteMissing:
    """Return the error for a note that does not exist."""
    return NoteMissing("There is no note {path}.", path=format_path(path))


def read_one_version(fd: int, path: str) -> tuple[os.stat_result, bytes]:
    """Read an open note as it was at one moment, not in the middle of another program's write."""
    for _ in range(TRIES):
        before = os.fstat(fd)
        if before.st_size > NOTE_MAX_BYTES:
            size = before.st_size / (1024 * 1024)
            raise NoteUnreadable(
                "{path} has {size:.0f} MiB; split it into notes of at most 16 MiB.", path=path, size=size
            )
        data = disk.read_all(fd, limit=NOTE_MAX_BYTES + 1)
        # The timestamp is that of the write's beginning: while it is recent, only a second read can tell.
        if is_recent(before) and disk.read_all(fd, limit=NOTE_MAX_BYTES + 1) != data:
            continue
        if disk.same_version(before, os.fstat(fd)) and len(data) == before.st_size:
            return before, data
        time.sleep(0.01)
    raise NoteUnreadable("{path} keeps being written; try again later.", path=path)


def is_recent(found: os.stat_result) -> bool:
    """Return whether the file was changed in the last two seconds."""
    return time.time_ns() - found.st_mtime_ns < _RECENT_NS


def is_unchanged(found: os.stat_result, name: str, *, folder: int) -> bool:
    """Return whether the file of this name is still the version in `found`."""
    return disk.same_version(_stat_opened(name, folder=folder), found)


def is_in_place(fd: int, name: str, *, folder: int) -> bool:
    """Return whether the opened file still has this name."""
    try:
        return os.path.samestat(os.fstat(fd), _stat_opened(name, folder=folder))
    except OSError:
        return False


def _stat_opened(name: str, *, folder: int) -> os.stat_result:
    """Return the current metadata of a name.

    It is opened first, since other hosts' `stat` may be a minute old.
    """
    fd = disk.open_file(name, os.O_RDONLY, folder=folder)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)
