"""Limits the time for reading the attachments of a message."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

READING_SECONDS = 25.0
"""For all files that are answered together: an album, or messages in a row. Waiting and fetching do not count. What was
read in time is used."""


@dataclass(slots=True)
class TimeBudget:
    """The remaining time."""

    left: float = READING_SECONDS
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def spend(self) -> Iterator[float]:
        """Subtract the duration of the body; yields the seconds left before it."""
        began = self.clock()
        try:
            yield self.left
        finally:
            self.left = max(0.0, self.left - (self.clock() - began))
