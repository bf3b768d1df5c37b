"""Writes files completely or not at all, with nothing in them that others could read meanwhile."""

import errno
import glob
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from bot.setup import phrases
from bot.setup.errors import SetupFailed
from memory.disk import reason, remove_stale_files, sync_folder

PRIVATE_MODE = 0o600
STALE_SECONDS = 60.0
"""Age at which a draft is of a process that has died."""


@dataclass(frozen=True, slots=True)
class NewFile:
    """What a file is to contain."""

    path: Path
    content: bytes = field(repr=False)
    mode: int | None = None
    """Permissions; None for those of the present file, or for only us."""


def write_files(*files: NewFile) -> None:
    """Write all files, or none if one of them cannot be prepared; a link stays one. Raises SetupFailed."""
    with ExitStack() as drafts:
        prepared = []
        for file in files:
            with _explain(file.path):
                prepared.append(drafts.enter_context(_draft(file)))
        for file, put_in_place in zip(files, prepared, strict=True):
            with _explain(file.path):
                put_in_place()


def check_writable(path: Path) -> None:
    """Raise SetupFailed if no file can be written there; leave nothing behind."""
    with _explain(path):
        folder = Path(os.path.realpath(path)).parent
        while not os.path.lexists(folder):
            folder = folder.parent
        fd, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=folder)
        os.close(fd)
        Path(draft).unlink()


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupFailed(phrases.NOT_WRITABLE.format(file=path, reason=reason(error))) from error


@contextmanager
def _draft(file: NewFile) -> Iterator[Callable[[], None]]:
    """Write the content beside the file; yields what puts it in its place. Raises OSError."""
    path = Path(os.path.realpath(file.path))
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_stale_files(path.parent, pattern=f".{glob.escape(path.name)}.*.new", seconds=STALE_SECONDS)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    draft = f".{path.name}.{uuid4().hex}.new"

    def put_in_place() -> None:
        os.rename(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        sync_folder(folder)

    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_MODE, dir_fd=folder)
        with os.fdopen(fd, "wb") as stream:
            _set_owner_and_mode(fd, like=path, mode=file.mode)
            stream.write(file.content)
            stream.flush()
            os.fsync(fd)
        yield put_in_place
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        os.close(folder)


def _set_owner_and_mode(fd: int, *, like: Path, mode: int | None) -> None:
    """Give an open file the owner and mode of the one that it replaces, if there is one; `mode` counts more."""
    with suppress(FileNotFoundError):
        present = like.stat()
        if not stat.S_ISREG(present.st_mode):  # such as /dev/null, to which a masked unit is a link
            raise OSError(errno.EISDIR if stat.S_ISDIR(present.st_mode) else errno.ENXIO, "not a file")
        if (present.st_uid, present.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(fd, present.st_uid, present.st_gid)
        os.fchmod(fd, stat.S_IMODE(present.st_mode))
    if mode is not None:
        os.fchmod(fd, mode)
