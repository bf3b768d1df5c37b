"""Durations of leases, and the clock that measures them; no I/O."""

import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds. `life` exceeds `fence` by more than `REST_SECONDS`, and `fence` is over twice `opening`."""

    beat: float = 3.0
    """Between two renewals of held leases."""
    look: float = 2.0
    """Between two looks while waiting for a lease; releases are announced at once."""
    life: float = 15.0
    """After a lease's last renewal, nobody else takes it for this long."""
    fence: float = 12.0
    """After the *start* of its last renewal, a holder counts on the lease for this long."""
    want: float = 60.0
    """How long a recorded wait counts; recorded again after a third of that."""
    answer: float = 3.0
    """A server silent for this long is queried again on a new connection."""
    opening: float = 5.0
    """The same while a connection is opened."""
    leaving: float = 2.0
    """How long leaving waits for the server to be told."""


def boot_time() -> float:
    """Return seconds on a clock that nobody can set, and that runs while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()  # stops during sleep on macOS, where a service is only for trials
