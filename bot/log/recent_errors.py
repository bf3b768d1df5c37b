"""Recent errors and warnings, kept in memory for the status page."""

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
    """A warning or a worse record."""

    at: datetime
    """When it was last logged; aware."""
    level: str
    """`warning`, `error` or `critical`."""
    source: str
    """Module that logged it."""
    text: str
    """One line without secrets."""
    turn: str
    """Id of the turn or job that last caused it, as in the log; "" for none."""
    times: int = 1
    """How often it was logged."""


class RecentErrors(logging.Handler):
    """Keeps the last fifty distinct errors and warnings, whatever `log_level` is."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._redaction = Redaction()
        self._latest: OrderedDict[tuple[str, str, str], RecentError] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._lock = Lock()
        """Reading and writing happen in different threads."""

    def set_redaction(self, redaction: Redaction) -> None:
        """Set the redaction to apply."""
        self._redaction = redaction

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; `logging` calls this from one thread at a time."""
        try:
            entry = self._make_entry(record)
        except Exception:  # noqa: BLE001 - like every handler, it must not fail its caller
            self.handleError(record)
            return
        key = entry.level, entry.source, entry.text
        with self._lock:
            before = self._latest.pop(key, None)
            self._latest[key] = replace(entry, times=before.times + 1) if before else entry
            if len(self._latest) > MAX_ERRORS:
                self._latest.popitem(last=False)
            self._counts[entry.level] += 1

    def recent(self) -> tuple[RecentError, ...]:
        """Return the errors, newest first."""
        with self._lock:
            return tuple(reversed(self._latest.values()))

    def counts(self) -> Mapping[str, int]:
        """Return how many records of each level there were since the start, including repeats."""
        with self._lock:
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
