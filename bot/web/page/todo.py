"""How much is waiting: messages, reminders, people."""

from typing import TYPE_CHECKING

from bot.pairing_requests import CODE_LIFETIME
from bot.state.conversation_stats import ConversationStats, read_conversation_stats
from bot.state.database import format_timestamp
from bot.state.queue_stats import QueueStats, read_queue_stats

if TYPE_CHECKING:
    from bot.services import Services


async def read_todo(services: "Services") -> tuple[QueueStats, ConversationStats]:
    """Return how many messages, reminders, conversations and people there are. Raises `StateFault`."""
    now = services.now()
    since, until = format_timestamp(now - CODE_LIFETIME), format_timestamp(now)
    return await services.state.read(
        lambda db: (
            read_queue_stats(db, now=until),
            read_conversation_stats(db, asked_since=since, now=until),
        )
    )
