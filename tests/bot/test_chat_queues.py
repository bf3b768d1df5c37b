import asyncio
from collections import deque

import pytest

from bot.chat_queues import ChatQueues
from bot.messages import ChatId
from bot.tasks import BackgroundTasks
from tests.fakes.table_test import table_test

A, B, C = (ChatId("c", name) for name in "abc")


class Workshop:
    """Work that takes as long as it is told to."""

    def __init__(self, *, at_once: int = 10) -> None:
        self.done: list[tuple[str, int]] = []
        self.running = 0
        self.most = 0
        self.tasks = BackgroundTasks()
        self.lanes: ChatQueues[tuple[str, int]] = ChatQueues(self.work, tasks=self.tasks, at_once=at_once)

    async def work(self, item: tuple[str, int], behind: deque[tuple[str, int]]) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        self.done.append(item)

    async def quiet(self) -> None:
        async with asyncio.timeout(5):
            await self.tasks.wait()


async def test_order_is_kept_in_each_chat_and_chats_do_not_wait_for_each_other() -> None:
    shop = Workshop()
    for number in range(20):
        for chat in (A, B, C):
            shop.lanes.put(chat, (chat.name, number))
    await shop.quiet()
    for chat in (A, B, C):
        assert [number for name, number in shop.done if name == chat.name] == list(range(20))
    assert shop.most == 3


async def test_a_chat_with_much_to_do_keeps_nobody_waiting() -> None:
    shop = Workshop(at_once=1)
    for number in range(50):
        shop.lanes.put(A, ("a", number))
    shop.lanes.put(B, ("b", 0))
    await shop.quiet()
    assert shop.most == 1
    assert shop.done.index(("b", 0)) <= 2


async def test_a_channel_that_keeps_its_places_takes_none_of_another() -> None:
    done: list[str] = []
    stuck = asyncio.Event()

    async def work(item: str, behind: deque[str]) -> None:
        if item == "stuck":
            await stuck.wait()
        done.append(item)

    tasks = BackgroundTasks()
    lanes: ChatQueues[str] = ChatQueues(work, tasks=tasks, at_once=1)
    lanes.put(ChatId("telegram", "1"), "stuck")
    lanes.put(ChatId("terminal", "1"), "quick")
    await asyncio.sleep(0.01)
    assert done == ["quick"]
    stuck.set()
    assert await tasks.wait(1)


async def test_what_is_put_first_comes_next() -> None:
    shop = Workshop()
    for number in range(3):
        shop.lanes.put(A, ("a", number))
    await asyncio.sleep(0)  # the first is begun
    shop.lanes.put(A, ("a", 99), first=True)
    await shop.quiet()
    assert [number for _, number in shop.done] == [0, 99, 1, 2]


async def test_after_closing_nothing_begins_and_what_waits_stays() -> None:
    shop = Workshop()
    for number in range(3):
        shop.lanes.put(A, ("a", number))
    await asyncio.sleep(0)
    assert len(shop.lanes.list_waiting(A)) == 2
    shop.lanes.close()
    await shop.quiet()
    assert shop.done == [("a", 0)]
    assert len(shop.lanes.list_waiting(A)) == 0, "the lane itself has gone"


async def test_what_breaks_takes_nothing_with_it_that_waits_behind() -> None:
    done: list[int] = []

    async def work(item: int, behind: deque[int]) -> None:
        done.append(1 // item)

    tasks = BackgroundTasks()
    lanes = ChatQueues(work, tasks=tasks, at_once=1)
    for item in (1, 0, 1):
        lanes.put(A, item)
    assert await tasks.wait(1)
    assert done == [1, 1]


async def test_waiting_for_the_end_has_its_limit() -> None:
    tasks = BackgroundTasks()
    tasks.start(asyncio.sleep(10))
    assert not await tasks.wait(0.01)
    tasks.cancel()
    assert await tasks.wait(1)


@table_test("count", [0, 1])
async def test_waiting_without_a_limit_ends_with_the_last(count: int) -> None:
    tasks = BackgroundTasks()
    for _ in range(count):
        tasks.start(asyncio.sleep(0.001))
    assert await tasks.wait()


def in_c(chat: ChatId) -> ChatId:
    return C if chat == A else chat


async def test_what_waits_in_a_chat_is_put_before_all_that_waits_where_it_is_relocated_to() -> None:
    shop = Workshop()
    for number in range(4):
        shop.lanes.put(A, ("a", number))
        shop.lanes.put(B, ("b", number))
        shop.lanes.put(C, ("c", number))
    await asyncio.sleep(0)  # the first of each is begun
    shop.lanes.move(in_c, lambda item: (item[0].upper(), item[1]))
    assert list(shop.lanes.list_waiting(C)) == [
        *(("A", each) for each in (1, 2, 3)),
        *(("c", each) for each in (1, 2, 3)),
    ]
    await shop.quiet()
    assert sorted(item for item in shop.done if item[0] in "ab") == [
        ("a", 0),
        *(("b", each) for each in range(4)),
    ]
    assert [item for item in shop.done if item[0] in "Ac"][1:] == [
        *(("A", each) for each in (1, 2, 3)),
        *(("c", each) for each in (1, 2, 3)),
    ]


async def test_a_chat_whose_turn_comes_after_all_was_relocated_has_nothing_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shop = Workshop(at_once=1)
    shop.lanes.put(B, ("b", 0))
    shop.lanes.put(A, ("a", 0))
    await asyncio.sleep(0)
    shop.lanes.move(in_c, lambda item: item)
    await shop.quiet()
    assert shop.done == [("b", 0), ("a", 0)]
    assert caplog.records == []


async def test_nothing_is_begun_in_a_chat_before_it_is_ready_nor_taken_out_of_what_waits() -> None:
    ready = asyncio.Event()
    done: list[int] = []
    tasks = BackgroundTasks()

    async def work(item: int, behind: deque[int]) -> None:
        del behind
        done.append(item)

    async def is_ready(chat: ChatId) -> None:
        if chat == A:
            await ready.wait()

    lanes: ChatQueues[int] = ChatQueues(work, tasks=tasks, at_once=10, ready=is_ready)
    lanes.put(A, 1)
    lanes.put(B, 2)
    await asyncio.sleep(0.01)
    assert done == [2]
    assert list(lanes.list_waiting(A)) == [1]
    ready.set()
    await tasks.wait()
    assert done == [2, 1]
