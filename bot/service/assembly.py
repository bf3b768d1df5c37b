"""The assistant, put together out of what is open already: nothing is opened here, and nothing runs yet."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from bot.access import Access
from bot.archives.backup import Backups
from bot.assistant import DISK_PAUSES, TURNS_AT_ONCE, Assistant
from bot.attachments.filing import Filing, number_of
from bot.attachments.reading import WAITS, AttachmentReader
from bot.channels import Channels
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
from bot.services import Services
from bot.state.database import State
from bot.supervision import Supervisor
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


def services_of(
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
    pace: Pace = Pace(),
    embedding: Embedding | None = None,
    troubles: Troubles | None = None,
) -> Services:
    """Make what works on what is open.

    `now` is on the owner's clock. `alone`: this is the service, which does what is to be done regularly. `post`: what
    this process does among other instances. `forget_typed` removes lines from what was typed in the terminal.
    `supervisor`: where long-lived tasks of this process run already.
    """
    settings = current.settings
    private, locks = settings.private_folder, settings.private_folder / "locks"
    supervisor = supervisor or Supervisor(now=now)
    woken, channels = asyncio.Event(), Channels(is_stopped=supervisor.is_stopped)
    leased = tuple(settings.channels) if post else ()
    access = Access(settings.access, state, now=now, wake=woken.set, home_of=channels.home_of)
    journal = Journal(memory, state)
    reader = AttachmentReader(
        channels.fetch,
        settings.attachments,
        number_of=partial(number_of, state),
        measures=measures,
        waits=pace.fetch_waits,
        folder=private,
    )
    backups = Backups(notes=settings.memory_folder, private=private, now=now)
    core_notice = CoreNotice(memory, state, access, channels, now=now, wake=woken.set)
    return Services(
        current=current,
        now=now,
        memory=memory,
        embedding=embedding or Embedding(),
        state=state,
        model=model,
        commands=COMMANDS,
        access=access,
        channels=channels,
        inbox=Inbox(state, presence, leased=leased),
        journal=journal,
        compactor=Compactor(
            state, model, journal, memory, settings=settings.memory.flush, now=now, wake=woken.set
        ),
        forgetting=Forgetting(memory, state, forget_typed=forget_typed, now=now),
        reminders=Reminders(state, now=now, zone=settings.zone.key, owners=settings.access.owners),
        reader=reader,
        filing=Filing(state, journal, reader, now=now),
        rate=MessageRate(settings.limits.messages_per_minute),
        budget=DailyBudget(state, settings.limits.daily_tokens, now=now, settle=model.health.write),
        backups=backups,
        rebuilding=Rebuilding(memory, now=now),
        upkeep=_upkeep(
            settings,
            memory,
            state,
            backups,
            core_notice=core_notice.send,
            alone=alone,
            post=post,
            supervisor=supervisor,
            now=now,
        ),
        supervisor=supervisor,
        measures=measures,
        troubles=troubles or Troubles(),
        woken=woken,
        locks=locks,
        own_locks=dict.fromkeys(leased, post.own_locks(locks)) if post else {},
        instance=post.status if post else lambda: None,
    )


def assemble(services: Services, *, tools: Sequence[Tool] = (), pace: Pace = Pace()) -> Assistant:
    """Put the assistant together; it follows the settings from here on, and is given channels later.

    `tools`: what a model may do beside all that there is anyway, where the memory is open.
    """
    answering = agents(services, tools)
    follow_settings(services, answering)
    return Assistant(
        services,
        agents=answering,
        delivery=Delivery(
            services.inbox, services.channels, pauses=pace.delivery_pauses, measures=services.measures
        ),
        turns_at_once=pace.turns_at_once,
        disk_pauses=pace.disk_pauses,
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
