"""Collect logged errors during a test."""

import logging
from typing import Self


class ErrorLog(logging.Handler):
    """Collects all errors and all tracebacks from all loggers while it is entered."""

    def __init__(self, *, expected: tuple[str, ...] = ()) -> None:
        """`expected`: prefixes of errors that are not our fault, if they have no traceback."""
        super().__init__()
        self._expected = expected
        self._told: list[str] = []

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info or (
            record.levelno >= logging.ERROR and not text.startswith(self._expected or "\0")
        ):
            cause = self.formatter or logging.Formatter()
            self._told.append(
                f"{record.name}: {text} {record.exc_info and cause.formatException(record.exc_info)}"
            )

    def assert_none(self) -> None:
        """Assert that nothing was logged since the last call."""
        told, self._told = self._told, []
        assert told == [], "\n".join(told)
