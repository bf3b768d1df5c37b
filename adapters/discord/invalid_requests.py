"""How much Discord has refused: an address from which too much comes that it must refuse is banned.

10,000 answers of 401, 403 or 429 in ten minutes are its limit:
https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
"""

import time
from collections import deque
from collections.abc import Callable

COUNTED_STATUSES = (401, 403, 429)
MAX_INVALID = 300
WINDOW_SECONDS = 600.0
"""Seconds."""


class InvalidRequestLimit:
    """Counts what was refused, and tells when it is time to ask nothing for a while."""

    def __init__(
        self,
        *,
        most: int = MAX_INVALID,
        within: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._within = within
        self._clock = clock
        self._refused: deque[float] = deque(maxlen=most)

    def note(self, status: int) -> None:
        """Note how Discord has answered."""
        if status in COUNTED_STATUSES:
            self._refused.append(self._clock())

    def wait(self) -> float:
        """Seconds for which nothing is to be asked; 0 for none."""
        if len(self._refused) < self._most:
            return 0.0
        return max(self._refused[0] + self._within - self._clock(), 0.0)
