"""The channels' adapters, by name: this module alone imports them, each where it is wanted."""

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
from bot.config.settings import BUILTIN_MODEL, BUILTIN_PROVIDER
from bot.messages import Adapter, ChatId, PersonId
from memory.forgetting import WordsToForget

if TYPE_CHECKING:
    from bot.assistant import Assistant
    from bot.config.channel import ChannelSettings
    from bot.config.settings import Settings

OWNER_AT_TERMINAL = PersonId(TERMINAL, "owner")
ALWAYS_OURS = Ownership()
"""Of a channel that no other instance may have."""
INPUT_HISTORY_FILE = "chat_history"
"""What was typed in the terminal, for its line editor."""


# -- the terminal -------------------------------------------------------------------------------------------


def open_terminal(assistant: "Assistant", *, session: str, page: str = "") -> Adapter:
    """Open the terminal as a channel: with a line editor where a person sits at it, else as plain lines.

    `page`: the address of the status page; "" where this process serves none.
    """
    services, settings, chat = assistant.services, assistant.services.settings, ChatId(TERMINAL, session)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from adapters.terminal.interactive import InteractiveTerminal

        return InteractiveTerminal(
            chat=chat,
            sender=OWNER_AT_TERMINAL,
            now=settings.now,
            stop=assistant.stop,
            commands={
                **{command.name: command.help for command in commands_for(Standing.OWNER, COMMANDS)},
                "exit": phrases.EXIT_HELP,
            },
            history=settings.private_folder / INPUT_HISTORY_FILE,
            greeting=banner(settings, model=services.model.name, page=page),
        )
    from adapters.terminal.plain import PlainTerminal

    return PlainTerminal(
        chat=chat, sender=OWNER_AT_TERMINAL, now=settings.now, stdin=sys.stdin.fileno(), stdout=sys.stdout
    )


def banner(settings: "Settings", *, model: str, page: str = "") -> str:
    """What a person at the terminal reads first: where the notes are, who answers, where the status page is."""
    is_notebook = model == f"{BUILTIN_PROVIDER}/{BUILTIN_MODEL}"
    lines = [
        phrases.BANNER_NOTES.format(name=settings.agent.name, folder=settings.memory_folder),
        phrases.BANNER_NOTEBOOK if is_notebook else phrases.BANNER_MODEL.format(model=model),
        phrases.BANNER_PAGE.format(page=page) if page else "",
        phrases.BANNER_KEYS,
    ]
    return "\n".join(filter(None, lines))


def print_reply(text: str) -> None:
    """Print one reply, as the terminal shows it."""
    from adapters.terminal import printing

    printing.print_reply(text)


def forget_typed_input(private: Path, wanted: WordsToForget) -> int:
    """Remove what is to be forgotten from what was typed in the terminal; tell how many inputs that were."""
    from adapters.terminal import history

    return history.delete_lines(private / INPUT_HISTORY_FILE, wanted)


# -- the others ---------------------------------------------------------------------------------------------


def open_channel(
    section: "ChannelSettings", assistant: "Assistant", duty: Ownership = ALWAYS_OURS
) -> AbstractAsyncContextManager[Adapter]:
    """Open a channel by its section; its platform may be out of reach."""
    opened: AbstractAsyncContextManager[Adapter] = import_module(section.opens).open_channel(assistant, duty)
    return opened


def hook_paths(section: "ChannelSettings") -> Sequence[str]:
    """Return where its platform brings what happens, whether the channel is open or not; none where it is asked."""
    paths: Sequence[str] = import_module(section.opens).hook_paths(section)
    return paths
