"""Limit the rate of messages to Telegram, and order the waiting ones by priority.

Telegram's limits (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this): one message a
second in a chat, 20 a minute in a group, 30 a second in all. Edits and drafts count as messages. Ours are a little
lower, as clocks differ.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from adapters.send_slot import SendSlot

MINUTE = 61.0
SECOND = 1.03
MAX_CHATS = 1000
"""Chats remembered besides those still within a limit."""
BURST_SECONDS = 5.0
"""Seconds in which limits for several chats are taken as one for the whole bot."""
MAX_GLOBAL_HOLD_SECONDS = 30.0
"""Maximum seconds for such a limit of all chats, in case it was meant for single ones."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Rate limits."""

    chat_seconds: float = 1.05
    """Between two messages in a chat."""
    group_seconds: float = 3.0
    """Between two steps of a growing reply in a group; its end only waits for `chat_seconds`."""
    per_minute: int = 19
    """In a group."""
    per_minute_growing: int = 13
    """The part of these for growing replies, which leaves room for ends of replies."""
    per_second: int = 28
    """In all chats."""
    per_second_growing: int = 24


@dataclass(slots=True)
class _SendHistory:
    """Recent calls in one chat or in all."""

    at: deque[float] = field(default_factory=deque)
    """Times of Telegram's answers, oldest first."""
    open: int = 0
    """Number of unanswered calls."""

    def room_at(self, now: float, *, limit: int, within: float) -> float:
        """Return when fewer than `limit` calls fall within `within` seconds; inf if that depends on open calls."""
        while self.at and self.at[0] <= now - within:
            self.at.popleft()
        too_many = self.open + len(self.at) - limit
        if too_many < 0:
            return now
        return self.at[too_many] + within if too_many < len(self.at) else inf


@dataclass(slots=True)
class _ChatHistory(_SendHistory):
    held_until: float = 0.0

    def is_past(self, now: float) -> bool:
        """Return whether no limit applies any more."""
        return not self.open and self.held_until <= now and not (self.at and self.at[-1] > now - MINUTE)


@dataclass(slots=True, eq=False)
class _WaitingSend:
    chat: int
    urgent: bool
    granted: asyncio.Future[SendSlot]


class RateLimiter:
    """Grants slots: ends of replies first, then in order of waiting."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._chats: OrderedDict[int, _ChatHistory] = OrderedDict()
        self._all = _SendHistory()
        self._held_until = 0.0
        self._held: tuple[int, float] = (0, -inf)
        """The chat paused last, and when."""
        self._waiting: list[_WaitingSend] = []
        self._timer: asyncio.TimerHandle | None = None

    async def wait_for_slot(self, chat: int, *, urgent: bool) -> SendSlot:
        """Wait for a slot in a chat; the caller must finish or cancel it.

        `urgent`: the end of a reply, which precedes growing ones. A chat with a negative id is a group.
        """
        waiter = _WaitingSend(chat, urgent, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self._grant()
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif waiter.granted.done() and not waiter.granted.cancelled():
                waiter.granted.result().cancel()
            raise

    def pause(self, chat: int, seconds: float) -> None:
        """Pause a chat as Telegram demands; all chats if it demands that for several at once."""
        now = self._now()
        entry = self._get_chat(chat)
        entry.held_until = max(entry.held_until, now + seconds)
        before, at = self._held
        if before != chat and now < at + BURST_SECONDS:
            self._held_until = max(self._held_until, now + min(seconds, MAX_GLOBAL_HOLD_SECONDS))
        self._held = chat, now

    def _grant(self) -> None:
        """Grant all possible slots, and set a timer for the next one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._now()
        soonest = inf
        # Stable sort: the longest wait first.
        for waiter in sorted(self._waiting, key=lambda each: not each.urgent):
            at = max(self._room_at(now, urgent=waiter.urgent), self._chat_room_at(waiter, now))
            if at > now:
                soonest = min(soonest, at)
                continue
            self._waiting.remove(waiter)
            if not waiter.granted.done():
                waiter.granted.set_result(self._start_send(waiter.chat))
        if soonest < inf:
            self._timer = asyncio.get_running_loop().call_later(soonest - now + 0.001, self._grant)

    def _room_at(self, now: float, *, urgent: bool) -> float:
        """Return when all chats together have room."""
        most = self._rates.per_second if urgent else self._rates.per_second_growing
        return max(self._all.room_at(now, limit=most, within=SECOND), self._held_until)

    def _chat_room_at(self, waiter: _WaitingSend, now: float) -> float:
        """Return when the waiter's own chat has room."""
        entry = self._chats.get(waiter.chat)
        if entry is None:
            return now
        if entry.open:
            return inf
        is_group, urgent = waiter.chat < 0, waiter.urgent
        most = self._rates.per_minute if urgent else self._rates.per_minute_growing
        at = max(entry.held_until, entry.room_at(now, limit=most, within=MINUTE) if is_group else now)
        if entry.at:
            between = self._rates.group_seconds if is_group and not urgent else self._rates.chat_seconds
            at = max(at, entry.at[-1] + between)
        return at

    def _start_send(self, chat: int) -> SendSlot:
        entry = self._get_chat(chat)
        entry.open += 1
        self._all.open += 1

        def end(used: bool) -> None:
            entry.open -= 1
            self._all.open -= 1
            if used:
                now = self._now()
                entry.at.append(now)
                self._all.at.append(now)
                while len(entry.at) > self._rates.per_minute:
                    entry.at.popleft()
            self._grant()

        return SendSlot(end)

    def _get_chat(self, chat: int) -> _ChatHistory:
        entry = self._chats.pop(chat, None) or _ChatHistory()
        self._chats[chat] = entry
        now = self._now()
        for name, other in list(islice(self._chats.items(), max(0, len(self._chats) - MAX_CHATS))):
            if other.is_past(now):
                del self._chats[name]
        return entry

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
