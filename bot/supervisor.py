"""Keep long-lived tasks running: one that fails is logged, reported and restarted after a growing pause."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bot import phrases
from bot.log.tracebacks import error_location
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.tasks import is_being_cancelled
from bot.timeparse import moment_in_short
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

RESTART_SECONDS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a task that failed is started again: after the first failure in a row, the second, …; the last one
repeats."""

STEADY_SECONDS = 60.0
"""Seconds: a task that has run this long since its last failure has recovered."""


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A failure of a long-lived task that has not recovered yet."""

    name: str
    error: str
    """What happened, in one line that holds no secret and nothing that people wrote."""
    failed_at: datetime
    failures: int
    """In a row."""
    restarts_at: datetime | None
    """None if it runs again, but not yet for long enough to count as recovered."""


def format_failure(failure: TaskFailure, now: datetime) -> str:
    """Return a sentence for the owner; `now` is on the owner's clock."""
    if failure.restarts_at is None:
        return phrases.TASK_RESTARTED.format(
            task=failure.name, error=failure.error, time=moment_in_short(failure.failed_at, now)
        )
    again = moment_in_short(failure.restarts_at, now)
    return phrases.TASK_STOPPED.format(task=failure.name, error=failure.error, again=again)


class Supervisor:
    """Runs the long-lived tasks of a process and knows which of them have failed."""

    def __init__(
        self,
        *,
        pauses: Sequence[float] = RESTART_SECONDS,
        steady_seconds: float = STEADY_SECONDS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`now`: the time for reports; aware."""
        self._pauses = pauses
        self._steady_seconds = steady_seconds
        self._now = now
        self._failures: dict[str, TaskFailure] = {}

    @property
    def failures(self) -> tuple[TaskFailure, ...]:
        """The tasks that have not recovered yet, by name."""
        return tuple(self._failures[name] for name in sorted(self._failures))

    def is_stopped(self, name: str) -> bool:
        """Return whether a task has failed and is not running now."""
        failure = self._failures.get(name)
        return failure is not None and failure.restarts_at is not None

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run `work` as `run` does, in a task of its own; cancel that to end it."""
        return asyncio.create_task(self.run(name, work), name=name)

    async def run(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` until it returns; run it again after each failure."""
        failure: TaskFailure | None = None
        try:
            while True:
                well = asyncio.get_running_loop().call_later(self._steady_seconds, self._clear, name, failure)
                try:
                    return await work()
                except (Exception, asyncio.CancelledError) as error:
                    # A cancellation may also come from what the task awaits, such as a lost connection.
                    if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                        raise
                    failure, pause = self._record(name, error)
                finally:
                    well.cancel()
                await asyncio.sleep(pause)
                if self._failures.get(name) is failure:
                    failure = self._failures[name] = replace(failure, restarts_at=None)
        finally:
            self._clear(name, failure)

    def _clear(self, name: str, failure: TaskFailure | None) -> None:
        """Remove a failure that has recovered, unless a later task of the same name has failed since."""
        if failure is not None and self._failures.get(name) is failure:
            del self._failures[name]

    def _record(self, name: str, error: BaseException) -> tuple[TaskFailure, float]:
        """Log and keep a failure; return it with the seconds until the next start."""
        before = self._failures.get(name)
        count = before.failures + 1 if before else 1
        pause = self._pauses[min(count, len(self._pauses)) - 1]
        cause = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        # Their texts say what is wrong and how to fix it.
        is_expected = isinstance(cause, StateFault | MemoryFault)
        told = one_line(str(cause)) if is_expected else error_location(cause)
        log.error(
            "the background task %s failed and restarts in %g s: %s",
            name,
            pause,
            told,
            exc_info=None if is_expected else error,
        )
        now = self._now()
        failure = TaskFailure(name, told, now, count, now + timedelta(seconds=pause))
        self._failures[name] = failure
        return failure, pause
