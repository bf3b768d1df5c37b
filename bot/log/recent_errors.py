"""What went wrong lately, kept in memory for the status page."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock

from bot.log.records import record_context, record_message
from bot.log.tracebacks import error_summary
from bot.sanitize import one_line
from memory.redaction import Redaction

MAX_ERRORS = 50


@dataclass(frozen=True, slots=True)
class RecentError:
    """A warning, or worse."""

    at: datetime
    """When it was told last; aware."""
    level: str
    """`warning`, `error` or `critical`."""
    source: str
    """Which part told it: its module."""
    text: str
    """One line, with no secret in it."""
    turn: str
    """The id of the turn or job that it came of last, as in the log; "" for none."""
    times: int = 1
    """How often it was told in a row of others."""


class RecentErrors(logging.Handler):
    """The last fifty that differ, whatever `log_level` says."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._redaction = Redaction()
        self._latest: OrderedDict[tuple[str, str, str], RecentError] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._guard = Lock()
        """It is read in another thread than some write."""

    def set_redaction(self, redaction: Redaction) -> None:
        """Blank out what this does."""
        self._redaction = redaction

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; `logging` calls it, one thread at a time."""
        try:
            trouble = self._make_entry(record)
        except Exception:  # noqa: BLE001 - as every handler, it takes nobody with it
            self.handleError(record)
            return
        key = trouble.level, trouble.source, trouble.text
        with self._guard:
            before = self._latest.pop(key, None)
            self._latest[key] = replace(trouble, times=before.times + 1) if before else trouble
            if len(self._latest) > MAX_ERRORS:
                self._latest.popitem(last=False)
            self._counts[trouble.level] += 1

    def recent(self) -> tuple[RecentError, ...]:
        """The latest first."""
        with self._guard:
            return tuple(reversed(self._latest.values()))

    def counts(self) -> Mapping[str, int]:
        """How many there were of each level since the start, repeats too."""
        with self._guard:
            return dict(self._counts)

    def _make_entry(self, record: logging.LogRecord) -> RecentError:
        error = record.exc_info[1] if record.exc_info else None
        text = ": ".join(
            filter(None, (record_message(record, self._redaction), error_summary(error) if error else ""))
        )
        return RecentError(
            at=datetime.fromtimestamp(record.created, UTC),
            level=record.levelname.lower(),
            source=one_line(self._redaction(record.name), limit=100),
            text=self._redaction(one_line(self._redaction(text))),
            turn=record_context(record).id,
        )
