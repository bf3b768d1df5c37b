"""Waits before retries: short in the first minute of an outage, longer afterwards."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

RECENT_SECONDS = 60.0
"""Seconds after the first failure during which an outage is recent and waits stay short."""


@dataclass(frozen=True, slots=True)
class BackoffTimes:
    """Growth of the waits, in seconds."""

    first: float = 1.0
    """After the first failure; doubled by each consecutive one."""
    short: float = 4.0
    """Maximum while an outage is recent, so that nobody who writes then waits long; later it grows with the outage."""
    longest: float = 60.0


class Backoff:
    """Counts consecutive failures and computes the wait after each."""

    def __init__(self, growth: BackoffTimes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._growth = growth
        self._clock = clock
        self._since = 0.0
        self.failures = 0
        """Consecutive failures."""

    def record_success(self) -> None:
        """Record a success: the next failure counts as the first."""
        self.failures = 0

    def record_failure(self) -> None:
        """Record a failure."""
        if not self.failures:
            self._since = self._clock()
        self.failures += 1

    @property
    def is_recent(self) -> bool:
        """Whether there is no outage or it began within the last minute."""
        return not self.failures or self._clock() - self._since < RECENT_SECONDS

    @property
    def delay(self) -> float:
        """Seconds to wait after the latest failure, without jitter."""
        growth = self._growth
        share = max(1.0, (self._clock() - self._since) / RECENT_SECONDS)
        return min(growth.first * 2.0 ** min(self.failures - 1, 30), growth.short * share, growth.longest)


def add_jitter(seconds: float) -> float:
    """Lengthen a wait by up to a quarter, so that clients do not return at the same moment."""
    return seconds * (1 + 0.25 * random.random())  # noqa: S311 - no secret


async def wait_longer(backoff: Backoff) -> None:
    """Record a failure and wait before the next try."""
    backoff.record_failure()
    await asyncio.sleep(add_jitter(backoff.delay))
