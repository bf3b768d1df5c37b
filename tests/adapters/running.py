"""Run a real adapter with the assistant."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from adapters.discord.adapter import DiscordAdapter
from adapters.telegram.adapter import TelegramAdapter
from tests.fakes.harness import Harness


@asynccontextmanager
async def running(
    house: Harness, adapter: TelegramAdapter | DiscordAdapter, *, receives: bool = True
) -> AsyncIterator[None]:
    """Run it, with everything in the background, and see that nothing of it ends or fails; then close both."""
    assistant = house.assistant
    assistant.attach(adapter)
    tasks = list(house.run_in_background())
    if receives:
        tasks.append(asyncio.create_task(adapter.run(assistant.accept)))
    try:
        yield
        assert not any(task.done() for task in tasks), tasks
        assert house.supervisor.failures == ()
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await assistant.close(0)
        await adapter.close()
