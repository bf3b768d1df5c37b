"""The slash commands in the form of Discord's API, with descriptions and typed options; no I/O."""

from collections.abc import Callable, Sequence
from typing import Any

from discord import AppCommandOptionType, Locale

from adapters.discord.autocomplete import COMPLETED_OPTIONS
from bot import english
from bot.commands.command import Command, Option
from bot.commands.translations import translated_help
from bot.language.catalogs import translate
from bot.language.codes import ENGLISH, find_language

MAX_COMMANDS = 100
MAX_CHOICES = 25
DESCRIPTION_CHARS = 100
ONLY_CHOICES = {("pair", "guest"): ("guest",)}
"""Choices for options that are free text in the table: typed text may hold something else there."""

FILES = {"remember": "file"}
"""Commands with a file option, by its name; in a message the file is attached."""

_CHAT_INPUT = 1
_GUILD, _BOT_DM = 0, 1
"""Contexts in which a command is offered."""
_GUILD_INSTALL = 0
_NOBODY = "0"
"""No permission is enough: only a guild's administrators, and those they allow."""


def make_payload(commands: Sequence[Command], *, for_guild: bool = False) -> list[dict[str, Any]]:
    """Return the body of the call that sets all commands; `for_guild`: for one guild only.

    Commands above the limit are left out; they can still be typed.
    """
    return [_command_payload(command, for_guild=for_guild) for command in commands[:MAX_COMMANDS]]


def shorten(text: str, max_chars: int = DESCRIPTION_CHARS) -> str:
    """Shorten a description to one line of at most `max_chars` characters, at a clause or else at a word."""
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    for mark in ("; ", ": ", ", "):
        if (end := line.rfind(mark, max_chars // 2, max_chars + 1)) > 0:
            return line[:end]
    end = line.rfind(" ", max_chars // 2, max_chars)
    return f"{line[: end if end > 0 else max_chars - 1].rstrip()}…"


def _command_payload(command: Command, *, for_guild: bool) -> dict[str, Any]:
    # Discord requires the required options first; the command line is built by name.
    options = sorted(command.options, key=lambda option: not option.required)
    file = [_file_payload(FILES[command.name])] if command.name in FILES else []
    told: dict[str, Any] = {
        "type": _CHAT_INPUT,
        "name": command.name,
        "description": shorten(command.help),
        "description_localizations": _in_other_languages(
            command.help, lambda language: translated_help(command, language)
        ),
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
        "description_localizations": _in_catalogs(option.help),
        "required": option.required,
    }
    if choices := option.choices or ONLY_CHOICES.get(place, ()):
        told["choices"] = [{"name": choice, "value": choice} for choice in choices[:MAX_CHOICES]]
    elif place in COMPLETED_OPTIONS:
        told["autocomplete"] = True
    return told


def _file_payload(name: str) -> dict[str, Any]:
    return {
        "type": AppCommandOptionType.attachment.value,
        "name": name,
        "description": shorten(english.FILE_OPTION),
        "description_localizations": _in_catalogs(english.FILE_OPTION),
        "required": False,
    }


def _in_catalogs(text: str) -> dict[str, str]:
    return _in_other_languages(text, lambda language: translate(text, find_language(language) or ENGLISH))


def _in_other_languages(text: str, in_language: Callable[[str], str]) -> dict[str, str]:
    """Return the description by Discord's locales, without those in which it is the English text."""
    told = {locale.value: in_language(locale.value) for locale in Locale}
    return {locale: shorten(each) for locale, each in told.items() if each != text}
