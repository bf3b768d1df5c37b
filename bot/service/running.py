"""Channels that run, and all that goes on beside them, until the program is to leave."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from bot.messages import Adapter
from bot.service.assembly import Parts

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds that running turns get to come to their end when the program is to leave."""


async def run_channels(
    adapters: Sequence[Adapter],
    parts: Parts,
    leaving: asyncio.Event,
    *,
    patience: Callable[[], float] = lambda: PATIENCE,
) -> None:
    """Run every channel until all have ended or the program is to leave; without one, until it is to leave.

    What an earlier run has left is gone on with first. What runs at the end gets its time.
    """
    assistant = parts.assistant
    await assistant.take_up()
    told_to_leave: asyncio.Task[Any] = asyncio.create_task(leaving.wait())
    beside = [
        asyncio.create_task(assistant.look_after(), name="conversations"),
        asyncio.create_task(parts.reminders.run(assistant.serves, parts.woken.set), name="reminders"),
    ]
    running = {asyncio.create_task(adapter.run(assistant.accept), name=adapter.name) for adapter in adapters}
    try:
        while not told_to_leave.done() and (running or not adapters):
            await asyncio.wait([told_to_leave, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()
    finally:
        for task in (told_to_leave, *running, *beside):
            task.cancel()
        await asyncio.gather(told_to_leave, *running, *beside, return_exceptions=True)
        if not assistant.is_idle:
            log.info("finishing what runs, within %.0f s", patience())
        await assistant.close(patience())
