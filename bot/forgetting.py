"""`/forget`: what is to be forgotten, shown first, then removed everywhere."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bot.messages import ChatId, PersonId
from bot.state import forgetting
from bot.state.database import State, StateFault
from bot.state.forgetting import ENTRIES, PLACES, Kept, Place
from memory import disk
from memory.forgetting import FORGOTTEN, NoteLines, Wanted
from memory.listing import Problem
from memory.memory import Memory

MOST_LINES = 50
"""How many passages of the notes are forgotten at once."""
EXCERPTS = 5
EXCERPT_CHARS = 120
CODE_MINUTES = 10

_CODE_CHARS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
_ROWS_AT_A_TIME = 500
_RESULT = json.dumps({"note": FORGOTTEN})


class NotFound(Exception):
    """There is nothing of it, or no such code."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known about something."""

    query: str
    lines: tuple[NoteLines, ...]
    too_many: bool
    """Whether there is more in the notes than is forgotten at once; then there is no code."""
    messages: int
    """Of conversations, with what tools gave back, and summaries."""
    excerpts: tuple[str, ...]
    elsewhere: int
    """The trash, reminders, messages on their way, and the like."""
    unread: tuple[Problem, ...]
    """Notes that could not be looked at."""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed."""

    lines: int
    missed: tuple[NoteLines, ...]
    """Lines that had changed meanwhile, and stay."""
    messages: int
    elsewhere: int
    problem: str
    """Why a trace may be left on the disk; "" where none is."""


@dataclass(frozen=True, slots=True)
class _Asked:
    found: Found
    until: datetime


class Forgetting:
    """Finds what is known about something, and removes it once that is confirmed.

    "It" are the lines of notes that have all the words of a query, and in conversations, the trash and whatever else
    is kept all texts that have these words or repeat such a line. What waits for a confirmation is not kept on disk.
    """

    def __init__(
        self,
        memory: Memory,
        state: State,
        *,
        changed: Callable[[Collection[int]], None] = lambda conversations: None,
        forget_typed: Callable[[Wanted], int] = lambda wanted: 0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`changed` is told the numbers of conversations whose entries on disk are not what they were.

        `forget_typed` removes it from what a channel keeps of a person's inputs, where the question stands too; it
        tells from how many, and raises OSError.
        """
        self._memory = memory
        self._state = state
        self._changed = changed
        self._forget_typed = forget_typed
        self._now = now
        self._asked: dict[tuple[ChatId, PersonId], _Asked] = {}

    async def find(self, query: str, *, chat: ChatId, person: PersonId) -> Found:
        """Look for it everywhere; the code is good for CODE_MINUTES, in this chat and for this person.

        Raises NotFound, and MemoryFault where the notes cannot be read.
        """
        self._asked.pop((chat, person), None)
        wanted = Wanted(query)
        if wanted.is_blank:
            raise NotFound
        notes = await self._memory.find_lines(wanted, most=MOST_LINES)
        wanted = Wanted(query, _single_lines(notes.lines))
        messages, elsewhere, excerpts = 0, notes.in_trash, list[str]()
        for place in PLACES:
            if place.table == "inbox":
                continue  # where the question itself stands
            async for changes in self._holding(place, wanted):
                if place == ENTRIES:
                    messages += len(changes)
                    room = EXCERPTS - len(excerpts)
                    excerpts += [_excerpt(kept) for kept, _ in changes[:room]]
                else:
                    elsewhere += len(changes)
        if not (notes.lines or messages or elsewhere):
            raise NotFound
        code = "" if notes.more else "".join(secrets.choice(_CODE_CHARS) for _ in range(4))
        found = Found(
            query, notes.lines, notes.more, messages, tuple(excerpts), elsewhere, notes.unread, code
        )
        if code:
            until = self._now() + timedelta(minutes=CODE_MINUTES)
            self._asked[chat, person] = _Asked(found, until)
        return found

    async def confirm(self, code: str, *, chat: ChatId, person: PersonId) -> Forgotten:
        """Remove what was found. Raises NotFound where this is not the code of this person, here and now."""
        asked = self._asked.get((chat, person))
        if (
            asked is None
            or self._now() > asked.until
            or not secrets.compare_digest(asked.found.code.encode(), code.upper().encode())
        ):
            raise NotFound
        found = asked.found
        wanted = Wanted(found.query, _single_lines(found.lines))
        # First what leads to the notes and not the other way round: cut off here, the question finds the rest again.
        messages, elsewhere = await self._forget_in_state(wanted)
        notes = await self._memory.forget_lines(found.lines, wanted)
        self._asked.pop((chat, person), None)
        problem = notes.problem
        try:
            elsewhere += await asyncio.to_thread(self._forget_typed, wanted)
        except OSError as error:
            problem = problem or f"the lines typed before: {disk.reason(error)}"
        try:
            if not await self._state.read(forgetting.vacuum):
                problem = problem or "state.db is in use by another program"
        except StateFault as fault:
            problem = problem or str(fault)
        return Forgotten(notes.lines, notes.missed, messages, elsewhere + notes.in_trash, problem)

    async def _forget_in_state(self, wanted: Wanted) -> tuple[int, int]:
        messages = elsewhere = 0
        for place in PLACES:
            async for changes in self._holding(place, wanted):
                await self._state.change(partial(forgetting.replace, place=place, changes=changes))
                if place == ENTRIES:
                    messages += len(changes)
                    self._changed({kept.conversation for kept, _ in changes})
                else:
                    elsewhere += len(changes)
        return messages, elsewhere

    async def _holding(self, place: Place, wanted: Wanted) -> AsyncIterator[list[tuple[Kept, str | None]]]:
        """The texts of a place that hold it, with what is to stand there instead, some at a time."""
        after = 0
        while kept := await self._state.read(
            partial(forgetting.texts, place=place, after=after, most=_ROWS_AT_A_TIME)
        ):
            after = kept[-1].row
            found = await asyncio.to_thread(_changes, place, kept, wanted)
            if found:
                yield found


def _single_lines(lines: Collection[NoteLines]) -> Iterator[str]:
    for each in lines:
        yield from each.text.split("\n")


def _changes(place: Place, kept: Sequence[Kept], wanted: Wanted) -> list[tuple[Kept, str | None]]:
    return [(each, new) for each in kept if (new := _without(place, each, wanted)) != each.text]


def _without(place: Place, kept: Kept, wanted: Wanted) -> str | None:
    """What is to stand in a text's place: the text itself where it does not hold it, None for nothing at all."""
    match place.table, place.column:
        case "entries", _:
            return _entry_without(kept, wanted)
        case "effects", _:
            return None if wanted.is_in(_words(_loaded(kept.text))) else kept.text
        case "flushes", _:
            return wanted.without(kept.text) if wanted.is_in(kept.text) else kept.text
        case "inbox", "payload":
            message = _loaded(kept.text)
            if isinstance(message, dict) and wanted.is_in(str(message.get("text", ""))):
                return _json({**message, "text": FORGOTTEN})
            return kept.text
        case _:
            return FORGOTTEN if wanted.is_in(kept.text) else kept.text


def _entry_without(kept: Kept, wanted: Wanted) -> str:
    """An entry of a conversation, in the form in which bot/conversation.py reads it."""
    fields = _loaded(kept.text)
    if not isinstance(fields, dict):
        return "{}" if wanted.is_in(kept.text) else kept.text
    if not wanted.is_in(_words(fields)):
        return kept.text
    match kept.kind:
        case "user":
            return _json({"text": FORGOTTEN})
        case "assistant":
            return _json(_step_without(fields, wanted))
        case "result":
            return _json({**fields, "content": _RESULT})
        case "summary" | "recalled":
            return _json({**fields, "text": wanted.blanked(str(fields.get("text", "")))})
        case _:
            return _json(_blanked(fields, wanted))


def _step_without(fields: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """What an assistant said and called. The words may be spread over both: then both go. Never the provider's form."""
    text, calls = str(fields.get("text", "")), list(fields.get("calls", ()))
    said = wanted.is_in(text)
    called = [wanted.is_in(_words(_loaded(str(call.get("arguments", ""))))) for call in calls]
    spread = not said and not any(called) and wanted.is_in("\n".join([text, *map(_words, calls)]))
    kept = {name: value for name, value in fields.items() if name != "raw"}
    return {
        **kept,
        "text": FORGOTTEN if text and (said or spread) else text,
        "calls": [
            {**call, "arguments": "{}"} if gone or spread else call
            for call, gone in zip(calls, called, strict=True)
        ],
    }


def _blanked(value: Any, wanted: Wanted) -> Any:
    match value:
        case str():
            return FORGOTTEN if wanted.is_in(value) else value
        case dict():
            return {name: _blanked(each, wanted) for name, each in value.items()}
        case list():
            return [_blanked(each, wanted) for each in value]
    return value


def _words(value: Any) -> str:
    """All texts in a piece of JSON, and in the JSON that is written in them."""
    match value:
        case str():
            inner = _loaded(value) if value[:1] in {"{", "["} else value
            return value if isinstance(inner, str) else _words(inner)
        case dict():
            return "\n".join(_words(each) for each in value.values())
        case list():
            return "\n".join(_words(each) for each in value)
    return "" if value is None else str(value)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _json(fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _excerpt(kept: Kept) -> str:
    text = " ".join(_words(_loaded(kept.text)).split())
    return text if len(text) <= EXCERPT_CHARS else f"{text[:EXCERPT_CHARS]}…"
