"""Distinguish a busy server from a dead one: a busy one answers pings."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memory.embeddings.errors import EmbeddingError, EmbeddingTimedOut, EmbeddingUnreachable

FIRST_PING_SHARE = 0.2
"""Share of the time limit that passes before the first ping."""
MAX_PAUSE_SECONDS = 15.0
"""Maximum seconds between two pings; the first pauses are shorter."""

Result = TypeVar("Result")


async def wait_while_alive(
    work: Awaitable[Result], ping: Callable[[], Awaitable[None]], *, seconds: float, name: str
) -> Result:
    """Wait for a long request while the server answers pings; raise `EmbeddingTimedOut` when it stops.

    A server that never answers is given up after `seconds`. `ping` raises `EmbeddingError`, which
    counts as an answer unless it is `EmbeddingUnreachable`.
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
                raise EmbeddingTimedOut(
                    "{name} does not answer: no response within {seconds:g} s", name=name, seconds=seconds
                )
            try:
                asking.result()
            except EmbeddingUnreachable:
                raise
            except EmbeddingError:
                pass
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
        return working.result()
    finally:
        left = [each for each in (working, asking) if each and not each.done()]
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)
