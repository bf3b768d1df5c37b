"""Short background tasks: kept referenced until they end, and ended with the program."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class BackgroundTasks:
    """A set of short tasks; they should not raise, and an error is logged."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task and return it; it may be cancelled."""
        task = asyncio.create_task(work, name=getattr(work, "__qualname__", None))
        self._running.add(task)
        task.add_done_callback(self._end)
        return task

    @property
    def running(self) -> int:
        """The number of running tasks."""
        return len(self._running)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until all tasks have ended, including new ones; return False after `seconds`."""
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
            log.error("a background task failed: %s", task.get_name(), exc_info=error)

    def cancel(self) -> None:
        """Cancel all tasks."""
        for task in self._running:
            task.cancel()


def is_being_cancelled() -> bool:
    """Return whether this task itself is being cancelled, not only what it awaits, such as a lost connection."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
