"""Pure: how long a lease lives, how often it is renewed, and the clock that all of it is measured with."""

import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """All in seconds. `life` exceeds `fence` by more than the server's `REST_SECONDS`, and `fence` twice `opening`."""

    beat: float = 3.0
    """Between two renewals of what is held."""
    look: float = 2.0
    """Between two looks of who waits for a lease; whoever is released is told of at once."""
    life: float = 15.0
    """So long after its last renewal nobody else takes a lease."""
    fence: float = 12.0
    """So long after the *beginning* of its last renewal a holder takes itself for one."""
    want: float = 60.0
    """So long it is remembered that somebody waits for a lease; written anew after a third of it."""
    answer: float = 3.0
    """A server that is silent for so long is asked anew, on another connection."""
    opening: float = 5.0
    """The same for a connection that is opened."""
    leaving: float = 2.0
    """So long leaving waits for the server to hear of it."""


def boot_time() -> float:
    """Seconds on a clock that nobody sets, and that goes on while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()  # macOS stops it while it sleeps; a service there is for trying things out
