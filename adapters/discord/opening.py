"""Open the Discord channel."""

import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from bot.channel_store import ChannelStore
from bot.cluster.ownership import Ownership
from bot.commands.registry import COMMANDS
from bot.config.discord import DiscordSettings

if TYPE_CHECKING:
    from adapters.discord.adapter import DiscordAdapter
    from bot.assistant import Assistant
    from bot.config.settings import Settings


@asynccontextmanager
async def open_channel(assistant: "Assistant", ownership: Ownership) -> AsyncIterator["DiscordAdapter"]:
    """Open the Discord channel."""
    with warnings.catch_warnings():
        # The library's own warning on Python 3.11 and 3.12.
        warnings.filterwarnings("ignore", "'audioop' is deprecated")
        from adapters.discord.adapter import DISCORD, DiscordAdapter
        from adapters.discord.autocomplete import AutocompleteSources

    services, settings = assistant.services, assistant.services.settings

    async def notes() -> list[str]:
        return [note.path for note in (await services.memory.listing()).notes]

    adapter = DiscordAdapter(
        settings.discord,
        store=ChannelStore(services.state, DISCORD),
        access=services.access,
        people=partial(services.access.list_people, DISCORD),
        commands=COMMANDS,
        sources=AutocompleteSources(
            lambda: list(services.model.plan.candidates),
            notes,
            services.reminders.list_active,
            services.memory.removed,
        ),
        threads=settings.discord.threads,
        withdraw=assistant.withdraw,
        is_ours=ownership.is_ours,
        since=ownership.since,
        supervisor=services.supervisor,
    )

    def threads(new: "Settings") -> None:
        adapter.threads = new.discord.threads

    unfollow = services.live_settings.on_change("discord.threads", take=threads)
    try:
        yield adapter
    finally:
        unfollow()
        await adapter.close()


def hook_paths(settings: DiscordSettings) -> Sequence[str]:
    """Return no paths: Discord delivers events over our own connection."""
    del settings
    return ()
