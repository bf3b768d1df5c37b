"""Telegram's published rate limits for bots."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Scope = Literal["all", "chat", "group"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Figures from Telegram's FAQ for bots."""

    per_second: int = 30
    """Messages to all chats together."""
    chat_seconds: float = 1.0
    """Seconds between two messages to one chat, on average."""
    chat_burst: int = 3
    """Messages to one chat that may be sent at once."""
    group_per_minute: int = 20
    worse: float = 1.0
    """Extra seconds for each call before the wait is over."""


@dataclass(frozen=True, slots=True)
class Flood:
    """A message beyond the limits."""

    time: float
    method: str
    chat: int
    scope: Scope
    retry_after: int
    """Seconds."""


@dataclass(slots=True)
class Meter:
    """Counts one bot's messages. Times in seconds, from any monotonic clock."""

    limits: Limits = field(default_factory=Limits)
    enforced: bool = True
    """Whether messages beyond the limits are rejected, or only recorded."""
    clock: Callable[[], float] = time.monotonic
    sent: deque[float] = field(default_factory=deque)
    sent_to_group: defaultdict[int, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    due: dict[int, float] = field(default_factory=dict)
    """By chat: when its messages so far would have been due at the average rate."""
    closed_until: dict[tuple[Scope, int], float] = field(default_factory=dict)

    def take(self, method: str, chat: int, *, group: bool) -> Flood | None:
        """Count a message; return why it is beyond the limits, in which case it is not counted."""
        now = self.clock()
        scopes: tuple[Scope, ...] = ("all", "chat", "group") if group else ("all", "chat")
        for scope in scopes:
            key = (scope, 0 if scope == "all" else chat)
            if now < (until := self.closed_until.get(key, 0.0)):
                # Calls during the wait prolong it.
                until += self.limits.worse
            elif wait := self._wait(scope, chat, now):
                until = now + math.ceil(wait)
            else:
                continue
            if self.enforced:
                self.closed_until[key] = until
            return Flood(now, method, chat, scope, max(1, math.ceil(until - now)))
        self.sent.append(now)
        self.due[chat] = max(self.due.get(chat, 0.0), now) + self.limits.chat_seconds
        if group:
            self.sent_to_group[chat].append(now)
        return None

    def _wait(self, scope: Scope, chat: int, now: float) -> float:
        """Return the seconds until a message would be accepted; 0 for now."""
        if scope == "all":
            return _window(self.sent, now, self.limits.per_second, 1.0)
        if scope == "group":
            return _window(self.sent_to_group[chat], now, self.limits.group_per_minute, 60.0)
        ahead = self.due.get(chat, 0.0) - now
        slack = (self.limits.chat_burst - 1) * self.limits.chat_seconds
        return ahead - slack if ahead > slack + 1e-9 else 0.0


def _window(times: deque[float], now: float, limit: int, seconds: float) -> float:
    while times and times[0] <= now - seconds:
        times.popleft()
    return times[-limit] + seconds - now if len(times) >= limit else 0.0
