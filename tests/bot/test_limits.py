import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.limits import WINDOW, DailyBudget, MessageRate
from bot.messages import PersonId
from bot.models.breakers import Breakers
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import Usage
from bot.state.database import State
from tests.fakes.clock import FakeClock

ONE, OTHER = PersonId("telegram", "1"), PersonId("telegram", "2")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_person_may_send_so_many_in_a_minute_and_is_told_how_long_to_wait(clock: FakeClock) -> None:
    rate = MessageRate(3, clock=clock.clock)
    for _ in range(3):
        assert rate.check(ONE, clock.now()) == 0
        clock.seconds += 10
    assert rate.check(ONE, clock.now()) == 30
    clock.seconds += 29.5
    assert rate.check(ONE, clock.now()) == 1
    clock.seconds += 0.5
    assert rate.check(ONE, clock.now()) == 0
    assert rate.check(ONE, clock.now()) == 10


def test_each_person_is_counted_alone(clock: FakeClock) -> None:
    rate = MessageRate(1, clock=clock.clock)
    assert (rate.check(ONE, clock.now()), rate.check(OTHER, clock.now())) == (0, 0)
    assert rate.check(ONE, clock.now()) == 60


def test_who_goes_on_too_fast_is_told_once_a_minute(clock: FakeClock) -> None:
    rate = MessageRate(1, clock=clock.clock)
    told = []
    for second in range(180):
        if rate.check(ONE, clock.now()) and rate.should_notify(ONE):
            told.append(second)
        clock.seconds += 1
    assert told == [1, 61, 121]


def test_what_was_written_in_hours_and_comes_in_at_once_is_not_too_much(clock: FakeClock) -> None:
    rate = MessageRate(2, clock=clock.clock)
    start = clock.now() - timedelta(hours=5)
    assert [rate.check(ONE, start + timedelta(minutes=minute)) for minute in range(300)] == [0] * 300


def test_a_clock_that_is_set_back_locks_nobody_out(clock: FakeClock) -> None:
    rate = MessageRate(2, clock=clock.clock)
    for _ in range(2):
        rate.check(ONE, clock.now())
    assert rate.check(ONE, clock.now() - timedelta(hours=1)) == 0


def test_people_of_an_earlier_minute_are_forgotten(clock: FakeClock) -> None:
    rate = MessageRate(60, clock=clock.clock)
    for number in range(10_000):
        rate.check(PersonId("telegram", str(number)), clock.now())
        clock.seconds += 1
    assert len(rate) <= WINDOW


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 5))
def test_no_minute_holds_more_than_it_may(pauses: list[int], per_minute: int) -> None:
    clock = FakeClock()
    rate = MessageRate(per_minute, clock=clock.clock)
    counted: list[float] = []
    for pause in pauses:
        clock.seconds += pause
        in_window = [each for each in counted if clock.seconds - each < WINDOW]
        wait = rate.check(ONE, clock.now())
        assert (wait == 0) == (len(in_window) < per_minute)
        assert 0 <= wait <= WINDOW
        if not wait:
            counted.append(clock.seconds)


# -- the budget of a day ------------------------------------------------------------------------------------


class Day:
    now = datetime(2026, 11, 21, 23, 59, tzinfo=timezone(timedelta(hours=9)))


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(tmp_path / "state.db", now=lambda: Day.now) as opened:
        yield opened


class SlowDisk:
    """A state.db whose disk takes its time."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.read_model_health, self.reset_model_health = state.read_model_health, state.reset_model_health

    async def record_outcomes(self, outcomes: Sequence[CallOutcome]) -> None:
        await self._state.record_outcomes(outcomes)
        await asyncio.sleep(0.03)


async def test_the_tokens_of_a_day_are_spent_until_midnight_on_the_owners_clock(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = DailyBudget(state, 1000, now=lambda: Day.now)
    model, other = RouteName("openai/gpt-4.1"), RouteName("anthropic/claude-sonnet-4-5", "0a1b2c3d4e5f")
    assert not await budget.is_spent()
    await state.record_outcomes([CallOutcome(model, 1.0, usage=Usage(600, 100, 500))])
    await state.record_outcomes([CallOutcome(other, 1.0, usage=Usage(200, 99))])
    assert not await budget.is_spent()
    await state.record_outcomes([CallOutcome(other, 1.0, usage=Usage(1, 0))])
    assert await budget.is_spent()
    monkeypatch.setattr(Day, "now", Day.now + timedelta(minutes=1))
    assert Day.now.astimezone(UTC).day == 21
    assert not await budget.is_spent()


async def test_what_another_process_has_spent_counts(state: State, tmp_path: Path) -> None:
    budget = DailyBudget(state, 10, now=lambda: Day.now)
    async with State(tmp_path / "state.db", now=lambda: Day.now) as other:
        await other.record_outcomes([CallOutcome(RouteName("openai/gpt-4.1"), 1.0, usage=Usage(10, 0))])
    assert await budget.is_spent()


async def test_who_looks_at_the_budget_waits_for_no_answer_that_comes_in_meanwhile(state: State) -> None:
    book = Breakers(SlowDisk(state))
    outcome = CallOutcome(RouteName("openai/gpt-4.1"), 1.0, usage=Usage(10, 0))

    async def others() -> None:
        while True:
            book.record([outcome])
            await asyncio.sleep(0.005)

    busy = asyncio.create_task(others())
    try:
        await asyncio.sleep(0.02)
        async with asyncio.timeout(20):
            assert await DailyBudget(state, 10, now=lambda: Day.now, settle=book.write).is_spent()
    finally:
        busy.cancel()
    await book.write()


async def test_no_budget_is_never_spent(state: State) -> None:
    await state.record_outcomes([CallOutcome(RouteName("openai/gpt-4.1"), 1.0, usage=Usage(10**9, 0))])
    assert not await DailyBudget(state, 0, now=lambda: Day.now).is_spent()


def test_another_number_counts_at_once_with_what_was_sent_within_the_minute(clock: FakeClock) -> None:
    rate = MessageRate(3, clock=clock.clock)
    for _ in range(2):
        assert rate.check(ONE, clock.now()) == 0
    rate.set_limit(2)
    assert rate.check(ONE, clock.now()) > 0
    rate.set_limit(4)
    assert [rate.check(ONE, clock.now()) for _ in range(3)] == [0, 0, 60]
