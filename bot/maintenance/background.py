"""Background work of the service: indexing and embedding notes and conversations without a search, and backups."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING, Self

from bot.archives.backup import Backups
from bot.archives.errors import BackupError
from bot.maintenance.scheduler import JobFailed, JobStatus, Schedule
from bot.malloc import trim_heap
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.supervisor import Supervisor
from memory.errors import MemoryFault
from memory.memory import Memory
from memory.translatable import join_texts

if TYPE_CHECKING:
    from bot.conversations.search import ConversationSearch

log = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""Seconds after the start before the scheduler is loaded: no job is due that soon, and messages come first."""

REINDEX = "re-index"
BACKUP = "backup"
CLEANUP = "tidying up"

MISSED_RUN_DELAY = timedelta(minutes=10)
"""Delay after the start for a backup missed at night, such as on a machine that is switched off then."""


@dataclass(frozen=True, slots=True)
class NightlyJobs:
    """What runs once a day, when the owner's clock shows `at`."""

    at: time
    zone: tzinfo
    backups: Backups
    keep: int
    """Number of nightly backups to keep; 0 for none."""
    tidy: Sequence[Callable[[], Awaitable[object]]] = ()
    """Run one after another; a failure does not stop the next."""


class Background:
    """Runs background work while entered; an async context manager, to be left before the memory is closed."""

    def __init__(
        self,
        memory: Memory,
        *,
        reindex_minutes: float | None,
        conversations: "ConversationSearch | None" = None,
        nights: NightlyJobs | None = None,
        settle: float = SETTLE_SECONDS,
        elsewhere: Callable[[str], str] = lambda job: "",
        supervisor: Supervisor | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`reindex_minutes`: None for no regular re-index; `nights`: None for no nightly jobs.

        `elsewhere` returns which other instance does a job (REINDEX, BACKUP) for all; "" if this one does.
        """
        self._elsewhere = elsewhere
        self._memory = memory
        self._conversations = conversations
        self._minutes = reindex_minutes
        self._nights = nights
        self._settle = settle
        self._now = now
        self._schedule: Schedule | None = None
        self._supervisor = supervisor or Supervisor()
        self._tasks: list[asyncio.Task[None]] = []
        self._checked_at: datetime | None = None
        self._leaving = False

    @property
    def reindex(self) -> JobStatus | None:
        """Status of the regular re-index, including the one at the start; None if there is none."""
        job = self._find_job(REINDEX)
        if job and job.elsewhere:
            return job
        return replace(job, last_run=self._last_check, last_outcome="") if job and not job.last_run else job

    @property
    def backup(self) -> JobStatus | None:
        """Status of the nightly backup; None if there is none."""
        return self._find_job(BACKUP)

    @property
    def jobs(self) -> tuple[JobStatus, ...]:
        """Status of all regular jobs."""
        return tuple(self.reindex or job if job.name == REINDEX else job for job in self._list_jobs())

    def _find_job(self, name: str) -> JobStatus | None:
        return next((job for job in self._list_jobs() if job.name == name), None)

    def _list_jobs(self) -> Sequence[JobStatus]:
        jobs = self._schedule.list_jobs() if self._schedule else ()
        return [replace(job, elsewhere=self._elsewhere(job.name)) for job in jobs]

    @property
    def _last_check(self) -> str:
        return self._checked_at.astimezone(UTC).isoformat(timespec="seconds") if self._checked_at else ""

    async def __aenter__(self) -> Self:
        if self._minutes is not None or self._nights is not None:
            schedule = Schedule(settle_seconds=self._settle, supervisor=self._supervisor, now=self._now)
            self._schedule = await schedule.__aenter__()
        if self._schedule and self._minutes is not None:
            self._schedule.add_interval(self._minutes, self._reindex, name=REINDEX)
        if self._schedule and self._nights is not None:
            self._add_nightly_jobs(self._schedule, self._nights)
        self._tasks.append(self._supervisor.start("first index", self._start))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leaving = True
        if self._tasks:
            for task in self._tasks:
                task.cancel()
            self._memory.stop()  # otherwise it would index all notes first
            if self._conversations:
                self._conversations.stop()
            await asyncio.wait(self._tasks)
            self._tasks.clear()
        if self._schedule:
            await self._schedule.__aexit__(None, None, None)
            self._schedule = None

    async def _start(self) -> None:
        """Index notes changed while nothing ran, then keep the memory up to date."""
        try:
            await self._memory.sync()
            self._checked_at = self._now()
        except MemoryFault as error:
            log.warning("could not index the notes at startup: %s", error)
        work = dict(self._memory.background_tasks())
        if self._conversations:
            work |= self._conversations.background_tasks()
        self._tasks += [self._supervisor.start(name, each) for name, each in work.items()]

    async def _reindex(self) -> None:
        try:
            if not self._elsewhere(REINDEX):  # changes here are noticed by the watcher and by each search
                await self._memory.sync()
            if self._conversations:
                # Other processes may have added to them, and the oldest may have become too old.
                await self._conversations.sync()
            await asyncio.to_thread(trim_heap)  # indexing many notes fragments the heap
        except MemoryFault:
            if not self._leaving:  # otherwise we stopped it, which is not a failure
                raise

    def _add_nightly_jobs(self, schedule: Schedule, nights: NightlyJobs) -> None:
        if nights.keep:
            last = nights.backups.latest_nightly()
            schedule.add_daily(
                nights.at, nights.zone, self._make_backup, name=BACKUP, last_run=last, soon=MISSED_RUN_DELAY
            )
        if nights.tidy:
            schedule.add_daily(nights.at, nights.zone, self._clean_up, name=CLEANUP, soon=MISSED_RUN_DELAY)

    async def _make_backup(self) -> None:
        assert self._nights
        try:
            notes = not self._elsewhere(BACKUP)
            made = await self._nights.backups.make_nightly(keep=self._nights.keep, notes=notes)
        except BackupError as fault:
            raise JobFailed(fault.text) from fault
        log.info("backed up %d files to %s", made.files, made.file)
        if made.problems:
            raise JobFailed(
                "{file} was written without {problems}",
                file=made.file.name,
                problems=join_texts(*made.problems),
            )

    async def _clean_up(self) -> None:
        assert self._nights
        faults = list[str]()
        for work in self._nights.tidy:
            try:
                await work()
            except (MemoryFault, StateFault) as fault:
                faults.append(fault.text)
            except Exception as error:
                log.exception("cleanup failed")
                faults.append(_error_cause(error))
        if faults:
            raise JobFailed(join_texts(*faults))


def _error_cause(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return one_line(f"{type(error).__name__}: {error}")
