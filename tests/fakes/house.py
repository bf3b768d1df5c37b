"""The whole assistant with a scripted model and channels that record what they are given to show."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

from bot.access import Access
from bot.agent import Agent
from bot.answering import House as Parts
from bot.archives.backup import Backups
from bot.assistant import Assistant
from bot.attachments.filing import Filing, number_of
from bot.attachments.reading import AttachmentReader
from bot.attachments.speech import Speech
from bot.channels import Channels
from bot.commands.command import CommandContext
from bot.commands.table import COMMANDS
from bot.config.reload import Current
from bot.config.settings import AccessSettings, FlushSettings, Settings
from bot.conversations.compaction import Compactor
from bot.conversations.conversation import Conversation
from bot.delivery import Delivery
from bot.forgetting import Forgetting
from bot.inbox import Inbox
from bot.journal import Journal
from bot.limits import DailyBudget, MessageRate
from bot.measures import Measures
from bot.messages import Adapter, Attachment, ChatId, IncomingMessage, Quoted
from bot.models.fallback import FallbackModel
from bot.models.health_book import HealthBook
from bot.presence import Presence
from bot.reminders import Reminders
from bot.state.database import State
from bot.tools.documents import document_tools
from bot.tools.memory import memory_tools
from bot.tools.reminders import reminder_tools
from bot.tools.toolbox import Tool, Toolbox
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.first_start import laid_state
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.talking import NOW, message

ACCESS = AccessSettings(owners=("telegram:1",), allow=("telegram:2",), guests=("telegram:3",))


@dataclass(slots=True)
class Prompt:
    breaks: bool = False

    def __call__(self, recalled: str) -> str:
        if self.breaks:
            raise ZeroDivisionError("a bug of ours")
        return recalled


@dataclass(slots=True)
class House:
    assistant: Assistant
    memory: Memory
    state: State
    inbox: Inbox
    chain: FallbackModel
    model: ScriptedModel
    compactor: Compactor
    reminders: Reminders
    filing: Filing
    terminal: RecordingAdapter
    telegram: RecordingAdapter
    prompt: Prompt
    woken: asyncio.Event
    sent: list[IncomingMessage] = field(default_factory=list)
    measures: Measures = field(default_factory=Measures)

    async def say(
        self,
        text: str,
        *,
        chat: str = "terminal:main",
        sender: str = "terminal:owner",
        attachments: tuple[Attachment, ...] = (),
        quoted: Quoted | None = None,
    ) -> str:
        """Say something, wait until all is quiet, return the reply."""
        await self.accept(text, chat=chat, sender=sender, attachments=attachments, quoted=quoted)
        await self.quiet()
        return self.reply(-1)

    async def accept(
        self,
        text: str,
        *,
        chat: str = "terminal:main",
        sender: str = "terminal:owner",
        alone: bool = True,
        in_room: bool = False,
        edit_of: str = "",
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
        self.sent.append(said)
        await self.assistant.accept(said)
        return said

    async def quiet(self) -> None:
        async with asyncio.timeout(10):
            await self.assistant.idle()

    async def asked(self, times: int) -> None:
        """Wait until the model has been asked so often."""
        ends = time.monotonic() + 5
        while len(self.model.history) < times:
            assert time.monotonic() < ends
            await asyncio.sleep(0.001)

    def reply(self, index: int) -> str:
        return (self.terminal.replies() | self.telegram.replies())[self.sent[index].id]

    async def history(self, chat: str = "terminal:main") -> list[str]:
        conversation = Conversation(self.state, ChatId.parse(chat))
        await conversation.load()
        return [getattr(each, "text", "") for each in conversation.messages()]

    async def unfinished(self) -> int:
        """How many messages and notices are not delivered."""
        query = (
            "SELECT (SELECT count(*) FROM inbox WHERE state != 'delivered') + "
            "(SELECT count(*) FROM outbox WHERE NOT delivered)"
        )
        count: int = await self.state.read(lambda db: db.execute(query).get)
        return count


@asynccontextmanager
async def open_house(
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
    speech: Speech | None = None,
) -> AsyncIterator[House]:
    model = model or ScriptedModel()
    private = folder / ".commonplace"
    settings = Settings(workspace=folder)
    flush = flush or FlushSettings()
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(State(laid_state(private / "state.db"), now=now))
        presence = stack.enter_context(Presence(private / "locks"))
        memory = await stack.enter_async_context(Memory(MemorySettings(), workspace=folder, now=now))
        measures = Measures()
        chain = chain_of(state) if chain_of else alone(model, HealthBook(state), measures)
        prompt, woken = Prompt(), asyncio.Event()
        journal = Journal(memory, state)
        opened = Channels()
        reader = AttachmentReader(
            opened.fetch,
            settings.attachments,
            speech,
            number_of=partial(number_of, state),
            measures=measures,
            sleep=lambda _: asyncio.sleep(0),
        )
        filing = Filing(state, journal, reader, now=now)
        inbox = Inbox(state, presence)
        guests_access = Access(access, state, now=now, wake=woken.set, home_of=opened.home_of)
        reminders = Reminders(state, now=now, zone="UTC")
        compactor = Compactor(state, chain, journal, memory, settings=flush, now=now)

        for_memory = (*memory_tools(memory, journal), *document_tools(filing))

        def agent(*, with_memory: bool) -> Agent:
            async def make_room(conversation: Conversation) -> None:
                may_flush = await compactor.may_flush(conversation.chat)
                await compactor.compact(conversation, cause="overflow", flush=may_flush)

            mine = (*for_memory, *reminder_tools(reminders), *tools) if with_memory else ()
            return Agent(
                chain,
                Toolbox(mine),
                prompt=prompt,
                steps_per_turn=steps_per_turn,
                make_room=make_room,
                measures=measures,
                closed=() if with_memory else [each.spec.name for each in for_memory],
            )

        assistant = Assistant(
            Parts(
                agent=agent(with_memory=True),
                guest_agent=agent(with_memory=False),
                access=guests_access,
                context=CommandContext(
                    commands=COMMANDS,
                    memory=memory,
                    state=state,
                    model=chain,
                    access=guests_access,
                    journal=journal,
                    reminders=reminders,
                    compactor=compactor,
                    forgetting=Forgetting(memory, state, now=now),
                    backups=Backups(notes=folder / "memory", private=private, now=now),
                    current=Current(settings),
                    filing=filing,
                    channels=opened.health,
                    now=now,
                ),
                memory=memory,
                state=state,
                inbox=inbox,
                compactor=compactor,
                rate=MessageRate(per_minute),
                budget=DailyBudget(state, daily_tokens, now=now, settle=chain.health.write),
                channels=opened,
                locks=private / "locks",
                read=reader.read,
                instead=reader.instead,
                measures=measures,
            ),
            delivery=Delivery(inbox, opened, pauses=pauses, measures=measures),
            woken=woken,
            turns_at_once=turns_at_once,
            disk_pauses=disk_pauses,
        )
        house = House(
            assistant,
            memory,
            state,
            inbox,
            chain,
            model,
            compactor,
            reminders,
            filing,
            RecordingAdapter("terminal"),
            RecordingAdapter("telegram"),
            prompt,
            woken,
            measures=measures,
        )
        for adapter in channels or (house.terminal, house.telegram):
            assistant.attach(adapter)
        await assistant.take_up()
        try:
            yield house
        finally:
            await assistant.close(0)
