"""How long to wait before a service that failed is tried again: short for the first minute, longer after it."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

RECENT_SECONDS = 60.0
"""Seconds after the first failure for which an outage counts as young, and waits stay short."""


@dataclass(frozen=True, slots=True)
class BackoffTimes:
    """How waits grow; seconds."""

    first: float = 1.0
    """After a first failure; each further one in a row doubles it."""
    short: float = 4.0
    """The longest wait of a young outage. Later it is the same share of how long the outage lasts."""
    longest: float = 60.0


class Backoff:
    """Count failures in a row, and say how long to wait after each."""

    def __init__(self, growth: BackoffTimes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._growth = growth
        self._clock = clock
        self._since = 0.0
        self.failures = 0
        """In a row."""

    def record_success(self) -> None:
        """Note that the service answered: what fails next is a first failure."""
        self.failures = 0

    def record_failure(self) -> None:
        """Note a failure."""
        if not self.failures:
            self._since = self._clock()
        self.failures += 1

    @property
    def is_recent(self) -> bool:
        """Whether the outage, if there is one, has begun within the last minute."""
        return not self.failures or self._clock() - self._since < RECENT_SECONDS

    @property
    def delay(self) -> float:
        """Seconds to wait after the latest failure, without jitter."""
        growth = self._growth
        share = max(1.0, (self._clock() - self._since) / RECENT_SECONDS)
        return min(growth.first * 2.0 ** min(self.failures - 1, 30), growth.short * share, growth.longest)


def add_jitter(seconds: float) -> float:
    """Lengthen a wait by up to a quarter, so that not all clients come back at the same moment."""
    return seconds * (1 + 0.25 * random.random())  # noqa: S311 - no secret


async def wait_longer(backoff: Backoff) -> None:
    """Note a failure, and wait before the next try."""
    backoff.record_failure()
    await asyncio.sleep(add_jitter(backoff.delay))
