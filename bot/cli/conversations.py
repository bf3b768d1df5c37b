"""`commonplace memory search --source …` searches all chats, since whoever runs it owns the files."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

from bot import phrases
from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from bot.conversations.open_search import open_conversation_search
from bot.conversations.search import ConversationHit, ConversationSearch
from bot.open_state import open_state
from bot.said_in_chats import name_chat
from bot.sanitize import one_line
from bot.search_sources import FoundPassages, SearchSource, search_sources
from bot.timeparse import day_in_words
from memory.embeddings.factory import Embedding
from memory.memory import Memory

SearchAll = Callable[[str], Awaitable[FoundPassages]]


@asynccontextmanager
async def open_search_of_all(
    settings: Settings,
    memory: Memory,
    embedding: Embedding,
    *,
    source: SearchSource,
    limit: int | None,
    lasting: bool,
) -> AsyncIterator[tuple[SearchAll, ConversationSearch | None]]:
    """Yield a function that searches the source, all chats included, and the search of conversations.

    Raises StateFault if state.db cannot be used; without it there are no conversations.
    """

    async def every_chat() -> None:
        return None

    def search(conversations: ConversationSearch | None) -> SearchAll:
        async def run(query: str) -> FoundPassages:
            today = settings.now().date()
            return await search_sources(
                memory, conversations, query, source=source, chats=every_chat, today=today, limit=limit
            )

        return run

    conversations = open_conversation_search(
        LiveSettings(settings), now=settings.now, embedding=embedding, lasting=lasting
    )
    if conversations is None:
        yield search(None), None
        return
    async with aclosing(conversations):
        if not (settings.private_folder / "state.db").exists():
            yield search(conversations), conversations
            return
        async with open_state(settings):  # brings a file of an earlier version up to date
            yield search(conversations), conversations


def describe_hit(hit: ConversationHit) -> str:
    """Return where, when and by whom something was said."""
    return f"{name_chat(hit)}, {day_in_words(hit.day)}, {one_line(hit.who) or phrases.SOMEBODY}"
