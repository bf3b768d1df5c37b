"""What state.db keeps of models: how they fare, what they cost, which one a chat has chosen."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.models.breakers import Breakers
from bot.models.errors import ContextTooLong, ServerFailed
from bot.models.health import CallOutcome, Health, RouteName, after
from bot.models.protocol import Usage
from bot.state.database import State

ONE, OTHER = RouteName("openai/gpt-4.1", "0a1b2c3d4e5f"), RouteName("openai/gpt-4.1")
ANSWERED = CallOutcome(
    ONE, 100.0, usage=Usage(1000, 50, 800), first_token_seconds=0.5, seconds=1.5, tokens=900
)
FAILED = CallOutcome(ONE, 200.0, error=ServerFailed("answered 500 — “Überlast”"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def state(path: Path) -> AsyncIterator[State]:
    async with State(path) as opened:
        yield opened


async def test_what_is_known_of_a_route_survives_a_restart_to_the_last_digit(path: Path) -> None:
    outcomes = [
        ANSWERED,
        *[FAILED] * 3,
        CallOutcome(ONE, 300.0, error=ContextTooLong("too long", window=8192), tokens=9000),
    ]
    expected = Health(ONE)
    for outcome in outcomes:
        expected = after(expected, outcome)
    async with State(path) as state:
        await state.record_outcomes(outcomes)
        await state.record_outcomes([CallOutcome(OTHER, 1.0)])
    async with State(path) as state:
        assert await state.read_model_health() == (after(Health(OTHER), CallOutcome(OTHER, 1.0)), expected)


async def test_two_processes_add_to_each_others_counts(path: Path) -> None:
    async with State(path) as one, State(path) as other:
        await asyncio.gather(*(each.record_outcomes([ANSWERED]) for each in [one, other] * 10))
        (health,) = await one.read_model_health()
        assert (health.calls, health.usage) == (20, Usage(20_000, 1000, 16_000))
        (day,) = await other.read_usage("0000-00-00")
        assert (day.answers, day.usage) == (20, Usage(20_000, 1000, 16_000))


async def test_usage_is_counted_by_the_owners_day_and_by_model(path: Path) -> None:
    now = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
    async with State(path, now=lambda: now) as state:
        await state.record_outcomes([ANSWERED, FAILED])
        now += timedelta(minutes=2)
        await state.record_outcomes([ANSWERED, CallOutcome(RouteName("b/two"), 1.0, usage=Usage(1, 2, 0))])
        used = await state.read_usage("2026-11-20")
        assert [(each.day, each.model, each.answers) for each in used] == [
            ("2026-11-21", "b/two", 1),
            ("2026-11-21", "openai/gpt-4.1", 1),
            ("2026-11-20", "openai/gpt-4.1", 1),
        ]
        assert len(await state.read_usage("2026-11-21")) == 2


async def test_a_chats_choice_is_kept_until_it_is_taken_back(path: Path) -> None:
    async with State(path) as state:
        assert await state.read_chosen_model("telegram:1") == ""
        await state.choose_model("telegram:1", "a/one")
        await state.choose_model("telegram:1", "b/two")
    async with State(path) as state:
        assert await state.read_chosen_model("telegram:1") == "b/two"
        assert await state.read_chosen_model("telegram:2") == ""
        await state.choose_model("telegram:1", "")
        assert await state.read_chosen_model("telegram:1") == ""


async def test_a_reset_closes_the_breakers_of_one_model_or_of_all(state: State) -> None:
    two = RouteName("b/two")
    await state.record_outcomes(
        [CallOutcome(route, 100.0, error=ServerFailed("500")) for route in [ONE, two] * 3]
    )
    assert all(health.is_open(101.0) for health in await state.read_model_health())
    await state.reset_model_health("b/two")
    assert [health.is_open(101.0) for health in await state.read_model_health()] == [False, True]
    await state.reset_model_health("")
    after_reset = await state.read_model_health()
    assert not any(health.is_open(101.0) for health in after_reset)
    assert [health.failures for health in after_reset] == [3, 3], "what happened is not forgotten"


# -- the book in memory, and the file -----------------------------------------------------------------------


async def test_what_was_learnt_is_known_at_the_next_start(path: Path) -> None:
    async with State(path) as state:
        book = Breakers(state, now=lambda: 210.0)
        book.record([FAILED] * 3)
        await book.write()
    async with State(path) as state:
        book = Breakers(state, now=lambda: 210.0)
        assert book.is_ready(ONE), "nothing is read before it is needed"
        await book.refresh()
        assert not book.is_ready(ONE)


async def test_a_failure_is_on_disk_at_once_and_answers_soon(state: State) -> None:
    book = Breakers(state)
    book.record([FAILED])
    async with asyncio.timeout(0.5):
        while not await state.read_model_health():
            pass
    book.record([ANSWERED] * 5)
    await book.write()
    (health,) = await state.read_model_health()
    assert (health.calls, health.failures) == (6, 1)


async def test_a_rest_that_another_process_began_or_ended_is_kept_here_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.breakers.REFRESH_SECONDS", 0.0)
    async with State(path) as one, State(path) as other:
        here, there = (Breakers(each, now=lambda: 210.0) for each in (one, other))
        there.record([FAILED] * 3)
        await there.write()
        await here.refresh()
        assert not here.is_ready(ONE)
        await here.reset(ONE.model)
        await there.refresh()
        assert there.is_ready(ONE)


async def test_a_book_whose_file_fails_goes_on_in_memory(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with State(path) as state:
        book = Breakers(state, now=lambda: 210.0)
    book.record([FAILED] * 3)
    await book.write()
    await book.refresh()
    assert not book.is_ready(ONE)
    assert "could not save the models" in caplog.text


async def test_what_could_not_be_written_is_kept_and_written_later(path: Path) -> None:
    store = FailingStore()
    book = Breakers(store, now=lambda: 210.0)
    book.record([FAILED] * 3)
    await book.write()
    await book.refresh()
    assert not book.is_ready(ONE)
    async with State(path) as state:
        store.state = state
        book.record([FAILED])
        await book.write()
        (health,) = await state.read_model_health()
        assert health.failures == 4


async def test_the_first_calls_after_a_restart_all_know_who_rests(path: Path) -> None:
    async with State(path) as state:
        await state.record_outcomes([FAILED] * 3)
        book = Breakers(state, now=lambda: 210.0)

        async def ready() -> bool:
            await book.refresh()
            return book.is_ready(ONE)

        assert await asyncio.gather(*(ready() for _ in range(5))) == [False] * 5


class FailingStore:
    """Has no disk until it has a state."""

    state: State | None = None

    async def read_model_health(self) -> tuple[Health, ...]:
        return await self._there().read_model_health() if self.state else ()

    async def record_outcomes(self, outcomes: Sequence[CallOutcome]) -> None:
        await self._there().record_outcomes(outcomes)

    async def reset_model_health(self, model: str) -> None:
        await self._there().reset_model_health(model)

    def _there(self) -> State:
        if self.state is None:
            raise OSError("no disk")
        return self.state
