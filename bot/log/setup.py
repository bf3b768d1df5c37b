"""Where log lines go, from which level on, and in which form."""

import logging
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from bot.log.excepthooks import install_excepthooks
from bot.log.formatters import JsonFormatter, TextFormatter
from bot.log.handlers import SharedFileHandler, StderrHandler
from bot.log.recent_errors import RecentErrors
from bot.log.records import current_mark, make_record_factory
from memory.redaction import Redaction, set_redaction

LogFormat = Literal["auto", "text", "json"]

CHAT_LOG_BYTES = 5_000_000
"""When it has grown to this, the file is called `….1` and a new one is begun."""
MAX_CHAT_LOGS = 3
VERBOSE_LOGGERS = ("httpcore", "httpx")
"""Libraries that tell of every request at INFO, with its whole address, in which some services put the key."""


class Log:
    """Where the lines of this process go; how they do can change."""

    def __init__(
        self, handler: logging.Handler, redaction: Redaction, *, troubles: RecentErrors | None = None
    ) -> None:
        self._handler = handler
        self._redaction = redaction
        self._troubles = troubles

    def redact(self, secrets: Iterable[str]) -> None:
        """Blank out these as well as those of before."""
        self._redaction.add(secrets)

    def configure(self, *, level: str, format: LogFormat) -> None:  # noqa: A002
        """Log from `level` on (a lower-case name), in this form."""
        as_json = format == "json" or (format == "auto" and self._is_for_programs)
        self._handler.setFormatter((JsonFormatter if as_json else TextFormatter)(self._redaction))
        least = logging.getLevelNamesMapping()[level.upper()]
        self._handler.setLevel(least)
        logging.getLogger().setLevel(min(least, logging.WARNING) if self._troubles else least)

    @property
    def _is_for_programs(self) -> bool:
        return isinstance(self._handler, StderrHandler) and not sys.stderr.isatty()


def redact_logs(secrets: Iterable[str], *, mark: str = "") -> Redaction:
    """Have nothing that is logged from now on hold these, whoever logs and wherever it goes, nor any text of a server.

    `mark`: which process this is, for every line of it for good, where another one writes to the same log.
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
    troubles: RecentErrors | None = None,
) -> Log:
    """Log for a service: every line from `level` on (a lower-case name) goes to standard error.

    `format` "auto" is text where a person sees it, else JSON. `troubles` are kept whatever the level is.
    """
    return _install(StderrHandler(), level, format, secrets, troubles)


def log_to_file(
    path: Path,
    *,
    level: str = "warning",
    format: LogFormat = "auto",  # noqa: A002
    secrets: Iterable[str] = (),
    troubles: RecentErrors | None = None,
) -> Log:
    """Log where a person sits at the terminal: lines go to a small file, made when there is one to write.

    `format` "auto" is text here.
    """
    handler = SharedFileHandler(path, most_bytes=CHAT_LOG_BYTES, kept=MAX_CHAT_LOGS)
    return _install(handler, level, format, secrets, troubles)


def _install(
    handler: logging.Handler,
    level: str,
    format: LogFormat,  # noqa: A002
    secrets: Iterable[str],
    troubles: RecentErrors | None,
) -> Log:
    redaction = redact_logs(secrets)
    if troubles:
        troubles.set_redaction(redaction)
    log = Log(handler, redaction, troubles=troubles)
    log.configure(level=level, format=format)
    logging.getLogger().handlers = [handler, *([troubles] if troubles else [])]
    for name in VERBOSE_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a log that cannot be written must not take the program with it
    install_excepthooks()
    return log
