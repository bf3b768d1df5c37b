"""One lock a note, across threads and processes; the system itself ends the lock of a process that dies."""

import errno
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from memory.disk import make_private_folder, reason
from memory.errors import NoteUnwritable
from memory.normalization import normalize

LOCK_SECONDS = 10.0
# A second writer in a tight loop leaves gaps of a millisecond: look often enough to meet one.
_POLL_SECONDS = 0.005
# The file system has none, or none for who may only read.
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF}


class SharedLock(Protocol):
    """A note's lock among instances on several hosts."""

    def explain_lost(self) -> str:
        """Why another instance may write to the note just now, in one line; "" where none does. Asks for it anew."""
        ...


class SharedLocks(Protocol):
    """One lock a note, among instances on several hosts."""

    def held(self, path: str, *, timeout: float) -> AbstractContextManager[SharedLock]:
        """Hold the lock of the note `path`; raises NoteUnwritable after `timeout` s.

        Where nobody can be asked for it the block runs without: `explain_lost` tells. The caller keeps threads of its
        own, and processes on its host, apart by `lock_note`.
        """
        ...


def name_key(path: str) -> str:
    """What all spellings become that some file system takes for the same name (case, NFC and NFD)."""
    return normalize("NFC", path).casefold()


@contextmanager
def lock_note(folder: Path, path: str, *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of the note `path`; its file lies in `folder`. Raises NoteUnwritable after `timeout` s.

    Spellings that some file system takes for the same name (case, NFC and NFD) share a lock.
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


def lock_file(fd: int, path: str, *, timeout: float = LOCK_SECONDS) -> None:
    """Take a lock on an open file itself, where its file system has such. Raises NoteUnwritable after `timeout` s.

    Over NFS it holds among hosts, and what they have written is read anew once it is had: it keeps those apart who
    cannot ask for a `SharedLock`. It ends where the file is closed, or its process dies.
    """
    import fcntl

    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise NoteUnwritable(
                    f"{path} is being written by another program for more than {timeout:g} seconds; try again."
                ) from None
            time.sleep(_POLL_SECONDS)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return
        else:
            return
