"""Format what was said in a chat but never noted; pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from bot import english
from bot.models.notebook.language import Language
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.message_parser import parse_message
from bot.models.notebook.phrases import language_of
from bot.models.notebook.quoting import escape_line, quote_line, share_of_words
from bot.models.notebook.sentence import asks
from bot.sanitize import one_line, strip_controls

CONVERSATION = "conversation"
"""The `source` of such a result of `memory_search`."""

MAX_MESSAGES = 3
MAX_LINES = 5
"""Maximum lines of each message that are shown."""

MIN_SHARE = 0.6
"""Minimum share of the best message's matching words for a message to be shown."""

MAX_PARSED = 2_000
"""Characters; a longer message tells something in any case."""

_LAST_CLAUSE = re.compile(r"[,，、;；:：][^,，、;；:：]*\Z")


def format_said(found: Sequence[tuple[str, Mapping[str, Any]]], language: Language) -> list[str]:
    """Return messages below their day, best first, without what only asks, which answers nothing.

    `found`: each message as `memory_search` returned it, with the query.
    """
    messages: dict[str, tuple[str, float, str]] = {}
    for query, hit in found:
        text = strip_controls(str(hit.get("snippet", ""))).strip()
        if text and _tells_something(text):
            who = str(hit.get("who", ""))
            share = share_of_words(query, f"{who}\n{text}", language)
            # "You" is English, and needless: only the assistant's messages are told apart from it.
            shown = _quote("" if who == english.YOU and language is not ENGLISH else who, text)
            messages.setdefault(shown, (_format_day(hit.get("date"), language), share, shown))
    best = max((share for _, share, _ in messages.values()), default=0.0)
    told = [each for each in messages.values() if each[1] >= MIN_SHARE * best][:MAX_MESSAGES]
    parts: list[str] = []
    for day, of_day in groupby(told, key=lambda each: each[0]):
        parts += [language.say.said.format(date=day), "\n".join(shown for _, _, shown in of_day)]
    return parts


def _tells_something(text: str) -> bool:
    """Return whether it does more than ask: "The key is at Ben's. Where does he live?" does."""
    if len(text) > MAX_PARSED or not asks(text, language_of(text)):
        return True
    before = _LAST_CLAUSE.sub("", text)  # "the key is at Ben's, where does he live?"
    return bool(parse_message(text).facts or (before != text and parse_message(before).facts))


def _quote(who: str, text: str) -> str:
    lines = [escape_line(quote_line(line)) for line in text.splitlines() if line.strip()][:MAX_LINES]
    name = escape_line(one_line(who))
    first = f"{name}: {lines[0]}" if name else lines[0]
    return "- " + "  \n  ".join([first, *lines[1:]])


def _format_day(day: object, language: Language) -> str:
    try:
        at = date.fromisoformat(str(day))
    except ValueError:
        return "?"
    return at.strftime(language.date.split()[0]) if language.date else f"{at.day} {at:%B %Y}"
