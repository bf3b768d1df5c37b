"""One conversation: its messages by day, a page at a time; and the whole of it as a file."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.archives.export import format_json_lines, format_markdown, to_row
from bot.conversations.pages import moment_of
from bot.conversations.search import find_app, name_speaker
from bot.conversations.shown_entries import ShownCall, ShownEntry, show_entries
from bot.language.text import localize
from bot.sanitize import cut
from bot.state.conversation_entries import SizedRow, StoredChat, read_chat, read_span
from bot.state.conversation_list import ListedConversation, find_conversation
from bot.state.database import StateFault
from bot.timeparse import day_in_words
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.page.conversations import refuse, show_time, title_of
from bot.web.page.done import read_done
from bot.web.page.forget_said import DONE, still_noted
from bot.web.page.note_markdown import MAX_COLUMNS, render_message
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import (
    CONVERSATIONS_URL,
    ENTRIES_PER_PAGE,
    conversation_url,
    page_number,
    page_of_entry,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import date, tzinfo

    from apsw import Connection
    from markupsafe import Markup

MAX_MESSAGE_CHARS = 20_000
"""Limit for the shown part of one message."""
MAX_RENDERED_CHARS = 200_000
"""Limit for what is rendered as Markdown on one page; what is beyond it is shown as plain text."""
MAX_MARKS = {"[": 1_000, "*": 4_000, "_": 4_000, "~": 4_000}
"""Limit for characters in one message that the renderer compares with each other; it is quadratic in them."""
MAX_PAGE_CHARS = 600_000
"""What is beyond it on one page is cut to `SHORT_CHARS` for each text."""
SHORT_CHARS = 200
MAX_CALL_CHARS = 2_000
"""Limit for the shown arguments of a tool call, and for its result."""
MAX_CALLS = 20
"""Limit for the shown tool calls of one step."""
MAX_LINES_OF_LIST = 20
"""Limit for the shown attachments of a message, and for the passages that were looked up."""


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call."""

    name: str
    arguments: str
    result: str
    failed: bool


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of a conversation."""

    seq: int
    kind: str
    """See `EntryKind`."""
    who: str
    """Who said it; "" if unknown."""
    by_assistant: bool
    time: str
    """Of the day; "" if it is damaged."""
    iso: str
    html: "Markup | None"
    """What was said, rendered; None if it is shown as plain text."""
    text: str
    is_cut: bool
    quoted: str
    attachments: tuple[str, ...]
    has_pictures: bool
    says: tuple[str, ...]
    """Whose words it repeats, such as a document's."""
    calls: tuple[CallView, ...]
    more_calls: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DayView:
    """What was said on one day, as far as it is on this page."""

    iso: str
    words: str
    forget: str
    """Address of the page that asks whether to forget the day; "" if the time is damaged."""
    entries: tuple[EntryView, ...]


@dataclass(frozen=True, slots=True)
class ConversationView:
    """The values of the template."""

    title: str
    number: int
    is_open: bool
    messages: int
    began: ShownTime | None
    last: ShownTime | None
    days: tuple[DayView, ...]
    page: int
    pages: int
    address: str


async def show_conversation(request: web.Request) -> web.Response:
    """Show one page of a conversation: the one that is asked for, or the last one of an open conversation."""
    services, number = request.app[services_key], int(request.match_info["number"])

    def read(
        db: "Connection",
    ) -> tuple[ListedConversation, StoredChat, int, int, list[SizedRow]] | None:
        found, chat = find_conversation(db, number), read_chat(db, number)
        if found is None or chat is None:
            return None
        pages = page_of_entry(chat.last_seq)
        page = min(
            page_number(request.query.get("page", ""), least=0) or (1 if found.ended_at else pages), pages
        )
        first = (page - 1) * ENTRIES_PER_PAGE + 1
        rows = read_span(db, number, first=first, last=first + ENTRIES_PER_PAGE - 1)
        return found, chat, page, pages, rows

    try:
        stored = await services.state.read(read)
        notes = await still_noted(request)
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
    if stored is None:
        return refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)
    found, chat, page, pages, rows = stored
    now = services.now()
    # In a thread: a page of long messages takes a second, which must not delay messages.
    days = await asyncio.to_thread(
        lambda: tuple(
            _show_days(show_entries(rows), chat, agent=services.settings.agent.name, zone=now.tzinfo)
        )
    )
    clock = PageClock(now)
    view = ConversationView(
        title=title_of(found),
        number=number,
        is_open=not found.ended_at,
        messages=found.messages,
        began=show_time(clock, found.started_at),
        last=show_time(clock, found.last_at),
        days=days,
        page=page,
        pages=pages,
        address=conversation_url(number),
    )
    return await asyncio.to_thread(
        page_response,
        request,
        "conversation.html",
        here=CONVERSATIONS_URL,
        shown=view,
        done=read_done(request, {DONE: phrases.WEB_FORGOTTEN}),
        notes=notes,
        earlier=conversation_url(number, page=page - 1) if page > 1 else "",
        later=conversation_url(number, page=page + 1) if page < pages else "",
    )


async def export_conversation(request: web.Request) -> web.StreamResponse:
    """Send a whole conversation as a file, in parts, so that a long one does not fill the memory."""
    services, number = request.app[services_key], int(request.match_info["number"])
    as_json = request.match_info["kind"] == "jsonl"
    try:
        found = await services.state.read(partial(find_conversation, number=number))
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
    if found is None:
        return refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)
    row, settings = to_row(found), services.settings
    parts = (
        format_json_lines(services.state, row)
        if as_json
        else format_markdown(services.state, row, assistant=settings.agent.name, zone=settings.zone)
    )
    async with aclosing(parts):
        try:
            first = await anext(parts, "")
        except StateFault as fault:
            return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
        # If a later part fails, the connection breaks: a browser reports that the download did.
        return await _send_file(request, found, first, parts, as_json=as_json)


async def _send_file(
    request: web.Request,
    found: ListedConversation,
    first: str,
    parts: "AsyncGenerator[str, None]",
    *,
    as_json: bool,
) -> web.StreamResponse:
    response = web.StreamResponse()
    response.content_type = "application/x-ndjson" if as_json else "text/markdown"
    response.charset = "utf-8"
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(found, as_json=as_json)}"'
    await response.prepare(request)
    await response.write(first.encode("utf-8", "replace"))
    async for part in parts:
        await response.write(part.encode("utf-8", "replace"))
    await response.write_eof()
    return response


def file_name(found: ListedConversation, *, as_json: bool) -> str:
    """Return a name of ASCII letters, digits and dashes for a conversation's file."""
    title = (found.title or found.chat_name or found.chat.partition(":")[0])[:200].lower()
    plain = "".join(each if each.isascii() and each.isalnum() else " " for each in title)
    words = "-".join(plain.split())[:40].strip("-")
    day = "".join(each for each in found.started_at[:10] if each in "0123456789-")
    return "-".join(filter(None, ("conversation", str(found.number), words, day))) + (
        ".jsonl" if as_json else ".md"
    )


def _show_days(
    entries: Sequence[ShownEntry], chat: StoredChat, *, agent: str, zone: "tzinfo | None"
) -> Iterator[DayView]:
    rendered = 0
    for day, of_day in groupby(entries, key=lambda each: moment_of(each.at, zone).date()):
        views = []
        for entry in of_day:
            view = _show_entry(
                entry,
                chat,
                agent=agent,
                zone=zone,
                plain=rendered > MAX_RENDERED_CHARS,
                short=rendered > MAX_PAGE_CHARS,
            )
            views.append(view)
            rendered += len(view.text) + sum(len(each.arguments) + len(each.result) for each in view.calls)
        yield _day_view(day, chat, tuple(views))


def _day_view(day: "date", chat: StoredChat, entries: tuple[EntryView, ...]) -> DayView:
    if day.year == 1:
        return DayView("", phrases.WEB_DAY_UNKNOWN, "", entries)
    iso = day.isoformat()
    return DayView(iso, day_in_words(day), f"{conversation_url(chat.conversation)}/forget?day={iso}", entries)


def _show_entry(
    entry: ShownEntry, chat: StoredChat, *, agent: str, zone: "tzinfo | None", plain: bool, short: bool
) -> EntryView:
    moment = moment_of(entry.at, zone)
    is_damaged = moment.year == 1
    said, text = entry.said, entry.text[: SHORT_CHARS if short else MAX_MESSAGE_CHARS]
    by_assistant = said.by_assistant if said else entry.kind in ("tools", "notes", "summary", "withdrawn")
    assistant = (find_app(chat) or agent) if by_assistant else ""
    who = name_speaker(said, chat, agent=agent) if said else assistant
    return EntryView(
        seq=entry.seq,
        kind=entry.kind,
        who=escape_path(who),
        by_assistant=by_assistant,
        time="" if is_damaged else f"{moment:%H:%M}",
        iso="" if is_damaged else moment.isoformat(timespec="seconds"),
        html=None if plain else _render(text, entry.seq),
        text=text,
        is_cut=len(entry.text) > len(text),
        quoted=entry.quoted[:MAX_CALL_CHARS],
        attachments=tuple(map(escape_path, entry.attachments[:MAX_LINES_OF_LIST])),
        has_pictures=entry.has_pictures,
        says=tuple(map(escape_path, said.says[:MAX_LINES_OF_LIST])) if said and by_assistant else (),
        calls=tuple(
            _show_call(each, SHORT_CHARS if short else MAX_CALL_CHARS) for each in entry.calls[:MAX_CALLS]
        ),
        more_calls=max(0, len(entry.calls) - MAX_CALLS),
        notes=tuple(map(escape_path, entry.notes[:MAX_LINES_OF_LIST])),
    )


def _show_call(call: ShownCall, most: int) -> CallView:
    return CallView(call.name, cut(call.arguments, most), cut(call.result, most), call.failed)


def _render(text: str, seq: int) -> "Markup | None":
    """Return a text's Markdown as HTML; None if its tables or marks would take long."""
    from markupsafe import Markup

    if any(text.count(mark) > most for mark, most in MAX_MARKS.items()):
        return None
    if any(line.count("|") > MAX_COLUMNS for line in text.split("\n")):
        return None
    return Markup(render_message(text, number=seq))  # noqa: S704 - it escapes what it is given
