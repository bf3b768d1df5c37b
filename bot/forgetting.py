"""`/forget`: what is to be forgotten, shown first, then removed everywhere."""

import asyncio
import json
import secrets
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from bot.messages import ChatId, PersonId
from bot.state import forgetting
from bot.state.database import State, StateFault
from bot.state.forgetting import ENTRIES, PLACES, Kept, Place
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`changed` is told the numbers of conversations whose entries on disk are not what they were."""
        self._memory = memory
        self._state = state
        self._changed = changed
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
            async for found in self._holding(place, wanted):
                if place == ENTRIES:
                    messages += len(found)
                    room = EXCERPTS - len(excerpts)
                    excerpts += [_excerpt(kept) for kept, _ in found[:room]]
                else:
                    elsewhere += len(found)
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
            if not await self._state.read(forgetting.vacuum):
                problem = problem or "state.db is in use by another program"
        except StateFault as fault:
            problem = problem or str(fault)
        return Forgotten(notes.lines, notes.missed, messages, elsewhere + notes.in_trash, problem)

    async def _forget_in_state(self, wanted: Wanted) -> tuple[int, int]:
        messages = elsewhere = 0
        for place in PLACES:
            async for found in self._holding(place, wanted):
                await self._state.change(partial(forgetting.replace, place=place, changes=found))
                if place == ENTRIES:
                    messages += len(found)
                    self._changed({kept.conversation for kept, _ in found})
                else:
                    elsewhere += len(found)
        return messages, elsewhere

    async def _holding(self, place: Place, wanted: Wanted) -> "_Changes":
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
