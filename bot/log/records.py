"""Records of the log, whoever makes them: what they say is harmless before any handler sees it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.log.faults import traceback_of
from bot.log.work import Work, work_now
from bot.plain_text import without_controls
from memory.redaction import Redaction

_SETTLED = "commonplace_settled"
"""The field of a record: no name that a library might want for one of its own."""


@dataclass(frozen=True, slots=True)
class _Settled:
    """What was seen to when a record was made; it need not be done again for each handler."""

    message: str
    trace: str
    work: Work
    mark: str


def record_factory(redaction: Redaction, *, mark: str = "") -> Callable[..., logging.LogRecord]:
    """What makes records, for `logging.setLogRecordFactory`.

    Message and traceback are settled here and not by one handler's formatter, so that no other handler shows more.
    `mark`: which process it is, where another one writes to the same log.
    """
    return _Records(redaction, mark)


@dataclass(frozen=True, slots=True)
class _Records:
    redaction: Redaction
    mark: str

    def __call__(self, *arguments: Any, **options: Any) -> logging.LogRecord:
        record = logging.LogRecord(*arguments, **options)
        record.msg, record.args = _message(record, self.redaction), None
        if error := _error_of(record):
            record.exc_text = self.redaction(without_controls(traceback_of(error)))
        if record.stack_info:
            record.stack_info = self.redaction(without_controls(record.stack_info))
        setattr(record, _SETTLED, _Settled(record.msg, _trace(record), work_now(), self.mark))
        return record


def mark_now() -> str:
    """What records made from now on are marked with."""
    records = logging.getLogRecordFactory()
    return records.mark if isinstance(records, _Records) else ""


def message_of(record: logging.LogRecord, redaction: Redaction) -> str:
    """What it says, without secrets and controls."""
    settled = _settled(record)
    return settled.message if settled and settled.message is record.msg else _message(record, redaction)


def trace_of(record: logging.LogRecord, redaction: Redaction) -> str:
    """Its traceback, and the stack where that was asked for; "" for neither."""
    settled, trace = _settled(record), _trace(record)
    return trace if settled and settled.trace == trace else redaction(without_controls(trace))


def work_of(record: logging.LogRecord) -> Work:
    """What was worked on when it was made."""
    settled = _settled(record)
    return settled.work if settled else Work("")


def mark_of(record: logging.LogRecord) -> str:
    """Which process made it; "" where that need not be told."""
    settled = _settled(record)
    return settled.mark if settled else mark_now()


def _settled(record: logging.LogRecord) -> _Settled | None:
    settled = getattr(record, _SETTLED, None)
    return settled if isinstance(settled, _Settled) else None


def _message(record: logging.LogRecord, redaction: Redaction) -> str:
    """Controls go first: in the middle of a secret they would hide it, and a terminal drops them."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - whoever logs is not to fail by it
        message = (
            f"{record.msg!s} (its arguments do not fit)" if isinstance(record.msg, str) else "a broken line"
        )
    return redaction(without_controls(message))


def _trace(record: logging.LogRecord) -> str:
    error = _error_of(record)
    trace = record.exc_text or (traceback_of(error) if error else "")
    return "\n".join(filter(None, (trace, record.stack_info)))


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None
