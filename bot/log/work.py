"""What is being worked on, so that its lines in the log can be told from those of others."""

import hashlib
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

LETTERS = 6
"""Of an id: among the turns of a month hardly two have the same, and it can be read out."""


@dataclass(frozen=True, slots=True)
class Work:
    """A turn, a command, a job, a reminder or a call of a program."""

    id: str
    chat: str = ""
    """`telegram:5`; "" where it belongs to none."""


_NONE = Work("")
_work: ContextVar[Work] = ContextVar("work", default=_NONE)


def work_now() -> Work:
    """What this task is working on; its id is "" for nothing that is known."""
    return _work.get()


@contextmanager
def working_on(key: str, *, chat: object = "") -> Iterator[str]:
    """Have all that is logged meanwhile bear an id, also by tasks and threads that are begun meanwhile; give it.

    `key` names the work for ever: after a restart the same turn has the same id.
    """
    work = Work(short_id(key), str(chat))
    token = _work.set(work)
    try:
        yield work.id
    finally:
        _work.reset(token)


def short_id(key: str) -> str:
    """Six letters and digits, always the same for a key."""
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=5).digest()
    return b32encode(digest).decode().lower()[:LETTERS]
