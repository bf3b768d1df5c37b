"""Pure: what needs attention, in one line each."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from bot import phrases
from bot.cluster.status import InstanceStatus
from bot.log.recent_errors import RecentError
from bot.maintenance.scheduler import JobStatus
from bot.messages import ChannelHealth
from bot.sanitize import one_line
from bot.supervisor import TaskFailure, format_failure
from bot.web.page.models import ModelView
from bot.web.page.panel import Panel
from bot.web.page.times import PageClock
from memory.status import MemoryStatus

RECENT = timedelta(hours=1)


def channel_alerts(channels: Mapping[str, ChannelHealth]) -> Iterator[str]:
    """Yield channels that are down or impaired; standbys and stand-ins are fine."""
    for name, health in channels.items():
        if health.state in ("standby", "stand-in"):
            continue
        state = phrases.CHANNEL_STATES[health.state]
        if health.detail:
            phrase = phrases.STATUS_CHANNEL_BUT if health.state == "up" else phrases.STATUS_CHANNEL_WHY
            yield phrase.format(channel=name.capitalize(), state=state, detail=one_line(health.detail))
        elif health.state != "up":
            yield phrases.STATUS_CHANNEL.format(channel=name.capitalize(), state=state)


def instance_alerts(instance: InstanceStatus | None) -> Iterator[str]:
    """Yield a line if the server that holds the leases is unreachable."""
    if instance and instance.problem:
        yield phrases.WEB_LEASES.format(problem=one_line(instance.problem))


def memory_alerts(memory: Panel[MemoryStatus]) -> Iterator[str]:
    """Yield problems of the memory: of reading, semantic search, watching and single notes."""
    status = memory.shown
    if status is None:
        if not memory.is_busy:
            yield phrases.WEB_MEMORY.format(reason=memory.fault)
        return
    if status.index_problem:
        yield phrases.WEB_INDEX.format(reason=status.index_problem)
    if status.embedding_problem:
        phrase = phrases.WEB_VECTORS_FALLBACK if status.embedding_serving else phrases.WEB_VECTORS
        yield phrase.format(problem=status.embedding_problem, fallback=status.embedding_serving)
    if (watch := status.watch) and not watch.alive and (reason := watch.error or watch.reason):
        yield f"{phrases.WATCH['waiting'] if watch.mode == 'waiting' else phrases.WATCH_DEAD} ({reason})"
    for each in status.problems:
        if each.away:
            yield each.describe_away()
    if unread := sum(not (each.away or each.was_read) for each in status.problems):
        yield phrases.WEB_NOTES_UNREAD.format(count=unread)


def core_note_alerts(warning: Panel[str]) -> Iterator[str]:
    """Yield the warning that MEMORY.md is too long; `memory_alerts` reports if it cannot be read."""
    if warning.shown:
        yield warning.shown


def task_alerts(failures: Sequence[TaskFailure], now: datetime) -> Iterator[str]:
    """Yield the background tasks that failed."""
    for failure in failures:
        yield format_failure(failure, now)


def job_alerts(jobs: Sequence[JobStatus]) -> Iterator[str]:
    """Yield the jobs whose last run failed."""
    for job in jobs:
        if job.last_outcome not in ("", "ok", "stopped"):
            yield phrases.WEB_JOB.format(
                job=phrases.WEB_JOBS.get(job.name) or job.name.capitalize(), outcome=job.last_outcome
            )


def model_alerts(models: Sequence[ModelView], clock: PageClock) -> Iterator[str]:
    """Yield models of the chain that are paused with all keys."""
    for model in models:
        if model.in_chain and model.paused_until:
            until = clock.unix(model.paused_until)
            yield phrases.WEB_MODEL_RESTS.format(model=model.name, time=until.words if until else "")


def error_alerts(errors: Sequence[RecentError], now: datetime) -> Iterator[str]:
    """Yield the number of recent errors, without warnings."""
    count = sum(each.times for each in errors if each.level != "warning" and now - each.at < RECENT)
    if count:
        yield phrases.WEB_ERRORS.format(count=count)
