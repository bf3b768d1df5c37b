"""Where a line is written to."""

import fcntl
import logging
import os
import sys
from pathlib import Path


class StderrHandler(logging.Handler):
    """Looks standard error up at each line: while somebody is typing, another stream stands in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # closed, or the disk is full
            self.handleError(record)


class SharedFileHandler(logging.Handler):
    """Adds each line to a file that other processes write to as well; made when there is one to write.

    Not logging's own rotating file: that keeps the file open, so that of two processes each goes on writing to one
    that the other has put aside, and the next to rotate throws away what the first has written since.
    """

    def __init__(self, path: Path, *, most_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._most_bytes = most_bytes
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            # For its owner alone, as the conversations are: it tells who talks when.
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
                if os.fstat(fd).st_size >= self._most_bytes:
                    self._rotate(fd)
            finally:
                os.close(fd)
        except (OSError, ValueError):  # the folder is gone, or the disk is full
            self.handleError(record)

    def _rotate(self, fd: int) -> None:
        """Put the file aside, once: whoever else has come so far leaves it to us, or finds another file there."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if not os.path.samestat(os.fstat(fd), self._path.stat()):
            return
        names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._kept + 1))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
