"""How models fared hour by hour, as state.db keeps it for a week."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.maintenance.cleanup import clean_up
from bot.models.breakers import Breakers
from bot.models.errors import ContextTooLong, ServerFailed
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import Usage
from bot.state.database import State
from bot.state.model_history import ModelHour

HOUR = 1_800_000_000.0
"""The beginning of an hour."""
ONE, OTHER_KEY, TWO = RouteName("a/one", "0a1b2c"), RouteName("a/one", "3d4e5f"), RouteName("b/two")


def answered(
    at: float, *, route: RouteName = ONE, first: float = 0.5, usage: Usage | None = None
) -> CallOutcome:
    return CallOutcome(route, at, first_token_seconds=first, seconds=first + 1, usage=usage or Usage())


def failed(at: float, *, route: RouteName = ONE) -> CallOutcome:
    return CallOutcome(route, at, error=ServerFailed("answered 500"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def state(path: Path) -> AsyncIterator[State]:
    async with State(path) as state:
        yield state


async def test_each_hour_tells_calls_failures_waits_and_tokens_of_each_model(state: State) -> None:
    await state.record_outcomes(
        [
            answered(HOUR + 1, first=0.5, usage=Usage(1000, 50, 800)),
            answered(HOUR + 3599.9, route=OTHER_KEY, first=2.5, usage=Usage(10, 5, 0)),
            failed(HOUR + 60),
            failed(HOUR + 61, route=TWO),
            answered(HOUR + 3600),
        ]
    )
    assert await state.model_history(since=0) == (
        ModelHour(HOUR, "a/one", 3, 1, 1.5, 2.5, input_tokens=1010, output_tokens=55, cached_tokens=800),
        ModelHour(HOUR, "b/two", 1, 1, 0.0, 0.0),
        ModelHour(HOUR + 3600, "a/one", 1, 0, 0.5, 0.5),
    )


async def test_an_answer_whose_first_word_nobody_timed_does_not_make_the_others_quicker(state: State) -> None:
    await state.record_outcomes([answered(HOUR, first=4.0), answered(HOUR, first=0.0)])
    (hour,) = await state.model_history(since=0)
    assert (hour.calls, hour.failures) == (2, 0)
    assert (hour.first_token_seconds, hour.slowest_seconds) == (4.0, 4.0)


async def test_what_was_over_before_the_moment_is_left_out(state: State) -> None:
    await state.record_outcomes([answered(HOUR + 3600 * number) for number in range(4)])
    since = HOUR + 2 * 3600
    assert [each.start for each in await state.model_history(since=since)] == [since, since + 3600]
    within = await state.model_history(since=since + 1800)
    assert [each.start for each in within] == [since, since + 3600], (
        "the hour that runs at that moment counts"
    )


async def test_two_processes_add_to_the_same_hour(path: Path) -> None:
    async with State(path) as one, State(path) as other:
        await asyncio.gather(*(each.record_outcomes([failed(HOUR)]) for each in [one, other] * 10))
        (hour,) = await one.model_history(since=HOUR)
        assert (hour.calls, hour.failures) == (20, 20)


async def test_history_and_health_are_written_together_or_not_at_all(state: State) -> None:
    await state.change(lambda db: db.execute("DROP TABLE model_hours"))
    with pytest.raises(Exception, match="model_hours"):
        await state.record_outcomes([answered(HOUR)])
    assert await state.read_model_health() == ()


async def test_what_the_health_book_learns_is_history_at_once(state: State) -> None:
    book = Breakers(state, now=lambda: HOUR + 10)
    book.record([CallOutcome(TWO, book.now(), error=ContextTooLong("too long", window=8192), tokens=9000)])
    await book.write()
    assert await state.model_history(since=HOUR) == (ModelHour(HOUR, "b/two", 1, 1, 0.0, 0.0),)


async def test_hours_are_forgotten_after_a_week(state: State) -> None:
    now = datetime.fromtimestamp(HOUR, UTC)
    days = [timedelta(days=each) for each in (0, 6.9, 9)]
    await state.record_outcomes([answered((now - age).timestamp()) for age in days])
    await clean_up(state, now)
    assert len(await state.model_history(since=0)) == 2
