"""Handlers that write log lines to standard error or to a shared file."""

import fcntl
import logging
import os
import sys
from pathlib import Path


class StderrHandler(logging.Handler):
    """Looks up `sys.stderr` for each line, because the line editor replaces it while a person types."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # closed, or the disk is full
            self.handleError(record)


class SharedFileHandler(logging.Handler):
    """Appends each line to a file that other processes also write to; the file is created with the first line.

    The standard rotating handler keeps the file open: a second process would go on writing to the rotated file, and
    the next rotation could delete those lines.
    """

    def __init__(self, path: Path, *, most_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._most_bytes = most_bytes
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            # Readable by its owner alone, like the conversations: it shows who talks when.
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
        """Rotate the file once; a process that finds it locked or already rotated does nothing."""
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
