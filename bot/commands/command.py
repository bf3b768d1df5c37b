"""Slash commands: their description, parsing, permissions, and usage errors."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from bot import phrases
from bot.access import Standing
from bot.language.catalogs import translate
from bot.language.current import current_language
from bot.language.text import join_sentences
from bot.messages import ChatId, Choice, IncomingMessage
from bot.state.changes import ChangeOrigin

if TYPE_CHECKING:
    from bot.services import Services


@dataclass(frozen=True, slots=True)
class Option:
    """One argument of a command."""

    name: str
    help: str
    required: bool = True
    type: Literal["word", "text"] = "text"
    """`word` ends at white space; `text` takes all the rest and must come last."""
    choices: tuple[str, ...] = ()
    shown: str = ""
    """Its placeholder in a usage line, if not its name or its choices."""

    @property
    def usage(self) -> str:
        """The option in a usage line: `QUERY`, `[status|search]`."""
        shown = self.shown or "|".join(self.choices) or self.name.upper()
        return shown if self.required else f"[{shown}]"


async def _nothing_runs(chat: ChatId, *, before: int = 0) -> bool:
    del chat, before
    return False


class StopTurn(Protocol):
    """Stop the turn that is running in a chat."""

    async def __call__(self, chat: ChatId, *, before: int = 0) -> bool:
        """Return whether there was one; `before`: only stop one started by a message with a lower number."""
        ...


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One use of a command by somebody who is allowed to use it."""

    message: IncomingMessage
    standing: Standing
    options: Mapping[str, str]
    """By name; without those that were not given."""
    key: str
    """Identifies this use: the same when it runs again after a crash."""
    number: int = 0
    """The number of its message in the inbox, in order of arrival; 0 if it is not there."""
    stop: StopTurn = _nothing_runs
    """For `/stop`."""

    @property
    def origin(self) -> ChangeOrigin:
        """The origin to record with changes to notes."""
        return ChangeOrigin("command", person=str(self.message.sender), chat=str(self.message.chat))


@dataclass(frozen=True, slots=True)
class RetryLast:
    """The result of a command after which the latest message is answered again."""


@dataclass(frozen=True, slots=True)
class CommandReply:
    """An answer with buttons; the text alone says how to choose, too."""

    text: str
    choices: tuple[Choice, ...] = ()


Handler = Callable[[CommandCall, "Services"], Awaitable[str | CommandReply | RetryLast]]


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table behind `/help`, the channels' menus and docs/commands.md."""

    name: str
    help: str
    handler: Handler
    options: tuple[Option, ...] = ()
    owner_only: bool = False
    uses_memory: bool = False
    also_closed: tuple[str, ...] = ()
    """Actions of a command that uses the memory which are allowed in a room where memory is off."""
    at_once: bool = False
    """Whether it runs at once instead of after the turn that its chat is busy with."""
    example: str = ""
    """A line that somebody might type, shown with the usage."""
    only_tells: bool = False
    """Whether it changes nothing, so that it need not wait for a running turn."""
    whatever_follows: bool = False
    """Whether the rest of the line is ignored, such as the payload of a link: `/start from_the_website`."""

    @property
    def usage(self) -> str:
        """The usage line: `/recall QUERY`."""
        return " ".join([f"/{self.name}", *(option.usage for option in self.options)])

    @property
    def needs(self) -> Standing:
        """The lowest standing that may use it."""
        if self.owner_only:
            return Standing.OWNER
        return Standing.ALLOWED if self.uses_memory else Standing.GUEST


_LINE = re.compile(r"\s*/([A-Za-z][A-Za-z0-9_]*)(?:@\w+)?(?:\s+(.*))?", re.DOTALL)


def split_command(text: str) -> tuple[str, str] | None:
    """Split `/name@bot rest` into name and rest; None if the text is not a command (such as `/etc/hosts`)."""
    match = _LINE.fullmatch(text)
    return (match[1].lower(), (match[2] or "").strip()) if match else None


def command_in(message: IncomingMessage) -> tuple[str, str] | None:
    """Split the command in a message into name and rest; None if there is none or the message is forwarded."""
    return None if message.forwarded_from else split_command(message.text)


def commands_for(standing: Standing, commands: Iterable[Command]) -> list[Command]:
    """Return the commands that a person of this standing may see and use."""
    return [command for command in commands if standing >= command.needs]


def show_example(command: Command) -> str:
    """Return the line that shows a command's example, in the current language; "" if it has none."""
    if not command.example:
        return ""
    return phrases.USAGE_EXAMPLE.format(example=translate(command.example, current_language()))


class WrongCommandUsage(Exception):
    """The options do not fit; the text shows the usage."""

    def __init__(self, command: Command) -> None:
        usage, example = phrases.USAGE.format(usage=command.usage), show_example(command)
        super().__init__(join_sentences([f"{usage}{phrases.FULL_STOP}", example]) if example else usage)


def read_options(command: Command, rest: str) -> dict[str, str]:
    """Assign the words after a command's name to its options. Raises WrongCommandUsage."""
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
    """Run `/name rest`. A command that the person may not use is treated like one that does not exist."""
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
    """Return the answer to an unknown command, or one that is not for this person, with the nearest match."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(usable), n=1, cutoff=0.6)
    if near:
        return phrases.UNKNOWN_COMMAND_NEAR.format(name=name, near=near[0])
    return phrases.UNKNOWN_COMMAND.format(name=name)
