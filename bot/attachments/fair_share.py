"""Shares a limited resource: one person's many requests do not make others wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Share:
    """The share of one piece of work."""

    person: str
    amount: int
    granted: asyncio.Future[None]


class FairShare:
    """A total limit and a limit for each person; amounts are bytes, processes or anything else that is limited.

    Of those who wait, the person served longest ago is next, and resources are kept free until there are enough for
    them. A request above a limit is granted alone.
    """

    def __init__(self, *, in_all: int, per_person: int) -> None:
        self._in_all = in_all
        self._per_person = per_person
        self._used: dict[str, int] = {}
        """By person, without people who use nothing."""
        self._waiting: list[Share] = []
        self._served: dict[str, int] = {}
        """By person: when they were last served, as a serial number."""
        self._number = 0

    @property
    def used(self) -> int:
        """The total amount in use."""
        return sum(self._used.values())

    @asynccontextmanager
    async def acquire(self, person: str, amount: int = 1) -> AsyncIterator[Share]:
        """Wait until `amount` may be used, and release it at the end."""
        share = Share(person, amount, asyncio.get_running_loop().create_future())
        self._waiting.append(share)
        self._grant()
        try:
            await share.granted
            yield share
        finally:
            self._end(share)

    def grow(self, share: Share, amount: int) -> None:
        """Record that a share in use has grown beyond its request; this never waits."""
        share.amount += amount
        self._used[share.person] += amount

    def _end(self, share: Share) -> None:
        if share in self._waiting:
            self._waiting.remove(share)
        if share.granted.done() and not share.granted.cancelled():
            self._used[share.person] -= share.amount
            if not self._used[share.person]:
                del self._used[share.person]
        if share.person not in self._used and all(each.person != share.person for each in self._waiting):
            self._served.pop(share.person, None)
        self._grant()

    def _grant(self) -> None:
        # Cancelled waiters remove themselves a moment later.
        while waiting := [each for each in self._waiting if not each.granted.done()]:
            first: dict[str, Share] = {}
            for each in waiting:
                first.setdefault(each.person, each)
            ready = [each for each in first.values() if self._fits_person(each)]
            if not ready:
                return
            share = min(ready, key=lambda each: self._served.get(each.person, 0))
            if self._used and self.used + share.amount > self._in_all:
                return
            self._waiting.remove(share)
            self._number += 1
            self._served[share.person] = self._number
            self._used[share.person] = self._used.get(share.person, 0) + share.amount
            share.granted.set_result(None)

    def _fits_person(self, share: Share) -> bool:
        used = self._used.get(share.person, 0)
        return not used or used + share.amount <= self._per_person
