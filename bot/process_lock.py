"""Locks that show which processes have this workspace open; the system releases them when a process dies."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Self

from bot.sanitize import one_line
from memory.disk import make_private_folder

RESTORE_PENDING = "restore.json"
"""File in the private folder that exists while a restore is running or was interrupted."""
RESTORE_UNFINISHED = (
    "a restore of this workspace has not finished: wait for it, or, if it was interrupted, run "
    "`commonplace restore FILE` again to complete it"
)
_BEGINNING, _ENDING = "run-", ".lock"
_SERVICE_LOCK = "service.lock"
_MAX_NOTE_BYTES = 4096


def is_unfinished(private: Path) -> bool:
    """Return whether a restore is running or was interrupted; then the workspace must not be opened."""
    return os.path.lexists(private / RESTORE_PENDING)


class ProcessLock:
    """A context manager that shows other processes that this one is alive. Raises OSError if it cannot lock."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the locks of all processes of a workspace."""
        self.token = token_hex(8)
        """Permanent name of this process."""
        self._folder = folder
        self._fd = -1

    def __enter__(self) -> Self:
        make_private_folder(self._folder)
        # Locked before it gets its name, so that nobody finds it unlocked and takes this process for dead.
        draft = self._folder / f"{self.token}.new"
        self._fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        draft.rename(_lock_path(self._folder, self.token))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            _lock_path(self._folder, self.token).unlink()
        os.close(self._fd)

    def is_alive(self, token: str) -> bool:
        """Return whether the process with this token is still running; False for an empty token."""
        return token == self.token or (bool(token) and _is_locked(_lock_path(self._folder, token)))


def is_workspace_open(folder: Path, *, sweep: bool = True) -> bool:
    """Return whether any process has the workspace with locks in `folder` open; the caller has no lock itself.

    `sweep`: delete the lock files of dead processes.
    """
    return any(_is_locked(file, sweep=sweep) for file in folder.glob(f"{_BEGINNING}*{_ENDING}"))


class AlreadyRunning(Exception):
    """Another service uses the workspace; the text says which one and how to stop it."""


@contextmanager
def hold_service_lock(folder: Path, *, shared: bool) -> Iterator[None]:
    """Hold the lock of the one service of a workspace; a context manager. The system releases it if the process dies.

    `shared`: allow other shared services. Raises AlreadyRunning if another service has the lock and not both share
    it, OSError if it cannot be locked.
    """
    make_private_folder(folder)
    # Never deleted, since others may be about to lock it.
    fd = os.open(folder / _SERVICE_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(_describe_service(os.pread(fd, _MAX_NOTE_BYTES, 0))) from None
        with suppress(OSError):  # such as a full disk: the lock is enough, the note only helps
            os.ftruncate(fd, 0)
            if not shared:  # with several services, the note would not say which of them is alive
                note = {"pid": os.getpid(), "host": socket.gethostname(), "pids": _pid_namespace()}
                os.pwrite(fd, json.dumps(note).encode(), 0)
        yield
    finally:
        os.close(fd)


@contextmanager
def hold_if_free(file: Path) -> Iterator[bool]:
    """Hold a lock unless another process does; yields whether it is held. Raises OSError if it cannot be locked."""
    make_private_folder(file.parent)
    # Never deleted, since others may be about to lock it.
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def service_pid(folder: Path) -> int | None:
    """Return the process id of the service whose locks are in `folder`; None if none runs here.

    None too if several services share the workspace, or if it runs on another machine or in another container.
    """
    try:
        note = _read_note((folder / _SERVICE_LOCK).read_bytes()[:_MAX_NOTE_BYTES])
        if note is None or not note.is_same_namespace:
            return None
        os.kill(note.pid, 0)  # before the lock is tried, which would block a service that is just starting
        return note.pid if _is_locked(folder / _SERVICE_LOCK, sweep=False) else None
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class _ServiceNote:
    """What a service writes into its lock file."""

    pid: int
    host: str
    pids: str

    @property
    def is_same_namespace(self) -> bool:
        """Whether the process id refers to the same process here."""
        return (self.host, self.pids) == (socket.gethostname(), _pid_namespace())


def _read_note(note: bytes) -> _ServiceNote | None:
    """Parse a service's note; None if it is empty or damaged."""
    try:
        told = json.loads(note)
        return _ServiceNote(int(told["pid"]), str(told["host"]), str(told["pids"]))
    except (ValueError, TypeError, KeyError):
        return None


def _describe_service(text: bytes) -> str:
    """Return which service it is and how to stop it."""
    note = _read_note(text)
    if note is None:
        return "one or more processes: stop them"
    if note.is_same_namespace:
        return f"process {note.pid}: stop it (kill {note.pid})"
    return f"process {note.pid} on {one_line(note.host, limit=100)}: stop it there, or its container"


def _pid_namespace() -> str:
    """Return the namespace in which process ids are unique (each container counts from 1); "" if unknown."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _lock_path(folder: Path, token: str) -> Path:
    return folder / f"{_BEGINNING}{token}{_ENDING}"


def _is_locked(file: Path, *, sweep: bool = True) -> bool:
    """Return whether a process holds the lock; `sweep` deletes the file of a dead one."""
    try:
        fd = os.open(file, os.O_RDWR if sweep else os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two checks at the same time do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if sweep:
            with suppress(OSError):
                file.unlink()
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
