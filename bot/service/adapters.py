"""The channels' adapters, by name: this module alone imports them, each where it is wanted."""

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.channel_store import ChannelStore
from bot.commands.command import usable_by
from bot.commands.table import COMMANDS
from bot.config.settings import BUILTIN_MODEL, BUILTIN_PROVIDER
from bot.instances.duty import Duty
from bot.messages import Adapter, ChatId, PersonId
from memory.forgetting import Wanted
from memory.listing import list_notes

if TYPE_CHECKING:
    from adapters.discord.adapter import DiscordAdapter
    from adapters.telegram.adapter import TelegramAdapter
    from bot.assistant import Assistant
    from bot.config.settings import Settings

OWNER_AT_TERMINAL = PersonId(TERMINAL, "owner")
TYPED = "chat_history"
"""What was typed in the terminal, for its line editor."""


# -- the terminal -------------------------------------------------------------------------------------------


def open_terminal(assistant: "Assistant", *, session: str, page: str = "") -> Adapter:
    """Open the terminal as a channel: with a line editor where a person sits at it, else as plain lines.

    `page`: the address of the status page; "" where this process serves none.
    """
    services, settings, chat = assistant.services, assistant.services.settings, ChatId(TERMINAL, session)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from adapters.terminal.live import LiveTerminal

        return LiveTerminal(
            chat=chat,
            sender=OWNER_AT_TERMINAL,
            now=settings.now,
            stop=assistant.stop,
            commands={
                **{command.name: command.help for command in usable_by(Standing.OWNER, COMMANDS)},
                "exit": phrases.EXIT_HELP,
            },
            history=settings.private_folder / TYPED,
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
    from adapters.terminal import once

    once.print_reply(text)


def forget_typed(private: Path, wanted: Wanted) -> int:
    """Remove what is to be forgotten from what was typed in the terminal; tell how many inputs that were."""
    from adapters.terminal import history

    return history.forget_typed(private / TYPED, wanted)


# -- platforms: each need not be there yet ------------------------------------------------------------------


@asynccontextmanager
async def open_telegram(
    assistant: "Assistant",
    duty: Duty = Duty(),  # noqa: B008 - frozen
) -> "AsyncIterator[TelegramAdapter]":
    """Open Telegram as a channel."""
    from adapters.telegram.adapter import TELEGRAM, TelegramAdapter
    from adapters.telegram.connection import open_bot

    services, settings = assistant.services, assistant.services.settings
    token = settings.telegram.token.get_secret_value()
    async with open_bot(token, settings.telegram.api_base, is_ours=duty.is_ours) as bot:
        adapter = TelegramAdapter(
            bot,
            settings.telegram,
            store=ChannelStore(services.state, TELEGRAM),
            access=services.access,
            owners=settings.access.owners,
            commands=COMMANDS,
            moved=assistant.moved,
            supervisor=services.supervisor,
        )
        try:
            yield adapter
        finally:
            await adapter.close()


def telegram_paths(settings: "Settings") -> Sequence[str]:
    """Where Telegram brings its updates, where it does that; the same whether the channel is open or not."""
    if settings.telegram.mode != "webhook":
        return ()
    from adapters.telegram.webhook import webhook_paths

    return webhook_paths(settings.telegram.token.get_secret_value(), settings.telegram.webhook_url)


@asynccontextmanager
async def open_discord(
    assistant: "Assistant",
    duty: Duty = Duty(),  # noqa: B008 - frozen
) -> "AsyncIterator[DiscordAdapter]":
    """Open Discord as a channel."""
    with warnings.catch_warnings():
        # The library's own, on Python 3.11 and 3.12.
        warnings.filterwarnings("ignore", "'audioop' is deprecated")
        from adapters.discord.adapter import DISCORD, DiscordAdapter
        from adapters.discord.completion import Sources

    services, settings = assistant.services, assistant.services.settings

    async def notes() -> list[str]:
        listed = await asyncio.to_thread(list_notes, settings.memory_folder)
        return [note.path for note in listed.notes]

    adapter = DiscordAdapter(
        settings.discord,
        store=ChannelStore(services.state, DISCORD),
        access=services.access,
        people=partial(services.access.people_of, DISCORD),
        commands=COMMANDS,
        sources=Sources(
            lambda: list(services.model.plan.candidates),
            notes,
            services.reminders.active,
            services.memory.removed,
        ),
        threads=settings.discord.threads,
        withdraw=assistant.withdraw,
        is_ours=duty.is_ours,
        since=duty.since,
        supervisor=services.supervisor,
    )

    def threads(new: "Settings") -> None:
        adapter.threads = new.discord.threads

    unfollow = services.current.follow("discord.threads", take=threads)
    try:
        yield adapter
    finally:
        unfollow()
        await adapter.close()
