"""Forgets a conversation, or one day of it: shows what would go, then removes all of it in one transaction."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bot.access import TERMINAL
from bot.conversations.conversation import SUMMARIZED
from bot.conversations.message_rows import decode_message
from bot.conversations.pages import EntryHead, SpokenMessage, day_of, spoken_messages
from bot.forgetting import entry_without
from bot.models.protocol import UserMessage
from bot.models.user_text import own_words
from bot.state import forgetting
from bot.state.changes import Change, read_changes_of_conversation
from bot.state.conversation_entries import list_entry_heads, read_span
from bot.state.conversation_list import ListedConversation, find_conversation
from bot.state.database import format_timestamp
from bot.state.forgetting import ENTRIES, ForgetRequest, StoredRow
from memory.forgetting import EverythingToForget, WordsToForget

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
    notes: tuple[Change, ...]
    """Changes to the notes that it led to; these stay."""


@dataclass(slots=True)
class _Removal:
    """What one removal has found on its way."""

    messages: int = 0
    documents: list[int] = field(default_factory=list)
    """Numbers of the documents that came with the messages."""
    typed: list[str] = field(default_factory=list)
    """Lines that people wrote."""


async def find_said(services: "Services", part: SaidPart) -> FoundSaid:
    """Return what would be forgotten. Raises NothingSaid, and StateFault."""
    zone = services.now().tzinfo

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
            notes=read_changes_of_conversation(
                db, part.conversation, first=first, last=last, limit=MAX_CHANGES
            ),
        )

    return await services.state.read(read)


async def forget_said(services: "Services", part: SaidPart, *, upto: int) -> tuple[int, str]:
    """Forget all entries of a part up to a seq, as far as `find_said` showed them.

    Return how many messages that were, and why a trace may be left on the disk ("" if none is); the next `/forget`
    erases it then. Raises NothingSaid, StillAnswering and StateFault; nothing is removed then.
    """
    zone, at = services.now().tzinfo, format_timestamp(services.now())
    removal = _Removal()

    def remove(db: "Connection") -> None:
        if forgetting.is_being_answered(db, part.conversation):
            raise StillAnswering
        heads = [each for each in _find_heads(db, part, zone=zone) if each.seq <= upto]
        listed = find_conversation(db, part.conversation)
        if listed is None or not heads:
            raise NothingSaid
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
        if listed.chat.partition(":")[0] != TERMINAL:
            removal.typed.clear()
        # Kept until the files were written anew: whatever happens from here on, the next `/forget` does that.
        name = f"conversation/{part.conversation}"
        asked = ForgetRequest(name, "http", "", "", "[]", at, key=token_hex(8), unfinished=True)
        forgetting.save_request(db, asked)

    await services.state.change(remove)
    typed = WordsToForget("", removal.typed) if removal.typed else None
    return removal.messages, await services.forgetting.erase_traces(typed)


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
    try:
        fields: Any = json.loads(row.text)
        message = decode_message("user", {**fields, "images": ()})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    if isinstance(message, UserMessage):
        removal.documents += [each.number for each in message.documents if isinstance(each.number, int)]
        removal.typed += str(own_words(message)).split("\n")
