"""Limit the requests that Discord rejects: it bans addresses that send too many.

The limit is 10,000 responses of 401, 403 or 429 in ten minutes:
https://discord.com/developers/docs/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
"""

import time
from collections import deque
from collections.abc import Callable

COUNTED_STATUSES = (401, 403, 429)
MAX_INVALID = 300
WINDOW_SECONDS = 600.0


class InvalidRequestLimit:
    """Counts rejected requests, and says when to pause."""

    def __init__(
        self,
        *,
        limit: int = MAX_INVALID,
        within: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._within = within
        self._clock = clock
        self._refused: deque[float] = deque(maxlen=limit)

    def note(self, status: int) -> None:
        """Record the status of a response."""
        if status in COUNTED_STATUSES:
            self._refused.append(self._clock())

    def wait(self) -> float:
        """Return the seconds to wait before the next request; 0 if none."""
        if len(self._refused) < self._limit:
            return 0.0
        return max(self._refused[0] + self._within - self._clock(), 0.0)
