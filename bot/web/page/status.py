"""What the status page shows, gathered from all parts of the assistant."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.access import CODE_TIME
from bot.conversations.core_note import core_warning
from bot.instances.status import InstanceStatus, lease_in_words
from bot.log.troubles import Trouble
from bot.messages import ChannelHealth
from bot.services import Services
from bot.state.counts import Counts, counts
from bot.state.database import stored
from bot.state.queues import Queues, queues
from bot.upkeep.scheduler import JobStatus
from bot.web.page import attention
from bot.web.page.clock import Clock, Moment
from bot.web.page.models import ModelShown, models_shown
from bot.web.page.part import Part, part
from bot.web.page.progress import ProgressShown, progress_shown
from memory.memory import MemoryStatus

MOST_TROUBLES = 20


@dataclass(frozen=True, slots=True)
class LeaseShown:
    """Who does something that only one instance does."""

    what: str
    holder: str | None
    """"" for nobody; None where that is not known."""
    ours: bool
    since: Moment | None


@dataclass(frozen=True, slots=True)
class StatusShown:
    """All that its template is given."""

    attention: tuple[str, ...]
    """What somebody should have a look at."""
    memory: Part[MemoryStatus]
    progress: ProgressShown
    models: Part[tuple[ModelShown, ...]]
    channels: Mapping[str, ChannelHealth]
    todo: Part[tuple[Queues, Counts]]
    jobs: Sequence[JobStatus]
    instance: InstanceStatus | None
    """How this one stands to others; None where it shares nothing with any."""
    leases: Sequence[LeaseShown]
    troubles: Sequence[Trouble]
    """The latest first."""
    clock: Clock


async def status_shown(services: Services) -> StatusShown:
    """Ask all parts at once; whichever fails or takes long is a `Part` that says so."""
    memory, core_note, models, todo = await asyncio.gather(
        part(services.memory.status()),
        part(core_warning(services.memory)),
        part(models_shown(services)),
        part(_todo(services)),
    )
    now = services.now()
    clock, channels = Clock(now), services.channels.health()
    instance = services.instance()
    jobs, troubles = services.upkeep.jobs, services.troubles.recent()
    return StatusShown(
        attention=(
            *attention.of_channels(channels),
            *attention.of_instance(instance),
            *attention.of_memory(memory),
            *attention.of_core_note(core_note),
            *attention.of_models(models.shown or (), clock),
            *attention.of_tasks(services.supervisor.failures, now),
            *attention.of_jobs(jobs),
            *attention.of_troubles(troubles, now),
        ),
        memory=memory,
        progress=progress_shown(services),
        models=models,
        channels=channels,
        todo=todo,
        jobs=jobs,
        instance=instance,
        leases=_leases_shown(instance, clock) if instance else (),
        troubles=troubles[:MOST_TROUBLES],
        clock=clock,
    )


def _leases_shown(instance: InstanceStatus, clock: Clock) -> Sequence[LeaseShown]:
    shown = []
    for each in instance.leases:
        holder = instance.holder(each, clock.now)
        since = clock.at(each.since) if each.since and holder is not None else None
        shown.append(LeaseShown(lease_in_words(each.name), holder, each.ours, since))
    return shown


async def _todo(services: Services) -> tuple[Queues, Counts]:
    now = services.now()
    since, until = stored(now - CODE_TIME), stored(now)
    return await services.state.read(
        lambda db: (queues(db, now=until), counts(db, asked_since=since, now=until))
    )
