"""One lock per note, across threads and processes; the system releases it if its process dies."""

import errno
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from memory.deadline import Deadline
from memory.disk import make_private_folder, reason
from memory.errors import NoteUnwritable
from memory.normalization import normalize

LOCK_SECONDS = 10.0
# A second writer in a tight loop leaves gaps of a millisecond; poll often enough to meet one.
_POLL_SECONDS = 0.005
# The file system has no locks, or none for a reader without write permission.
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF}


class SharedLock(Protocol):
    """A note's lock, shared by instances on several hosts."""

    def explain_lost(self) -> str:
        """Return why another instance may be writing to the note now; "" if none can. Checks with the server."""
        ...


class SharedLocks(Protocol):
    """Locks of notes, shared by instances on several hosts."""

    def held(self, path: str, *, timeout: float) -> AbstractContextManager[SharedLock]:
        """Hold the lock of the note `path`. Raises `NoteUnwritable` after `timeout` seconds.

        If the lock service cannot be reached, the block runs without the lock, and `explain_lost` says so.
        Threads and processes on the same host must be excluded by `lock_note`.
        """
        ...


def name_key(path: str) -> str:
    """Return the same key for all spellings that a file system may treat as one name (case, NFC and NFD)."""
    return normalize("NFC", path).casefold()


@contextmanager
def lock_note(folder: Path, path: str, *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of the note `path`; its file is in `folder`. Raises `NoteUnwritable` after `timeout` seconds.

    Spellings that a file system may treat as one name (case, NFC and NFD) share a lock.
    """
    import hashlib

    from filelock import FileLock, Timeout

    name = hashlib.sha256(name_key(path).encode()).hexdigest()[:32]
    try:
        make_private_folder(folder)
        lock = FileLock(folder / f"{name}.lock")
        lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS)
    except Timeout:
        raise NoteUnwritable(
            "{path} has been locked by another program for more than {seconds:g} seconds; try again.",
            path=path,
            seconds=timeout,
        ) from None
    except NotImplementedError:
        raise NoteUnwritable(
            "{path} could not be written: the file system of {folder} has no locks; use a local disk.",
            path=path,
            folder=folder,
        ) from None
    except OSError as error:
        raise NoteUnwritable(
            "{path} could not be written: {reason} (lock in {folder}).",
            path=path,
            reason=reason(error),
            folder=folder,
        ) from error
    try:
        yield
    finally:
        lock.release()


def lock_file(fd: int, path: str, *, timeout: float = LOCK_SECONDS) -> None:
    """Lock an open file itself, if its file system can. Raises `NoteUnwritable` after `timeout` seconds.

    Over NFS the lock works among hosts, and data is read fresh once it is held: it protects writers that
    cannot reach a `SharedLock`. It ends when the file is closed or its process dies.
    """
    import fcntl

    deadline = Deadline.after(timeout)
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.has_passed:
                raise NoteUnwritable(
                    "{path} has been locked by another program for more than {seconds:g} seconds; try again.",
                    path=path,
                    seconds=timeout,
                ) from None
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return
        else:
            return
