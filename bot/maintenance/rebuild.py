"""Rebuild the index on request; concurrent requests share one rebuild."""

from collections.abc import Callable
from datetime import datetime

from bot import english
from bot.maintenance.requested_job import RequestedJob
from memory.errors import MemoryFault
from memory.memory import Memory
from memory.sync import SyncReport


class IndexRebuilder(RequestedJob[SyncReport]):
    """Runs rebuilds of the index; when it is closed, the memory ends a running one in its own time."""

    def __init__(self, memory: Memory, *, now: Callable[[], datetime]) -> None:
        super().__init__(
            lambda: memory.sync(rebuild=True),
            name="rebuilding the index",
            faults=MemoryFault,
            failed=english.REBUILD_FAILED,
            now=now,
        )
