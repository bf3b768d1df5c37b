"""Whether the event loop is free."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def measure_loop_lag() -> AsyncIterator[tuple[list[float], list[float]]]:
    """How late the event loop was, and what its thread had computed since, tick by tick, in seconds.

    Beside other work on the machine it is late through no fault of its own; what it computes itself stays the same.
    """
    late: list[float] = []
    busy: list[float] = []

    async def tick() -> None:
        while True:
            due, spent = time.monotonic() + 0.005, time.thread_time()
            await asyncio.sleep(0.005)
            late.append(time.monotonic() - due)
            busy.append(time.thread_time() - spent)

    gc.disable()  # a look for garbage goes through all that other tests have left, and may take half a second
    task = asyncio.create_task(tick())
    try:
        yield late, busy
    finally:
        task.cancel()
        gc.enable()
