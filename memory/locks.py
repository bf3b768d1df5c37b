"""One lock a note, across threads and processes; the system itself ends the lock of a process that dies."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.disk import make_private, reason
from memory.errors import NoteUnwritable

LOCK_SECONDS = 10.0
# A second writer in a tight loop leaves gaps of a millisecond: look often enough to meet one.
_POLL_SECONDS = 0.005


@contextmanager
def locked(folder: Path, path: str, *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of the note `path`; its file lies in `folder`. Raises NoteUnwritable after `timeout` s.

    Spellings that some file system takes for the same name (case, NFC and NFD) share a lock.
    """
    import hashlib

    from filelock import FileLock, Timeout

    key = unicodedata.normalize("NFC", path).casefold()
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    try:
        make_private(folder)
        lock = FileLock(folder / f"{name}.lock")
        lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise NoteUnwritable(
            f"{path} is being written by another program for more than {timeout:g} seconds; try again."
        ) from None
    except NotImplementedError:
        raise NoteUnwritable(
            f"{path} could not be written: the file system of {folder} has no locks; use a local disk."
        ) from None
    except OSError as error:
        raise NoteUnwritable(f"{path} could not be written: {reason(error)} (lock in {folder}).") from error
    try:
        yield
    finally:
        lock.release()
