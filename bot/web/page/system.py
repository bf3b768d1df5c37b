"""Collects what the page about the system shows: the index, queues, jobs, other instances, errors."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bot.cluster.status import InstanceStatus, format_lease_name
from bot.log.recent_errors import RecentError
from bot.maintenance.scheduler import JobStatus
from bot.services import Services
from bot.state.conversation_stats import ConversationStats
from bot.state.queue_stats import QueueStats
from bot.web.page.panel import Panel, load_panel
from bot.web.page.progress import ProgressView, progress_view
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.todo import read_todo
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
class SystemView:
    """The values of the template."""

    memory: Panel[MemoryStatus]
    progress: ProgressView
    todo: Panel[tuple[QueueStats, ConversationStats]]
    jobs: Sequence[JobStatus]
    instance: InstanceStatus | None
    """Status among other instances; None without a shared index."""
    leases: Sequence[LeaseView]
    troubles: Sequence[RecentError]
    """Recent errors and warnings, the latest first."""
    clock: PageClock


async def system_view(services: Services) -> SystemView:
    """Ask all parts concurrently; one that fails or is slow becomes a `Panel` that says so."""
    memory, todo = await asyncio.gather(load_panel(services.memory.status()), load_panel(read_todo(services)))
    clock, instance = PageClock(services.now()), services.instance()
    return SystemView(
        memory=memory,
        progress=progress_view(services),
        todo=todo,
        jobs=services.background.jobs,
        instance=instance,
        leases=_lease_views(instance, clock) if instance else (),
        troubles=services.recent_errors.recent()[:MAX_ERRORS],
        clock=clock,
    )


def _lease_views(instance: InstanceStatus, clock: PageClock) -> Sequence[LeaseView]:
    shown = []
    for each in instance.leases:
        holder = instance.holder(each, clock.now)
        since = clock.at(each.since) if each.since and holder is not None else None
        shown.append(LeaseView(format_lease_name(each.name), holder, each.ours, since))
    return shown
