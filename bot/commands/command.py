"""Slash commands: what one is, how a line is read as one, who may use it, what to say when it does not fit."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from bot import phrases
from bot.access import Standing
from bot.messages import ChatId, Choice, IncomingMessage

if TYPE_CHECKING:
    from bot.services import Services


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that may follow a command's name."""

    name: str
    help: str
    required: bool = True
    type: Literal["word", "text"] = "text"
    """`word` ends at white space; `text` is all the rest and can only come last."""
    choices: tuple[str, ...] = ()
    shown: str = ""
    """What stands for it in a usage line, where not its name or choices."""

    @property
    def usage(self) -> str:
        """As in a usage line: `QUERY`, `[status|search]`."""
        shown = self.shown or "|".join(self.choices) or self.name.upper()
        return shown if self.required else f"[{shown}]"


async def _nothing_runs(chat: ChatId, *, before: int = 0) -> bool:
    del chat, before
    return False


class StopTurn(Protocol):
    """End the turn that runs in a chat."""

    async def __call__(self, chat: ChatId, *, before: int = 0) -> bool:
        """Tell whether there was one; `before`: only one that was begun by a message of a lesser number."""
        ...


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One use of a command by somebody who may."""

    message: IncomingMessage
    standing: Standing
    options: Mapping[str, str]
    """By name; those that were not given are absent."""
    key: str
    """Names this use for ever: the same when it is run again after a crash."""
    number: int = 0
    """Its message's in the inbox, in the order of arrival; 0 where it has no place there."""
    stop: StopTurn = _nothing_runs
    """For `/stop`."""


@dataclass(frozen=True, slots=True)
class RetryLast:
    """What a command gives back that wants the latest message answered again."""


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What a command answers, where there is something to choose from; the text alone says how, too."""

    text: str
    choices: tuple[Choice, ...] = ()


Handler = Callable[[CommandCall, "Services"], Awaitable[str | CommandReply | RetryLast]]


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table that `/help`, the channels' menus and docs/commands.md are printed from."""

    name: str
    help: str
    handler: Handler
    options: tuple[Option, ...] = ()
    owner_only: bool = False
    uses_memory: bool = False
    also_closed: tuple[str, ...] = ()
    """Of a command that uses the memory: actions that may be done where the memory is closed, in a room."""
    at_once: bool = False
    """Runs beside the turn that its chat is busy with instead of after it."""
    example: str = ""
    """What somebody might type, shown where it was not understood."""
    only_tells: bool = False
    """Changes nothing: where a person waits, it need not wait for the turn that runs either."""
    whatever_follows: bool = False
    """What follows is not looked at, such as what a link to the bot brings along: `/start from_the_website`."""

    @property
    def usage(self) -> str:
        """`/recall QUERY`."""
        return " ".join([f"/{self.name}", *(option.usage for option in self.options)])

    @property
    def needs(self) -> Standing:
        """The least standing that may use it."""
        if self.owner_only:
            return Standing.OWNER
        return Standing.ALLOWED if self.uses_memory else Standing.GUEST


_LINE = re.compile(r"\s*/([A-Za-z][A-Za-z0-9_]*)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)


def split_command(text: str) -> tuple[str, str] | None:
    """Name and rest of `/name@bot rest`; None where the text is no command (`/etc/hosts` is none)."""
    match = _LINE.fullmatch(text)
    return (match[1].lower(), (match[2] or "").strip()) if match else None


def command_in(message: IncomingMessage) -> tuple[str, str] | None:
    """The command that somebody gives with a message; None where it is none, or somebody else's words."""
    return None if message.forwarded_from else split_command(message.text)


def commands_for(standing: Standing, commands: Iterable[Command]) -> list[Command]:
    """The commands that somebody of this standing may see and use."""
    return [command for command in commands if standing >= command.needs]


class WrongCommandUsage(Exception):
    """The options do not fit; the text tells how they would."""

    def __init__(self, command: Command) -> None:
        told = [phrases.USAGE.format(usage=command.usage, help=command.help)]
        if command.example:
            told.append(phrases.USAGE_EXAMPLE.format(example=command.example))
        super().__init__(". ".join(told))


def read_options(command: Command, rest: str) -> dict[str, str]:
    """Lay the words after a command's name onto its options; raise WrongUse where they do not fit."""
    found: dict[str, str] = {}
    for option in command.options:
        if option.type == "word":
            value, rest = [*rest.split(maxsplit=1), "", ""][:2]
        else:
            value, rest = rest, ""
        if option.choices:
            value = value.lower()
        if (not value and option.required) or (value and option.choices and value not in option.choices):
            raise WrongCommandUsage(command)
        if value:
            found[option.name] = value
    if rest and not command.whatever_follows:
        raise WrongCommandUsage(command)
    return found


async def run_command(
    name: str,
    rest: str,
    *,
    message: IncomingMessage,
    standing: Standing,
    memory_is_open: bool = True,
    key: str,
    number: int = 0,
    stop: StopTurn = _nothing_runs,
    services: "Services",
) -> str | CommandReply | RetryLast:
    """Answer `/name rest`. A command that the person may not use is told of no more than one that does not exist."""
    usable = {command.name: command for command in commands_for(standing, services.commands)}
    command = usable.get(name)
    if command is None:
        return explain_unknown_command(name, usable)
    try:
        options = read_options(command, rest)
    except WrongCommandUsage as error:
        return str(error)
    if command.uses_memory and not memory_is_open and options.get("action") not in command.also_closed:
        return phrases.MEMORY_IS_CLOSED
    return await command.handler(CommandCall(message, standing, options, key, number, stop), services)


def explain_unknown_command(name: str, usable: Iterable[str]) -> str:
    """What to answer to a command that is not there (or not for this person), with the nearest one that is."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(usable), n=1, cutoff=0.6)
    if near:
        return phrases.UNKNOWN_COMMAND_NEAR.format(name=name, near=near[0])
    return phrases.UNKNOWN_COMMAND.format(name=name)
