"""Suggestions while a person fills in a command, limited to what that person may see."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from adapters.discord.incoming import ReceivedMessage
from bot.access import Standing
from bot.commands.command import Command, commands_for
from bot.commands.translations import help_of
from bot.messages import ChatId, IncomingMessage
from bot.sanitize import one_line
from bot.state.reminders import ReminderRow
from memory.trash import TrashItem

COMPLETED_OPTIONS = {
    ("help", "command"),
    ("model", "name"),
    ("memory", "what"),
    ("correct", "place"),
    ("why", "place"),
    ("reminders", "number"),
}
"""Options that are completed, as (command, option)."""
MAX_SUGGESTIONS = 25
LABEL_CHARS = 100
VALUE_CHARS = 100
NOTES_SECONDS = 5.0
"""Seconds to cache the list of notes: every key press asks for suggestions."""
AUTO = "auto"

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")
_CORE = "MEMORY.md"


@dataclass(frozen=True, slots=True)
class PartialCommand:
    """A command that is being filled in."""

    command: str
    option: str = ""
    """The option in focus."""
    begun: str = ""
    """Its current text."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Texts of the other options, by name."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A value to pick."""

    label: str
    value: str
    """Text for the option."""


async def _empty_trash() -> Sequence[TrashItem]:
    return ()


@dataclass(frozen=True, slots=True)
class AutocompleteSources:
    """Where the suggested values come from."""

    models: Callable[[], Sequence[str]]
    """Return the names of all models."""
    notes: Callable[[], Awaitable[Iterable[str]]]
    """Return the paths of all notes."""
    reminders: Callable[[ChatId], Awaitable[Sequence[ReminderRow]]]
    """Return a chat's pending reminders, the next first."""
    removed: Callable[[], Awaitable[Sequence[TrashItem]]] = _empty_trash
    """Return the trash, newest first."""


class Autocomplete:
    """Finds suggestions; a person who may not use a command gets none."""

    def __init__(
        self,
        sources: AutocompleteSources,
        *,
        commands: Sequence[Command],
        standing: Callable[[ReceivedMessage], Awaitable[Standing]],
        memory_is_open: Callable[[IncomingMessage], Awaitable[bool]],
    ) -> None:
        """`standing`: the sender's trust level; `memory_is_open`: whether the memory may be used."""
        self._sources = sources
        self._commands = commands
        self._standing = standing
        self._memory_is_open = memory_is_open
        self._notes: tuple[str, ...] = ()
        self._notes_until = 0.0
        self._listing = asyncio.Lock()

    async def offers(self, received: ReceivedMessage, typed: PartialCommand) -> list[Suggestion]:
        """Return suggestions, most likely first. Raises what the sources raise."""
        standing = await self._standing(received)
        usable = {command.name: command for command in commands_for(standing, self._commands)}
        command = usable.get(typed.command)
        if command is None or (typed.command, typed.option) not in COMPLETED_OPTIONS:
            return []
        is_closed = command.uses_memory and not await self._memory_is_open(received.message)
        if is_closed and typed.others.get("action") not in command.also_closed:
            return []
        match typed.command:
            case "help":
                found = [Suggestion(f"/{each.name}: {help_of(each)}", each.name) for each in usable.values()]
            case "model":
                found = [Suggestion(name, name) for name in (*self._sources.models(), AUTO)]
            case "memory":
                found = await self._suggest_for_memory(typed)
            case "correct" | "why":
                found = [Suggestion(each.label, f"{each.value}:") for each in await self._suggest_notes()]
            case _:
                return await self._suggest_reminders(received, typed, standing)
        return _filter_suggestions(found, typed.begun)

    async def _suggest_for_memory(self, typed: PartialCommand) -> list[Suggestion]:
        match typed.others.get("action"):
            case "get":
                return await self._suggest_notes()
            case "list":
                paths = [each.value for each in await self._suggest_notes()]
                folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
                return [Suggestion(folder, folder) for folder in sorted(folders - {"."})]
            case "trash":
                return [
                    Suggestion(
                        f"restore {each.number}: {each.note}, {each.at:%Y-%m-%d %H:%M} UTC",
                        f"restore {each.number}",
                    )
                    for each in await self._sources.removed()
                    if not each.is_restored
                ]
        return []

    async def _suggest_notes(self) -> list[Suggestion]:
        async with self._listing:
            if time.monotonic() >= self._notes_until:
                self._notes = tuple(await self._sources.notes())
                self._notes_until = time.monotonic() + NOTES_SECONDS
        paths = sorted(self._notes)
        days = [path for path in reversed(paths) if _DAY.fullmatch(path)]
        core = [path for path in paths if path == _CORE]
        rest = [path for path in paths if path != _CORE and not _DAY.fullmatch(path)]
        return [Suggestion(path, path) for path in (*core, *days, *rest)]

    async def _suggest_reminders(
        self, received: ReceivedMessage, typed: PartialCommand, standing: Standing
    ) -> list[Suggestion]:
        """Suggest reminders by number or words; completes the last of several numbers."""
        before, _, last = typed.begun.rpartition(" ")
        if not all(each.strip("#,").isdecimal() for each in before.split()):
            before, last = "", typed.begun
        rows = await self._sources.reminders(received.message.chat)
        found = [
            Suggestion(f"#{row.number} {row.text}", f"{before} {row.number}".strip())
            for row in rows
            if standing is Standing.OWNER or not row.prompt
        ]
        return _filter_suggestions(found, last)


def _filter_suggestions(offers: Iterable[Suggestion], begun: str) -> list[Suggestion]:
    """Return matching suggestions, prefix matches first, up to `MAX_SUGGESTIONS`."""
    wanted = begun.strip().casefold()
    ranked: tuple[list[Suggestion], ...] = ([], [], [])
    for offer in offers:
        # A note's path cut short could name another note.
        if not 0 < len(offer.value) <= VALUE_CHARS:
            continue
        label = offer.label.casefold()
        if label.lstrip("/#").startswith(wanted.lstrip("/#")):
            ranked[0].append(offer)
        elif f"/{wanted}" in label:
            ranked[1].append(offer)
        elif wanted in label:
            ranked[2].append(offer)
    found = [offer for rank in ranked for offer in rank][:MAX_SUGGESTIONS]
    return [Suggestion(one_line(offer.label, limit=LABEL_CHARS), offer.value) for offer in found]
