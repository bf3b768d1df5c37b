"""Limit how often growing replies are updated; final messages only wait for Discord's own limits.

Discord allows about five edits in five seconds per channel and fifty calls a second overall. The library obeys the
limits that Discord reports; this limiter stays below them, so that the end of a reply never has to wait.
"""

import asyncio
from collections import OrderedDict

CHANNEL_SECONDS = 1.25
PER_SECOND = 20
"""Over all channels."""
MAX_CHANNELS = 1000


class RateLimiter:
    """Grants turns in order of request per channel."""

    def __init__(self, *, channel_seconds: float = CHANNEL_SECONDS, per_second: float = PER_SECOND) -> None:
        self._channel_seconds = channel_seconds
        self._seconds = 1 / per_second
        self._free_at: OrderedDict[int, float] = OrderedDict()
        self._all_free_at = 0.0

    async def wait_for_slot(self, channel: int) -> None:
        """Wait until a step of a reply may be shown in the channel."""
        now = self._now()
        at = max(now, self._free_at.get(channel, now))
        self._record(channel, at + self._channel_seconds, now)
        await asyncio.sleep(at - now)
        now = self._now()  # counted only now, so that no channel waits for another's turn
        at = max(now, self._all_free_at)
        self._all_free_at = at + self._seconds
        await asyncio.sleep(at - now)

    def pause(self, channel: int, seconds: float) -> None:
        """Pause growing replies in a channel for `seconds`."""
        now = self._now()
        self._record(channel, max(self._free_at.get(channel, now), now + seconds), now)

    def _record(self, channel: int, at: float, now: float) -> None:
        self._free_at[channel] = at
        self._free_at.move_to_end(channel)
        while len(self._free_at) > MAX_CHANNELS and next(iter(self._free_at.values())) <= now:
            self._free_at.popitem(last=False)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
