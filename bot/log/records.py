"""Make all log records safe, whoever logs, before any handler sees them, and format them as text or JSON."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.log.context import LogContext, current_context
from bot.log.tracebacks import format_traceback
from bot.sanitize import strip_controls
from memory.redaction import Redaction

_PREPARED = "commonplace_settled"
"""Name of the record's attribute; unlikely to clash with a library's."""


@dataclass(frozen=True, slots=True)
class _PreparedRecord:
    """What was computed when the record was made, so that no handler repeats it."""

    message: str
    trace: str
    context: LogContext
    mark: str


def make_record_factory(redaction: Redaction, *, mark: str = "") -> Callable[..., logging.LogRecord]:
    """Return a factory for `logging.setLogRecordFactory`.

    It redacts message and traceback here rather than in a formatter, so that no other handler shows more. `mark`:
    name of this process if others write to the same log.
    """
    return _RecordFactory(redaction, mark)


@dataclass(frozen=True, slots=True)
class _RecordFactory:
    redaction: Redaction
    mark: str

    def __call__(self, *arguments: Any, **options: Any) -> logging.LogRecord:
        record = logging.LogRecord(*arguments, **options)
        record.msg, record.args = _clean_message(record, self.redaction), None
        if error := _record_error(record):
            record.exc_text = self.redaction(strip_controls(format_traceback(error)))
        if record.stack_info:
            record.stack_info = self.redaction(strip_controls(record.stack_info))
        setattr(
            record,
            _PREPARED,
            _PreparedRecord(record.msg, _format_trace(record), current_context(), self.mark),
        )
        return record


def current_mark() -> str:
    """Return the mark of new records."""
    records = logging.getLogRecordFactory()
    return records.mark if isinstance(records, _RecordFactory) else ""


def record_message(record: logging.LogRecord, redaction: Redaction) -> str:
    """Return the message without secrets and control characters."""
    prepared = _prepared_part(record)
    return (
        prepared.message if prepared and prepared.message is record.msg else _clean_message(record, redaction)
    )


def record_traceback(record: logging.LogRecord, redaction: Redaction) -> str:
    """Return the traceback and the stack, if requested; "" for neither."""
    prepared, trace = _prepared_part(record), _format_trace(record)
    return trace if prepared and prepared.trace == trace else redaction(strip_controls(trace))


def record_context(record: logging.LogRecord) -> LogContext:
    """Return what was being worked on when the record was made."""
    prepared = _prepared_part(record)
    return prepared.context if prepared else LogContext("")


def record_mark(record: logging.LogRecord) -> str:
    """Return the name of the process that made it; "" if unmarked."""
    prepared = _prepared_part(record)
    return prepared.mark if prepared else current_mark()


def _prepared_part(record: logging.LogRecord) -> _PreparedRecord | None:
    prepared = getattr(record, _PREPARED, None)
    return prepared if isinstance(prepared, _PreparedRecord) else None


def _clean_message(record: logging.LogRecord, redaction: Redaction) -> str:
    """Remove controls before secrets: one inside a secret would hide it, and terminals drop them."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - logging must not fail its caller
        message = (
            f"{record.msg!s} (its arguments do not fit)" if isinstance(record.msg, str) else "a broken line"
        )
    return redaction(strip_controls(message))


def _format_trace(record: logging.LogRecord) -> str:
    error = _record_error(record)
    trace = record.exc_text or (format_traceback(error) if error else "")
    return "\n".join(filter(None, (trace, record.stack_info)))


def _record_error(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


class TextFormatter(logging.Formatter):
    """Format lines as `2026-11-21 10:15:02 INFO bot.app: [k3f9a2] …`, in local time, without terminal controls.

    Lines of a marked process read `INFO bot.app: (attic for cellar) [k3f9a2] …`.
    """

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(datefmt="%Y-%m-%d %H:%M:%S")
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; continuation lines are indented, so that none looks like a record of its own."""
        context = record_context(record)
        head = f"{self.formatTime(record, self.datefmt)} {record.levelname} {record.name}: "
        about = f"({mark}) " if (mark := record_mark(record)) else ""
        about += f"[{context.id}] " if context.id else ""
        message = record_message(record, self._redaction).replace("\n", "\n    ")
        trace = record_traceback(record, self._redaction)
        line = f"{head}{about}{message}" + (f"\n{trace}" if trace else "")
        return self._redaction(strip_controls(line))  # includes the logger's name


class JsonFormatter(logging.Formatter):
    """Format one object a line: `time` (ISO 8601, UTC), `level`, `logger`, `message`.

    `turn`, `chat` and `exception` are added if known, and `instance` for a marked process.
    """

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        context = record_context(record)
        fields = {
            "time": _format_time(record.created),
            "level": record.levelname.lower(),
            "logger": self._redaction(strip_controls(record.name)),
            "message": record_message(record, self._redaction),
            "instance": self._redaction(strip_controls(record_mark(record))),
            "turn": context.id,
            "chat": self._redaction(strip_controls(context.chat)),
            "exception": record_traceback(record, self._redaction),
        }
        present = {key: value for key, value in fields.items() if value or key == "message"}
        line = json.dumps(present, ensure_ascii=False)
        # Some programs treat these as line ends.
        return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _format_time(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
