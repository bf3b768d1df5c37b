"""How often Telegram may be given something to show, and who goes first where many wait.

The limits are those of https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: one message a
second in a chat, 20 a minute in a group, 30 a second in all. What is edited or drafted is counted as sent. Ours are a
little lower: clocks differ.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import inf

MINUTE = 61.0
SECOND = 1.03
CHATS_KEPT = 1000
"""Chats whose latest times are known, beside those in which something is still to be heeded."""
SEVERAL_WITHIN = 5.0
"""Seconds in which Telegram wants several chats left alone, if it means the bot and not each of them."""
SETTLE_SECONDS = 0.2
"""After its first words a reply gets so long to come to its end: shown in part, the whole would wait for a second."""
LONGEST_HOLD_OF_ALL = 30.0
"""Seconds: if it was each of them, all the others are not to pay for that."""


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
class _SendHistory:
    """What was shown, in a chat or in all of them."""

    at: deque[float] = field(default_factory=deque)
    """When Telegram had answered, the latest at the end."""
    open: int = 0
    """Calls that it has not answered yet."""

    def room_at(self, now: float, *, most: int, within: float) -> float:
        """When there are less than `most` within a time; never, as long as only answers can tell."""
        while self.at and self.at[0] <= now - within:
            self.at.popleft()
        too_many = self.open + len(self.at) - most
        if too_many < 0:
            return now
        return self.at[too_many] + within if too_many < len(self.at) else inf


@dataclass(slots=True)
class _ChatHistory(_SendHistory):
    held_until: float = 0.0

    def is_past(self, now: float) -> bool:
        """Whether nothing here is to be heeded any more."""
        return not self.open and self.held_until <= now and not (self.at and self.at[-1] > now - MINUTE)


@dataclass(slots=True, eq=False)
class _WaitingSend:
    chat: int
    urgent: bool
    granted: "asyncio.Future[SendSlot]"


class SendSlot:
    """The permission to show one thing. It counts until Telegram has answered, and for its time after that.

    When a request arrives there nobody here knows, but that it is before its answer: two things that begin a second
    after the answer to the last are a second apart, however long they were on their way.
    """

    def __init__(self, end: Callable[[bool], None]) -> None:
        self._end: Callable[[bool], None] | None = end

    def finish(self) -> None:
        """Note that it was made use of, and answered."""
        self._end_slot(used=True)

    def cancel(self) -> None:
        """Give it back."""
        self._end_slot(used=False)

    def _end_slot(self, *, used: bool) -> None:
        if self._end:
            end, self._end = self._end, None
            end(used)


class RateLimiter:
    """Hands out turns. Ends of replies go first, then whoever has waited longest."""

    def __init__(self, rates: Rates | None = None) -> None:
        self._rates = rates or Rates()
        self._chats: OrderedDict[int, _ChatHistory] = OrderedDict()
        self._all = _SendHistory()
        self._held_until = 0.0
        self._held: tuple[int, float] = (0, -inf)
        """The chat that was held last, and when that began."""
        self._waiting: list[_WaitingSend] = []
        self._timer: asyncio.TimerHandle | None = None

    async def wait_for_slot(self, chat: int, *, urgent: bool) -> SendSlot:
        """Wait until something may be shown in a chat. Whoever is given a turn must end it.

        `urgent`: the end of a reply, which goes before those that only grow. A chat with a negative id is a group.
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
        """Leave a chat alone for some time, since Telegram wants that; all chats, where it wants it for several."""
        now = self._now()
        entry = self._get_chat(chat)
        entry.held_until = max(entry.held_until, now + seconds)
        before, at = self._held
        if before != chat and now < at + SEVERAL_WITHIN:
            self._held_until = max(self._held_until, now + min(seconds, LONGEST_HOLD_OF_ALL))
        self._held = chat, now

    def _grant(self) -> None:
        """Let go on whoever may, and come back when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._now()
        soonest = inf
        for waiter in sorted(
            self._waiting, key=lambda each: not each.urgent
        ):  # stable: the longest wait first
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
        """When there is room among all chats."""
        most = self._rates.per_second if urgent else self._rates.per_second_growing
        return max(self._all.room_at(now, most=most, within=SECOND), self._held_until)

    def _chat_room_at(self, waiter: _WaitingSend, now: float) -> float:
        """When there is room in the waiter's own chat."""
        entry = self._chats.get(waiter.chat)
        if entry is None:
            return now
        if entry.open:
            return inf
        is_group, urgent = waiter.chat < 0, waiter.urgent
        most = self._rates.per_minute if urgent else self._rates.per_minute_growing
        at = max(entry.held_until, entry.room_at(now, most=most, within=MINUTE) if is_group else now)
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
        for name, other in list(islice(self._chats.items(), max(0, len(self._chats) - CHATS_KEPT))):
            if other.is_past(now):
                del self._chats[name]
        return entry

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
