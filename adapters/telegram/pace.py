"""How often Telegram may be given something to show, and who goes first where many wait.

The limits are those of https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: one message a
second in a chat, 20 a minute in a group, 30 a second in all. What is edited or drafted is counted as sent. Ours are a
little lower: requests that leave us a second apart do not arrive so.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field

MINUTE = 61.0
SECOND = 1.03
CHATS_KEPT = 1000
"""Chats whose latest times are known; whoever is forgotten was quiet for longest."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How often something may be shown."""

    chat_seconds: float = 1.05
    """Between two things in a chat."""
    group_seconds: float = 3.0
    """Between two steps of a reply that grows in a group; its end waits for `chat_seconds` alone."""
    per_minute: int = 19
    """In a group."""
    per_minute_growing: int = 13
    """… of which replies that grow may take so many, so that there is room for ends of replies."""
    per_second: int = 28
    """In all."""
    per_second_growing: int = 24


@dataclass(slots=True)
class _Chat:
    sent: deque[float] = field(default_factory=deque)
    """When, in the last minute; the latest at the end."""
    held_until: float = 0.0


@dataclass(slots=True, eq=False)
class _Waiter:
    chat: int
    urgent: bool
    granted: "asyncio.Future[None]"


class Pace:
    """Hands out permissions to send. Ends of replies go first, then whoever has waited longest."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._chats: OrderedDict[int, _Chat] = OrderedDict()
        self._sent: deque[float] = deque()
        """In all chats, in the last second."""
        self._held_until = 0.0
        self._waiting: list[_Waiter] = []
        self._timer: asyncio.TimerHandle | None = None

    async def turn(self, chat: int, *, urgent: bool) -> None:
        """Wait until something may be shown in a chat; from then on it counts as sent.

        `urgent`: the end of a reply, which goes before those that only grow. A chat with a negative id is a group.
        """
        waiter = _Waiter(chat, urgent, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self._grant()
        try:
            await waiter.granted
        finally:
            if waiter in self._waiting:  # cancelled
                self._waiting.remove(waiter)

    def hold(self, chat: int, seconds: float) -> None:
        """Leave a chat alone for some time: Telegram has asked for that."""
        entry = self._entry(chat)
        entry.held_until = max(entry.held_until, self._now() + seconds)

    def hold_all(self, seconds: float) -> None:
        """Leave Telegram alone for some time."""
        self._held_until = max(self._held_until, self._now() + seconds)

    def _grant(self) -> None:
        """Let go on whoever may, and come back when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._now()
        soonest: float | None = None
        for waiter in sorted(
            self._waiting, key=lambda each: not each.urgent
        ):  # stable: the longest wait first
            at = max(self._room_at(now, urgent=waiter.urgent), self._chat_at(waiter, now))
            if at <= now:
                self._waiting.remove(waiter)
                if not waiter.granted.done():
                    self._note(waiter.chat, now)
                    waiter.granted.set_result(None)
            else:
                soonest = at if soonest is None else min(soonest, at)
        if soonest is not None:
            self._timer = asyncio.get_running_loop().call_later(soonest - now + 0.001, self._grant)

    def _room_at(self, now: float, *, urgent: bool) -> float:
        """When there is room among all chats."""
        while self._sent and self._sent[0] <= now - SECOND:
            self._sent.popleft()
        most = self._rates.per_second if urgent else self._rates.per_second_growing
        free_at = self._sent[len(self._sent) - most] + SECOND if len(self._sent) >= most else now
        return max(free_at, self._held_until)

    def _chat_at(self, waiter: _Waiter, now: float) -> float:
        """When there is room in the waiter's own chat."""
        entry = self._chats.get(waiter.chat)
        if entry is None:
            return now
        at = entry.held_until
        while entry.sent and entry.sent[0] <= now - MINUTE:
            entry.sent.popleft()
        if not entry.sent:
            return at
        is_group = waiter.chat < 0
        between = self._rates.group_seconds if is_group and not waiter.urgent else self._rates.chat_seconds
        at = max(at, entry.sent[-1] + between)
        most = self._rates.per_minute if waiter.urgent else self._rates.per_minute_growing
        if is_group and len(entry.sent) >= most:
            at = max(at, entry.sent[len(entry.sent) - most] + MINUTE)
        return at

    def _note(self, chat: int, now: float) -> None:
        self._entry(chat).sent.append(now)
        self._sent.append(now)

    def _entry(self, chat: int) -> _Chat:
        entry = self._chats.pop(chat, None) or _Chat()
        self._chats[chat] = entry
        while len(self._chats) > CHATS_KEPT:
            self._chats.popitem(last=False)
        return entry

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
