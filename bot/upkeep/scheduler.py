"""Jobs that run again and again: a regular look at all notes, or what is done at night."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Self

from bot.log.work import working_on
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from apscheduler.job import Job
    from apscheduler.schedulers.asyncio import AsyncIOScheduler

log = logging.getLogger(__name__)

CHECK_SECONDS = 30.0
"""So late at most is a job noticed to be due after the machine has slept or its clock was changed."""

MOST_OUTCOME = 300
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


def next_daily(after: datetime, at: time, zone: tzinfo) -> datetime:
    """The next moment after `after` (aware) at which a clock in `zone` shows `at`; in UTC, once on each day.

    Where that day's clock shows it twice, the first time counts; where it skips it, as long after the change.
    """
    day = after.astimezone(zone).date() - timedelta(days=1)
    while True:
        moment = datetime.combine(day, at.replace(fold=0), zone).astimezone(UTC)
        if moment > after:
            return moment
        day += timedelta(days=1)


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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`settle_seconds`: so long nothing is begun, nor what begins it loaded, while the service has better to do."""
        self._now = now
        self._settle_seconds = settle_seconds
        self._check_seconds = check_seconds
        self._statuses: dict[str, JobStatus] = {}
        self._nexts: dict[str, Callable[[datetime], datetime]] = {}
        self._works: dict[str, Callable[[], Awaitable[object]]] = {}
        self._firsts: dict[str, datetime] = {}
        """When jobs are due that APScheduler has not been told of yet."""
        self._scheduler: AsyncIOScheduler | None = None
        self._running: set[asyncio.Task[object]] = set()

    async def __aenter__(self) -> Self:
        self._clock: asyncio.Task[object] = asyncio.create_task(self._mind_the_clock(), name="schedule clock")
        return self

    def _open(self) -> None:
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        # It tells of each run at INFO, and with a traceback of what `_run` has told already.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler = AsyncIOScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        self._scheduler.start()
        for name in list(self._firsts):
            self._hand_over(name)

    def _hand_over(self, name: str) -> None:
        """Have APScheduler begin a job when it is due."""
        assert self._scheduler is not None
        first = self._firsts.pop(name).astimezone(UTC)
        work, trigger = partial(self._run, self._works[name], name), _trigger(self._nexts[name])
        self._scheduler.add_job(work, trigger, id=name, name=name, next_run_time=first)

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

    def every(self, minutes: float, job: Callable[[], Awaitable[object]], *, name: str) -> None:
        """Run `job` each so many minutes, for the first time when they have passed. A name serves once."""
        self._add(JobStatus(name, minutes), job, lambda now: now + timedelta(minutes=minutes))

    def daily(
        self,
        at: time,
        zone: tzinfo,
        job: Callable[[], Awaitable[object]],
        *,
        name: str,
        last_run: datetime | None = None,
        soon: timedelta | None = None,
    ) -> None:
        """Run `job` each day when a clock in `zone` shows `at`; with `soon`, for the first time so long from now on.

        `last_run`: when an earlier process ran it. A name serves once.
        """
        status = JobStatus(name, DAY_MINUTES, last_run=_iso(last_run) if last_run else "")
        self._add(status, job, lambda now: next_daily(now, at, zone), soon=soon)

    def _add(
        self,
        status: JobStatus,
        job: Callable[[], Awaitable[object]],
        following: Callable[[datetime], datetime],
        *,
        soon: timedelta | None = None,
    ) -> None:
        """Add a job that is due next at `following(now)`, with `soon` not later than so long from now on."""
        name = status.name
        if name in self._statuses:
            raise ValueError(f"there is a job called {name} already")
        self._statuses[name] = status
        self._nexts[name] = following
        self._works[name] = job
        now = self._now()
        self._firsts[name] = min(following(now), now + soon) if soon is not None else following(now)
        if self._scheduler:
            self._hand_over(name)

    def jobs(self) -> tuple[JobStatus, ...]:
        """How each job fares, in the order in which they were added."""
        return tuple(
            replace(status, next_run=_iso(due) if (due := self._due(name)) else "")
            for name, status in self._statuses.items()
        )

    def _due(self, name: str) -> datetime | None:
        job = self._job(name)
        return job.next_run_time if job else self._firsts.get(name)

    def _job(self, name: str) -> "Job | None":
        job: Job | None = self._scheduler.get_job(name) if self._scheduler else None
        return job

    async def _run(self, job: Callable[[], Awaitable[object]], name: str) -> None:
        """Run a job once. Nothing is raised from here: the scheduler would only log it once more."""
        task = asyncio.current_task()
        assert task is not None
        task.set_name(f"job {name}")
        self._running.add(task)
        self._statuses[name] = replace(self._statuses[name], running=True, last_run=_iso(self._now()))
        with working_on(f"{name} {self._statuses[name].last_run}"):
            await self._run_to_its_end(job, name, task)

    async def _run_to_its_end(
        self, job: Callable[[], Awaitable[object]], name: str, task: "asyncio.Task[object]"
    ) -> None:
        outcome = "stopped"
        try:
            await job()
            outcome = "ok"
        except asyncio.CancelledError:
            log.info("%s was stopped", name)
        except (MemoryFault, JobFailed) as error:  # tells in one line what is wrong, and where
            outcome = _one_line(error)
            log.warning("%s failed: %s; it runs again in %g minutes", name, outcome, self._minutes_left(name))
        except Exception as error:
            log.exception("%s failed; it runs again in %g minutes", name, self._minutes_left(name))
            outcome = _one_line(error)
        finally:
            self._running.discard(task)
            self._statuses[name] = replace(self._statuses[name], running=False, last_outcome=outcome)

    def _minutes_left(self, name: str) -> float:
        """Of an interval, all of it; a daily job is due at a time, and some of its day may have passed."""
        minutes, now = self._statuses[name].minutes, self._now()
        left = (self._nexts[name](now) - now).total_seconds() / 60
        return round(left) if minutes == DAY_MINUTES else minutes

    async def _mind_the_clock(self) -> object:
        """Keep going by a clock that jumps: timers count while the machine is awake, jobs are due by the clock."""
        await asyncio.sleep(self._settle_seconds)
        self._open()
        assert self._scheduler is not None
        while True:
            await asyncio.sleep(self._check_seconds)
            now = self._now()
            for name, following in self._nexts.items():
                latest = following(now)
                job = self._job(name)
                if job and job.next_run_time > latest + timedelta(seconds=1):  # the clock was set back
                    job.modify(next_run_time=latest)
            self._scheduler.wakeup()


def _trigger(following: Callable[[datetime], datetime]) -> object:
    """When a job is due: always seen from now. APScheduler's own count each run that a jump skipped."""
    from apscheduler.triggers.base import BaseTrigger

    class FromNow(BaseTrigger):  # type: ignore[misc]
        def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
            return following(now)

    return FromNow()


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:MOST_OUTCOME] or type(error).__name__
