"""A chat on real disks: a test scripts its turns and reads the resulting notes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.config.settings import FlushSettings
from bot.conversations.compaction import Compactor
from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.models.fallback import FallbackModel
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage
from bot.note_writes import OnceWriter
from bot.state.database import State
from memory.memory import Memory
from memory.settings import MemorySettings

CHAT = ChatId("telegram", "1")
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class ConversationHarness:
    """Everything that a flush needs; `time` is the owner's clock."""

    folder: Path
    state: State
    memory: Memory
    model: FallbackModel
    compactor: Compactor
    conversation: Conversation
    clock: "SettableClock"
    woken: list[str] = field(default_factory=list)

    async def take_turn(self, text: str, answer: str = "I see.", **noted: str) -> None:
        """Take one turn; `noted`: texts for memory_write in it, by target."""
        messages: list[Any] = [UserMessage(text)]
        if noted:
            number = f"call{self.conversation.last_seq:05}"
            arguments = "".join(
                f'{{"target": "{key}", "content": "{value}"}}' for key, value in noted.items()
            )
            call = ToolCall(number, "memory_write", arguments)
            messages += [
                AssistantMessage("", (call,)),
                ToolResult(number, "memory_write", '{"path": "x.md"}'),
            ]
        await self.conversation.append(*messages, AssistantMessage(answer, (), self.model.name))

    def note(self, name: str = "2026-11-21.md") -> str:
        path = self.folder / "memory" / name
        return path.read_text() if path.exists() else ""

    async def notices(self) -> list[str]:
        rows = await self.state.read(
            lambda db: db.execute("SELECT text FROM outbox ORDER BY number").fetchall()
        )
        return [str(row[0]) for row in rows]

    async def rows(self) -> list[Mapping[str, Any]]:
        names = "conversation", "after", "upto", "stage", "failures", "raw"
        rows = await self.state.read(
            lambda db: db.execute(f"SELECT {', '.join(names)} FROM flushes ORDER BY id").fetchall()
        )
        return [dict(zip(names, row, strict=True)) for row in rows]


class SettableClock:
    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def pass_(self, **span: float) -> None:
        self.time += timedelta(**span)


@asynccontextmanager
async def open_conversation_harness(
    folder: Path,
    model: FallbackModel,
    *,
    chat: ChatId = CHAT,
    clock: SettableClock | None = None,
    threshold: int = 6000,
    seconds: float = 5,
    state_class: type[State] = State,
    **settings: Any,
) -> AsyncIterator[ConversationHarness]:
    """Open everything, as after a start of the program."""
    clock = clock or SettableClock()
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(state_class(folder / "state.db", now=clock.now))
        memory = await stack.enter_async_context(Memory(MemorySettings(), workspace=folder, now=clock.now))
        woken: list[str] = []
        compactor = Compactor(
            state,
            model,
            OnceWriter(memory, state),
            memory,
            settings=FlushSettings(token_threshold=threshold, **settings),
            now=clock.now,
            wake=lambda: woken.append("woken"),
            seconds=seconds,
        )
        conversation = Conversation(state, chat)
        await conversation.load()
        await compactor.save_chat(chat, name="Anna", flush=True)
        yield ConversationHarness(folder, state, memory, model, compactor, conversation, clock, woken)
