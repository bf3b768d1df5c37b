"""Open the Telegram channel."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from adapters.telegram.adapter import TELEGRAM, TelegramAdapter
from adapters.telegram.open_bot import open_bot
from adapters.telegram.webhook import webhook_paths
from bot.channel_store import ChannelStore
from bot.cluster.ownership import Ownership
from bot.commands.registry import COMMANDS
from bot.config.telegram import TelegramSettings

if TYPE_CHECKING:
    from bot.assistant import Assistant


@asynccontextmanager
async def open_channel(assistant: "Assistant", ownership: Ownership) -> AsyncIterator[TelegramAdapter]:
    """Open the Telegram channel."""
    services, settings = assistant.services, assistant.services.settings
    token = settings.telegram.token.get_secret_value()
    async with open_bot(token, settings.telegram.api_base, is_ours=ownership.is_ours) as bot:
        adapter = TelegramAdapter(
            bot,
            settings.telegram,
            store=ChannelStore(services.state, TELEGRAM),
            access=services.access,
            owners=settings.access.owners,
            commands=COMMANDS,
            moved=assistant.rename_chat,
            supervisor=services.supervisor,
        )
        try:
            yield adapter
        finally:
            await adapter.close()


def hook_paths(settings: TelegramSettings) -> Sequence[str]:
    """Return the webhook paths, even if the channel is closed; none when polling."""
    if settings.mode != "webhook":
        return ()
    return webhook_paths(settings.token.get_secret_value(), settings.webhook_url)
