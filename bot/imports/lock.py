"""One import or undo at a time in a workspace."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.imports.errors import ImportFault
from memory.disk import make_private_folder


@contextmanager
def hold_import_lock(private: Path) -> Iterator[None]:
    """Hold the lock, which ends with the process. Raises ImportFault and OSError."""
    locks = private / "locks"
    make_private_folder(locks)
    fd = os.open(locks / "import.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImportFault("another import is running here; try again when it is done") from None
        yield
    finally:
        os.close(fd)
