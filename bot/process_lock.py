"""Who has this workspace open: each process holds a lock that the system lets go of when it dies; or a restore."""

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
"""As long as it is in the private folder, a restore is under way, or has broken off."""
RESTORE_UNFINISHED = (
    "a restore of this workspace was begun and is not done: let it end, or, where it broke off, "
    "call `commonplace restore FILE` once more, which goes on with it"
)
_BEGINNING, _ENDING = "run-", ".lock"
_SERVICE_LOCK = "service.lock"
_MAX_NOTE_BYTES = 4096


def is_unfinished(private: Path) -> bool:
    """Whether a restore is under way, or has broken off: then the workspace must not be opened."""
    return os.path.lexists(private / RESTORE_PENDING)


class ProcessLock:
    """How the others can see that this process lives; a context manager. Raises OSError where there can be no lock."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds the locks of all processes of a workspace."""
        self.token = token_hex(8)
        """Names this process for ever."""
        self._folder = folder
        self._fd = -1

    def __enter__(self) -> Self:
        make_private_folder(self._folder)
        # Locked before it has its name: nobody sees it unlocked, and takes us for dead.
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
        """Whether the process of this name still runs; "" is nobody's."""
        return token == self.token or (bool(token) and _is_locked(_lock_path(self._folder, token)))


def is_workspace_open(folder: Path, *, sweep: bool = True) -> bool:
    """Whether any process has the workspace open whose locks are in `folder`. For who has no presence itself.

    `sweep`: whether what the dead have left is removed.
    """
    return any(_is_locked(file, sweep=sweep) for file in folder.glob(f"{_BEGINNING}*{_ENDING}"))


class AlreadyRunning(Exception):
    """Another service has the workspace; the text says who it is and how it is stopped, to follow a name of its own."""


@contextmanager
def hold_service_lock(folder: Path, *, shared: bool) -> Iterator[None]:
    """Be the one service of a workspace whose locks are in `folder`.

    A process that dies lets go, however it dies: what its file says counts for nothing without its lock. `shared`:
    beside others that settle between them who does what. Raises ServedAlready where there is one that does not, or
    any where this one does not; OSError where there can be no lock.
    """
    make_private_folder(folder)
    fd = os.open(
        folder / _SERVICE_LOCK, os.O_RDWR | os.O_CREAT, 0o600
    )  # never removed: others may be about to lock it
    try:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(_describe_service(os.pread(fd, _MAX_NOTE_BYTES, 0))) from None
        with suppress(OSError):  # such as a full disk: the lock counts, the note only helps
            os.ftruncate(fd, 0)
            if not shared:  # of several, nobody could tell which is the one that still lives
                note = {"pid": os.getpid(), "host": socket.gethostname(), "pids": _pid_namespace()}
                os.pwrite(fd, json.dumps(note).encode(), 0)
        yield
    finally:
        os.close(fd)


def service_pid(folder: Path) -> int | None:
    """Return the process id of the service whose locks are in `folder`; None where none runs here.

    None too where several share the workspace, or where it runs on another machine or in another container.
    """
    try:
        note = _read_note((folder / _SERVICE_LOCK).read_bytes()[:_MAX_NOTE_BYTES])
        if note is None or not note.is_same_namespace:
            return None
        os.kill(
            note.pid, 0
        )  # before the lock is tried: a service that is just starting must not find it taken
        return note.pid if _is_locked(folder / _SERVICE_LOCK, sweep=False) else None
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class _ServiceNote:
    """What a service writes about itself."""

    pid: int
    host: str
    pids: str

    @property
    def is_same_namespace(self) -> bool:
        """Whether its process id means the same process here."""
        return (self.host, self.pids) == (socket.gethostname(), _pid_namespace())


def _read_note(note: bytes) -> _ServiceNote | None:
    """Read a service's note; None where it is empty, or cut short by a full disk."""
    try:
        told = json.loads(note)
        return _ServiceNote(int(told["pid"]), str(told["host"]), str(told["pids"]))
    except (ValueError, TypeError, KeyError):
        return None


def _describe_service(text: bytes) -> str:
    """Name a service and how it is stopped, by its note."""
    note = _read_note(text)
    if note is None:
        return "one or more processes: stop them"
    if note.is_same_namespace:
        return f"process {note.pid}: stop it (kill {note.pid})"
    return f"process {note.pid} on {one_line(note.host, limit=100)}: stop it there, or its container"


def _pid_namespace() -> str:
    """Within what a process's number is its own: each container counts from 1; "" where the system does not say."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _lock_path(folder: Path, token: str) -> Path:
    return folder / f"{_BEGINNING}{token}{_ENDING}"


def _is_locked(file: Path, *, sweep: bool = True) -> bool:
    """Try the lock; the file of a process that has died goes, unless it is not to be swept away."""
    try:
        fd = os.open(file, os.O_RDWR if sweep else os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at the same time do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if sweep:
            with suppress(OSError):
                file.unlink()
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
