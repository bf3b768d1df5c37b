"""The language of the work in progress: that of whoever reads what comes of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bot.language.codes import ENGLISH

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def current_language() -> str:
    """Return the language to speak, a key of `LANGUAGES`; English where nobody has set another.

    So logs, the command line, JSON and whatever else is not said in a chat or on a page stays English.
    """
    return _language.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language meanwhile, also in tasks and threads started meanwhile."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)
