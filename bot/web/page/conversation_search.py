"""The search within one conversation; each result leads to its message."""

from dataclasses import dataclass
from functools import partial

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.state.conversation_list import find_conversation
from bot.state.database import StateFault
from bot.web.context import services_key
from bot.web.conversations import search_conversation_over_http
from bot.web.page.conversations import refuse, title_of
from bot.web.page.panel import load_panel
from bot.web.page.rendering import page_response
from bot.web.page.search import MAX_PASSAGES, SEARCH_SECONDS, SaidView, hit_views, read_query
from bot.web.page.urls import CONVERSATIONS_URL, conversation_url


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """What was found, best first."""

    hits: tuple[SaidView, ...]
    notice: str
    """Why the search was incomplete; "" if it was complete."""

    @property
    def is_bound(self) -> bool:
        """Whether there may be more than are shown."""
        return len(self.hits) == MAX_PASSAGES


async def search_conversation(request: web.Request) -> web.Response:
    """Show what a search within a conversation finds."""
    services, number, query = (
        request.app[services_key],
        int(request.match_info["number"]),
        read_query(request),
    )
    try:
        listed = await services.state.read(partial(find_conversation, number=number))
    except StateFault as fault:
        return refuse(request, 503, phrases.WEB_NOT_AVAILABLE, localize(fault))
    if listed is None:
        return refuse(request, 404, phrases.WEB_NOT_FOUND, phrases.WEB_NO_CONVERSATION)

    async def find() -> FoundMessages:
        if not query:
            return FoundMessages((), "")
        found = await search_conversation_over_http(
            services, query, chat=listed.chat, conversation=number, limit=MAX_PASSAGES
        )
        return FoundMessages(hit_views(query, found.hits), found.notice)

    searched = await load_panel(find(), timeout_seconds=SEARCH_SECONDS, late=phrases.WEB_SEARCH_TOOK_LONG)
    return page_response(
        request,
        "conversation_search.html",
        here=CONVERSATIONS_URL,
        title=title_of(listed),
        address=conversation_url(number),
        query=query,
        searched=searched,
    )
