"""Forgets a conversation, or one day of it: shows what would go, then removes all of it in one transaction."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, tzinfo
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bot.access import TERMINAL
from bot.conversations.conversation import SUMMARIZED
from bot.conversations.message_rows import decode_message
from bot.conversations.pages import EntryHead, SpokenMessage, day_of, spoken_messages
from bot.forgetting import entry_without
from bot.line_origin import bare_words
from bot.models.protocol import UserMessage
from bot.models.user_text import own_words
from bot.state import forgetting
from bot.state.changes import Change, read_changes_of_conversation
from bot.state.conversation_entries import list_entry_heads, read_span
from bot.state.conversation_list import ListedConversation, find_conversation
from bot.state.database import format_timestamp
from bot.state.forgetting import ENTRIES, ForgetRequest, StoredRow
from memory import disk
from memory.errors import MemoryFault
from memory.forgetting import EverythingToForget, TextsToForget

if TYPE_CHECKING:
    from apsw import Connection

    from bot.services import Services

MAX_EXCERPTS = 3
EXCERPT_ENTRIES = 20
"""Entries among which the excerpts are looked for."""
MAX_CHANGES = 20
"""Changes to the notes that are named."""
_BATCH_ENTRIES = 100
"""Entries that are held in memory at once; with pictures, one may take a megabyte."""
_SAID = ("user", "assistant")


class NothingSaid(Exception):
    """There is no such conversation, or nothing was said in it on that day."""


class StillAnswering(Exception):
    """The conversation is being answered, so what is removed might be stored again."""


class TypedLinesKept(Exception):
    """The lines that were typed in the terminal cannot be removed from its history; says why."""


@dataclass(frozen=True, slots=True)
class SaidPart:
    """A conversation, or a day of it."""

    conversation: int
    day: date | None = None
    """The owner's day; None for all days."""


@dataclass(frozen=True, slots=True)
class FoundSaid:
    """What would be forgotten."""

    part: SaidPart
    listed: ListedConversation
    upto: int
    """Seq of the last entry; only what was shown is removed."""
    messages: int
    """Messages of people and of the assistant."""
    others: int
    """Results of tools, notes that were looked up, and the like."""
    summaries: int
    """Summaries that cover it, also those made later."""
    excerpts: tuple[SpokenMessage, ...]
    notes: tuple["NotedLine", ...]
    """What notes have because of it; this stays."""


@dataclass(frozen=True, slots=True)
class NotedLine:
    """A line that a conversation led to, and that a note still has."""

    path: str
    line: int
    """1-based."""
    text: str


@dataclass(slots=True)
class _Removal:
    """What one removal has found on its way."""

    messages: int = 0
    documents: list[int] = field(default_factory=list)
    """Numbers of the documents that came with the messages."""


async def find_said(services: "Services", part: SaidPart) -> FoundSaid:
    """Return what would be forgotten. Raises NothingSaid, and StateFault."""
    zone, notes = services.now().tzinfo, await find_noted(services, part)

    def read(db: "Connection") -> FoundSaid:
        listed = find_conversation(db, part.conversation)
        heads = _find_heads(db, part, zone=zone)
        if listed is None or not heads:
            raise NothingSaid
        first, last = heads[0].seq, heads[-1].seq
        seqs = {each.seq for each in heads}
        beginning = read_span(db, part.conversation, first=first, last=first + EXCERPT_ENTRIES)
        said = spoken_messages(each.entry for each in beginning if each.entry.row.seq in seqs)
        summaries = _find_summaries(db, part.conversation, since=first)
        return FoundSaid(
            part,
            listed,
            last,
            messages=sum(each.kind in _SAID for each in heads),
            others=sum(each.kind not in (*_SAID, SUMMARIZED) for each in heads),
            summaries=len(summaries | {each.seq for each in heads if each.kind == SUMMARIZED}),
            excerpts=tuple(said[:MAX_EXCERPTS]),
            notes=notes,
        )

    return await services.state.read(read)


async def find_noted(services: "Services", part: SaidPart) -> tuple[NotedLine, ...]:
    """Return what notes still have of the latest `MAX_CHANGES` changes that a part led to, a line for each.

    The part may be forgotten already. Raises StateFault.
    """
    zone = services.now().tzinfo

    def read(db: "Connection") -> tuple[Change, ...]:
        if not (heads := _find_heads(db, part, zone=zone)):
            return ()
        first, last = heads[0].seq, heads[-1].seq
        return read_changes_of_conversation(db, part.conversation, first=first, last=last, limit=MAX_CHANGES)

    found = []
    for change in await services.state.read(read):
        with suppress(MemoryFault):  # the note is gone, or cannot be shown either
            note = await services.memory.read_whole(change.path)
            found += _find_lines(note.text, change)[:1]
    return tuple(found)


def _find_lines(text: str, change: Change) -> list[NotedLine]:
    """Return the lines of a note that a change wrote, other than headings."""
    written = {each for line in change.lines.new if not line.startswith("#") and (each := bare_words(line))}
    rows = enumerate(text.split("\n"), start=1)
    return [
        NotedLine(change.path, number, bare_words(row)) for number, row in rows if bare_words(row) in written
    ]


async def forget_said(services: "Services", part: SaidPart, *, upto: int) -> tuple[int, str]:
    """Forget all entries of a part up to a seq, as far as `find_said` showed them.

    Return how many messages that were, and why a trace may be left on the disk ("" if none is); the next `/forget`, or
    the night, erases it then. Raises NothingSaid, StillAnswering, TypedLinesKept and StateFault; then nothing but lines
    of the terminal's history was removed.
    """
    zone, at = services.now().tzinfo, format_timestamp(services.now())
    removal = _Removal()

    # First, since only the messages say which lines these are: after a crash in between, they are still there.
    if typed := await services.state.read(lambda db: _read_typed(db, part, upto=upto, zone=zone)):
        try:
            await services.forgetting.forget_typed(TextsToForget(typed))
        except OSError as error:
            raise TypedLinesKept(disk.reason(error)) from error

    def remove(db: "Connection") -> None:
        heads = _find_removable(db, part, upto=upto, zone=zone)
        first, last = heads[0].seq, heads[-1].seq
        seqs = sorted({each.seq for each in heads} | _find_summaries(db, part.conversation, since=first))
        for start in range(0, len(seqs), _BATCH_ENTRIES):
            rows = forgetting.read_entries(db, part.conversation, seqs[start : start + _BATCH_ENTRIES])
            forgetting.replace_texts(db, ENTRIES, list(_blank(rows, removal)))
        forgetting.blank_copies(
            db,
            part.conversation,
            first=first,
            last=last,
            documents=removal.documents,
            title=part.day is None,
        )
        # Kept until the files were written anew: whatever happens from here on, that is done later.
        name = f"conversation/{part.conversation}"
        asked = ForgetRequest(name, "http", "", "", "[]", at, key=token_hex(8), unfinished=True)
        forgetting.save_request(db, asked)

    await services.state.change(remove)
    return removal.messages, await services.forgetting.erase_traces()


def _find_removable(db: "Connection", part: SaidPart, *, upto: int, zone: tzinfo | None) -> list[EntryHead]:
    """Return the entries that may be removed now, at least one. Raises NothingSaid and StillAnswering."""
    if forgetting.is_being_answered(db, part.conversation):
        raise StillAnswering
    heads = [each for each in _find_heads(db, part, zone=zone) if each.seq <= upto]
    if not heads:
        raise NothingSaid
    return heads


def _read_typed(db: "Connection", part: SaidPart, *, upto: int, zone: tzinfo | None) -> list[str]:
    """Return what was typed in the terminal; nothing for other chats. Raises as `_find_removable`."""
    seqs = [each.seq for each in _find_removable(db, part, upto=upto, zone=zone) if each.kind == "user"]
    listed = find_conversation(db, part.conversation)
    if listed is None or listed.chat.partition(":")[0] != TERMINAL:
        return []
    typed = list[str]()
    for start in range(0, len(seqs), _BATCH_ENTRIES):
        rows = forgetting.read_entries(db, part.conversation, seqs[start : start + _BATCH_ENTRIES])
        typed += [str(own_words(message)) for row in rows if (message := _decode_user(row))]
    return typed


def _find_heads(db: "Connection", part: SaidPart, *, zone: tzinfo | None) -> list[EntryHead]:
    """Return the entries of a part without their texts, in order."""
    heads = [EntryHead(*each) for each in list_entry_heads(db, part.conversation, since=1)]
    return heads if part.day is None else [each for each in heads if day_of(each.at, zone) == part.day]


def _find_summaries(db: "Connection", conversation: int, *, since: int) -> set[int]:
    """Return the seqs of the summaries that cover the entry `since`, or later ones."""
    heads = list_entry_heads(db, conversation, since=since)
    seqs = [seq for seq, kind, _, _ in heads if kind == SUMMARIZED]
    rows = forgetting.read_entries(db, conversation, seqs)
    return {seq for seq, row in zip(seqs, rows, strict=True) if _summarized_upto(row.text) >= since}


def _summarized_upto(payload: str) -> float:
    """Return the seq of the last entry that a summary covers; infinity if it is damaged."""
    try:
        return int(json.loads(payload)["upto"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return math.inf


def _blank(rows: Sequence[StoredRow], removal: _Removal) -> Iterator[tuple[StoredRow, str | None]]:
    """Yield each row that says something, with what is left of it."""
    everything = EverythingToForget()
    for row in rows:
        new = entry_without(row, everything)
        if new == row.text:
            continue
        removal.messages += row.kind in _SAID
        if row.kind == "user":
            _note_sent(row, removal)
        yield row, new


def _note_sent(row: StoredRow, removal: _Removal) -> None:
    """Note what is stored elsewhere of a message."""
    if message := _decode_user(row):
        removal.documents += [each.number for each in message.documents if isinstance(each.number, int)]


def _decode_user(row: StoredRow) -> UserMessage | None:
    """Return a person's message without its pictures; None if it is damaged."""
    try:
        fields: Any = json.loads(row.text)
        message = decode_message("user", {**fields, "images": ()})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return message if isinstance(message, UserMessage) else None
