"""Exports complete conversations as Markdown or as JSON lines."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from bot import phrases
from bot.conversations.conversation import PASSAGES, RECALLED, RETRACTION, SUMMARIZED, parse_entries
from bot.imports.formats import show_name
from bot.messages import OWNER_AT_TERMINAL
from bot.models.protocol import AssistantMessage, ToolResult, UserMessage
from bot.models.user_text import user_text
from bot.state.conversation_list import ListedConversation
from bot.state.conversations import TimedRow
from bot.state.database import State
from bot.state.export import ConversationRow, read_conversations, read_timed_entries

ENTRIES_AT_ONCE = 200
MAX_LINE_CHARS = 200
"""Characters of a tool call's arguments, and of its result; JSON has all of them."""
PERSON = "Person"
KNOWN = {"user", "assistant", "result", RETRACTION, SUMMARIZED, RECALLED, PASSAGES}


async def list_conversations(state: State, chat: str = "") -> tuple[ConversationRow, ...]:
    """Return every conversation in order of their beginning, or those of one chat (`channel:name`)."""
    return await state.read(lambda db: read_conversations(db, chat))


def to_row(listed: ListedConversation) -> ConversationRow:
    """Return a conversation of the list as one that can be exported."""
    return ConversationRow(
        listed.number, listed.chat, listed.started_at, listed.ended_at, listed.title, listed.imported_from
    )


async def format_markdown(
    state: State, conversation: ConversationRow, *, assistant: str, zone: ZoneInfo
) -> AsyncGenerator[str, None]:
    """Yield one conversation as Markdown: who, when, what; tool calls and results take one line each."""
    began, ended = _format_time(conversation.started_at, zone), _format_time(conversation.ended_at, zone)
    title = f": {conversation.title}" if conversation.title else ""
    if conversation.imported_from:
        assistant = show_name(conversation.imported_from)
    yield f"# {conversation.chat}, conversation {conversation.number}{title}\n\n"
    yield f"{began} to {ended}\n" if ended else f"{began}, still open\n"
    async with aclosing(_read_entries(state, conversation)) as entries:
        async for entry in entries:
            yield "".join(f"\n{part}\n" for part in _format_any(entry, assistant=assistant, zone=zone))
    yield "\n"


async def format_json_lines(state: State, conversation: ConversationRow) -> AsyncGenerator[str, None]:
    """Yield one conversation as JSON documents, one a line: itself first, then every entry completely."""
    yield _dump_json(
        {
            "kind": "conversation",
            "conversation": conversation.number,
            "chat": conversation.chat,
            "started_at": conversation.started_at,
            "ended_at": conversation.ended_at or None,
            **(
                {"title": conversation.title, "imported_from": conversation.imported_from}
                if conversation.imported_from
                else {}
            ),
        }
    )
    async with aclosing(_read_entries(state, conversation)) as entries:
        async for entry in entries:
            row = entry.row
            yield _dump_json(
                {
                    "kind": row.kind,
                    "conversation": row.conversation,
                    "seq": row.seq,
                    "at": entry.at,
                    "payload": _parse_payload(row.payload),
                }
            )


async def _read_entries(state: State, conversation: ConversationRow) -> AsyncGenerator[TimedRow, None]:
    """Yield all entries in batches, so that a long conversation neither fills the memory nor blocks writers."""
    after = 0
    number = conversation.number
    while True:
        rows = await state.read(
            lambda db, after=after: read_timed_entries(db, number, after=after, limit=ENTRIES_AT_ONCE)  # type: ignore[misc]
        )
        for each in rows:
            yield each
        if len(rows) < ENTRIES_AT_ONCE:
            return
        after = rows[-1].row.seq


def _format_any(entry: TimedRow, *, assistant: str, zone: ZoneInfo) -> list[str]:
    """Return the paragraphs of one entry, whatever is stored: a damaged one must not end the export."""
    try:
        return list(_format_entry(entry, assistant=assistant, zone=zone))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return [f"*{_format_time(entry.at, zone)}: a damaged entry ({entry.row.kind}).*"]


def _format_entry(entry: TimedRow, *, assistant: str, zone: ZoneInfo) -> Iterator[str]:
    """Yield the paragraphs of one entry."""
    row, when = entry.row, _format_time(entry.at, zone)
    fields = _parse_fields(row.payload)
    if row.kind == RETRACTION:
        yield f"*{when}: the answer above was discarded, and a new one asked for.*"
    elif row.kind in (RECALLED, PASSAGES):
        yield f"*{when}: {assistant} looked at its notes.*"
    elif row.kind == SUMMARIZED:
        yield f"*{when}: the conversation so far was summarised:*"
        yield _quote(str(fields.get("text", "")))
    elif row.kind not in KNOWN:
        yield f"*{when}: an entry of kind {row.kind}, which this version cannot read.*"
    elif not (said := parse_entries((row,))):
        yield f"*{when}: a damaged entry ({row.kind}).*"
    else:
        match said[0].message:
            case UserMessage(images=images) as message:
                by = fields.get("by") or PERSON
                yield f"**{phrases.YOU if by == str(OWNER_AT_TERMINAL) else by}**, {when}"
                yield user_text(message)
                if images:
                    yield f"*({len(images)} {'picture' if len(images) == 1 else 'pictures'})*"
            case AssistantMessage(text, calls):
                if text.strip():
                    yield f"**{assistant}**, {when}"
                    yield text.strip("\n")
                for call in calls:
                    yield f"- {when}: {call.name} {_code(call.arguments)}"
            case ToolResult(_, name, content, failed):
                yield f"- {when}: {name} {'failed:' if failed else 'returned'} {_code(content)}"


def _format_time(at: str, zone: ZoneInfo) -> str:
    try:
        return datetime.fromisoformat(at).astimezone(zone).strftime("%Y-%m-%d %H:%M:%S") if at else ""
    except (ValueError, OverflowError):
        return "at an unknown time"


def _code(text: str) -> str:
    """Return a text as inline code: on one line, shortened, with nothing that counts as Markdown."""
    line = " ".join(text.split())
    if len(line) > MAX_LINE_CHARS:
        line = f"{line[: MAX_LINE_CHARS - 1]}…"
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _parse_fields(payload: str) -> dict[str, Any]:
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _dump_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False) + "\n"


def _parse_payload(payload: str) -> Any:
    """Return the content of an entry; its text if that is not valid JSON."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return payload
