"""Run the channels and the background tasks until the program should leave."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from bot.access import TERMINAL
from bot.assistant import Assistant
from bot.messages import Adapter

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 5.0
"""Seconds that running turns get to finish when the program leaves."""


async def run_channels(
    adapters: Sequence[Adapter],
    assistant: Assistant,
    leaving: asyncio.Event,
    *,
    timeout_seconds: Callable[[], float] = lambda: SHUTDOWN_SECONDS,
) -> None:
    """Run the channels until all have ended or `leaving` is set; without channels, until `leaving` is set.

    Unfinished work of an earlier run is resumed first. At the end, running turns get `timeout_seconds()` seconds. A
    channel that fails is restarted, except the terminal, whose user may be gone: its error ends the program.
    """
    services, supervisor = assistant.services, assistant.services.supervisor
    await assistant.resume()
    leave_requested: asyncio.Task[Any] = asyncio.create_task(leaving.wait())
    background: dict[str, Callable[[], Awaitable[None]]] = {
        **assistant.background_tasks(),
        "reminders": partial(services.reminders.run, assistant.serves, services.wake_event.set),
    }
    side_tasks = [supervisor.start(name, work) for name, work in background.items()]
    running = {
        asyncio.create_task(adapter.run(assistant.accept), name=adapter.name)
        if adapter.name == TERMINAL
        else supervisor.start(adapter.name, partial(adapter.run, assistant.accept))
        for adapter in adapters
    }
    try:
        while not leave_requested.done() and (running or not adapters):
            await asyncio.wait([leave_requested, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()
    finally:
        for task in (leave_requested, *running, *side_tasks):
            task.cancel()
        await asyncio.gather(leave_requested, *running, *side_tasks, return_exceptions=True)
        if not assistant.is_idle:
            log.info("finishing running turns, within %.0f s", timeout_seconds())
        await assistant.close(timeout_seconds())
