"""The work in progress, so that its log lines can be told apart from others."""

import hashlib
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

KEY_LETTERS = 6
"""Length of an id: rarely repeated among a month's turns, and short enough to read out."""


@dataclass(frozen=True, slots=True)
class LogContext:
    """A turn, command, job, reminder or call by a program."""

    id: str
    chat: str = ""
    """Such as `telegram:5`; "" if it belongs to no chat."""


_NO_CONTEXT = LogContext("")
_context: ContextVar[LogContext] = ContextVar("work", default=_NO_CONTEXT)


def current_context() -> LogContext:
    """Return what the current task works on; its id is "" if unknown."""
    return _context.get()


@contextmanager
def log_context(key: str, *, chat: object = "") -> Iterator[str]:
    """Give all lines logged meanwhile an id, also those of tasks and threads started meanwhile; yield the id.

    The id depends only on `key`: a turn has the same id after a restart.
    """
    work = LogContext(short_key(key), str(chat))
    token = _context.set(work)
    try:
        yield work.id
    finally:
        _context.reset(token)


def short_key(key: str) -> str:
    """Return six letters and digits that depend only on `key`."""
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=5).digest()
    return b32encode(digest).decode().lower()[:KEY_LETTERS]
