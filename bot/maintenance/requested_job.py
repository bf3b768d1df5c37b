"""A job that is started on request and goes on while nobody waits for it; one at a time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class JobResult(Generic[Result]):
    """How a job ended."""

    at: datetime
    result: Result | None
    """None if it failed."""
    problem: str = ""
    """Why it failed, in one line; "" if it did not."""


class RequestedJob(Generic[Result]):
    """Runs a job, and keeps how it ended last."""

    def __init__(
        self,
        work: Callable[[], Awaitable[Result]],
        *,
        name: str,
        faults: type[Exception],
        failed: str,
        now: Callable[[], datetime],
    ) -> None:
        """`faults` are failures that say why; what else goes wrong is logged, and told as `failed`."""
        self._work = work
        self._name = name
        self._faults = faults
        self._failed = failed
        self._now = now
        self._running: asyncio.Task[Result] | None = None
        self._last: JobResult[Result] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is running."""
        return self._running is not None

    @property
    def last(self) -> JobResult[Result] | None:
        """How it ended last; None if it has not run since the start."""
        return self._last

    def start(self) -> bool:
        """Start it and return at once; return False if it is running already."""
        if self.is_running:
            return False
        self._start()
        return True

    async def run(self) -> Result:
        """Start it, or join it, and wait; it goes on if the caller is cancelled. Raises what it raises."""
        return await asyncio.shield(self._running or self._start())

    async def close(self) -> None:
        """Cancel it if it is running, and wait until it has ended."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _start(self) -> "asyncio.Task[Result]":
        self._running = asyncio.ensure_future(self._work())
        self._running.set_name(self._name)
        self._running.add_done_callback(self._on_done)
        return self._running

    def _on_done(self, task: "asyncio.Task[Result]") -> None:
        self._running = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._last = JobResult(self._now(), task.result())
        elif isinstance(error, self._faults):
            log.warning("%s failed: %s", self._name, error)
            self._last = JobResult(self._now(), None, str(error))
        else:
            log.error("%s failed", self._name, exc_info=error)
            self._last = JobResult(self._now(), None, self._failed)
