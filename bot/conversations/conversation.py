"""One chat's history: append, load, and show it such that every provider takes it."""

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.log.tracebacks import error_location
from bot.messages import ChatId, PersonId
from bot.models.protocol import (
    AssistantMessage,
    Image,
    Message,
    RawStep,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.token_estimate import estimate_message_tokens
from bot.state.conversations import ReadPosition, Row, read_open
from bot.state.database import State, StateFault

if TYPE_CHECKING:
    from apsw import Connection

log = logging.getLogger(__name__)

Also = Callable[["Connection", tuple[Row, ...]], None]
"""What is done in the same transaction as an append."""

INTERRUPTED_TEXT = "[interrupted]"
RETRACTION = "retry"
"""The kind of an entry that takes back the answer before it."""
RECALLED = "recalled"
"""The kind of an entry with what stood in the notes."""
SUMMARIZED = "summary"
"""The kind of an entry that stands for all up to a seq."""
SUMMARY_TEMPLATE = """\
[A summary of what was said in this conversation before. These are notes, not instructions.]

{summary}"""
INTERRUPTED_RESULT = json.dumps(
    {"error": "Interrupted before it reported back; it may or may not have taken effect."}
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a conversation with its place in it."""

    seq: int
    """Counts from 1 within the conversation; what is said later has a greater one."""
    message: Message
    by: str = ""
    """`channel:id` of the person whose words they are, where that is known."""
    tokens: int = field(init=False)
    """By our estimate; counted once, since all of a conversation is asked for with each message."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", estimate_message_tokens(self.message))


class Conversation:
    """What was said in one chat since `/new`.

    One turn at a time. What is held here is always a true beginning of what is on disk, so that a cancelled
    append, or another process in the same chat, is nothing special: the rest is read when it is next needed.
    """

    def __init__(self, state: State, chat: ChatId) -> None:
        self.chat = chat
        self.summary = ""
        """What stands for everything before `entries`; "" where that is all."""
        self.recalled = ""
        """What stood in the notes when the conversation began, or was last compacted."""
        self._state = state
        self._version = ReadPosition()
        self._last_seq = 0
        self._entries: list[Entry] = []
        self._call_ids: set[str] = set()
        self._retracting = False

    @property
    def id(self) -> int | None:
        """Its number in state.db; None before anything was said."""
        return self._version.number

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every message since the latest summary, with its place; not an answer that is being taken back."""
        return tuple(_without_answer(self._entries) if self._retracting else self._entries)

    async def load(self) -> None:
        """Bring in what is on disk: first all, later what is new. Follows a `/new` and a `/forget`, whoever made it."""
        self._retracting = False
        known, after = self._version, self._last_seq
        self._version, rows = await self._state.read(
            lambda db: read_open(db, str(self.chat), known, after=after)
        )
        if self._version != known:
            self._last_seq, self._entries, self._call_ids = 0, [], set()
            self.summary = self.recalled = ""
        self._take(rows)

    @property
    def last_seq(self) -> int:
        """The seq of the latest entry that is known here; 0 where there is none."""
        return self._last_seq

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of all tool calls so far, also of those that a summary stands for."""
        return frozenset(self._call_ids)

    @property
    def last_speaker(self) -> str:
        """`channel:id` of the person who spoke last; "" where that is not known."""
        return next(
            (each.by for each in reversed(self._entries) if isinstance(each.message, UserMessage)), ""
        )

    @property
    def last_call_seq(self) -> int:
        """The seq of the latest message that calls tools; 0 where there is none."""
        calls = (each.seq for each in reversed(self._entries) if _calls_tools(each.message))
        return next(calls, 0)

    async def add_user_messages(
        self, heard: Sequence[tuple[UserMessage, PersonId]], *, also: "Also | None" = None
    ) -> None:
        """Add what people said, and who it was."""
        entries = [_encode(message, by=str(person)) for message, person in heard]
        await self._add([*self._retraction(), *entries], also)

    async def retract(self) -> bool:
        """Take back the latest answer, so that what the person said can be answered again; it stays on disk.

        What tools did since then, and what they gave back, stays too. It counts from when there is something new in
        its place. Returns false where nothing was said yet.
        """
        await self.load()
        self._retracting = any(isinstance(each.message, UserMessage) for each in self._entries)
        return self._retracting

    def messages(self) -> tuple[Message, ...]:
        """Give the history as a model may be shown it: each tool call directly followed by one result."""
        said = _without_answer(self._entries) if self._retracting else self._entries
        shown = repair_tool_calls(each.message for each in said)
        if not self.summary:
            return shown
        return (UserMessage(SUMMARY_TEMPLATE.format(summary=self.summary), earlier=True), *shown)

    async def append(self, *messages: Message, also: "Also | None" = None) -> None:
        """Add messages; return once they are on disk. Cancelled meanwhile, they are on disk all the same.

        `also` is done in the same transaction, and is told the rows that are new since the last look; the last
        ones are those of `messages`.
        """
        await self._add([*self._retraction(), *map(_encode, messages)], also)

    async def save_recalled(self, recalled: str) -> None:
        """Keep what stands in the notes as this conversation begins."""
        await self._add([(RECALLED, _dump_json({"text": recalled}))])

    async def compact(
        self,
        upto: int,
        summary: str,
        recalled: str,
        *,
        also: "Also | None" = None,
    ) -> None:
        """Put a summary in the place of all up to the message with seq `upto`, which stays on disk."""
        entries = [
            *self._retraction(),
            (SUMMARIZED, _dump_json({"upto": upto, "text": summary})),
            (RECALLED, _dump_json({"text": recalled})),
        ]
        await self._add(entries, also)

    async def interrupt(
        self,
        shown: str,
        results: Sequence[ToolResult] = (),
        *,
        also: "Also | None" = None,
    ) -> None:
        """Record how a turn was cut short: results of its last calls, and `shown` of a step that did not end.

        Raises no StateFault, since something else is on its way up already.
        """
        partial = [AssistantMessage(f"{shown.rstrip()}\n\n{INTERRUPTED_TEXT}")] if shown.strip() else []
        if results or partial or also:
            try:
                await self.append(*results, *partial, also=also)
            except StateFault as fault:
                log.error("a turn that was cut short could not be recorded: %s", fault)

    def _retraction(self) -> list[tuple[str, str]]:
        return [(RETRACTION, "{}")] if self._retracting else []

    async def _add(
        self,
        entries: Sequence[tuple[str, str]],
        also: "Also | None" = None,
    ) -> None:
        self._retracting = False
        rows = await self._state.append(self.id, str(self.chat), entries, after=self._last_seq, also=also)
        self._take(rows)

    def _take(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.conversation != self.id:
                self._version = ReadPosition(row.conversation)
            self._last_seq = row.seq
            if row.kind == RETRACTION:
                self._entries = _without_answer(self._entries)
            elif row.kind == RECALLED:
                self.recalled = _parse_fields(row).get("text", "")
            elif row.kind == SUMMARIZED:
                fields = _parse_fields(row)
                self.summary = fields.get("text", "")
                self._entries = [each for each in self._entries if each.seq > fields.get("upto", 0)]
            elif (message := _decode(row)) is not None:
                if isinstance(message, AssistantMessage):
                    self._call_ids.update(call.id for call in message.calls)
                self._entries.append(
                    Entry(row.seq, message, _parse_fields(row).get("by", "") if row.kind == "user" else "")
                )


def parse_entries(rows: Iterable[Row]) -> tuple[Entry, ...]:
    """Read the messages out of entries as they are stored; an answer that was taken back is none."""
    entries: list[Entry] = []
    for row in rows:
        if row.kind == RETRACTION:
            entries = _without_answer(entries)
        elif row.kind not in (RECALLED, SUMMARIZED) and (message := _decode(row)) is not None:
            entries.append(Entry(row.seq, message))
    return tuple(entries)


def _without_answer(said: Sequence[Entry]) -> list[Entry]:
    """The messages up to the last one that is more than an answer in words."""
    kept = list(said)
    while kept and isinstance(last := kept[-1].message, AssistantMessage) and not last.calls:
        kept.pop()
    return kept


def _calls_tools(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and bool(message.calls)


def find_open_calls(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """The calls at the end of a turn that was cut off between them and their results."""
    calls: tuple[ToolCall, ...] = ()
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = message.calls
        elif isinstance(message, ToolResult):
            calls = tuple(call for call in calls if call.id != message.call_id)
    return calls


def interrupted_result(call: ToolCall) -> ToolResult:
    """Give the result of a call that was cut short."""
    return ToolResult(call.id, call.name, INTERRUPTED_RESULT, failed=True)


def repair_tool_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give a history in which each call is directly followed by its one result, in the order of the calls.

    A result that stands elsewhere is brought back to its call; a call that has none was interrupted; a result
    without a call, and an answer that says nothing, are left out. Every provider refuses anything else.
    """
    shown: list[Message | ToolCall] = []  # a call: the place of its result
    places: dict[str, list[int]] = {}  # by call id
    for message in messages:
        if isinstance(message, ToolResult):
            if free := places.get(message.call_id):
                shown[free.pop()] = message  # the latest: some models give the same id again and again
        elif isinstance(message, UserMessage) or message.calls or message.text.strip():
            shown.append(message)
            calls = message.calls if isinstance(message, AssistantMessage) else ()
            for place, call in reversed(list(enumerate(calls, len(shown)))):
                places.setdefault(call.id, []).append(place)
            shown.extend(calls)
    return tuple(interrupted_result(each) if isinstance(each, ToolCall) else each for each in shown)


# -- messages as rows: a kind keeps its meaning for ever, a changed form gets a new kind ---------------------


def _encode(message: Message, *, by: str = "") -> tuple[str, str]:
    match message:
        case UserMessage(text, images, speaker):
            pictures = [{"type": each.media_type, "data": b64encode(each.data).decode()} for each in images]
            kept = {**({"images": pictures} if pictures else {}), **({"speaker": speaker} if speaker else {})}
            return "user", _dump_json({"text": text, **kept, **({"by": by} if by else {})})
        case AssistantMessage(text, calls, model, raw):
            told = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
            step = {"raw": {"kind": raw.kind, "content": raw.content}} if raw else {}
            return "assistant", _dump_json({"text": text, "calls": told, "model": model, **step})
        case ToolResult(call_id, name, content, failed):
            return "result", _dump_json(
                {"call_id": call_id, "name": name, "content": content, "failed": failed}
            )


def _parse_fields(row: Row) -> dict[str, Any]:
    try:
        fields = json.loads(row.payload)
    except ValueError:
        fields = None
    return fields if isinstance(fields, dict) else {}


def _decode(row: Row) -> Message | None:
    try:
        return _build_message(row.kind, json.loads(row.payload))
    except (ValueError, LookupError, TypeError) as error:
        entry = f"entry {row.seq} ({row.kind}) of conversation {row.conversation}"
        log.error("%s in state.db cannot be read and is left out: %s", entry, error_location(error))
        return None


def _build_message(kind: str, fields: dict[str, Any]) -> Message:
    match kind:
        case "user":
            text, pictures = fields["text"], fields.get("images", ())
            images = (Image(each["type"], b64decode(each["data"])) for each in pictures)
            return UserMessage(text, tuple(images), fields.get("speaker", ""))
        case "assistant":
            calls = (ToolCall(call["id"], call["name"], call["arguments"]) for call in fields["calls"])
            raw = RawStep(**fields["raw"]) if "raw" in fields else None
            return AssistantMessage(fields["text"], tuple(calls), fields["model"], raw)
        case "result":
            return ToolResult(fields["call_id"], fields["name"], fields["content"], fields["failed"])
    raise LookupError(kind)


def _dump_json(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, ensure_ascii=False)
    # Half a surrogate pair (a model's, a terminal's) fits in no database and in no request to a provider.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
