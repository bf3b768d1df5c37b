"""Work that goes on beside: held on to until it has ended, and ended with the program."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """A set of short tasks that nobody else holds on to; none of them should raise, and one that does is logged."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin something; return its task, which may be cancelled."""
        task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    @property
    def running(self) -> int:
        """How many there are."""
        return len(self._running)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until all have come to their end, also those that begin meanwhile; false after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while self._running:
                    await asyncio.wait(self._running)
        except TimeoutError:
            return False
        return True

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a short task failed: %s", task.get_name(), exc_info=error)

    def cancel(self) -> None:
        """End them where they are."""
        for task in self._running:
            task.cancel()


def is_being_cancelled() -> bool:
    """Tell a cancellation of this task from one that comes out of what it awaits, such as a lost connection's."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
