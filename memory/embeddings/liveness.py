"""A server that computes for long, told from a silent one: it answers a small question meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory.embeddings.errors import EmbeddingError, EmbeddingTimedOut, EmbeddingUnreachable

FIRST_PING_SHARE = 0.2
"""Of the time for silence, what passes before the server is asked for the first time."""
LONGEST_PAUSE = 15.0
"""Seconds between two questions; the first pauses are shorter."""

Result = TypeVar("Result")


async def wait_while_alive(
    work: Awaitable[Result], ping: Callable[[], Awaitable[None]], *, seconds: float, name: str
) -> Result:
    """Wait for a request that may take long; raise TimedOut if, meanwhile, the server does not even answer `ping`.

    A server that is silent from the beginning is given up after `seconds`. `ping` raises EmbeddingError; all but
    Unreachable is an answer too.
    """
    working = asyncio.ensure_future(work)
    asking: asyncio.Future[None] | None = None
    pause = seconds * FIRST_PING_SHARE
    try:
        while not (await asyncio.wait([working], timeout=pause))[0]:
            asking = asyncio.ensure_future(ping())
            within = seconds * (1 - FIRST_PING_SHARE)
            await asyncio.wait([working, asking], timeout=within, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                break
            if not asking.done():
                raise EmbeddingTimedOut(f"{name} does not answer: nothing came within {seconds:g} s")
            try:
                asking.result()
            except EmbeddingUnreachable:
                raise
            except EmbeddingError:
                pass
            pause = min(2 * pause, LONGEST_PAUSE)
        return working.result()
    finally:
        left = [each for each in (working, asking) if each and not each.done()]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
