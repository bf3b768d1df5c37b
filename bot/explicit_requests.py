"""Finds what a person asks the assistant to remember, in their own words; pure."""

from collections.abc import Sequence
from functools import cache, lru_cache

from bot.models.protocol import UserMessage
from bot.models.user_text import own_words
from memory.normalization import normalize

MAX_CHARS = 2_000
"""Longer messages are mostly pasted text: only their first and last paragraph may ask for something."""
_QUOTE_MARK = ">"


def find_requests(message: UserMessage) -> tuple[str, ...]:
    """Return what a message explicitly asks to remember, as it is to be noted; nothing if it asks for nothing.

    Only the person's own words count: nothing quoted, forwarded, or in a document or summary. A reminder, a question,
    a slash command, a statement without a request, and "by the way" are not requests; neither is a "remember this" that
    says nothing more.
    """
    text = "" if message.forwarded_from or message.earlier else own_words(message)
    if not text.strip() or text.lstrip().startswith("/"):
        return ()
    return _read(text, with_document=any(not each.spoken for each in message.documents))


def is_loaded() -> bool:
    """Return whether the words of all languages are loaded, which takes a tenth of a second."""
    return bool(_request_phrases.cache_info().currsize)


@lru_cache(maxsize=16)
def _read(text: str, *, with_document: bool) -> tuple[str, ...]:
    """Return the requests in a text. Cached: a turn asks several times, and parsing takes up to half a second."""
    from bot.models.notebook.message_parser import parse_message  # loads every language

    found: dict[str, None] = {}
    for part in _parts(_without_quotations(text)):
        if _may_ask(part):
            for fact in parse_message(part, with_document=with_document).requested:
                found["\n".join(filter(None, [fact.text, fact.block]))] = None
    return tuple(found)


def _may_ask(text: str) -> bool:
    """Return whether a text contains a phrase that asks to remember something; most don't, and need no parsing."""
    from bot.models.notebook.phrases import fold

    folded = fold(" ".join(normalize("NFC", text).split()))
    return any(phrase in folded for phrase in _request_phrases())


@cache
def _request_phrases() -> tuple[str, ...]:
    """Return the phrases of all languages, without those that contain another one."""
    from bot.models.notebook.languages import LANGUAGES
    from bot.models.notebook.phrases import fold

    listed = {
        fold(normalize("NFC", phrase))
        for language in LANGUAGES
        for phrase in (*language.remember, *language.never_forget, *language.remember_end)
        if phrase not in language.mentions
    }
    return tuple(each for each in listed if not any(other in each for other in listed - {each}))


def format_note(requests: Sequence[str]) -> str:
    """Return the text of one note with all requests: a single one as it is, several as a list."""
    if len(requests) == 1:
        return requests[0]
    return "\n".join("- " + request.replace("\n", "\n  ") for request in requests)


def _without_quotations(text: str) -> str:
    """Return the text without lines that are marked as quoted, as in an e-mail."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(_QUOTE_MARK))


def _parts(text: str) -> tuple[str, ...]:
    """Return the parts of a message that may ask for something."""
    if len(text) <= MAX_CHARS:
        return (text,)
    paragraphs = [each for each in text.split("\n\n") if each.strip()]
    return tuple(dict.fromkeys((paragraphs[0], paragraphs[-1])))
