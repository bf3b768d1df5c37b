"""The list of all conversations: direct ones, rooms and imported ones, the latest first."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args
from urllib.parse import quote

from aiohttp import web

from bot import phrases
from bot.chat_kinds import ChatKind, kind_of_chat
from bot.conversations.pages import spoken_messages
from bot.imports.formats import show_name
from bot.language.text import localize
from bot.said_in_chats import format_chat
from bot.sanitize import one_line
from bot.state.conversation_entries import read_span
from bot.state.conversation_list import (
    ListedConversation,
    ListPlace,
    count_conversations,
    list_latest,
    read_chats,
)
from bot.state.database import StateFault
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import CONVERSATIONS_URL, conversation_url

if TYPE_CHECKING:
    from apsw import Connection

    from bot.services import Services

LISTED = 50
"""Conversations on one page."""
FIRST_WORDS_CHARS = 140
FIRST_ENTRIES = 8
"""Entries among which the first words are looked for."""
MAX_CHAT_CHARS = 500
"""Limit for the chat in an address."""
_PLACE = re.compile(r"([0-9T:.+-]{1,40})~([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class ConversationItem:
    """One conversation in the list."""

    address: str
    title: str
    chat: str
    """`channel:name`, as it is shown."""
    chat_address: str
    """Of the list with this chat's conversations alone."""
    kind: ChatKind
    app: str
    """The assistant that it was imported from; "" if it is our own."""
    last: ShownTime | None
    messages: int
    is_open: bool
    first_words: str
    """"" if nothing can be read at its beginning."""


@dataclass(frozen=True, slots=True)
class ConversationsView:
    """The values of the template."""

    rows: tuple[ConversationItem, ...]
    count: int
    kind: str
    chat: str
    """The one chat whose conversations are listed, as it is shown; "" for several."""
    newest: str
    """Address of the first page; "" if this is it."""
    older: str
    """Address of the next page; "" if this is the last."""


async def show_conversations(request: web.Request) -> web.Response:
    """List conversations, all or of one kind or chat."""
    services = request.app[services_key]
    asked = request.query.get("kind", "")
    kind = asked if asked in get_args(ChatKind) else ""
    chat = request.query.get("chat", "")[:MAX_CHAT_CHARS]
    place = _parse_place(request.query.get("before", ""))
    try:
        view = await services.state.read(
            lambda db: _read_view(db, services, kind=kind, chat=chat, before=place)
        )
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
    return page_response(
        request, "conversations.html", here=CONVERSATIONS_URL, kinds=phrases.WEB_KINDS.items(), shown=view
    )


def refuse(request: web.Request, status: int, title: str, message: str) -> web.Response:
    """Return a page that says why a conversation, or the list of them, is not shown."""
    return page_response(
        request,
        "refused.html",
        here=CONVERSATIONS_URL,
        status=status,
        title=title,
        message=message,
        back=CONVERSATIONS_URL,
        back_name=phrases.WEB_ALL_CONVERSATIONS,
    )


def _read_view(
    db: "Connection", services: "Services", *, kind: str, chat: str, before: ListPlace | None
) -> ConversationsView:
    channels = services.settings.channels
    chats: Collection[str] | None = None
    if chat:
        chats = (chat,)
    elif kind:
        chats = [each for each in read_chats(db) if kind_of_chat(each, channels) == kind]
    listed, more = list_latest(db, chats=chats, limit=LISTED, before=before)
    clock = PageClock(services.now())
    return ConversationsView(
        rows=tuple(_show_row(db, each, services, clock) for each in listed),
        count=count_conversations(db, chats=chats),
        kind=kind,
        chat=escape_path(one_line(chat)),
        newest=_list_url(kind, chat) if before else "",
        older=_list_url(kind, chat, more) if more else "",
    )


def _show_row(
    db: "Connection", listed: ListedConversation, services: "Services", clock: PageClock
) -> ConversationItem:
    return ConversationItem(
        address=conversation_url(listed.number),
        title=title_of(listed),
        chat=escape_path(one_line(listed.chat)),
        chat_address=_list_url("", listed.chat),
        kind=kind_of_chat(listed.chat, services.settings.channels),
        app=app_of(listed),
        last=show_time(clock, listed.last_at),
        messages=listed.messages,
        is_open=not listed.ended_at,
        first_words=_read_first_words(db, listed.number),
    )


def title_of(listed: ListedConversation) -> str:
    """Return what a conversation is called: its title, or its chat with the channel."""
    name = listed.title or listed.chat_name
    return escape_path(format_chat(listed.chat, name=name, app=app_of(listed)))


def app_of(listed: ListedConversation) -> str:
    """Return the assistant that a conversation was imported from, such as `ChatGPT`; "" for our own."""
    return show_name(listed.imported_from) if listed.imported_from else ""


def show_time(clock: PageClock, at: str) -> ShownTime | None:
    """Return a stored time as it is shown; None if it is damaged."""
    try:
        return clock.iso(at)
    except (ValueError, OverflowError):
        return None


def _read_first_words(db: "Connection", number: int) -> str:
    rows = read_span(db, number, first=1, last=FIRST_ENTRIES)
    said = spoken_messages(each.entry for each in rows)
    first = next((each for each in said if not each.by_assistant), said[0] if said else None)
    return (
        escape_path(one_line(first.text[: 4 * FIRST_WORDS_CHARS], limit=FIRST_WORDS_CHARS)) if first else ""
    )


def _parse_place(text: str) -> ListPlace | None:
    match = _PLACE.fullmatch(text)
    return ListPlace(match[1], int(match[2])) if match else None


def _list_url(kind: str, chat: str, before: ListPlace | None = None) -> str:
    fields = {"kind": kind, "chat": chat, "before": f"{before.at}~{before.number}" if before else ""}
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items() if value)
    return f"{CONVERSATIONS_URL}?{query}" if query else CONVERSATIONS_URL
