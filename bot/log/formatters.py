"""Format records as lines: text for people, JSON for programs."""

import json
import logging
from datetime import UTC, datetime

from bot.log.records import record_context, record_mark, record_message, record_traceback
from bot.sanitize import strip_controls
from memory.redaction import Redaction


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
