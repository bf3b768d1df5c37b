"""Pure: the table of slash commands as Discord takes it, described and with typed options."""

from collections.abc import Sequence
from typing import Any

from discord import AppCommandOptionType, Locale

from adapters.discord.autocomplete import COMPLETED_OPTIONS
from bot import phrases
from bot.commands.command import Command, Option
from bot.commands.translations import HELP, translated_help

MOST_COMMANDS = 100
MOST_CHOICES = 25
DESCRIPTION_CHARS = 100
ONLY_CHOICES = {("pair", "guest"): ("guest",)}
"""What the table leaves open, since a line may hold something else in its place; a form has a place for each."""

FILES = {"remember": "file"}
"""Commands that take a file, which in a message comes along with it; and what its option is called."""

_CHAT_INPUT = 1
_GUILD, _BOT_DM = 0, 1
"""Where a command is offered."""
_GUILD_INSTALL = 0
_NOBODY = "0"
"""No set of permissions is enough: only administrators of the guild, and whom they let."""


def make_payload(commands: Sequence[Command], *, for_guild: bool = False) -> list[dict[str, Any]]:
    """The body of the call that sets all commands at once; `for_guild`: of those of one guild alone.

    Of a table that is too long the first ones are taken; the others can still be written.
    """
    return [_command_payload(command, for_guild=for_guild) for command in commands[:MOST_COMMANDS]]


def shorten(text: str, most: int = DESCRIPTION_CHARS) -> str:
    """A description on one line of at most `most` characters: whole parts of a sentence, else whole words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    for mark in ("; ", ": ", ", "):
        if (end := line.rfind(mark, most // 2, most + 1)) > 0:
            return line[:end]
    end = line.rfind(" ", most // 2, most)
    return f"{line[: end if end > 0 else most - 1].rstrip()}…"


def _command_payload(command: Command, *, for_guild: bool) -> dict[str, Any]:
    # Discord wants those first that must be given; which is whose place in the line is known by name.
    options = sorted(command.options, key=lambda option: not option.required)
    file = [_file_payload(FILES[command.name])] if command.name in FILES else []
    told: dict[str, Any] = {
        "type": _CHAT_INPUT,
        "name": command.name,
        "description": shorten(command.help),
        "description_localizations": {
            locale.value: shorten(translated_help(command, locale.value))
            for locale in Locale
            if command.name in HELP.get(locale.value.partition("-")[0], {})
        },
        "options": [*(_option_payload(command, option) for option in options), *file],
        "default_member_permissions": _NOBODY if command.owner_only else None,
    }
    if not for_guild:
        told |= {"contexts": [_GUILD, _BOT_DM], "integration_types": [_GUILD_INSTALL]}
    return told


def _option_payload(command: Command, option: Option) -> dict[str, Any]:
    place = (command.name, option.name)
    told: dict[str, Any] = {
        "type": AppCommandOptionType.string.value,
        "name": option.name,
        "description": shorten(option.help),
        "required": option.required,
    }
    if choices := option.choices or ONLY_CHOICES.get(place, ()):
        told["choices"] = [{"name": choice, "value": choice} for choice in choices[:MOST_CHOICES]]
    elif place in COMPLETED_OPTIONS:
        told["autocomplete"] = True
    return told


def _file_payload(name: str) -> dict[str, Any]:
    return {
        "type": AppCommandOptionType.attachment.value,
        "name": name,
        "description": shorten(phrases.FILE_OPTION),
        "required": False,
    }
