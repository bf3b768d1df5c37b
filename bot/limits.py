"""Limits for the messages of one person in a minute, and for the tokens of everybody in a day."""

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
    """What is known about a person's latest messages."""

    sent: deque[float]
    """When the latest counted messages were sent, in seconds since 1970."""
    seen_at: float = field(default=-math.inf)
    notified_at: float = field(default=-math.inf)
    """When the person was last told to wait; on our clock, like `seen_at`."""


class MessageRate:
    """Counts each person's messages of the last minute, and forgets older ones."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._senders: OrderedDict[PersonId, _Sender] = OrderedDict()

    def set_limit(self, per_minute: int) -> None:
        """Change the limit; messages of the last minute count towards it."""
        self._per_minute = per_minute
        for sender in self._senders.values():
            sender.sent = deque(sender.sent, maxlen=per_minute)

    def check(self, person: PersonId, sent_at: datetime) -> int:
        """Count a message and return 0; if it is one too many, count nothing and return the seconds to wait.

        The time at which it was sent counts: after downtime, messages of several hours may arrive at once.
        """
        sender, at = self._sender(person), sent_at.timestamp()
        if len(sender.sent) == self._per_minute and abs(ago := at - sender.sent[0]) < WINDOW:
            return math.ceil(WINDOW - max(ago, 0.0))
        sender.sent.append(at)
        return 0

    def uncount(self, person: PersonId, sent_at: datetime) -> None:
        """Stop counting a message that was not accepted; it may come again."""
        if sender := self._senders.get(person):
            with suppress(ValueError):
                sender.sent.remove(sent_at.timestamp())

    def should_notify(self, person: PersonId) -> bool:
        """Return whether to tell a person to wait: once a minute."""
        sender, now = self._sender(person), self._clock()
        if now - sender.notified_at < WINDOW:
            return False
        sender.notified_at = now
        return True

    def __len__(self) -> int:
        """Return the number of people with recent messages."""
        return len(self._senders)

    def _sender(self, person: PersonId) -> _Sender:
        now = self._clock()
        while self._senders and now - next(iter(self._senders.values())).seen_at >= WINDOW:
            self._senders.popitem(last=False)
        sender = self._senders.get(person)
        if sender is None:
            sender = self._senders[person] = _Sender(deque(maxlen=self._per_minute))
        sender.seen_at = now
        self._senders.move_to_end(person)
        return sender


async def _flush_nothing() -> None:
    pass


class DailyBudget:
    """Tells whether today's tokens are spent: input and output together, of all processes."""

    def __init__(
        self,
        state: "State",
        tokens: int,
        *,
        now: Callable[[], datetime],
        settle: Callable[[], Awaitable[None]] = _flush_nothing,
    ) -> None:
        """`tokens`: 0 for no limit. `now` is in the owner's time zone; the budget starts over at its midnight.

        `settle` stores usage that is not stored yet.
        """
        self._settle = settle
        self._state = state
        self._tokens = tokens
        self._now = now

    def set_limit(self, tokens: int) -> None:
        """Change the limit, also for today; 0 for no limit."""
        self._tokens = tokens

    @property
    def limit(self) -> int:
        """Tokens of a day; 0 for no limit."""
        return self._tokens

    async def is_spent(self) -> bool:
        """Return whether the budget is used up, without answers that are still being written. Raises StateFault."""
        return self._tokens > 0 and await self.read_used() >= self._tokens

    async def read_used(self) -> int:
        """Return today's tokens of all models, without answers that are still being written. Raises StateFault."""
        await self._settle()
        today = self._now().date().isoformat()
        days = await self._state.read_usage(today)
        return sum(each.usage.input_tokens + each.usage.output_tokens for each in days if each.day == today)
