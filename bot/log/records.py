"""Records of the log, whoever makes them: what they say is harmless before any handler sees it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.log.context import LogContext, current_context
from bot.log.tracebacks import format_traceback
from bot.sanitize import strip_controls
from memory.redaction import Redaction

_PREPARED = "commonplace_settled"
"""The field of a record: no name that a library might want for one of its own."""


@dataclass(frozen=True, slots=True)
class _PreparedRecord:
    """What was seen to when a record was made; it need not be done again for each handler."""

    message: str
    trace: str
    work: LogContext
    mark: str


def make_record_factory(redaction: Redaction, *, mark: str = "") -> Callable[..., logging.LogRecord]:
    """What makes records, for `logging.setLogRecordFactory`.

    Message and traceback are settled here and not by one handler's formatter, so that no other handler shows more.
    `mark`: which process it is, where another one writes to the same log.
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
    """What records made from now on are marked with."""
    records = logging.getLogRecordFactory()
    return records.mark if isinstance(records, _RecordFactory) else ""


def record_message(record: logging.LogRecord, redaction: Redaction) -> str:
    """What it says, without secrets and controls."""
    settled = _prepared_part(record)
    return settled.message if settled and settled.message is record.msg else _clean_message(record, redaction)


def record_traceback(record: logging.LogRecord, redaction: Redaction) -> str:
    """Its traceback, and the stack where that was asked for; "" for neither."""
    settled, trace = _prepared_part(record), _format_trace(record)
    return trace if settled and settled.trace == trace else redaction(strip_controls(trace))


def record_context(record: logging.LogRecord) -> LogContext:
    """What was worked on when it was made."""
    settled = _prepared_part(record)
    return settled.work if settled else LogContext("")


def record_mark(record: logging.LogRecord) -> str:
    """Which process made it; "" where that need not be told."""
    settled = _prepared_part(record)
    return settled.mark if settled else current_mark()


def _prepared_part(record: logging.LogRecord) -> _PreparedRecord | None:
    settled = getattr(record, _PREPARED, None)
    return settled if isinstance(settled, _PreparedRecord) else None


def _clean_message(record: logging.LogRecord, redaction: Redaction) -> str:
    """Controls go first: in the middle of a secret they would hide it, and a terminal drops them."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - whoever logs is not to fail by it
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
