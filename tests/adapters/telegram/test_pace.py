"""How often Telegram is given something to show."""

import asyncio
from bisect import bisect_left
from itertools import pairwise

import pytest

from adapters.telegram.pace import Pace
from tests.fakes.quick_loop import run_quickly

PERSON, GROUP = 7, -100123


def now() -> float:
    return asyncio.get_running_loop().time()


def most_within(times: list[float], seconds: float) -> int:
    return max(bisect_left(times, begin + seconds) - place for place, begin in enumerate(times))


async def grow(pace: Pace, chat: int, times: list[float], *, until: float) -> None:
    while now() < until:
        await pace.turn(chat, urgent=False)
        times.append(now())


def test_the_first_goes_at_once() -> None:
    async def work() -> float:
        await Pace().turn(PERSON, urgent=False)
        return now()

    assert run_quickly(work()) == 0


@pytest.mark.parametrize("urgent", [True, False])
def test_a_chat_is_shown_something_once_a_second(urgent: bool) -> None:
    async def work() -> list[float]:
        pace, times = Pace(), []
        for _ in range(20):
            await pace.turn(PERSON, urgent=urgent)
            times.append(now())
        return times

    times = run_quickly(work())
    assert min(after - before for before, after in pairwise(times)) > 1
    assert times[-1] < 21


def test_a_group_is_shown_less_than_twenty_things_in_any_minute() -> None:
    async def work() -> list[float]:
        pace, times = Pace(), []
        for _ in range(100):
            await pace.turn(GROUP, urgent=True)
            times.append(now())
        return times

    assert most_within(run_quickly(work()), 60) < 20


def test_in_a_group_there_is_always_room_for_the_end_of_a_reply() -> None:
    async def work() -> float:
        pace = Pace()
        growing = asyncio.create_task(grow(pace, GROUP, [], until=300))
        await asyncio.sleep(250)
        began = now()
        for _ in range(3):
            await pace.turn(GROUP, urgent=True)
        growing.cancel()
        return now() - began

    assert run_quickly(work()) < 5


def test_all_chats_together_are_shown_less_than_thirty_things_in_any_second_each_its_share() -> None:
    async def work() -> list[list[float]]:
        pace = Pace()
        times: list[list[float]] = [[] for _ in range(100)]
        await asyncio.gather(*(grow(pace, chat + 1, mine, until=60) for chat, mine in enumerate(times)))
        return times

    by_chat = run_quickly(work())
    assert most_within(sorted(at for times in by_chat for at in times), 1) < 30
    counts = sorted(map(len, by_chat))
    assert counts[0] >= 12
    assert counts[-1] - counts[0] <= 2


def test_the_end_of_a_reply_goes_before_those_that_only_grow() -> None:
    async def work() -> float:
        pace = Pace()
        growing = [asyncio.create_task(grow(pace, chat, [], until=60)) for chat in range(1, 500)]
        await asyncio.sleep(30)
        began = now()
        await pace.turn(1000, urgent=True)
        for task in growing:
            task.cancel()
        return now() - began

    assert run_quickly(work()) < 0.2


def test_a_chat_that_is_held_waits_and_no_other() -> None:
    async def work() -> tuple[float, float]:
        pace = Pace()
        pace.hold(PERSON, 10)
        held = asyncio.create_task(pace.turn(PERSON, urgent=True))
        await pace.turn(PERSON + 1, urgent=False)
        other = now()
        await held
        return now(), other

    at, other = run_quickly(work())
    assert at >= 10
    assert other == 0


def test_everything_waits_where_telegram_wants_that() -> None:
    async def work() -> float:
        pace = Pace()
        pace.hold_all(5)
        await pace.turn(PERSON, urgent=True)
        return now()

    assert run_quickly(work()) >= 5


def test_who_is_cancelled_takes_nobodys_place() -> None:
    async def work() -> float:
        pace = Pace()
        await pace.turn(PERSON, urgent=True)
        gone = asyncio.create_task(pace.turn(PERSON, urgent=True))
        await asyncio.sleep(0.5)
        gone.cancel()
        await pace.turn(PERSON, urgent=True)
        return now()

    assert run_quickly(work()) < 1.2
