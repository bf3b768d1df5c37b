"""Limit a repeating log line to one a minute, with the number left out."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

REPEAT_SECONDS = 60.0
"""Seconds between two lines about the same thing."""
MAX_TRACKED = 200
"""Number of things remembered; those logged longest ago are forgotten first."""


class Throttle:
    """When each thing was last logged, and how often it was left out since."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def check(self, thing: Hashable) -> str | None:
        """Return the suffix for a line, such as " (41 more since the last line)" or ""; None if it is left out."""
        now = self._clock()
        last, left_out = self._logged.get(thing, (None, 0))
        if last is not None and now - last < REPEAT_SECONDS:
            self._logged[thing] = last, left_out + 1
            return None
        self._logged[thing] = now, 0
        self._logged.move_to_end(thing)
        while len(self._logged) > MAX_TRACKED:
            self._logged.popitem(last=False)
        return f" ({left_out} more since the last line)" if left_out else ""
