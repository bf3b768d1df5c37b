"""The whole assistant with a scripted model and channels that record what they show."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from pydantic import SecretStr

from bot.assistant import Assistant
from bot.attachments.save_document import DocumentSaver
from bot.attachments.transcription import Transcriber
from bot.config.reload import LiveSettings
from bot.config.settings import (
    AccessSettings,
    AgentSettings,
    FlushSettings,
    LimitsSettings,
    MemorySection,
    ServerSettings,
    Settings,
)
from bot.conversations.compaction import Compactor
from bot.conversations.conversation import Conversation
from bot.conversations.open_search import open_conversation_search
from bot.inbox import Inbox
from bot.messages import Adapter, Attachment, ChatId, IncomingMessage, Quoted
from bot.metrics import Metrics
from bot.models.breakers import Breakers
from bot.models.fallback import FallbackModel
from bot.process_lock import ProcessLock
from bot.reminders import Reminders
from bot.service.assembly import AssistantTimes, assemble, services_of
from bot.state.database import State
from bot.state.inbox import QueuedNotice, add_notice
from bot.supervisor import Supervisor
from bot.tools.toolbox import Tool
from memory.memory import Memory
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.scripted_model import ScriptedModel, alone, shown_text
from tests.fakes.turns import NOW, message

ACCESS = AccessSettings(owners=("telegram:1",), allow=("telegram:2",), guests=("telegram:3",))


@dataclass(slots=True)
class Harness:
    assistant: Assistant
    memory: Memory
    state: State
    inbox: Inbox
    chain: FallbackModel
    model: ScriptedModel
    compactor: Compactor
    reminders: Reminders
    filing: DocumentSaver
    woken: asyncio.Event
    measures: Metrics
    supervisor: Supervisor
    process_lock: ProcessLock
    terminal: RecordingAdapter = field(default_factory=lambda: RecordingAdapter("terminal"))
    telegram: RecordingAdapter = field(default_factory=lambda: RecordingAdapter("telegram"))
    sent: list[IncomingMessage] = field(default_factory=list)

    async def say(
        self,
        text: str,
        *,
        chat: str = "terminal:main",
        sender: str = "terminal:owner",
        language: str = "",
        attachments: tuple[Attachment, ...] = (),
        quoted: Quoted | None = None,
    ) -> str:
        """Say something, wait until the assistant is idle, return the reply."""
        await self.accept(
            text, chat=chat, sender=sender, language=language, attachments=attachments, quoted=quoted
        )
        await self.wait_until_idle()
        return self.reply(-1)

    async def queue_notice(self, chat: ChatId, text: str, *, key: str) -> QueuedNotice:
        """Store a notice that the next process shows, since this one does not know of it."""
        owner, at = self.process_lock.token, self.state.at()
        notice = await self.state.change(
            lambda db: add_notice(db, str(chat), text, key=key, owner=owner, at=at)
        )
        assert notice
        return notice

    async def accept(
        self,
        text: str,
        *,
        chat: str = "terminal:main",
        sender: str = "terminal:owner",
        alone: bool = True,
        in_room: bool = False,
        edit_of: str = "",
        language: str = "",
        attachments: tuple[Attachment, ...] = (),
        quoted: Quoted | None = None,
    ) -> IncomingMessage:
        said = message(
            text,
            chat=chat,
            sender=sender,
            alone=alone,
            in_room=in_room,
            edit_of=edit_of,
            attachments=attachments,
            quoted=quoted,
        )
        said = replace(said, language=language)
        self.sent.append(said)
        await self.assistant.accept(said)
        return said

    def run_in_background(self) -> list[asyncio.Task[None]]:
        """Run the background tasks, as the service does; the caller cancels them."""
        work: dict[str, Callable[[], Awaitable[None]]] = {
            **self.assistant.background_tasks(),
            "reminders": lambda: self.reminders.run(self.assistant.serves, self.woken.set),
        }
        return [self.supervisor.start(name, each) for name, each in work.items()]

    async def wait_until_idle(self) -> None:
        """Release the answers that are held, and wait for all that is to be done."""
        self.model.release()
        async with asyncio.timeout(10):
            await self.assistant.wait_until_idle()

    async def wait_until_asked(self, times: int) -> None:
        """Wait until the model has been asked this many times."""
        ends = time.monotonic() + 5
        while len(self.model.history) < times:
            assert time.monotonic() < ends
            await asyncio.sleep(0.001)

    async def wait_until_replied(self, message: IncomingMessage) -> None:
        ends = time.monotonic() + 5
        while message.id not in self.terminal.replies() | self.telegram.replies():
            assert time.monotonic() < ends
            await asyncio.sleep(0.001)

    async def wait_until_accepted(self, count: int) -> None:
        """Wait until this many messages are in the inbox, including answered ones."""
        ends = time.monotonic() + 5
        while await self.state.read(lambda db: db.execute("SELECT count(*) FROM inbox").get) < count:
            assert time.monotonic() < ends
            await asyncio.sleep(0.005)

    def reply(self, index: int) -> str:
        return (self.terminal.replies() | self.telegram.replies())[self.sent[index].id]

    async def history(self, chat: str = "terminal:main") -> list[str]:
        conversation = Conversation(self.state, ChatId.parse(chat))
        await conversation.load()
        return [shown_text(each) for each in conversation.messages()]

    async def count_undelivered(self) -> int:
        """Return the number of undelivered messages and notices."""
        query = (
            "SELECT (SELECT count(*) FROM inbox WHERE state != 'delivered') + "
            "(SELECT count(*) FROM outbox WHERE NOT delivered)"
        )
        count: int = await self.state.read(lambda db: db.execute(query).get)
        return count


@asynccontextmanager
async def open_harness(
    folder: Path,
    *,
    turns_at_once: int = 128,
    access: AccessSettings = ACCESS,
    tools: Sequence[Tool] = (),
    model: ScriptedModel | None = None,
    chain_of: Callable[[State], FallbackModel] | None = None,
    flush: FlushSettings | None = None,
    per_minute: int = 1000,
    daily_tokens: int = 0,
    steps_per_turn: int = 5,
    pauses: Sequence[float] = (),
    disk_pauses: Sequence[float] = (0.02,),
    now: Callable[[], datetime] = lambda: NOW,
    channels: Sequence[Adapter] = (),
    speech: Transcriber | None = None,
    language: str = "",
    supervisor: Supervisor | None = None,
    token: str = "",
) -> AsyncIterator[Harness]:
    """Build it as the service does, with default settings unless given, but without any waiting times."""
    model = model or ScriptedModel()
    settings = Settings(
        workspace=folder,
        agent=AgentSettings(language=language),
        access=access,
        limits=LimitsSettings(
            messages_per_minute=per_minute, steps_per_turn=steps_per_turn, daily_tokens=daily_tokens
        ),
        memory=MemorySection(flush=flush or FlushSettings()),
        server=ServerSettings(token=SecretStr(token)),
    )
    private = settings.private_folder
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(State(copy_fresh_state(private / "state.db"), now=now))
        presence = stack.enter_context(ProcessLock(private / "locks"))
        memory = await stack.enter_async_context(Memory(settings.memory, workspace=folder, now=now))
        live_settings = LiveSettings(settings)
        conversations = open_conversation_search(live_settings, now=now)
        if conversations:
            stack.push_async_callback(conversations.aclose)
            state.on_append(conversations.note_said)
        measures = Metrics()
        pace = AssistantTimes(
            turns_at_once=turns_at_once,
            delivery_pauses=pauses,
            disk_pauses=disk_pauses,
            fetch_waits=(0.0, 0.0, 0.0),
        )
        services = services_of(
            live_settings,
            process_lock=presence,
            state=state,
            memory=memory,
            conversations=conversations,
            model=chain_of(state) if chain_of else alone(model, Breakers(state), measures),
            metrics=measures,
            now=now,
            supervisor=supervisor,
            times=pace,
        )
        stack.push_async_callback(services.index_rebuilder.close)
        stack.push_async_callback(services.backup_maker.close)
        services.reader.speech.replace(speech)
        house = Harness(
            assistant=assemble(services, tools=tools, times=pace),
            memory=memory,
            state=state,
            inbox=services.inbox,
            chain=services.model,
            model=model,
            compactor=services.compactor,
            reminders=services.reminders,
            filing=services.document_saver,
            woken=services.wake_event,
            measures=measures,
            supervisor=services.supervisor,
            process_lock=presence,
        )
        for adapter in channels or (house.terminal, house.telegram):
            house.assistant.attach(adapter)
        await house.assistant.resume()
        try:
            yield house
        finally:
            await house.assistant.close(0)
