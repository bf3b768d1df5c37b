"""How often replies that grow may be shown; how they end waits for nothing but Discord's own limits.

Discord takes about five edits in five seconds in a channel, and fifty calls a second in all. The library heeds what it
is told of that; the pace keeps it from ever having to, so that there is always room for the end of a reply.
"""

import asyncio
from collections import OrderedDict

CHANNEL_SECONDS = 1.25
PER_SECOND = 20
"""In all channels together."""
CHANNELS_KEPT = 1000
SETTLE_SECONDS = 0.2
"""After its first words a reply gets so long to come to its end, so that a short one is never seen in part."""


class RateLimiter:
    """Hands out turns: whoever asks in a channel has to wait for those who asked there before."""

    def __init__(self, *, channel_seconds: float = CHANNEL_SECONDS, per_second: float = PER_SECOND) -> None:
        self._channel_seconds = channel_seconds
        self._seconds = 1 / per_second
        self._free_at: OrderedDict[int, float] = OrderedDict()
        self._all_free_at = 0.0

    async def wait_for_slot(self, channel: int) -> None:
        """Wait until one step of a reply may be shown in a channel."""
        now = self._now()
        at = max(now, self._free_at.get(channel, now))
        self._record(channel, at + self._channel_seconds, now)
        await asyncio.sleep(at - now)
        now = self._now()  # only now it is one of all, so that no channel waits for another's time
        at = max(now, self._all_free_at)
        self._all_free_at = at + self._seconds
        await asyncio.sleep(at - now)

    def pause(self, channel: int, seconds: float) -> None:
        """Let no reply grow in a channel for some time."""
        now = self._now()
        self._record(channel, max(self._free_at.get(channel, now), now + seconds), now)

    def _record(self, channel: int, at: float, now: float) -> None:
        self._free_at[channel] = at
        self._free_at.move_to_end(channel)
        while len(self._free_at) > CHANNELS_KEPT and next(iter(self._free_at.values())) <= now:
            self._free_at.popitem(last=False)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
