"""Measure whether the event loop is blocked."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def measure_loop_lag() -> AsyncIterator[tuple[list[float], list[float]]]:
    """Measure, tick by tick, how late the event loop was and how long its thread computed, in seconds.

    Other work on the machine also makes it late, but does not change what it computes itself.
    """
    late: list[float] = []
    busy: list[float] = []

    async def tick() -> None:
        while True:
            due, spent = time.monotonic() + 0.005, time.thread_time()
            await asyncio.sleep(0.005)
            late.append(time.monotonic() - due)
            busy.append(time.thread_time() - spent)

    gc.disable()  # garbage collection scans the objects of all earlier tests, which may take half a second
    task = asyncio.create_task(tick())
    try:
        yield late, busy
    finally:
        task.cancel()
        gc.enable()
