"""Where log lines go, from which level on, and in which form."""

import logging
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from bot.log.lines import JsonLines, TextLines
from bot.log.records import mark_now, record_factory
from bot.log.strays import catch_strays
from bot.log.streams import ToSharedFile, ToStderr
from bot.log.troubles import Troubles
from memory.redaction import Redaction, redact_by

LogFormat = Literal["auto", "text", "json"]

CHAT_LOG_BYTES = 5_000_000
"""When it has grown to this, the file is called `….1` and a new one is begun."""
CHAT_LOGS_KEPT = 3
TALKATIVE = ("httpcore", "httpx")
"""Libraries that tell of every request at INFO, with its whole address, in which some services put the key."""


class Log:
    """Where the lines of this process go; how they do can change."""

    def __init__(
        self, handler: logging.Handler, redaction: Redaction, *, troubles: Troubles | None = None
    ) -> None:
        self._handler = handler
        self._redaction = redaction
        self._troubles = troubles

    def keep_out(self, secrets: Iterable[str]) -> None:
        """Blank out these as well as those of before."""
        self._redaction.add(secrets)

    def change(self, *, level: str, format: LogFormat) -> None:  # noqa: A002
        """Log from `level` on (a lower-case name), in this form."""
        as_json = format == "json" or (format == "auto" and self._is_for_programs)
        self._handler.setFormatter((JsonLines if as_json else TextLines)(self._redaction))
        least = logging.getLevelNamesMapping()[level.upper()]
        self._handler.setLevel(least)
        logging.getLogger().setLevel(min(least, logging.WARNING) if self._troubles else least)

    @property
    def _is_for_programs(self) -> bool:
        return isinstance(self._handler, ToStderr) and not sys.stderr.isatty()


def keep_out_of_logs(secrets: Iterable[str], *, mark: str = "") -> Redaction:
    """Have nothing that is logged from now on hold these, whoever logs and wherever it goes, nor any text of a server.

    `mark`: which process this is, for every line of it for good, where another one writes to the same log.
    """
    redaction = Redaction(secrets)
    redact_by(redaction)
    logging.setLogRecordFactory(record_factory(redaction, mark=mark or mark_now()))
    return redaction


def log_to_stderr(
    level: str,
    *,
    format: LogFormat = "auto",  # noqa: A002
    secrets: Iterable[str] = (),
    troubles: Troubles | None = None,
) -> Log:
    """Log for a service: every line from `level` on (a lower-case name) goes to standard error.

    `format` "auto" is text where a person sees it, else JSON. `troubles` are kept whatever the level is.
    """
    return _begin(ToStderr(), level, format, secrets, troubles)


def log_to_file(
    path: Path,
    *,
    level: str = "warning",
    format: LogFormat = "auto",  # noqa: A002
    secrets: Iterable[str] = (),
    troubles: Troubles | None = None,
) -> Log:
    """Log where a person sits at the terminal: lines go to a small file, made when there is one to write.

    `format` "auto" is text here.
    """
    handler = ToSharedFile(path, most_bytes=CHAT_LOG_BYTES, kept=CHAT_LOGS_KEPT)
    return _begin(handler, level, format, secrets, troubles)


def _begin(
    handler: logging.Handler,
    level: str,
    format: LogFormat,  # noqa: A002
    secrets: Iterable[str],
    troubles: Troubles | None,
) -> Log:
    redaction = keep_out_of_logs(secrets)
    if troubles:
        troubles.use(redaction)
    log = Log(handler, redaction, troubles=troubles)
    log.change(level=level, format=format)
    logging.getLogger().handlers = [handler, *([troubles] if troubles else [])]
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a log that cannot be written must not take the program with it
    catch_strays()
    return log
