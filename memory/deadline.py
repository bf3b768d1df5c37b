"""A deadline on the monotonic clock."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which something must be done."""

    at: float
    """Seconds on the monotonic clock."""

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Return the deadline that is this many seconds ahead."""
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds until the deadline; 0 if it has passed."""
        return max(0.0, self.at - time.monotonic())

    @property
    def has_passed(self) -> bool:
        """Whether no time is left."""
        return not self.left
