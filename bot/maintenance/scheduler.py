"""A scheduler for recurring jobs, such as the regular re-index and the nightly jobs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Self

from bot.log.context import log_context
from bot.supervisor import Supervisor
from memory.errors import MemoryFault
from memory.translatable import Translatable, TranslatableError

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler
    from apscheduler.triggers.base import BaseTrigger

log = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
"""Maximum delay in noticing a due job after the machine slept or its clock was changed."""

MAX_OUTCOME_CHARS = 300
"""Maximum length of an outcome, in characters."""

CLOSE_SECONDS = 0.8
"""Seconds that closing waits for the jobs it cancelled."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job's status; times are ISO 8601 in UTC, empty if there is none."""

    name: str
    minutes: float
    """Between two runs; for a daily job, about a day."""
    running: bool = False
    next_run: str = ""
    last_run: str = ""
    """When it last started."""
    last_outcome: str = ""
    """How it last ended: `ok` or the error in one line; empty before the first end."""
    elsewhere: str = ""
    """The instance that does it for all; empty if this one does."""


class JobFailed(TranslatableError):
    """A job failed for an external reason; the text is one line for people."""


DAY_MINUTES = 24 * 60.0
OK, STOPPED = Translatable("ok"), Translatable("stopped")


@dataclass(slots=True, eq=False)
class _Job:
    """A job with what is needed to schedule it."""

    status: JobStatus
    work: Callable[[], Awaitable[object]]
    new_trigger: "Callable[[], BaseTrigger]"
    """Return a new trigger, which counts from the moment of the call."""
    soon: datetime | None = None
    """Latest time of the first run, if a run was missed."""

    def first_due(self, trigger: "BaseTrigger", now: datetime) -> datetime:
        """Return the first due time in UTC: `soon` after a missed run, otherwise as `trigger` says."""
        due = _next_run(trigger, now)
        if self.soon is None or self.soon > due:
            return due
        last = self.status.last_run
        is_overdue = not last or _next_run(trigger, datetime.fromisoformat(last)) <= now
        return self.soon if is_overdue else due


def _next_run(trigger: "BaseTrigger", now: datetime) -> datetime:
    """Return when a trigger fires next after `now`, in UTC."""
    due: datetime = trigger.get_next_fire_time(None, now)
    return due.astimezone(UTC)


class Schedule:
    """Runs jobs at intervals or at a time of day while entered; an async context manager.

    A failed job is logged and runs again next time; a job longer than its interval is not started twice. A run
    missed while asleep or busy is made up for once. Leaving cancels running jobs.
    """

    def __init__(
        self,
        *,
        settle_seconds: float = 0.0,
        check_seconds: float = CHECK_SECONDS,
        supervisor: Supervisor | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`settle_seconds`: delay before APScheduler is loaded and jobs start."""
        self._now = now
        self._settle_seconds = settle_seconds
        self._check_seconds = check_seconds
        self._supervisor = supervisor or Supervisor()
        self._jobs: dict[str, _Job] = {}
        self._scheduler: AsyncIOScheduler | None = None
        self._running: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> Self:
        self._clock = self._supervisor.start("schedule", self._follow_clock)
        return self

    def _open(self) -> None:
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        # It logs each run at INFO, and repeats the tracebacks that `_run` has logged.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        for job in self._jobs.values():
            self._schedule_job(scheduler, job)
        scheduler.start()
        self._scheduler = scheduler

    def _schedule_job(self, scheduler: "AsyncIOScheduler", job: _Job) -> None:
        """Add a job to APScheduler with its first due time."""
        name, trigger = job.status.name, job.new_trigger()
        first = job.first_due(trigger, self._now())
        scheduler.add_job(partial(self._run, job), trigger, id=name, name=name, next_run_time=first)

    async def __aexit__(self, *_: object) -> None:
        if self._scheduler:
            self._scheduler.pause()
        await asyncio.sleep(0)  # lets jobs just started reach `_run`, which handles cancellation
        leaving = {self._clock, *self._running}
        self._clock.cancel()
        if self._scheduler:
            # Takes effect in the loop's next round; cancels running jobs.
            self._scheduler.shutdown(wait=False)
            await asyncio.sleep(0)
        still = (await asyncio.wait(leaving, timeout=CLOSE_SECONDS))[1]
        for task in still:
            log.warning("%s did not end within %g s", task.get_name(), CLOSE_SECONDS)

    def add_interval(self, minutes: float, job: Callable[[], Awaitable[object]], *, name: str) -> None:
        """Run `job` every `minutes`, first after that time. Names must be unique.

        Raises ValueError for a name already in use.
        """

        def trigger() -> "BaseTrigger":
            from apscheduler.triggers.interval import IntervalTrigger

            start = self._now() + timedelta(minutes=minutes)
            return _skip_missed(IntervalTrigger(seconds=minutes * 60, start_date=start, timezone=UTC))

        self._add(_Job(JobStatus(name, minutes), job, trigger))

    def add_daily(
        self,
        at: time,
        zone: tzinfo,
        job: Callable[[], Awaitable[object]],
        *,
        name: str,
        last_run: datetime | None = None,
        soon: timedelta | None = None,
    ) -> None:
        """Run `job` each day when a clock in `zone` shows `at`. Names must be unique.

        `last_run`: when an earlier process ran it. With `soon`, a run missed since then is made up for after that
        time. On a night when the clock shows `at` twice the job runs twice; if the clock skips `at`, it runs an
        hour later, or the next day if the clock changes at midnight.

        Raises ValueError for a name already in use.
        """

        def trigger() -> "BaseTrigger":
            from apscheduler.triggers.cron import CronTrigger

            return _skip_missed(CronTrigger(hour=at.hour, minute=at.minute, second=at.second, timezone=zone))

        status = JobStatus(name, DAY_MINUTES, last_run=_format_iso(last_run) if last_run else "")
        self._add(_Job(status, job, trigger, soon=self._now() + soon if soon is not None else None))

    def _add(self, job: _Job) -> None:
        name = job.status.name
        if name in self._jobs:
            raise ValueError(f"there is a job called {name} already")
        self._jobs[name] = job
        if self._scheduler:
            self._schedule_job(self._scheduler, job)

    def list_jobs(self) -> tuple[JobStatus, ...]:
        """Return the status of each job, in the order of adding."""
        return tuple(
            replace(job.status, next_run=_format_iso(due) if (due := self._run_when_due(job)) else "")
            for job in self._jobs.values()
        )

    def _run_when_due(self, job: _Job) -> datetime | None:
        if self._scheduler is None:
            return job.first_due(job.new_trigger(), self._now())
        scheduled = self._run_scheduled(job)
        return scheduled.next_run_time if scheduled else None

    def _run_scheduled(self, job: _Job) -> "Job | None":
        found: Job | None = self._scheduler.get_job(job.status.name) if self._scheduler else None
        return found

    async def _run(self, job: _Job) -> None:
        """Run a job once. Raises nothing: the scheduler would only log the error again."""
        task, name = asyncio.current_task(), job.status.name
        assert task is not None
        task.set_name(f"job {name}")
        self._running.add(task)
        job.status = replace(job.status, running=True, last_run=_format_iso(self._now()))
        with log_context(f"{name} {job.status.last_run}"):
            await self._wait_for(job, task)

    async def _wait_for(self, job: _Job, task: "asyncio.Task[object]") -> None:
        name = job.status.name
        outcome: str = STOPPED
        try:
            await job.work()
            outcome = OK
        except asyncio.CancelledError:
            log.info("%s was stopped", name)
        except (MemoryFault, JobFailed) as error:  # their text says what is wrong, in one line
            outcome = _error_line(error)
            log.warning("%s failed: %s; it runs again in %g minutes", name, outcome, self._minutes_left(job))
        except Exception as error:
            log.exception("%s failed; it runs again in %g minutes", name, self._minutes_left(job))
            outcome = _error_line(error)
        finally:
            self._running.discard(task)
            job.status = replace(job.status, running=False, last_outcome=outcome)

    def _minutes_left(self, job: _Job) -> float:
        """Return the minutes to the next run: all of an interval, or the time left until a daily job is due."""
        minutes = job.status.minutes
        if minutes != DAY_MINUTES or (due := self._run_when_due(job)) is None:
            return minutes
        return round((due - self._now()).total_seconds() / 60)

    async def _follow_clock(self) -> None:
        """Keep jobs due by the clock, although timers stop during sleep and the clock may be changed."""
        if self._scheduler is None:
            await asyncio.sleep(self._settle_seconds)
            self._open()
        assert self._scheduler is not None
        while True:
            await asyncio.sleep(self._check_seconds)
            now = self._now()
            for job in self._jobs.values():
                fresh, scheduled = job.new_trigger(), self._run_scheduled(job)
                latest = _next_run(fresh, now)
                if scheduled and scheduled.next_run_time > latest + timedelta(seconds=1):
                    # The clock was set back: count from the new time.
                    scheduled.modify(trigger=fresh, next_run_time=latest)
            self._scheduler.wakeup()


def _skip_missed(trigger: "BaseTrigger") -> "BaseTrigger":
    """Return a trigger that only asks `trigger` for the next time from now, ignoring its last run.

    APScheduler's own triggers return every run that a clock change skipped: millions if a machine without a clock
    battery gets the time after its start.
    """
    from apscheduler.triggers.base import BaseTrigger

    class FromNow(BaseTrigger):  # type: ignore[misc]
        def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
            # Later than now, or it would fire twice.
            due: datetime | None = trigger.get_next_fire_time(None, now + timedelta(milliseconds=1))
            return due

    return FromNow()


def _format_iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _error_line(error: Exception) -> str:
    text = error.text if isinstance(error, TranslatableError) else str(error)
    line = " ".join(text.split())[:MAX_OUTCOME_CHARS]
    return (text if line == text else line) or type(error).__name__
