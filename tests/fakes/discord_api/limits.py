"""Discord's rate limits, as published or as seen in its headers."""

import hashlib
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.fakes.discord_api.faults import Scope

NAMES_OF_ONE_BUCKET = {"edit_original": "webhook", "edit_followup": "webhook", "followup": "webhook"}
NOT_GLOBAL = {"callback", "original", "edit_original", "delete_original"} | {
    "followup", "get_followup", "edit_followup", "delete_followup",
}  # fmt: skip
"""Calls about interactions do not count towards the global limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Only the limits for all calls and invalid calls are published; the others were observed in headers."""

    per_second: int = 50
    """All calls together."""
    routes: Mapping[str, tuple[int, float]] = field(
        default_factory=lambda: {
            "create_message": (5, 5.0),
            "edit_message": (5, 5.0),
            "delete_message": (5, 1.0),
            "typing": (5, 5.0),
            "history": (5, 5.0),
            "react": (1, 0.25),
            "create_dm": (10, 10.0),
            "webhook": (5, 2.0),
        }
    )
    """By call and, if it is in the path, channel or webhook."""
    invalid: int = 10_000
    """401, 403 and 429 (except shared) in ten minutes; beyond that the address is banned for a while."""
    worse: float = 0.0
    """Extra seconds for each call before the wait is over."""


@dataclass(frozen=True, slots=True)
class Flood:
    """A call beyond the limits."""

    time: float
    name: str
    place: int
    scope: Scope
    retry_after: float
    """Seconds."""


@dataclass(slots=True)
class Window:
    """A limit of calls per period, which starts with the first call."""

    limit: int
    seconds: float
    used: int = 0
    ends: float = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until a call would be accepted; 0 for now."""
        if now >= self.ends:
            self.used, self.ends = 0, now + self.seconds
        return max(self.ends - now, 0.001) if self.used >= self.limit else 0.0


@dataclass(slots=True)
class Meter:
    """Counts one bot's calls. Times in seconds, from a monotonic clock."""

    limits: Limits
    enforced: bool
    """Whether calls beyond the limits are rejected, or only recorded."""
    clock: Callable[[], float] = time.monotonic
    calls: deque[float] = field(default_factory=deque)
    windows: dict[tuple[str, int], Window] = field(default_factory=dict)
    invalid: deque[float] = field(default_factory=deque)
    """Times of responses with 401, 403 or 429."""
    counts: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Number of invalid calls, by status."""

    def take(self, name: str, place: int) -> Flood | None:
        """Count a call; return why it is beyond the limits, in which case it is not counted."""
        now = self.clock()
        if name not in NOT_GLOBAL:
            while self.calls and self.calls[0] <= now - 1.0:
                self.calls.popleft()
            if len(self.calls) >= self.limits.per_second:
                return Flood(now, name, place, "global", self.calls[0] + 1.0 - now)
        window = self._window(name, place)
        if window and (wait := window.wait(now)):
            window.ends += self.limits.worse
            return Flood(now, name, place, "user", wait)
        if window:
            window.used += 1
        if name not in NOT_GLOBAL:
            self.calls.append(now)
        return None

    def headers(self, name: str, place: int) -> dict[str, str]:
        """Return the rate limit headers; generous ones if nothing is rejected."""
        bucket = NAMES_OF_ONE_BUCKET.get(name, name)
        limit, remaining, after = 1000, 999, 1.0
        if self.enforced:
            window = self._window(name, place)
            if window is None:
                return {}
            limit, remaining = window.limit, max(window.limit - window.used, 0)
            after = max(window.ends - self.clock(), 0.0)
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": f"{time.time() + after:.3f}",
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Bucket": hashlib.md5(bucket.encode(), usedforsecurity=False).hexdigest(),
        }

    def _window(self, name: str, place: int) -> Window | None:
        bucket = NAMES_OF_ONE_BUCKET.get(name, name)
        if bucket not in self.limits.routes:
            return None
        key = (bucket, place)
        if key not in self.windows:
            self.windows[key] = Window(*self.limits.routes[bucket])
        return self.windows[key]

    def count_invalid(self, status: int, *, shared: bool = False) -> None:
        if status in (401, 403, 429) and not shared:
            self.invalid.append(self.clock())
            self.counts[status] += 1

    @property
    def banned(self) -> bool:
        """Return whether Cloudflare answers instead of Discord."""
        now = self.clock()
        while self.invalid and self.invalid[0] <= now - 600:
            self.invalid.popleft()
        return len(self.invalid) >= self.limits.invalid


def too_many(flood: Flood) -> tuple[dict[str, object], dict[str, str]]:
    """Return body and headers of a 429."""
    everywhere = flood.scope == "global"
    words = (
        "The resource is being rate limited." if flood.scope == "shared" else "You are being rate limited."
    )
    body: dict[str, object] = {
        "message": words, "retry_after": round(flood.retry_after, 3), "global": everywhere,
    }  # fmt: skip
    headers = {"Retry-After": str(math.ceil(flood.retry_after)), "X-RateLimit-Scope": flood.scope}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    return body, headers
