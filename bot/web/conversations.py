"""Who may search conversations over HTTP: only who has the server's token."""

from dataclasses import replace
from typing import TYPE_CHECKING

from bot import phrases
from bot.search_sources import FoundPassages, SearchSource, search_sources

if TYPE_CHECKING:
    from bot.services import Services


async def search_over_http(
    services: "Services", query: str, *, source: SearchSource, limit: int | None
) -> FoundPassages:
    """Search a source, of conversations all chats.

    Without a token every account of this machine may call, but the file with the conversations is the user's alone:
    then they are not searched, which the notice says. Raises `MemoryFault`.
    """
    has_token = bool(services.settings.server.token.get_secret_value())

    async def every_chat() -> None:
        return None

    found = await search_sources(
        services.memory,
        services.conversations if has_token else None,
        query,
        source=source,
        chats=every_chat,
        today=services.now().date(),
        limit=limit,
    )
    if services.conversations and not has_token and source != "notes":
        return replace(found, notice=phrases.CONVERSATIONS_OVER_HTTP)
    return found
