"""Open the channels' adapters by name; the only module that imports them, each one lazily."""

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.cluster.ownership import Ownership
from bot.commands.command import commands_for
from bot.commands.registry import COMMANDS
from bot.commands.translations import help_of
from bot.config.settings import BUILTIN_MODEL, BUILTIN_PROVIDER
from bot.language.current import speaking
from bot.language.system import system_language
from bot.messages import OWNER_AT_TERMINAL, Adapter, ChatId
from memory.forgetting import WordsToForget

if TYPE_CHECKING:
    from bot.assistant import Assistant
    from bot.config.channel import ChannelSettings
    from bot.config.settings import Settings

ALWAYS_OURS = Ownership()
"""For a channel that no other instance can hold."""
INPUT_HISTORY_FILE = "chat_history"
"""Input history of the terminal's line editor."""


# -- the terminal -------------------------------------------------------------------------------------------


async def open_terminal(assistant: "Assistant", *, session: str, page: str = "") -> Adapter:
    """Return the terminal as a channel: a line editor if a person uses it, otherwise plain lines.

    `page`: the address of the status page; "" if this process serves none.
    """
    services, settings, chat = assistant.services, assistant.services.settings, ChatId(TERMINAL, session)
    told = system_language(os.environ)
    language = await services.languages.load(OWNER_AT_TERMINAL, told=told)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from adapters.terminal.interactive import InteractiveTerminal

        with speaking(language):
            return InteractiveTerminal(
                chat=chat,
                sender=OWNER_AT_TERMINAL,
                language=told,
                now=settings.now,
                stop=assistant.stop,
                commands={
                    **{command.name: help_of(command) for command in commands_for(Standing.OWNER, COMMANDS)},
                    "exit": phrases.EXIT_HELP,
                },
                history=settings.private_folder / INPUT_HISTORY_FILE,
                greeting=banner(settings, model=services.model.name, page=page),
                how_to_leave=phrases.HOW_TO_LEAVE,
            )
    from adapters.terminal.plain import PlainTerminal

    return PlainTerminal(
        chat=chat,
        sender=OWNER_AT_TERMINAL,
        language=told,
        now=settings.now,
        stdin=sys.stdin.fileno(),
        stdout=sys.stdout,
    )


def banner(settings: "Settings", *, model: str, page: str = "") -> str:
    """Return the terminal's greeting: where the notes are, which model answers, where the status page is."""
    is_notebook = model == f"{BUILTIN_PROVIDER}/{BUILTIN_MODEL}"
    lines = [
        phrases.BANNER_NOTES.format(name=settings.agent.name, folder=settings.memory_folder),
        phrases.BANNER_NOTEBOOK if is_notebook else phrases.BANNER_MODEL.format(model=model),
        phrases.BANNER_PAGE.format(page=page) if page else "",
        phrases.BANNER_KEYS,
    ]
    return "\n".join(filter(None, lines))


def print_reply(text: str) -> None:
    """Print one reply in the terminal's format."""
    from adapters.terminal import printing

    printing.print_reply(text)


def forget_typed_input(private: Path, words: WordsToForget) -> int:
    """Delete matching inputs from the terminal's history; return how many were deleted."""
    from adapters.terminal import history

    return history.delete_lines(private / INPUT_HISTORY_FILE, words)


# -- other channels -----------------------------------------------------------------------------------------


def open_channel(
    section: "ChannelSettings", assistant: "Assistant", ownership: Ownership = ALWAYS_OURS
) -> AbstractAsyncContextManager[Adapter]:
    """Open the channel of a settings section; its platform may be unreachable."""
    opened: AbstractAsyncContextManager[Adapter] = import_module(section.adapter_module).open_channel(
        assistant, ownership
    )
    return opened


def hook_paths(section: "ChannelSettings") -> Sequence[str]:
    """Return the paths where the platform delivers events, even if the channel is closed; empty if it is polled."""
    paths: Sequence[str] = import_module(section.adapter_module).hook_paths(section)
    return paths
