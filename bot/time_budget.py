"""Limits the time for work that is done in several pieces."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class TimeBudget:
    """The remaining seconds; the time between two pieces of work does not count."""

    left: float

    @contextmanager
    def spend(self) -> Iterator[float]:
        """Subtract the duration of the body; yields the seconds left before it."""
        began = time.monotonic()
        try:
            yield self.left
        finally:
            self.left = max(0.0, self.left - (time.monotonic() - began))
