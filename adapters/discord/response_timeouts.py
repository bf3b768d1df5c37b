"""Time out requests to Discord that are not answered, but not those that wait for a rate limit; bound the answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import aiohttp

from adapters.discord.private_api import MOST_BYTES, note_as_read

SWITCHED = 101
"""The status of what becomes a websocket."""
READ_SECONDS = 60.0
"""For all of an answer."""
PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class _ResponseLimit:
    task: asyncio.Task[Any] | None
    """Tasks that this one starts have the variable too, and go on without a limit."""
    timeout: asyncio.Timeout
    seconds: float


_LIMIT: ContextVar[_ResponseLimit | None] = ContextVar("discord_answer_limit", default=None)


@asynccontextmanager
async def limit_response_time(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError if a request of this task gets no first byte of an answer within that time.

    The library may wait between its tries: that is not limited here.
    """
    async with asyncio.timeout(None) as timeout:
        token = _LIMIT.set(_ResponseLimit(asyncio.current_task(), timeout, seconds))
        try:
            yield
        finally:
            _LIMIT.reset(token)


def install_response_limits(trace: aiohttp.TraceConfig) -> None:
    """Have all requests with this trace keep to the limit of their task, and their answers to a size."""
    trace.on_request_start.append(_start_limit)
    trace.on_request_end.append(_read)
    trace.on_request_end.append(_stop_limit)
    trace.on_request_exception.append(_stop_limit)


async def _start_limit(*_: object) -> None:
    if limit := _current_limit():
        limit.timeout.reschedule(asyncio.get_running_loop().time() + limit.seconds)


async def _read(_: object, __: object, told: aiohttp.TraceRequestEndParams) -> None:
    """Read the whole answer, as far as it may go: the library would read on for as long as anything comes."""
    answer = told.response
    if answer.status != SWITCHED:
        note_as_read(answer, await read_answer(answer, MOST_BYTES))


async def read_answer(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Read an answer's body of `most` bytes at most. Raises aiohttp.ClientPayloadError, TimeoutError."""
    body = bytearray()
    async with asyncio.timeout(READ_SECONDS):
        async for piece in answer.content.iter_chunked(PIECE):
            body += piece
            if len(body) > most:
                raise aiohttp.ClientPayloadError(f"answered with more than {most >> 10} kB")
    return bytes(body)


async def _stop_limit(*_: object) -> None:
    if (limit := _current_limit()) and not limit.timeout.expired():
        limit.timeout.reschedule(None)


def _current_limit() -> _ResponseLimit | None:
    limit = _LIMIT.get()
    return limit if limit and limit.task is asyncio.current_task() else None
