"""Background tasks of a memory, as the service runs them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.memory import Memory


async def run_memory_tasks(memory: "Memory") -> None:
    """Run all background tasks of a memory until cancelled; raises the first failure."""
    async with asyncio.TaskGroup() as group:
        for name, work in memory.background_tasks().items():
            group.create_task(_run(work), name=name)


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()
