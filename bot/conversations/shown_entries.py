"""Pure: the stored entries of a conversation, as a person reads them; nothing is left out, damaged ones are named."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from bot.conversations.conversation import PASSAGES, RECALLED, RETRACTION, SUMMARIZED
from bot.conversations.pages import SpokenMessage, decode_said, spoken_message
from bot.conversations.passages import decode_passages
from bot.models.protocol import AssistantMessage, ToolResult, UserMessage
from bot.note_refs import format_note_ref
from bot.sanitize import one_line, strip_controls
from bot.state.conversation_entries import SizedRow
from memory.forgetting import FORGOTTEN
from memory.surrogates import replace_surrogates

EntryKind = Literal["said", "tools", "notes", "summary", "withdrawn", "forgotten", "edited", "damaged"]


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A tool call with its result."""

    name: str
    arguments: str
    """"" if the call itself is on an earlier page."""
    result: str = ""
    """"" if there is none yet, or on a later page."""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """One entry."""

    seq: int
    at: str
    """ISO 8601 in UTC."""
    kind: EntryKind
    text: str = ""
    """What was said, or the summary; Markdown."""
    said: SpokenMessage | None = None
    """Who said it, for `said`."""
    attachments: tuple[str, ...] = ()
    """What came with it: a line for each."""
    has_pictures: bool = False
    quoted: str = ""
    """What it replies to."""
    calls: tuple[ShownCall, ...] = ()
    notes: tuple[str, ...] = ()
    """References to passages that were looked up."""


def show_entries(rows: Iterable[SizedRow]) -> list[ShownEntry]:
    """Return entries in order. A result stands with its call if both are among them."""
    shown: list[ShownEntry] = []
    places: dict[str, tuple[int, int]] = {}
    """Where a call is, by its id: its entry, and its place in it."""
    for row in rows:
        kind = row.entry.row.kind
        if kind in ("user", "assistant", "result"):
            message = decode_said(kind, row.entry.row.payload)
            if isinstance(message, ToolResult):
                _add_result(shown, places, message, row)
                continue
            entry = _show_message(row, message)
            if isinstance(message, AssistantMessage) and message.calls and entry.calls:
                places.update((str(call.id), (len(shown), at)) for at, call in enumerate(message.calls))
            shown.append(entry)
        else:
            shown.append(_show_event(row))
    return shown


def _show_message(row: SizedRow, message: UserMessage | AssistantMessage | None) -> ShownEntry:
    seq, at = row.entry.row.seq, row.entry.at
    said = spoken_message(row.entry, message) if message else None
    if message is None or said is None:
        return ShownEntry(seq, at, "damaged")
    text = strip_controls(said.text).strip()
    if isinstance(message, AssistantMessage):
        calls = tuple(ShownCall(one_line(str(each.name)), _clean(each.arguments)) for each in message.calls)
        if text == FORGOTTEN and not calls:
            return ShownEntry(seq, at, "forgotten")
        return ShownEntry(seq, at, "said" if text else "tools", text, said, calls=calls)
    fields = _parse(row)
    if fields.get("edited"):
        return ShownEntry(seq, at, "edited")
    if text == FORGOTTEN:
        return ShownEntry(seq, at, "forgotten")
    quoted = strip_controls(replace_surrogates(str(message.quoted.text))).strip() if message.quoted else ""
    return ShownEntry(
        seq,
        at,
        "said",
        text,
        said,
        attachments=tuple(one_line(replace_surrogates(str(each.heading))) for each in message.documents),
        has_pictures=bool(fields.get("images")) or row.size > len(_bytes_of(row)),
        quoted=quoted,
    )


def _add_result(
    shown: list[ShownEntry], places: dict[str, tuple[int, int]], message: ToolResult, row: SizedRow
) -> None:
    """Put a result beside its call; one whose call is not here becomes an entry of its own."""
    call = ShownCall(one_line(str(message.name)), "", _clean(message.content), bool(message.failed))
    if (place := places.pop(str(message.call_id), None)) is None:
        shown.append(ShownEntry(row.entry.row.seq, row.entry.at, "tools", calls=(call,)))
        return
    entry = shown[place[0]]
    calls = list(entry.calls)
    calls[place[1]] = replace(calls[place[1]], result=call.result, failed=call.failed)
    shown[place[0]] = replace(entry, calls=tuple(calls))


def _show_event(row: SizedRow) -> ShownEntry:
    seq, at, kind, fields = row.entry.row.seq, row.entry.at, row.entry.row.kind, _parse(row)
    if kind == RETRACTION:
        return ShownEntry(seq, at, "withdrawn")
    if kind == SUMMARIZED:
        text = strip_controls(str(fields.get("text", ""))).strip()
        return ShownEntry(seq, at, "forgotten") if text == FORGOTTEN else ShownEntry(seq, at, "summary", text)
    if kind == RECALLED:
        return ShownEntry(seq, at, "notes")
    if kind == PASSAGES:
        found = decode_passages(fields)
        places = (format_note_ref(each.path, each.line_start, each.line_end) for each in found)
        return ShownEntry(seq, at, "notes", notes=tuple(map(one_line, places)))
    return ShownEntry(seq, at, "damaged")


def _parse(row: SizedRow) -> dict[str, Any]:
    try:
        fields = json.loads(row.entry.row.payload)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _bytes_of(row: SizedRow) -> bytes:
    return row.entry.row.payload.encode("utf-8", "surrogateescape")


def _clean(text: object) -> str:
    return strip_controls(replace_surrogates(str(text))).strip()
