"""How long the files of one message may be read."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

READING_SECONDS = 25.0
"""For all files of what is answered together: an album, or messages in a row. Waiting for one's turn does not count,
and neither does fetching. What was read by then counts."""


@dataclass(slots=True)
class TimeBudget:
    """What is left of that time."""

    left: float = READING_SECONDS
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def spend(self) -> Iterator[float]:
        """Take the time that passes within this off; gives the seconds that are left."""
        began = self.clock()
        try:
            yield self.left
        finally:
            self.left = max(0.0, self.left - (self.clock() - began))
