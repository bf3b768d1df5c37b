"""What one person may send in a minute, and what all may cost in a day."""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from bot.messages import PersonId

if TYPE_CHECKING:
    from bot.state.database import State

WINDOW = 60.0
"""Seconds."""


@dataclass(slots=True)
class _Sender:
    """One person as of late."""

    sent: deque[float]
    """When the latest messages that counted were sent, in seconds since 1970."""
    seen: float = field(default=-math.inf)
    told: float = field(default=-math.inf)
    """When the person was told last to wait, on our clock as `seen` is."""


class MessageRate:
    """Counts the messages of each person; holds those of the last minute and nobody else."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._senders: OrderedDict[PersonId, _Sender] = OrderedDict()

    def set_limit(self, per_minute: int) -> None:
        """Let everybody send so many from now on; what they have sent within the last minute counts."""
        self._per_minute = per_minute
        for sender in self._senders.values():
            sender.sent = deque(sender.sent, maxlen=per_minute)

    def check(self, person: PersonId, sent_at: datetime) -> int:
        """Count a message and give 0; where it is one too many, count nothing and give the seconds to wait.

        What counts is when it was sent: what somebody wrote in hours may come in at once, after we were away.
        """
        sender, at = self._sender(person), sent_at.timestamp()
        if len(sender.sent) == self._per_minute and abs(ago := at - sender.sent[0]) < WINDOW:
            return math.ceil(WINDOW - max(ago, 0.0))
        sender.sent.append(at)
        return 0

    def uncount(self, person: PersonId, sent_at: datetime) -> None:
        """Count a message no more that was not taken in; it may come once more."""
        if sender := self._senders.get(person):
            with suppress(ValueError):
                sender.sent.remove(sent_at.timestamp())

    def should_notify(self, person: PersonId) -> bool:
        """Whether to tell a person that it is too much: once a minute, then silence."""
        sender, now = self._sender(person), self._clock()
        if now - sender.told < WINDOW:
            return False
        sender.told = now
        return True

    def __len__(self) -> int:
        """How many people are held."""
        return len(self._senders)

    def _sender(self, person: PersonId) -> _Sender:
        now = self._clock()
        while self._senders and now - next(iter(self._senders.values())).seen >= WINDOW:
            self._senders.popitem(last=False)
        sender = self._senders.get(person)
        if sender is None:
            sender = self._senders[person] = _Sender(deque(maxlen=self._per_minute))
        sender.seen = now
        self._senders.move_to_end(person)
        return sender


async def _flush_nothing() -> None:
    pass


class DailyBudget:
    """Tells whether the tokens of today are spent, read and written ones together, whatever process spent them."""

    def __init__(
        self,
        state: "State",
        tokens: int,
        *,
        now: Callable[[], datetime],
        settle: Callable[[], Awaitable[None]] = _flush_nothing,
    ) -> None:
        """`tokens`: 0 for no limit. `now` is on the owner's clock: at its midnight there are new ones.

        `settle` puts down what was used just now.
        """
        self._settle = settle
        self._state = state
        self._tokens = tokens
        self._now = now

    def set_limit(self, tokens: int) -> None:
        """Allow so many a day from now on, those of today included; 0 for no limit."""
        self._tokens = tokens

    async def is_spent(self) -> bool:
        """Look it up; only answers that are still being made are not counted yet."""
        if not self._tokens:
            return False
        await self._settle()
        today = self._now().date().isoformat()
        days = await self._state.read_usage(today)
        used = sum(each.usage.input_tokens + each.usage.output_tokens for each in days if each.day == today)
        return used >= self._tokens
