"""Opens Telegram as a channel."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from adapters.telegram.adapter import TELEGRAM, TelegramAdapter
from adapters.telegram.connection import open_bot
from adapters.telegram.webhook import webhook_paths
from bot.channel_store import ChannelStore
from bot.commands.table import COMMANDS
from bot.config.telegram import TelegramSettings
from bot.instances.duty import Duty

if TYPE_CHECKING:
    from bot.assistant import Assistant


@asynccontextmanager
async def open_channel(assistant: "Assistant", duty: Duty) -> AsyncIterator[TelegramAdapter]:
    """Open Telegram as a channel."""
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


def hook_paths(settings: TelegramSettings) -> Sequence[str]:
    """Where Telegram brings its updates, where it does that; the same whether the channel is open or not."""
    if settings.mode != "webhook":
        return ()
    return webhook_paths(settings.token.get_secret_value(), settings.webhook_url)
