"""What there is only so much of, among several people."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from bot.attachments.fair_share import FairShare


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Queue:
    """People who want something, and the order in which they get it."""

    def __init__(self, share: FairShare) -> None:
        self.share = share
        self.got: list[str] = []
        self.has: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def want(self, *wishes: str, amount: int = 1) -> None:
        """`ann 1`: who, and which of their wishes."""
        for wish in wishes:
            self.has[wish] = asyncio.Event()
            self.tasks[wish] = asyncio.create_task(self._work(wish, amount))
        await settle()

    async def _work(self, wish: str, amount: int) -> None:
        async with self.share.acquire(wish.split()[0], amount):
            self.got.append(wish)
            await self.has[wish].wait()

    async def finish(self, *wishes: str) -> None:
        for wish in wishes:
            self.has[wish].set()
        await settle()

    async def cancel(self, wishes: Sequence[str]) -> None:
        for wish in wishes:
            self.tasks[wish].cancel()
        await asyncio.gather(*(self.tasks[wish] for wish in wishes), return_exceptions=True)


async def test_one_person_waits_for_themselves_and_nobody_else_does() -> None:
    queue = Queue(FairShare(in_all=3, per_person=1))
    await queue.want("ann 1", "ann 2", "ann 3", "bo 1", "cy 1")
    assert queue.got == ["ann 1", "bo 1", "cy 1"]
    await queue.finish("ann 1")
    assert queue.got[3:] == ["ann 2"]


async def test_who_was_served_the_longest_ago_is_next() -> None:
    queue = Queue(FairShare(in_all=1, per_person=1))
    await queue.want("ann 1", "ann 2", "ann 3", "bo 1")
    for wish in ("ann 1", "bo 1", "ann 2", "ann 3"):
        await queue.finish(wish)
    assert queue.got == ["ann 1", "bo 1", "ann 2", "ann 3"]


async def test_a_large_wish_is_not_passed_over_for_ever_by_small_ones() -> None:
    queue = Queue(FairShare(in_all=10, per_person=10))
    await queue.want("ann 1", amount=6)
    await queue.want("bo 1", amount=8)
    await queue.want("cy 1", amount=2)
    assert queue.got == ["ann 1"]
    await queue.finish("ann 1")
    assert queue.got == ["ann 1", "bo 1", "cy 1"]


async def test_what_is_more_than_all_is_given_alone() -> None:
    queue = Queue(FairShare(in_all=10, per_person=5))
    await queue.want("ann 1", amount=50)
    await queue.want("bo 1", "ann 2")
    assert queue.got == ["ann 1"]
    await queue.finish("ann 1")
    assert sorted(queue.got[1:]) == ["ann 2", "bo 1"]


async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    share = FairShare(in_all=1, per_person=1)
    queue = Queue(share)
    await queue.want("ann 1", "ann 2", "bo 1", "cy 1")
    await queue.cancel(["ann 1", "ann 2", "bo 1"])
    assert queue.got == ["ann 1", "cy 1"]
    await queue.finish("cy 1")
    assert share.used == 0
    assert (share._waiting, share._used, share._served) == ([], {}, {})


async def test_what_grows_in_use_counts_until_it_is_given_back() -> None:
    share = FairShare(in_all=10, per_person=10)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(share.acquire("ann", 2))
        share.grow(one, 7)
        assert share.used == 9
        queue = Queue(share)
        await queue.want("bo 1", amount=2)
        assert queue.got == []
    await settle()
    assert queue.got == ["bo 1"]
    await queue.finish("bo 1")
    assert share.used == 0
