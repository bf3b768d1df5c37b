"""How often Telegram is given something to show."""

import asyncio
from bisect import bisect_left
from itertools import pairwise

import pytest

from adapters.telegram.rate_limiter import RateLimiter
from tests.fakes.autojump_loop import run_without_waiting
from tests.fakes.table_test import table_test

PERSON, GROUP = 7, -100123


def now() -> float:
    return asyncio.get_running_loop().time()


def most_within(times: list[float], seconds: float) -> int:
    return max(bisect_left(times, begin + seconds) - place for place, begin in enumerate(times))


async def show(rate_limiter: RateLimiter, chat: int, *, urgent: bool, takes: float = 0.0) -> float:
    """Show something; when it began."""
    turn = await rate_limiter.wait_for_slot(chat, urgent=urgent)
    began = now()
    await asyncio.sleep(takes)
    turn.finish()
    return began


async def grow(rate_limiter: RateLimiter, chat: int, times: list[float], *, until: float) -> None:
    while now() < until:
        times.append(await show(rate_limiter, chat, urgent=False))


def test_the_first_goes_at_once() -> None:
    async def work() -> float:
        return await show(RateLimiter(), PERSON, urgent=False)

    assert run_without_waiting(work()) == 0


@table_test("urgent", [True, False])
def test_a_chat_is_shown_something_once_a_second(urgent: bool) -> None:
    async def work() -> list[float]:
        pace = RateLimiter()
        return [await show(pace, PERSON, urgent=urgent) for _ in range(20)]

    times = run_without_waiting(work())
    assert min(after - before for before, after in pairwise(times)) > 1
    assert times[-1] < 21


def test_a_group_is_shown_less_than_twenty_things_in_any_minute() -> None:
    async def work() -> list[float]:
        pace = RateLimiter()
        return [await show(pace, GROUP, urgent=True) for _ in range(100)]

    assert most_within(run_without_waiting(work()), 60) < 20


def test_in_a_group_there_is_always_room_for_the_end_of_a_reply() -> None:
    async def work() -> float:
        pace = RateLimiter()
        growing = asyncio.create_task(grow(pace, GROUP, [], until=300))
        await asyncio.sleep(250)
        began = now()
        for _ in range(3):
            await show(pace, GROUP, urgent=True)
        growing.cancel()
        return now() - began

    assert run_without_waiting(work()) < 5


@pytest.mark.thorough
def test_all_chats_together_are_shown_less_than_thirty_things_in_any_second_each_its_share() -> None:
    async def work() -> list[list[float]]:
        pace = RateLimiter()
        times: list[list[float]] = [[] for _ in range(100)]
        await asyncio.gather(*(grow(pace, chat + 1, mine, until=60) for chat, mine in enumerate(times)))
        return times

    by_chat = run_without_waiting(work())
    assert most_within(sorted(at for times in by_chat for at in times), 1) < 30
    counts = sorted(map(len, by_chat))
    assert counts[0] >= 12
    assert counts[-1] - counts[0] <= 2


@pytest.mark.thorough
def test_the_end_of_a_reply_goes_before_those_that_only_grow() -> None:
    async def work() -> float:
        pace = RateLimiter()
        growing = [asyncio.create_task(grow(pace, chat, [], until=60)) for chat in range(1, 300)]
        await asyncio.sleep(15)
        began = now()
        await show(pace, 1000, urgent=True)
        for task in growing:
            task.cancel()
        return now() - began

    assert run_without_waiting(work()) < 0.2


def test_a_chat_that_is_held_waits_and_no_other() -> None:
    async def work() -> tuple[float, float]:
        pace = RateLimiter()
        pace.pause(PERSON, 10)
        held = asyncio.create_task(show(pace, PERSON, urgent=True))
        await show(pace, PERSON + 1, urgent=False)
        other = now()
        await held
        return now(), other

    at, other = run_without_waiting(work())
    assert at >= 10
    assert other == 0


def test_everything_waits_where_telegram_wants_that_of_several_chats() -> None:
    async def work() -> float:
        pace = RateLimiter()
        pace.pause(PERSON + 1, 5)
        pace.pause(PERSON + 2, 5)
        await show(pace, PERSON, urgent=True)
        return now()

    assert run_without_waiting(work()) >= 5


def test_a_few_chats_that_are_held_for_an_hour_hold_up_nobody_else_for_long() -> None:
    async def work() -> tuple[float, float]:
        pace = RateLimiter()
        pace.pause(GROUP, 3600)
        await asyncio.sleep(20)
        pace.pause(GROUP - 1, 3600)
        await show(pace, PERSON, urgent=True)
        at = now()
        pace.pause(GROUP - 2, 3600)
        await asyncio.sleep(1)
        pace.pause(GROUP - 3, 3600)
        await show(pace, PERSON, urgent=True)
        return at, now()

    first, second = run_without_waiting(work())
    assert first < 21
    assert second < 60


def test_a_chat_that_is_held_stays_so_however_many_others_there_are() -> None:
    async def work() -> float:
        pace = RateLimiter()
        pace.pause(PERSON, 300)
        for chat in range(1100):
            await show(pace, 1000 + chat, urgent=True)
        return await show(pace, PERSON, urgent=True)

    assert run_without_waiting(work()) >= 300


def test_a_groups_minute_counts_however_many_other_chats_there_are() -> None:
    async def work() -> list[float]:
        pace, times = RateLimiter(), []
        for chat in range(1034):
            if chat < 12 or chat >= 1020:
                times.append(await show(pace, GROUP, urgent=True))
            await show(pace, 1000 + chat, urgent=True)
        return times

    assert most_within(run_without_waiting(work()), 60) < 20


@pytest.mark.thorough
def test_chats_that_are_quiet_are_forgotten() -> None:
    async def work() -> int:
        pace = RateLimiter()
        for chat in range(2000):
            await show(pace, chat + 1, urgent=True)
        await asyncio.sleep(120)
        for chat in range(1100):
            await show(pace, chat + 1, urgent=True)
        return len(pace._chats)

    assert run_without_waiting(work()) < 1500


def test_who_is_cancelled_takes_nobodys_place() -> None:
    async def work() -> float:
        pace = RateLimiter()
        await show(pace, PERSON, urgent=True)
        gone = asyncio.create_task(show(pace, PERSON, urgent=True))
        await asyncio.sleep(0.5)
        gone.cancel()
        await show(pace, PERSON, urgent=True)
        return now()

    assert run_without_waiting(work()) < 1.2


def test_what_was_long_on_its_way_is_counted_from_its_answer_on() -> None:
    async def work() -> list[float]:
        pace = RateLimiter()
        ends: list[float] = []
        for _ in range(3):
            began = await show(pace, PERSON, urgent=True, takes=4.0)
            assert not ends or began > ends[-1] + 1
            ends.append(now())
        return ends

    assert run_without_waiting(work())


def test_no_more_are_on_their_way_at_once_than_there_may_be_in_a_second() -> None:
    async def work() -> int:
        pace, on_the_way, most = RateLimiter(), 0, 0

        async def one(chat: int) -> None:
            nonlocal on_the_way, most
            turn = await pace.wait_for_slot(chat, urgent=True)
            on_the_way += 1
            most = max(most, on_the_way)
            await asyncio.sleep(3)
            on_the_way -= 1
            turn.finish()

        await asyncio.gather(*map(one, range(1, 100)))
        return most

    assert run_without_waiting(work()) < 30


def test_a_turn_that_is_given_back_counts_for_nothing() -> None:
    async def work() -> float:
        pace = RateLimiter()
        (await pace.wait_for_slot(PERSON, urgent=True)).cancel()
        return await show(pace, PERSON, urgent=True)

    assert run_without_waiting(work()) == 0
