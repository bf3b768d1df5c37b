"""Time out requests to Discord that are not answered, but not those that wait for a rate limit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import aiohttp


@dataclass(frozen=True, slots=True)
class _Limit:
    task: asyncio.Task[Any] | None
    """Tasks that this one starts have the variable too, and go on without a limit."""
    timeout: asyncio.Timeout
    seconds: float


_LIMIT: ContextVar[_Limit | None] = ContextVar("discord_answer_limit", default=None)


@asynccontextmanager
async def answered_within(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if a request of this task gets no first byte of an answer within that time.

    The library may wait between its tries: that is not limited here.
    """
    async with asyncio.timeout(None) as timeout:
        token = _LIMIT.set(_Limit(asyncio.current_task(), timeout, seconds))
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
    if limit := _limit():
        limit.timeout.reschedule(asyncio.get_running_loop().time() + limit.seconds)


async def _answered(*_: object) -> None:
    if (limit := _limit()) and not limit.timeout.expired():
        limit.timeout.reschedule(None)


def _limit() -> _Limit | None:
    limit = _LIMIT.get()
    return limit if limit and limit.task is asyncio.current_task() else None
