"""Time out unanswered requests to Discord but not those waiting for a rate limit; limit the size of answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import aiohttp

from adapters.discord.private_api import MAX_BYTES, note_as_read
from adapters.response_body import read_body

SWITCHED = 101
"""Status of a connection that becomes a websocket."""
READ_SECONDS = 60.0
"""For a whole answer."""


@dataclass(frozen=True, slots=True)
class _ResponseLimit:
    task: asyncio.Task[Any] | None
    """Child tasks inherit the variable but are not limited."""
    timeout: asyncio.Timeout
    seconds: float


_LIMIT: ContextVar[_ResponseLimit | None] = ContextVar("discord_answer_limit", default=None)


@asynccontextmanager
async def limit_response_time(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if a request of this task gets no first byte of an answer within `seconds`.

    The library's waits between its tries are not limited.
    """
    async with asyncio.timeout(None) as timeout:
        token = _LIMIT.set(_ResponseLimit(asyncio.current_task(), timeout, seconds))
        try:
            yield
        finally:
            _LIMIT.reset(token)


def install_response_limits(trace: aiohttp.TraceConfig) -> None:
    """Apply the task's limit and a size limit to all requests with this trace."""
    trace.on_request_start.append(_start_limit)
    trace.on_request_end.append(_read)
    trace.on_request_end.append(_stop_limit)
    trace.on_request_exception.append(_stop_limit)


async def _start_limit(*_: object) -> None:
    if limit := _current_limit():
        limit.timeout.reschedule(asyncio.get_running_loop().time() + limit.seconds)


async def _read(_: object, __: object, told: aiohttp.TraceRequestEndParams) -> None:
    """Read the whole answer up to a limit; the library would read without end."""
    answer = told.response
    if answer.status != SWITCHED:
        note_as_read(answer, await read_answer(answer, MAX_BYTES))


async def read_answer(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body of at most `limit` bytes. Raises aiohttp.ClientPayloadError and TimeoutError."""
    async with asyncio.timeout(READ_SECONDS):
        return await read_body(answer, limit=limit)


async def _stop_limit(*_: object) -> None:
    if (limit := _current_limit()) and not limit.timeout.expired():
        limit.timeout.reschedule(None)


def _current_limit() -> _ResponseLimit | None:
    limit = _LIMIT.get()
    return limit if limit and limit.task is asyncio.current_task() else None
