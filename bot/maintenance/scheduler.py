"""Jobs that run again and again: a regular look at all notes, or what is done at night."""

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

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler
    from apscheduler.triggers.base import BaseTrigger

log = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
"""So late at most is a job noticed to be due after the machine has slept or its clock was changed."""

MAX_OUTCOME_CHARS = 300
"""Longest outcome of a job, in characters."""

CLOSE_SECONDS = 0.8
"""How long closing waits for jobs that it has cancelled."""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One job of the schedule; times are ISO 8601 in UTC, empty where there is none."""

    name: str
    minutes: float
    """Between two runs; of a daily job about that."""
    running: bool = False
    next_run: str = ""
    last_run: str = ""
    """When it last began."""
    last_outcome: str = ""
    """How it last ended: `ok`, or what went wrong in one line; empty before the first end."""
    elsewhere: str = ""
    """The instance that does it for all; empty where this one does."""


class JobFailed(Exception):
    """A job could not do its work for a reason outside of it; the text is one line for people."""


DAY_MINUTES = 24 * 60.0


@dataclass(slots=True, eq=False)
class _Job:
    """One job, and what it needs to be scheduled."""

    status: JobStatus
    work: Callable[[], Awaitable[object]]
    new_trigger: "Callable[[], BaseTrigger]"
    """Make the trigger, which counts from the moment at which it is made."""
    soon: datetime | None = None
    """When it runs for the first time at the latest, where a run was missed."""

    def first_due(self, trigger: "BaseTrigger", now: datetime) -> datetime:
        """Return when it is due for the first time, in UTC: soon after a run was missed, else when `trigger` says."""
        due = _next_run(trigger, now)
        if self.soon is None or self.soon > due:
            return due
        last = self.status.last_run
        is_overdue = not last or _next_run(trigger, datetime.fromisoformat(last)) <= now
        return self.soon if is_overdue else due


def _next_run(trigger: "BaseTrigger", now: datetime) -> datetime:
    """Return when a trigger fires next, seen from now; in UTC."""
    due: datetime = trigger.get_next_fire_time(None, now)
    return due.astimezone(UTC)


class Schedule:
    """Runs jobs at intervals, or at a time of the day, while it is entered; an async context manager.

    A job that fails is logged and runs again the next time; one that takes longer than its interval is not
    started twice. A run that was missed, asleep or busy, is made up for once. Leaving cancels what runs.
    """

    def __init__(
        self,
        *,
        settle_seconds: float = 0.0,
        check_seconds: float = CHECK_SECONDS,
        supervisor: Supervisor | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`settle_seconds`: so long nothing is begun, nor what begins it loaded, while the service has better to do."""
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

        # It tells of each run at INFO, and with a traceback of what `_run` has told already.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        for job in self._jobs.values():
            self._schedule_job(scheduler, job)
        scheduler.start()
        self._scheduler = scheduler

    def _schedule_job(self, scheduler: "AsyncIOScheduler", job: _Job) -> None:
        """Have APScheduler begin a job when it is due."""
        name, trigger = job.status.name, job.new_trigger()
        first = job.first_due(trigger, self._now())
        scheduler.add_job(partial(self._run, job), trigger, id=name, name=name, next_run_time=first)

    async def __aexit__(self, *_: object) -> None:
        if self._scheduler:
            self._scheduler.pause()
        await asyncio.sleep(0)  # what was just started gets as far as `_run`, which knows how to end
        leaving = {self._clock, *self._running}
        self._clock.cancel()
        if self._scheduler:
            self._scheduler.shutdown(wait=False)  # in the loop's next round; cancels what runs
            await asyncio.sleep(0)
        still = (await asyncio.wait(leaving, timeout=CLOSE_SECONDS))[1]
        for task in still:
            log.warning("%s did not end within %g s", task.get_name(), CLOSE_SECONDS)

    def add_interval(self, minutes: float, job: Callable[[], Awaitable[object]], *, name: str) -> None:
        """Run `job` each so many minutes, for the first time when they have passed. A name serves once."""

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
        """Run `job` each day when a clock in `zone` shows `at`. A name serves once.

        `last_run`: when an earlier process ran it. With `soon`, a run that was missed since then is made up for so
        long from now. Where a night's clock shows `at` twice it runs twice; where it skips `at`, an hour later, or at
        a change at midnight the next day.
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
        """How each job fares, in the order in which they were added."""
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
        """Run a job once. Nothing is raised from here: the scheduler would only log it once more."""
        task, name = asyncio.current_task(), job.status.name
        assert task is not None
        task.set_name(f"job {name}")
        self._running.add(task)
        job.status = replace(job.status, running=True, last_run=_format_iso(self._now()))
        with log_context(f"{name} {job.status.last_run}"):
            await self._wait_for(job, task)

    async def _wait_for(self, job: _Job, task: "asyncio.Task[object]") -> None:
        name, outcome = job.status.name, "stopped"
        try:
            await job.work()
            outcome = "ok"
        except asyncio.CancelledError:
            log.info("%s was stopped", name)
        except (MemoryFault, JobFailed) as error:  # tells in one line what is wrong, and where
            outcome = _error_line(error)
            log.warning("%s failed: %s; it runs again in %g minutes", name, outcome, self._minutes_left(job))
        except Exception as error:
            log.exception("%s failed; it runs again in %g minutes", name, self._minutes_left(job))
            outcome = _error_line(error)
        finally:
            self._running.discard(task)
            job.status = replace(job.status, running=False, last_outcome=outcome)

    def _minutes_left(self, job: _Job) -> float:
        """Of an interval, all of it; a daily job is due at a time, and some of its day may have passed."""
        minutes = job.status.minutes
        if minutes != DAY_MINUTES or (due := self._run_when_due(job)) is None:
            return minutes
        return round((due - self._now()).total_seconds() / 60)

    async def _follow_clock(self) -> None:
        """Keep going by a clock that jumps: timers count while the machine is awake, jobs are due by the clock."""
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
                    # The clock was set back: count from the time that it shows now.
                    scheduled.modify(trigger=fresh, next_run_time=latest)
            self._scheduler.wakeup()


def _skip_missed(trigger: "BaseTrigger") -> "BaseTrigger":
    """Return a trigger that asks another one for the next time from now on, whenever it fired last.

    By themselves APScheduler's triggers give every run that a jump of the clock skipped: millions of them where a
    machine without a battery for its clock gets the time after its start.
    """
    from apscheduler.triggers.base import BaseTrigger

    class FromNow(BaseTrigger):  # type: ignore[misc]
        def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime | None:
            # Later than now, or it would fire again at once.
            due: datetime | None = trigger.get_next_fire_time(None, now + timedelta(milliseconds=1))
            return due

    return FromNow()


def _format_iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _error_line(error: Exception) -> str:
    return " ".join(str(error).split())[:MAX_OUTCOME_CHARS] or type(error).__name__
