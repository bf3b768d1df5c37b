"""Give up a request to Discord that is not answered, and not one that waits for the end of a rate limit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import aiohttp

_LIMIT: ContextVar[tuple[asyncio.Timeout, float] | None] = ContextVar("discord_answer_limit", default=None)


@asynccontextmanager
async def answered_within(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if a request of this task is without the beginning of an answer for so long.

    The library may wait between its tries: that is not limited here.
    """
    async with asyncio.timeout(None) as limit:
        token = _LIMIT.set((limit, seconds))
        try:
            yield
        finally:
            _LIMIT.reset(token)


def watch_answers(trace: aiohttp.TraceConfig) -> None:
    """Have all requests with this trace keep to the limit of their task."""
    trace.on_request_start.append(_asked)
    trace.on_request_end.append(_answered)
    trace.on_request_exception.append(_answered)


async def _asked(*_: object) -> None:
    if found := _LIMIT.get():
        limit, seconds = found
        limit.reschedule(asyncio.get_running_loop().time() + seconds)


async def _answered(*_: object) -> None:
    if (found := _LIMIT.get()) and not found[0].expired():
        found[0].reschedule(None)
