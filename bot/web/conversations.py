"""Search of conversations over HTTP, which requires the server's token."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import phrases
from bot.conversations.search import ConversationResults
from bot.search_sources import FoundPassages, SearchSource, search_sources
from bot.web.context import token_of

if TYPE_CHECKING:
    from bot.services import Services


def searches_chats(services: "Services") -> bool:
    """Return whether conversations can be searched over HTTP.

    Without a token every account of this machine may call, but the file with the conversations is the user's alone.
    """
    return services.conversations is not None and bool(token_of(services))


async def search_conversation_over_http(
    services: "Services", query: str, *, chat: str, conversation: int, limit: int
) -> ConversationResults:
    """Search one conversation of a chat; a notice says if it may not be searched. Raises `MemoryFault`."""
    if services.conversations is None or not searches_chats(services):
        off = services.conversations is None
        notice = phrases.CONVERSATIONS_OFF if off else phrases.CONVERSATIONS_OVER_HTTP
        return ConversationResults(query, (), notice)
    return await services.conversations.search_conversation(
        query, chat=chat, conversation=conversation, limit=limit
    )


async def search_over_http(
    services: "Services",
    query: str,
    *,
    source: SearchSource,
    limit: int | None,
    within: Collection[str] | None = None,
) -> FoundPassages:
    """Search the source, all chats included; a notice says if conversations may not be searched.

    `within`: see `Memory.search`. Raises `MemoryFault`.
    """

    async def every_chat() -> None:
        return None

    may = searches_chats(services)
    found = await search_sources(
        services.memory,
        services.conversations if may else None,
        query,
        source=source,
        chats=every_chat,
        today=services.now().date(),
        limit=limit,
        within=within,
    )
    is_closed = services.conversations is not None and not may and source != "notes"
    return replace(found, notice=phrases.CONVERSATIONS_OVER_HTTP) if is_closed else found
