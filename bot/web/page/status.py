"""Collects what the status page shows."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.cluster.status import InstanceStatus, format_lease_name
from bot.conversations.core_note import core_warning
from bot.log.recent_errors import RecentError
from bot.maintenance.scheduler import JobStatus
from bot.messages import ChannelHealth
from bot.pairing_requests import CODE_LIFETIME
from bot.services import Services
from bot.state.conversation_stats import ConversationStats, read_conversation_stats
from bot.state.database import format_timestamp
from bot.state.queue_stats import QueueStats, read_queue_stats
from bot.web.changes import shows_changes
from bot.web.page import alerts
from bot.web.page.changes import ChangesView, changes_view
from bot.web.page.models import ModelView, model_panel
from bot.web.page.panel import Panel, load_panel
from bot.web.page.progress import ProgressView, progress_view
from bot.web.page.times import PageClock, ShownTime
from memory.status import MemoryStatus

MAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease, and the instance that holds it."""

    what: str
    holder: str | None
    """"" for nobody; None if unknown."""
    ours: bool
    since: ShownTime | None


@dataclass(frozen=True, slots=True)
class StatusView:
    """The values of the status template."""

    alerts: tuple[str, ...]
    """What needs attention."""
    memory: Panel[MemoryStatus]
    progress: ProgressView
    models: Panel[tuple[ModelView, ...]]
    channels: Mapping[str, ChannelHealth]
    todo: Panel[tuple[QueueStats, ConversationStats]]
    changes: Panel[ChangesView] | None
    """None if they may not be shown."""
    jobs: Sequence[JobStatus]
    instance: InstanceStatus | None
    """Status among other instances; None without a shared index."""
    leases: Sequence[LeaseView]
    troubles: Sequence[RecentError]
    """Recent errors and warnings, the latest first."""
    clock: PageClock


async def status_view(services: Services) -> StatusView:
    """Ask all parts concurrently; one that fails or is slow becomes a `Panel` that says so."""
    memory, core_note, models, todo, changes = await asyncio.gather(
        load_panel(services.memory.status()),
        load_panel(core_warning(services.memory)),
        load_panel(model_panel(services)),
        load_panel(_todo(services)),
        _changes(services),
    )
    now = services.now()
    clock, channels = PageClock(now), services.channels.health()
    instance = services.instance()
    jobs, errors = services.background.jobs, services.recent_errors.recent()
    return StatusView(
        alerts=(
            *alerts.channel_alerts(channels),
            *alerts.instance_alerts(instance),
            *alerts.memory_alerts(memory),
            *alerts.core_note_alerts(core_note),
            *alerts.model_alerts(models.shown or (), clock),
            *alerts.task_alerts(services.supervisor.failures, now),
            *alerts.job_alerts(jobs),
            *alerts.error_alerts(errors, now),
        ),
        memory=memory,
        progress=progress_view(services),
        models=models,
        channels=channels,
        todo=todo,
        changes=changes,
        jobs=jobs,
        instance=instance,
        leases=_lease_views(instance, clock) if instance else (),
        troubles=errors[:MAX_ERRORS],
        clock=clock,
    )


async def _changes(services: Services) -> Panel[ChangesView] | None:
    return await load_panel(changes_view(services)) if shows_changes(services) else None


def _lease_views(instance: InstanceStatus, clock: PageClock) -> Sequence[LeaseView]:
    shown = []
    for each in instance.leases:
        holder = instance.holder(each, clock.now)
        since = clock.at(each.since) if each.since and holder is not None else None
        shown.append(LeaseView(format_lease_name(each.name), holder, each.ours, since))
    return shown


async def _todo(services: Services) -> tuple[QueueStats, ConversationStats]:
    now = services.now()
    since, until = format_timestamp(now - CODE_LIFETIME), format_timestamp(now)
    return await services.state.read(
        lambda db: (
            read_queue_stats(db, now=until),
            read_conversation_stats(db, asked_since=since, now=until),
        )
    )
