"""Retries of a call that failed in transit, and how long a rate limit is waited for; the same on every platform."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bot.messages import ChannelFault

PAUSES = (0.5, 2.0)
"""Seconds before each retry of a call that failed in transit."""
MAX_HOLD_SECONDS = 30.0
"""Longest rate limit in seconds that is waited for; after a longer one the reply is put off."""

Result = TypeVar("Result")


async def call_with_retries(call: Callable[[], Awaitable[Result]], pauses: Sequence[float]) -> Result:
    """Make a call that is safe to repeat, again after each of `pauses`, or after the rate limit if that is longer.

    Raises the last ChannelFault, and one at once whose rate limit is longer than MAX_HOLD_SECONDS.
    """
    left = list(pauses)
    while True:
        try:
            return await call()
        except ChannelFault as fault:
            wait = max(fault.retry_after, left.pop(0)) if left else MAX_HOLD_SECONDS + 1
            if wait > MAX_HOLD_SECONDS:
                raise
            await asyncio.sleep(wait)
