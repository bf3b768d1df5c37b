"""The assistant, put together out of what is open already: nothing is opened here, and nothing runs yet."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from bot.access import Access
from bot.answering import House
from bot.archives.backup import Backups
from bot.assistant import DISK_PAUSES, TURNS_AT_ONCE, Assistant
from bot.attachments.filing import Filing, number_of
from bot.attachments.reading import WAITS, AttachmentReader
from bot.channels import Channels
from bot.commands.command import CommandContext
from bot.commands.table import COMMANDS
from bot.config.reload import Current
from bot.conversations.compaction import Compactor
from bot.delivery import PAUSES, Delivery
from bot.forgetting import Forgetting
from bot.inbox import Inbox
from bot.journal import Journal
from bot.limits import DailyBudget, MessageRate
from bot.log import Troubles
from bot.measures import Measures
from bot.models.fallback import FallbackModel
from bot.presence import Presence
from bot.reminders import Reminders
from bot.service.agents import agents
from bot.service.following import follow_settings
from bot.state.database import State
from bot.supervision import Supervisor
from bot.tools.documents import document_tools
from bot.tools.memory import memory_tools
from bot.tools.reminder_list import reminder_list_tools
from bot.tools.reminders import reminder_tools
from bot.tools.toolbox import Tool
from bot.upkeep.core_notice import CoreNotice
from bot.upkeep.rebuilding import Rebuilding
from bot.upkeep.tidying import tidy
from bot.upkeep.upkeep import Nights, Upkeep
from memory.embeddings.opening import Embedding
from memory.forgetting import Wanted
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.instances.post import Post
    from bot.instances.status import InstanceStatus


@dataclass(frozen=True, slots=True)
class Pace:
    """How much goes on at once, and how long it is waited before something is tried again."""

    turns_at_once: int = TURNS_AT_ONCE
    """Chats that are answered at the same time."""
    delivery_pauses: Sequence[float] = PAUSES
    """Seconds after which a reply that could not be shown is tried again."""
    disk_pauses: Sequence[float] = DISK_PAUSES
    """Seconds after which a turn is tried again that state.db had no room for."""
    fetch_waits: Sequence[float] = WAITS
    """Waits so many seconds until what came along with a message is fetched again."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The assistant, what it is made of, and what it stands on."""

    assistant: Assistant
    access: Access
    channels: Channels
    compactor: Compactor
    current: Current
    """The settings, as they count just now."""
    filing: Filing
    inbox: Inbox
    instance: "Callable[[], InstanceStatus | None]"
    """How this one stands to other instances; None where it shares nothing with any."""
    measures: Measures
    memory: Memory
    model: FallbackModel
    reader: AttachmentReader
    """Reads what comes along with messages; nobody writes down yet what is said aloud."""
    rebuilding: Rebuilding
    """To be closed before the memory is."""
    reminders: Reminders
    state: State
    supervisor: Supervisor
    """Runs the long-lived tasks, and knows which of them have failed."""
    upkeep: Upkeep
    """Not entered: work that goes on by itself is begun once there is a log to tell of it."""
    woken: asyncio.Event
    """To be set where something in state.db is to be taken up."""
    embedding: Embedding = field(default_factory=Embedding)
    """Who makes the vectors of the notes."""
    troubles: Troubles = field(default_factory=Troubles)
    """What the log holds of late, where it is told to keep them."""


def assemble(
    current: Current,
    *,
    presence: Presence,
    state: State,
    memory: Memory,
    model: FallbackModel,
    measures: Measures,
    now: Callable[[], datetime],
    alone: bool = False,
    post: "Post | None" = None,
    forget_typed: Callable[[Wanted], int] = lambda wanted: 0,
    supervisor: Supervisor | None = None,
    tools: Sequence[Tool] = (),
    pace: Pace = Pace(),
) -> Parts:
    """Put the assistant together; its parts follow the settings from here on. It is given channels later.

    `now` is on the owner's clock. `alone`: this is the service, which does what is to be done regularly. `post`: what
    this process does among other instances. `forget_typed` removes lines from what was typed in the terminal.
    `supervisor`: where long-lived tasks of this process run already. `tools`: what a model may do beside all that
    there is anyway, where the memory is open.
    """
    settings = current.settings
    private, limits = settings.private_folder, settings.limits
    supervisor = supervisor or Supervisor(now=now)
    woken, channels = asyncio.Event(), Channels(is_stopped=supervisor.is_stopped)
    leased = ("telegram", "discord") if post else ()
    inbox = Inbox(state, presence, leased=leased)
    access = Access(settings.access, state, now=now, wake=woken.set, home_of=channels.home_of)
    journal = Journal(memory, state)
    reminders = Reminders(state, now=now, zone=settings.zone.key, owners=settings.access.owners)
    compactor = Compactor(
        state, model, journal, memory, settings=settings.memory.flush, now=now, wake=woken.set
    )
    reader = AttachmentReader(
        channels.fetch,
        settings.attachments,
        number_of=partial(number_of, state),
        measures=measures,
        waits=pace.fetch_waits,
        folder=private,
    )
    filing = Filing(state, journal, reader, now=now)
    backups = Backups(notes=settings.memory_folder, private=private, now=now)
    core_notice = CoreNotice(memory, state, access, channels, now=now, wake=woken.set)
    upkeep = _upkeep(
        settings,
        memory,
        state,
        backups,
        core_notice=core_notice.send,
        alone=alone,
        post=post,
        supervisor=supervisor,
        now=now,
    )
    rebuilding = Rebuilding(memory, now=now)
    instance = post.status if post else lambda: None
    agent, guest_agent = agents(
        current,
        model,
        compactor,
        for_memory=(*memory_tools(memory, journal), *document_tools(filing), *tools),
        for_all=(*reminder_tools(reminders), *reminder_list_tools(reminders, access)),
        measures=measures,
        now=now,
    )
    house = House(
        agent=agent,
        guest_agent=guest_agent,
        access=access,
        context=CommandContext(
            commands=COMMANDS,
            memory=memory,
            state=state,
            model=model,
            access=access,
            journal=journal,
            reminders=reminders,
            compactor=compactor,
            forgetting=Forgetting(memory, state, forget_typed=forget_typed, now=now),
            backups=backups,
            current=current,
            filing=filing,
            channels=channels.health,
            instance=instance,
            task_failures=lambda: supervisor.failures,
            upkeep=upkeep,
            rebuilding=rebuilding,
            now=now,
        ),
        memory=memory,
        state=state,
        inbox=inbox,
        compactor=compactor,
        rate=MessageRate(limits.messages_per_minute),
        budget=DailyBudget(state, limits.daily_tokens, now=now, settle=model.health.write),
        channels=channels,
        locks=private / "locks",
        own_locks=dict.fromkeys(leased, post.own_locks(private / "locks")) if post else {},
        read=reader.read,
        instead=reader.instead,
        measures=measures,
    )
    follow_settings(current, house, reader)
    assistant = Assistant(
        house,
        delivery=Delivery(inbox, channels, pauses=pace.delivery_pauses, measures=measures),
        woken=woken,
        turns_at_once=pace.turns_at_once,
        disk_pauses=pace.disk_pauses,
    )
    return Parts(
        assistant=assistant,
        access=access,
        channels=channels,
        compactor=compactor,
        current=current,
        filing=filing,
        inbox=inbox,
        instance=instance,
        measures=measures,
        memory=memory,
        model=model,
        reader=reader,
        rebuilding=rebuilding,
        reminders=reminders,
        state=state,
        supervisor=supervisor,
        upkeep=upkeep,
        woken=woken,
    )


def _upkeep(
    settings: "Settings",
    memory: Memory,
    state: State,
    backups: Backups,
    *,
    core_notice: Callable[[], Awaitable[object]],
    alone: bool,
    post: "Post | None",
    supervisor: Supervisor,
    now: Callable[[], datetime],
) -> Upkeep:
    """What goes on by itself; what is to be done regularly is left to the service."""
    nights = Nights(
        settings.backup.time,
        settings.zone,
        backups,
        settings.backup.keep,
        tidy=[lambda: tidy(state, now()), core_notice],
    )
    return Upkeep(
        memory,
        reindex_minutes=settings.memory.reindex.interval_minutes if alone else None,
        nights=nights if alone else None,
        elsewhere=post.elsewhere if post else lambda job: "",
        supervisor=supervisor,
        now=now,
    )
