"""Set up logging: destination (standard error, or a file that processes share), level and format."""

import fcntl
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from bot.log.excepthooks import install_excepthooks
from bot.log.recent_errors import RecentErrors
from bot.log.records import JsonFormatter, TextFormatter, current_mark, make_record_factory
from memory.redaction import Redaction, set_redaction

LogFormat = Literal["auto", "text", "json"]

CHAT_LOG_BYTES = 5_000_000
"""Size at which the file is renamed to `….1` and a new one started."""
MAX_CHAT_LOGS = 3
VERBOSE_LOGGERS = ("httpcore", "httpx", "mcp", "sse_starlette")
"""Libraries that log every request: at INFO with its full URL, which may contain an API key, or what notes say."""


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

    def __init__(self, path: Path, *, max_bytes: int, kept: int) -> None:
        super().__init__()
        self._path = path
        self._max_bytes = max_bytes
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            # Readable by its owner alone, like the conversations: it shows who talks when.
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
                if os.fstat(fd).st_size >= self._max_bytes:
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


class Log:
    """The log of this process; its level and format can change."""

    def __init__(
        self, handler: logging.Handler, redaction: Redaction, *, recent_errors: RecentErrors | None = None
    ) -> None:
        self._handler = handler
        self._redaction = redaction
        self._recent_errors = recent_errors

    def redact(self, secrets: Iterable[str]) -> None:
        """Also redact these secrets from now on."""
        self._redaction.add(secrets)

    def configure(self, *, level: str, format: LogFormat) -> None:  # noqa: A002
        """Set the level (lower-case name) and the format."""
        as_json = format == "json" or (format == "auto" and self._is_for_programs)
        self._handler.setFormatter((JsonFormatter if as_json else TextFormatter)(self._redaction))
        least = logging.getLevelNamesMapping()[level.upper()]
        self._handler.setLevel(least)
        logging.getLogger().setLevel(min(least, logging.WARNING) if self._recent_errors else least)

    @property
    def _is_for_programs(self) -> bool:
        return isinstance(self._handler, StderrHandler) and not sys.stderr.isatty()


def redact_logs(secrets: Iterable[str], *, mark: str = "") -> Redaction:
    """Remove these secrets, and texts of servers, from all records made from now on.

    `mark`: name of this process in all its lines if another one writes to the same log.
    """
    redaction = Redaction(secrets)
    set_redaction(redaction)
    logging.setLogRecordFactory(make_record_factory(redaction, mark=mark or current_mark()))
    return redaction


def log_to_stderr(
    level: str,
    *,
    format: LogFormat = "auto",  # noqa: A002
    secrets: Iterable[str] = (),
    recent_errors: RecentErrors | None = None,
) -> Log:
    """Log to standard error from `level` (lower-case name) on, as a service.

    `format` "auto" is text on a terminal, else JSON. `recent_errors` keeps warnings whatever the level is.
    """
    return _install(StderrHandler(), level, format, secrets, recent_errors)


def log_to_file(
    path: Path,
    *,
    level: str = "warning",
    format: LogFormat = "auto",  # noqa: A002
    secrets: Iterable[str] = (),
    recent_errors: RecentErrors | None = None,
) -> Log:
    """Log to a small file, created with the first line, while a person uses the terminal.

    `format` "auto" is text here.
    """
    handler = SharedFileHandler(path, max_bytes=CHAT_LOG_BYTES, kept=MAX_CHAT_LOGS)
    return _install(handler, level, format, secrets, recent_errors)


def _install(
    handler: logging.Handler,
    level: str,
    format: LogFormat,  # noqa: A002
    secrets: Iterable[str],
    recent_errors: RecentErrors | None,
) -> Log:
    redaction = redact_logs(secrets)
    if recent_errors:
        recent_errors.set_redaction(redaction)
    log = Log(handler, redaction, recent_errors=recent_errors)
    log.configure(level=level, format=format)
    logging.getLogger().handlers = [handler, *([recent_errors] if recent_errors else [])]
    for name in VERBOSE_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # an unwritable log must not end the program
    install_excepthooks()
    return log
