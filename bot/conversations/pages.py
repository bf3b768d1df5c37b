"""Conversations as pages, which are indexed like notes: what was said on one day of a conversation; pure."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from bot.conversations.conversation import INTERRUPTED_TEXT, RETRACTION
from bot.conversations.message_rows import decode_message
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.models.user_text import own_words
from bot.sanitize import one_line, strip_controls
from bot.state.conversations import TimedRow
from memory.attribution import clean_name
from memory.forgetting import has_words_left
from memory.surrogates import replace_surrogates

VERSION = 1
"""Part of the index's fingerprint: increase it when the same conversation would give different pages."""

PAGE_ENTRIES = 32
"""Maximum entries of a page: the whole page is indexed again with each new message."""

BUILTIN = "builtin/"
"""Begins the names of models that are no language models."""

BLOCKING_KINDS = frozenset({"user", "result"})
"""Kinds of entries that stop a later retraction from reaching further back."""

INDENT = "    "
"""Precedes every further line of a message, so that none of them is a heading."""

PERSON_LABEL, ASSISTANT_LABEL = "You", "Assistant"
"""Before the messages of somebody without a name, and of the assistant; never shown."""

_MAX_LABEL_CHARS = 40
_PATH = re.compile(
    r"(?P<scope>[^/]+)/c(?P<conversation>\d{1,18})/m(?P<first>\d{1,18})/(?P<day>[\d-]{10})\.md"
)
_LINE_BREAK = re.compile(r"\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_FENCE = re.compile(r"`{3,}|~{3,}")


@dataclass(frozen=True, slots=True)
class PagePath:
    """What a page's path says. Letters before the numbers keep these from being found as words."""

    scope: str
    """See `scope_of`."""
    conversation: int
    first: int
    """Seq of its first entry."""
    day: date

    def __str__(self) -> str:
        return f"{_folder_of(self.scope, self.conversation)}/m{self.first}/{self.day.isoformat()}.md"

    @classmethod
    def parse(cls, path: str) -> "PagePath | None":
        """Return what a path says; None if it is not a page's."""
        match = _PATH.fullmatch(path)
        if match is None:
            return None
        try:
            day = date.fromisoformat(match["day"])
        except ValueError:
            return None
        return cls(match["scope"], int(match["conversation"]), int(match["first"]), day)


class EntryHead(NamedTuple):
    """What is known of an entry without reading it."""

    seq: int
    kind: str
    at: str
    """ISO 8601 in UTC."""
    size: int
    """Bytes of its payload."""


class PageSpan(NamedTuple):
    """Which entries a page is made of."""

    first: int
    """Seq of the first entry, inclusive, like `last`."""
    last: int
    day: date
    decided_by: int
    """Seq of the last entry that can change it: a later retraction may remove an answer at its end."""
    size: int
    """Bytes of its entries."""
    at: str
    """When the last one was added."""


class SpokenMessage(NamedTuple):
    """One message of a person or of the assistant, as it can be found."""

    seq: int
    text: str
    """The words that were written or spoken."""
    at: str
    """ISO 8601 in UTC."""
    by_assistant: bool = False
    name: str = ""
    """Who said it: the speaker in a room, the author of forwarded words; "" in a private chat and for the assistant."""
    is_forwarded: bool = False
    says: tuple[str, ...] = ()
    """Whose words it is or repeats, if not the speaker's: the author of forwarded words, documents."""
    is_echo: bool = False
    """Whether the built-in notebook said it: it repeats notes and messages, and knows nothing else."""


class PageLine(NamedTuple):
    """One line of a page."""

    seq: int
    """Of the message that it belongs to."""
    text: str
    """As it is shown, without list marker, label and indentation."""


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """A page: each message is one list item, further lines are indented."""

    text: str
    """Markdown; empty if nothing in it can be found."""
    lines: tuple[PageLine, ...]
    messages: tuple[SpokenMessage, ...]


@lru_cache(maxsize=4096)
def scope_of(chat: str) -> str:
    """Return the folder of a chat's pages: its id, with every character that paths cannot have percent-encoded."""
    return "".join(
        each
        if each.isprintable() and each not in "%/\\"
        else "".join(f"%{byte:02X}" for byte in each.encode("utf-8", "surrogatepass"))
        for each in chat
    )


def conversation_folder(chat: str, conversation: int) -> str:
    """Return the path of the folder of a conversation's pages."""
    return _folder_of(scope_of(chat), conversation)


def _folder_of(scope: str, conversation: int) -> str:
    return f"{scope}/c{conversation}"


def page_start(seq: int) -> int:
    """Return the seq from which pages may have changed when an entry is added after this one.

    Pages are cut on a fixed grid of seqs, so that a new entry changes only the last page, or the one before it
    by a retraction.
    """
    return max(1, page_limit(seq) + 1 - 2 * PAGE_ENTRIES)


def page_limit(seq: int) -> int:
    """Return the last seq that may be on the same page."""
    return (seq - 1) // PAGE_ENTRIES * PAGE_ENTRIES + PAGE_ENTRIES


def split_spans(entries: Sequence[EntryHead], zone: tzinfo | None) -> list[PageSpan]:
    """Return the pages of consecutive entries of a conversation; the first entry must begin a page."""
    retractions: dict[int, int] = {}
    until = 0
    for entry in reversed(entries):
        retractions[entry.seq] = until
        if entry.kind == RETRACTION:
            until = max(until, entry.seq)
        elif entry.kind in BLOCKING_KINDS:
            until = 0
    spans: list[PageSpan] = []
    for (_, day), group in groupby(
        entries, key=lambda entry: (page_limit(entry.seq), day_of(entry.at, zone))
    ):
        page = list(group)
        last = page[-1]
        spans.append(
            PageSpan(
                first=page[0].seq,
                last=last.seq,
                day=day,
                decided_by=max(last.seq, retractions[last.seq]),
                size=sum(entry.size for entry in page),
                at=last.at,
            )
        )
    return spans


def day_of(at: str, zone: tzinfo | None) -> date:
    """Return the owner's day of a stored time; the first of all days if it is damaged."""
    return moment_of(at, zone).date()


def moment_of(at: str, zone: tzinfo | None) -> datetime:
    """Return a stored time on the owner's clock; the first moment of all if it is damaged."""
    try:
        return datetime.fromisoformat(at).astimezone(zone)
    except (ValueError, OverflowError):
        return datetime.min.replace(tzinfo=zone)


def spoken_messages(rows: Iterable[TimedRow]) -> list[SpokenMessage]:
    """Return what people and the assistant said in these entries, without retracted answers and forgotten messages.

    Neither documents, pictures and quotations are in it, nor prompts, tool calls and their results, recalled notes
    and summaries. A damaged entry is left out.
    """
    heard: list[SpokenMessage | None] = []  # None: nothing that can be found, but no answer either
    for entry in rows:
        if entry.row.kind == RETRACTION:
            while heard and (last := heard[-1]) and last.by_assistant:
                heard.pop()
            continue
        message = decode_said(entry.row.kind, entry.row.payload)
        if message and not isinstance(message, ToolResult) and (said := spoken_message(entry, message)):
            heard.append(said)
        if isinstance(message, ToolResult) or (isinstance(message, AssistantMessage) and message.calls):
            heard.append(None)
    return [said for said in heard if said and has_words_left(said.text)]


def spoken_message(entry: TimedRow, message: UserMessage | AssistantMessage) -> SpokenMessage | None:
    """Return a message as it can be found; None if it is damaged, as its fields may be of any type then."""
    seq, at = entry.row.seq, entry.at
    try:
        if isinstance(message, AssistantMessage):
            text = replace_surrogates(message.text.removesuffix(INTERRUPTED_TEXT))
            return SpokenMessage(
                seq,
                text,
                at,
                by_assistant=True,
                says=tuple(map(clean_name, message.says)),
                is_echo=message.model.startswith(BUILTIN),
            )
        return SpokenMessage(
            seq,
            replace_surrogates(own_words(message)),
            at,
            name=one_line(message.forwarded_from or message.speaker),
            is_forwarded=bool(message.forwarded_from),
            says=(clean_name(message.forwarded_from),) if message.forwarded_from else (),
        )
    except (AttributeError, TypeError):
        return None


def make_page(messages: Sequence[SpokenMessage]) -> ConversationPage:
    """Return the page of some messages; each line of its text belongs to one of them, in their order.

    Echoes are left out.
    """
    text: list[str] = []
    lines: list[PageLine] = []
    for message in messages:
        if message.is_echo:
            continue
        marker = f"- {_label(message)}: "
        for number, line in enumerate(plain_lines(message.text)):
            lines.append(PageLine(message.seq, line))
            text.append(f"{INDENT if number else marker}{line}" if line else "")
    return ConversationPage("\n".join(text), tuple(lines), tuple(messages))


def plain_lines(text: str) -> list[str]:
    """Return the lines of a message without Markdown that would affect later ones, such as an unclosed fence.

    The first one is not blank; none for a text without any visible character.
    """
    text = strip_controls(replace_surrogates(_LINE_BREAK.sub("\n", text)))
    lines: list[str] = []
    for raw in text.split("\n"):
        line = _FENCE.sub(" ", raw).rstrip()
        if line or (lines and lines[-1]):
            lines.append(line if lines else line.lstrip())
    while lines and not lines[-1]:
        lines.pop()
    return lines


def decode_said(kind: str, payload: str) -> Message | None:
    """Return a message without its pictures, which take long to decode; None if it is damaged or no message.

    Of one that was edited later, nothing is left to be found.
    """
    if kind not in ("user", "assistant", "result"):
        return None
    try:
        fields: Any = json.loads(payload)
        if fields.get("edited"):
            return UserMessage("")
        return decode_message(kind, {**fields, "text": str(fields.get("text", "")), "images": ()})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _label(message: SpokenMessage) -> str:
    if message.by_assistant:
        return ASSISTANT_LABEL
    name = _FENCE.sub(" ", message.name).translate({ord(mark): " " for mark in ":："})
    return one_line(name, limit=_MAX_LABEL_CHARS) or PERSON_LABEL
