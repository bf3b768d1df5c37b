"""Put the assistant together from parts that are already open; opens and runs nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from bot.access import Access
from bot.archives.backup import Backups
from bot.assistant import DISK_FULL_RETRY_SECONDS, MAX_CONCURRENT_TURNS, Assistant
from bot.attachments.reader import RETRY_DELAYS, AttachmentReader
from bot.attachments.save_document import DocumentSaver, number_of
from bot.change_names import find_name
from bot.channels import Channels
from bot.commands.registry import COMMANDS
from bot.config.reload import LiveSettings
from bot.conversations.compaction import Compactor
from bot.delivery import RETRY_SECONDS, Delivery
from bot.forgetting import ForgetService
from bot.inbox import Inbox
from bot.language.people import PeopleLanguages
from bot.limits import DailyBudget, MessageRate
from bot.log import RecentErrors
from bot.maintenance.background import Background, NightlyJobs
from bot.maintenance.backup_maker import BackupMaker
from bot.maintenance.cleanup import clean_up
from bot.maintenance.core_notice import CoreNotice
from bot.maintenance.rebuild import IndexRebuilder
from bot.metrics import Metrics
from bot.models.fallback import FallbackModel
from bot.note_writes import OnceWriter
from bot.pairing import Pairing
from bot.process_lock import ProcessLock
from bot.reminders import Reminders
from bot.service.agents import build_agents
from bot.service.live_settings import follow_settings
from bot.services import Services
from bot.state.database import State
from bot.supervisor import Supervisor
from bot.tools.toolbox import Tool
from memory.embeddings.factory import Embedding
from memory.forgetting import WordsToForget
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.cluster.membership import Membership
    from bot.config.settings import Settings
    from bot.conversations.search import ConversationSearch


@dataclass(frozen=True, slots=True)
class AssistantTimes:
    """How much runs concurrently, and the delays before retries."""

    turns_at_once: int = MAX_CONCURRENT_TURNS
    """Number of chats answered concurrently."""
    delivery_pauses: Sequence[float] = RETRY_SECONDS
    """Seconds before each retry of a reply that could not be shown."""
    disk_pauses: Sequence[float] = DISK_FULL_RETRY_SECONDS
    """Seconds before each retry of a turn for which state.db had no room."""
    fetch_waits: Sequence[float] = RETRY_DELAYS
    """Seconds before each retry of fetching an attachment."""


def services_of(
    live_settings: LiveSettings,
    *,
    process_lock: ProcessLock,
    state: State,
    memory: Memory,
    model: FallbackModel,
    metrics: Metrics,
    now: Callable[[], datetime],
    alone: bool = False,
    membership: "Membership | None" = None,
    conversations: "ConversationSearch | None" = None,
    forget_typed: Callable[[WordsToForget], int] = lambda wanted: 0,
    supervisor: Supervisor | None = None,
    times: AssistantTimes = AssistantTimes(),
    embedding: Embedding | None = None,
    recent_errors: RecentErrors | None = None,
) -> Services:
    """Make the services from the open parts.

    `now` is on the owner's clock. `alone`: this process is the service, which does the regular jobs. `membership`: its
    membership among other instances. `conversations`: their search, if they may be searched. `forget_typed` deletes
    lines from the terminal's input history. `supervisor`: an existing one that already runs tasks of this process.
    """
    settings = live_settings.settings
    private, locks = settings.private_folder, settings.private_folder / "locks"
    supervisor = supervisor or Supervisor(now=now)
    wake_event, channels = asyncio.Event(), Channels(is_stopped=supervisor.is_stopped)
    leased = tuple(settings.channels) if membership else ()
    access = Access(settings.access, state)
    languages = PeopleLanguages(state, setting=lambda: live_settings.settings.agent.language)
    pairing = Pairing(
        settings.access,
        state,
        now=now,
        wake=wake_event.set,
        home_of=channels.home_of,
        languages=languages,
        name_of=partial(find_name, access=access, channels=settings.channels),
    )
    note_writer = OnceWriter(memory, state)
    reader = AttachmentReader(
        channels.fetch,
        settings.attachments,
        number_of=partial(number_of, state),
        metrics=metrics,
        waits=times.fetch_waits,
        folder=private,
    )
    backups = Backups(notes=settings.memory_folder, private=private, now=now)
    core_notice = CoreNotice(
        memory, state, access, channels, now=now, wake=wake_event.set, languages=languages
    )
    forget_service = ForgetService(
        memory, state, conversations=conversations, forget_typed=forget_typed, now=now
    )
    return Services(
        live_settings=live_settings,
        now=now,
        memory=memory,
        embedding=embedding or Embedding(),
        state=state,
        model=model,
        commands=COMMANDS,
        access=access,
        languages=languages,
        pairing=pairing,
        channels=channels,
        inbox=Inbox(state, process_lock, leased=leased),
        note_writer=note_writer,
        compactor=Compactor(
            state,
            model,
            note_writer,
            memory,
            settings=settings.memory.flush,
            now=now,
            wake=wake_event.set,
            languages=languages,
        ),
        forgetting=forget_service,
        reminders=Reminders(
            state, now=now, zone=settings.zone.key, owners=settings.access.owners, languages=languages
        ),
        reader=reader,
        document_saver=DocumentSaver(state, note_writer, reader, now=now),
        rate=MessageRate(settings.limits.messages_per_minute),
        budget=DailyBudget(state, settings.limits.daily_tokens, now=now, settle=model.health.write),
        backups=backups,
        backup_maker=BackupMaker(backups, now=now),
        index_rebuilder=IndexRebuilder(memory, now=now),
        background=_background(
            settings,
            memory,
            conversations,
            state,
            backups,
            tidy=[forget_service.complete_earlier, core_notice.send],
            alone=alone,
            membership=membership,
            supervisor=supervisor,
            now=now,
        ),
        supervisor=supervisor,
        metrics=metrics,
        recent_errors=recent_errors or RecentErrors(),
        wake_event=wake_event,
        locks=locks,
        conversations=conversations,
        own_locks=dict.fromkeys(leased, membership.lock_folder(locks)) if membership else {},
        instance=membership.status if membership else lambda: None,
    )


def assemble(
    services: Services, *, tools: Sequence[Tool] = (), times: AssistantTimes = AssistantTimes()
) -> Assistant:
    """Return the assistant, which follows the settings from now on; channels are added later.

    `tools`: further tools where the memory is available.
    """
    answering = build_agents(services, tools)
    follow_settings(services, answering)
    return Assistant(
        services,
        agents=answering,
        delivery=Delivery(
            services.inbox, services.channels, pauses=times.delivery_pauses, metrics=services.metrics
        ),
        turns_at_once=times.turns_at_once,
        disk_pauses=times.disk_pauses,
    )


def _background(
    settings: "Settings",
    memory: Memory,
    conversations: "ConversationSearch | None",
    state: State,
    backups: Backups,
    *,
    tidy: Sequence[Callable[[], Awaitable[object]]],
    alone: bool,
    membership: "Membership | None",
    supervisor: Supervisor,
    now: Callable[[], datetime],
) -> Background:
    """Return the background work; only the service gets the regular jobs. `tidy`: further work of each night."""
    nights = NightlyJobs(
        settings.backup.time,
        settings.zone,
        backups,
        settings.backup.keep,
        tidy=[
            OnceWriter(memory, state).settle_open,  # before what is known of open writes is deleted
            lambda: clean_up(state, now(), change_days=settings.memory.changes.keep_days),
            *tidy,
        ],
    )
    return Background(
        memory,
        conversations=conversations,
        reindex_minutes=settings.memory.reindex.interval_minutes if alone else None,
        nights=nights if alone else None,
        elsewhere=membership.other_holder if membership else lambda job: "",
        supervisor=supervisor,
        now=now,
    )
