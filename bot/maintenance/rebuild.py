"""Rebuild the index on request; concurrent requests share one rebuild."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot import english
from memory.errors import MemoryFault
from memory.memory import Memory
from memory.sync import SyncReport

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """How the last rebuild ended."""

    at: datetime
    report: SyncReport | None
    """None if it failed."""
    problem: str = ""
    """Why it failed, in one line; "" if it did not."""


class IndexRebuilder:
    """Runs rebuilds of the index, one at a time; requests during a rebuild wait for that one."""

    def __init__(self, memory: Memory, *, now: Callable[[], datetime]) -> None:
        self._memory = memory
        self._now = now
        self._running: asyncio.Task[SyncReport] | None = None
        self._last: RebuildResult | None = None

    @property
    def is_running(self) -> bool:
        """Whether a rebuild is running."""
        return self._running is not None

    @property
    def last(self) -> RebuildResult | None:
        """How the last rebuild ended; None if there was none since the start."""
        return self._last

    def start(self) -> None:
        """Start a rebuild and return at once; `last` has its result."""
        if self._running is None:
            self._running = asyncio.create_task(self._memory.sync(rebuild=True), name="rebuilding")
            self._running.add_done_callback(self._on_done)

    async def run(self) -> SyncReport:
        """Rebuild the index and wait; the rebuild continues if the caller is cancelled. Raises MemoryFault."""
        self.start()
        assert self._running is not None
        return await asyncio.shield(self._running)

    async def close(self) -> None:
        """Cancel waiting for a running rebuild; the memory ends it in its own time."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _on_done(self, task: asyncio.Task[SyncReport]) -> None:
        self._running = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._last = RebuildResult(self._now(), task.result())
        elif isinstance(error, MemoryFault):
            self._last = RebuildResult(self._now(), None, str(error))
        else:
            log.error("rebuilding the index failed", exc_info=error)
            self._last = RebuildResult(self._now(), None, english.REBUILD_FAILED)
