"""Conversations in a real state.db, and the search of them."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bot.config.settings import ConversationSearchSettings
from bot.conversations.conversation import Conversation
from bot.conversations.search import ConversationHit, ConversationSearch
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, UserMessage
from bot.state import flushes
from bot.state.database import State
from memory.embeddings.factory import Embedding
from memory.settings import MemorySettings
from tests.fakes.fresh_state import copy_fresh_state

HERE = ChatId("telegram", "1")
ROOM = ChatId("telegram", "-5")
ANNA = PersonId("telegram", "1")
START = datetime(2026, 11, 21, 12, tzinfo=ZoneInfo("Europe/Berlin"))


class Chats:
    """state.db with conversations, and the search of them."""

    def __init__(self, base: Path, state: State, search: ConversationSearch) -> None:
        self.base, self.state, self.search = base, state, search

    async def say(self, *said: str, chat: ChatId = HERE, speaker: str = "") -> Conversation:
        """Say lines in turns; the first one is the person's."""
        talk = Conversation(self.state, chat)
        await talk.load()
        for number, text in enumerate(said):
            if number % 2:
                await talk.append(AssistantMessage(text))
            else:
                await talk.add_user_messages([(UserMessage(text, speaker=speaker), ANNA)])
        return talk

    async def find(
        self, query: str, chats: Collection[str] | None = None, **how: Any
    ) -> tuple[ConversationHit, ...]:
        return (await self.search.search(query, chats=chats, **how)).hits

    async def snippets(self, query: str, chats: Collection[str] | None = None, **how: Any) -> list[str]:
        return [hit.snippet for hit in await self.find(query, chats, **how)]

    async def name_chat(self, chat: ChatId, name: str) -> None:
        await self.state.change(partial(flushes.save_chat, chat=str(chat), name=name, flush=True))


class ChatClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


@asynccontextmanager
async def open_chats(
    base: Path,
    *,
    clock: ChatClock | None = None,
    lasting: bool = True,
    embedding: Embedding | None = None,
    memory: MemorySettings | None = None,
    **settings: Any,
) -> AsyncIterator[Chats]:
    clock = clock or ChatClock()
    private = base / ".commonplace"
    async with State(copy_fresh_state(private / "state.db"), now=clock.now) as state:
        search = ConversationSearch(
            private,
            memory=memory or MemorySettings(),
            settings=ConversationSearchSettings(**settings),
            now=clock.now,
            agent_name=lambda: "Robin",
            embedding=embedding,
            lasting=lasting,
        )
        state.on_append(search.note_said)
        try:
            yield Chats(base, state, search)
        finally:
            await search.aclose()
