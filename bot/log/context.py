"""What is being worked on, so that its lines in the log can be told from those of others."""

import hashlib
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

KEY_LETTERS = 6
"""Of an id: among the turns of a month hardly two have the same, and it can be read out."""


@dataclass(frozen=True, slots=True)
class LogContext:
    """A turn, a command, a job, a reminder or a call of a program."""

    id: str
    chat: str = ""
    """`telegram:5`; "" where it belongs to none."""


_NO_CONTEXT = LogContext("")
_context: ContextVar[LogContext] = ContextVar("work", default=_NO_CONTEXT)


def current_context() -> LogContext:
    """What this task is working on; its id is "" for nothing that is known."""
    return _context.get()


@contextmanager
def log_context(key: str, *, chat: object = "") -> Iterator[str]:
    """Have all that is logged meanwhile bear an id, also by tasks and threads that are begun meanwhile; give it.

    `key` names the work for ever: after a restart the same turn has the same id.
    """
    work = LogContext(short_key(key), str(chat))
    token = _context.set(work)
    try:
        yield work.id
    finally:
        _context.reset(token)


def short_key(key: str) -> str:
    """Six letters and digits, always the same for a key."""
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=5).digest()
    return b32encode(digest).decode().lower()[:KEY_LETTERS]
