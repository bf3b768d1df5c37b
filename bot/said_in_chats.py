"""Shows what was found in conversations as Markdown: "From our chat on 3 March: …"."""

from collections.abc import Iterable
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING

from bot import phrases
from bot.messages import ChatId
from bot.sanitize import one_line, strip_controls
from bot.timeparse import day_in_words

if TYPE_CHECKING:
    from bot.conversations.search import ConversationHit


def format_said(hits: "Iterable[ConversationHit]", *, chat: ChatId, today: date) -> str:
    """Return messages as quotations below their chat and day; "" for none. `chat`: where they are shown."""
    shown: list[str] = []
    for _, of_day in groupby(hits, key=lambda hit: (hit.chat, hit.day)):
        found = list(of_day)
        shown.append(format_place(found[0], chat=chat, today=today))
        shown += map(_quote, found)
    return "\n\n".join(shown)


def format_place(hit: "ConversationHit", *, chat: ChatId, today: date) -> str:
    """Return where and when something was said: "From our chat on 3 March:"."""
    day = day_in_words(hit.day, this_year=today.year)
    if hit.chat == str(chat):
        return phrases.FROM_OUR_CHAT.format(date=day)
    return phrases.FROM_CHAT.format(chat=name_chat(hit), date=day)


def name_chat(hit: "ConversationHit") -> str:
    """Return what people call a hit's chat, with its channel."""
    return format_chat(hit.chat, name=hit.chat_name, app=hit.app)


def format_chat(chat: str, *, name: str, app: str) -> str:
    """Return what people call a chat (`channel:name`), with its channel. `app`: where it was imported from."""
    channel, name = app or chat.partition(":")[0].capitalize(), one_line(name)
    return phrases.CHAT_OF_CHANNEL.format(name=name, channel=channel) if name else channel


def _quote(hit: "ConversationHit") -> str:
    text = strip_controls(hit.snippet).strip()
    said = phrases.SAID_BY.format(name=one_line(hit.who), text=text) if hit.who else text
    return "\n".join(f"> {line}".rstrip() for line in said.splitlines())
