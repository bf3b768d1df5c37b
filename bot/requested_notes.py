"""Notes that the assistant writes itself when a person asked to remember something and no model wrote it."""

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.conversations.conversation import Conversation, Entry
from bot.explicit_requests import find_requests, format_note, is_loaded
from bot.models.notebook.tool_names import EDIT, KEEP, WRITE
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage
from bot.models.tool_calls import parse_arguments
from bot.models.user_text import own_words
from bot.note_refs import format_note_ref
from bot.note_writes import OnceWriter
from bot.state import changes, inbox
from bot.state.changes import Change, ChangeOrigin
from bot.state.database import State, run_to_completion
from bot.turn_context import TurnContext
from memory.errors import MemoryFault
from memory.formatting import format_entry
from memory.memory import Memory
from memory.tokenizer import parse_query, tokenize

if TYPE_CHECKING:
    from apsw import Connection

WRITING_TOOLS = frozenset({WRITE, EDIT, KEEP})
LONG_CHARS = 200
"""Longer messages are parsed in a thread, so that they don't block the event loop."""
MAX_TRIES = 5
"""After so many failed writes for one message, `/retry` does not try again."""


@dataclass(frozen=True, slots=True)
class _AskedMessage:
    """What one message asks to remember."""

    entry: Entry
    key: str
    """Of the write; permanent, like the place of the message in its conversation."""
    requests: tuple[str, ...]
    is_first: bool
    """Whether it is the first message of its turn."""

    @property
    def call_ids(self) -> tuple[str, ...]:
        """Ids of the calls that write it, one for each try; a later process recognises the calls by them."""
        return tuple(_call_id(f"{self.key}/{number}") for number in range(MAX_TRIES))


@dataclass(slots=True)
class _Calls:
    """The calls of a turn."""

    made: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    """Seq and call, by id."""
    results: dict[str, ToolResult] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "_Calls":
        calls = cls()
        for entry in entries:
            if isinstance(entry.message, AssistantMessage):
                calls.made |= {call.id: (entry.seq, call) for call in entry.message.calls}
            elif isinstance(entry.message, ToolResult):
                calls.results[entry.message.call_id] = entry.message
        return calls

    def succeeded(self, *, after: int = 0) -> list[ToolCall]:
        """Return the calls of steps after a seq that have succeeded."""
        return [
            call
            for seq, call in self.made.values()
            if seq > after and (result := self.results.get(call.id)) and not result.failed
        ]


class RequestedNotes:
    """Writes what a person explicitly asked to remember, if a turn ends without a successful write.

    The write is stored in the conversation as a call of `memory_write`, before it is made, and then with its result, so
    that no later turn or flush repeats it. Its key and call id come from the position of the person's message in the
    conversation, so a turn that resumes after a crash, and `/retry`, find what was done. If a message is edited, the
    note written for its earlier wording is corrected.
    """

    def __init__(self, memory: Memory, note_writer: OnceWriter, state: State) -> None:
        self._memory = memory
        self._note_writer = note_writer
        self._state = state

    async def settle(self, conversation: Conversation, context: TurnContext) -> None:
        """Complete writes that a crash interrupted. Raises StateFault."""
        for _, message in _find_messages(conversation, context):
            if len(own_words(message)) > LONG_CHARS or not is_loaded():
                await asyncio.to_thread(find_requests, message)  # later calls remember the result
        for asked in _find_asked(conversation, context):
            calls = _Calls.of(_entries_since(conversation, asked.entry.seq))
            for call_id in asked.call_ids:
                if call_id in calls.made and call_id not in calls.results:
                    _, call = calls.made[call_id]
                    await run_to_completion(self._run(conversation, asked, call, context))

    async def write(self, conversation: Conversation, context: TurnContext, *, model: str) -> tuple[str, ...]:
        """Write what the turn has not written; return the lines that tell the person, at most one of each kind.

        `model`: the model that answered, as `provider/model`. Raises StateFault.
        """
        held: dict[str, None] = {}
        all_asked = _find_asked(conversation, context)
        alone = sum(len(asked.requests) for asked in all_asked) == 1
        for asked in all_asked:
            calls = _Calls.of(_entries_since(conversation, asked.entry.seq))
            free = [each for each in asked.call_ids if each not in calls.results]
            requests = _find_unwritten(asked, calls.succeeded(after=asked.entry.seq), alone=alone)
            if not (free and requests):
                continue
            call = await self._correct_earlier(asked, context, free[0])
            if call is None:
                wanted, places = await self._drop_noted(requests)
                held |= dict.fromkeys(places)
                if not wanted:
                    continue
                call = _make_call(free[0], WRITE, content=format_note(wanted), target="daily")

            async def write(asked: _AskedMessage = asked, call: ToolCall = call) -> None:
                await conversation.append(AssistantMessage("", (call,), model))
                await self._run(conversation, asked, call, context)

            await run_to_completion(write())
        return (
            *_describe_writes(conversation, context),
            *([phrases.ALREADY_NOTED.format(place=phrases.COMMA.join(held))] if held else ()),
        )

    async def _run(
        self, conversation: Conversation, asked: _AskedMessage, call: ToolCall, context: TurnContext
    ) -> None:
        """Write to the note, and store the result."""
        origin = ChangeOrigin(
            "agent",
            person=asked.entry.by or str(context.person),
            chat=str(context.chat),
            conversation=conversation.id or 0,
            asked_at=asked.entry.seq,
        )
        await conversation.append(await self._result_of(call, asked.key, origin))

    async def _result_of(self, call: ToolCall, key: str, origin: ChangeOrigin) -> ToolResult:
        told: Mapping[str, Any] = json.loads(call.arguments)
        try:
            if call.name == WRITE:
                written = await self._note_writer.write(told["content"], key=key, origin=origin)
            else:
                written = await self._note_writer.edit(
                    told["path"], told["old"], told["new"], key=key, origin=origin
                )
        except MemoryFault as fault:
            error = self._memory.redact_server_address(str(fault))
            return ToolResult(call.id, call.name, _dump({"error": error}), failed=True)
        place = {"path": written.path, "line_start": written.line_start, "line_end": written.line_end}
        return ToolResult(call.id, call.name, _dump(place))

    async def _drop_noted(self, requests: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the requests that no note says yet, and where notes say the others."""
        from bot.noted_facts import find_noted  # loads every language

        wanted, places = list[str](), list[str]()
        for request in requests:
            if noted := await find_noted(self._memory, request):
                places.append(format_note_ref(*noted))
            else:
                wanted.append(request)
        return wanted, places

    async def _correct_earlier(
        self, asked: _AskedMessage, context: TurnContext, call_id: str
    ) -> ToolCall | None:
        """Return the call that corrects the note written for an earlier wording; None without such a note."""
        if not context.edit_of or not asked.is_first:
            return None
        chat, edit_of = str(context.chat), context.edit_of

        def read(db: "Connection") -> list[Change]:
            keys = [_key(*place) for place in inbox.read_wordings(db, chat, edit_of)]
            return [change for key in keys if key != asked.key for change in changes.read_by_key(db, key)]

        if not (made := await self._state.read(read)):
            return None
        old, new = _current_text(made), format_entry(format_note(asked.requests))
        try:
            note = await self._memory.get(made[0].path)
        except MemoryFault:
            return None
        # If the person has changed or removed that note since, the new wording becomes a note of its own.
        if not old or old == new or note.text.count(old) != 1:
            return None
        return _make_call(call_id, EDIT, path=made[0].path, old=old, new=new)


def _find_messages(conversation: Conversation, context: TurnContext) -> list[tuple[Entry, UserMessage]]:
    start = conversation.last_seq if context.start_seq is None else context.start_seq
    messages = _user_entries(conversation, start + 1)
    if not messages and conversation.last_question_seq:
        messages = _user_entries(conversation, conversation.last_question_seq)
    # What somebody else has said before and nobody answered is not answered now either: it may be a guest's.
    return [each for each in messages if each[0].by == messages[-1][0].by]


def _find_asked(conversation: Conversation, context: TurnContext) -> list[_AskedMessage]:
    """Return the messages of a turn that ask to remember something; under `/retry`, those being answered again."""
    messages = _find_messages(conversation, context)
    asked = (
        _AskedMessage(entry, _key(conversation.id or 0, entry.seq), find_requests(message), index == 0)
        for index, (entry, message) in enumerate(messages)
    )
    return [each for each in asked if each.requests]


def _user_entries(conversation: Conversation, first: int) -> list[tuple[Entry, UserMessage]]:
    return [
        (entry, entry.message)
        for entry in conversation.entries
        if entry.seq >= first and isinstance(entry.message, UserMessage)
    ]


def _entries_since(conversation: Conversation, seq: int) -> list[Entry]:
    return [entry for entry in conversation.entries if entry.seq > seq]


def _find_unwritten(asked: _AskedMessage, succeeded: Sequence[ToolCall], *, alone: bool) -> tuple[str, ...]:
    """Return what the successful calls of the turn have not written.

    Any write counts for a request that is `alone` in its turn: a model may put it in other words. Of several, those
    that share no word with what was written are still to be written.
    """
    writes = [call for call in succeeded if call.name in WRITING_TOOLS]
    if not writes:
        return asked.requests
    if alone or any(call.name == KEEP or call.id in asked.call_ids for call in writes):
        return ()
    written = [_written_text(call) for call in writes]
    return tuple(each for each in asked.requests if not any(_share_a_word(each, text) for text in written))


def _written_text(call: ToolCall) -> str:
    told = _parse(call.arguments)
    return str(told.get("content" if call.name == WRITE else "new", ""))


def _share_a_word(request: str, text: str) -> bool:
    words = tokenize(text)
    there = {(word,) for word in words} | set(pairwise(words))
    return any(term.tokens in there for term in parse_query(request))


def _current_text(made: Sequence[Change]) -> str:
    """Return the lines of a note that was written by the first of these changes and edited by the others."""
    text = "\n".join(made[0].lines.new[made[0].lines.lead :])
    for change in made[1:]:
        text = text.replace("\n".join(change.lines.old), "\n".join(change.lines.new), 1)
    return text


def _describe_writes(conversation: Conversation, context: TurnContext) -> list[str]:
    """Return the lines that tell the person about the notes written for them in this turn."""
    start = conversation.last_seq if context.start_seq is None else context.start_seq
    own = {call_id for asked in _find_asked(conversation, context) for call_id in asked.call_ids}
    calls = _Calls.of(_entries_since(conversation, start))
    results = [
        (call.name, calls.results[call_id])
        for call_id, (_, call) in calls.made.items()
        if call_id in own and call_id in calls.results
    ]
    lines = list[str]()
    for name, phrase in ((WRITE, phrases.REMEMBERED), (EDIT, phrases.NOTE_CORRECTED)):
        places = [_place(result) for each, result in results if each == name and not result.failed]
        lines += [phrase.format(place=phrases.COMMA.join(places))] if places else []
    if results and results[-1][1].failed:
        error = _parse(results[-1][1].content).get("error", "")
        lines.append(phrases.NOT_REMEMBERED.format(error=error))
    return lines


def _place(result: ToolResult) -> str:
    told = _parse(result.content)
    return format_note_ref(told["path"], told["line_start"], told["line_end"])


def _key(conversation: int, seq: int) -> str:
    return f"asked-{conversation}-{seq}"


def _call_id(text: str) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return "".join(letters[byte % 36] for byte in hashlib.sha256(text.encode()).digest()[:9])


def _make_call(call_id: str, tool: str, **arguments: str) -> ToolCall:
    return ToolCall(call_id, tool, _dump(arguments))


def _parse(text: str) -> Mapping[str, Any]:
    try:
        return parse_arguments(text)
    except ValueError:
        return {}


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
