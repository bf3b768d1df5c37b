"""A conversation as it is read from an export, whatever the format."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol

from bot.imports.json_items import JsonItem
from memory.formatting import clean_text

MAX_MESSAGE_CHARS = 100_000
"""Longer messages are cut."""
CUT_MARK = "\n\n[…]"
MAX_TITLE_CHARS = 200
FIRST_MOMENT = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
"""Earlier times are wrong: there was nobody to talk with."""
LAST_MOMENT = datetime(9999, 12, 30, tzinfo=UTC).timestamp()
_MILLISECONDS_FROM = 1e11


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """Something that came with a message."""

    name: str
    text: str = ""
    """What it says, as far as the export has it."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message of a person or of the other assistant."""

    id: str
    """The other assistant's id; "" if it has none."""
    role: Literal["user", "assistant"]
    text: str
    at: float | None
    """Seconds since 1970; None if unknown."""
    files: tuple[ImportedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation with another assistant, in order."""

    id: str
    title: str
    at: float | None
    """When it began: seconds since 1970; None if unknown."""
    messages: Sequence[ImportedMessage]


class ConversationFormat(Protocol):
    """How an assistant exports its conversations."""

    name: str
    """As in `--from`."""
    shown: str
    """The assistant's name."""
    large: str
    """The field of a conversation with its messages, by which the format is recognised."""
    part_fields: frozenset[str]
    """Fields of the values in `large`; the first value has one of them."""

    def keep_part(self, key: str, part: Any) -> tuple[Any, int] | None:
        """Return what is needed of one value in `large`, and its length; None if nothing is."""
        ...

    def read(self, item: JsonItem) -> ImportedConversation:
        """Return the conversation."""
        ...


def parse_moment(value: Any) -> float | None:
    """Return a time as seconds since 1970: a number of seconds or milliseconds, or ISO 8601; None if it is neither."""
    seconds: float
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            moment = datetime.fromisoformat(value)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        elif isinstance(value, bool) or value is None:
            return None
        else:
            seconds = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if abs(seconds) >= _MILLISECONDS_FROM:
        seconds /= 1000
    return seconds if FIRST_MOMENT <= seconds <= LAST_MOMENT else None


def fill_moments(conversation: ImportedConversation, *, now: datetime) -> list[datetime]:
    """Return when each message was said.

    A message without a credible time has that of the one before it, or else of the next, or of the conversation.
    """
    last = (now + timedelta(days=1)).timestamp()

    def credible(at: float | None) -> float | None:
        return at if at is not None and at <= last else None

    times = [credible(each.at) for each in conversation.messages]
    known = credible(conversation.at)
    before = next((at for at in (known, *times) if at is not None), now.timestamp())
    moments = []
    for at in times:
        before = before if at is None else at
        moments.append(datetime.fromtimestamp(before, UTC))
    return moments


def shorten(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Return a text without control characters, cut if it is too long."""
    mark = CUT_MARK if len(text) > limit else ""
    return clean_text(text[:limit].replace("\0", "")) + mark


def make_title(value: Any) -> str:
    """Return a title of one line; "" if there is none."""
    return " ".join(shorten(value, MAX_TITLE_CHARS).split()) if isinstance(value, str) else ""


def text_of(value: Any) -> str:
    """Return a text, or "" for anything else."""
    return value if isinstance(value, str) else ""


def make_key(text: str) -> int:
    """Return a number of 64 bits that stands for an id."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], signed=True)


def message_keys(messages: Sequence[ImportedMessage]) -> list[int]:
    """Return a key for each message that is the same in every export; without an id, by its place and time."""
    return [make_key(each.id or f"{place} {each.role} {each.at}") for place, each in enumerate(messages)]
