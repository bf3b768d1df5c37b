"""What the service counts about itself: every turn once, under how it ended, and how long its stages took."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import pytest

from bot import phrases
from bot.messages import Attachment, ChatId
from bot.metrics import BUCKET_BOUNDS, STAGES, Histogram, Metrics
from bot.models.candidate import ModelCandidate, Route
from bot.models.errors import RateLimited
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.protocol import Answer, AssistantMessage, ModelRequest, ToolCall, Usage, UserMessage
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.state.database import StateUnusable
from tests.fakes.clock import FakeClock
from tests.fakes.harness import Harness, open_harness
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import message

MAX_MICROSECONDS = 20.0
"""Of our own time that a turn's counting may cost."""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


def counted(house: Harness) -> dict[str, int]:
    """How many of each stage were timed."""
    return {
        stage: house.measures.stages[stage].count for stage in STAGES if house.measures.stages[stage].count
    }


# -- classes of time ----------------------------------------------------------------------------------------


def test_a_time_belongs_to_the_first_class_that_holds_it() -> None:
    histogram = Histogram()
    for seconds in (0.0, 0.005, 0.0051, 300.0, 301.0):
        histogram.add(seconds)
    assert (histogram.counts[0], histogram.counts[1]) == (2, 1), "a bound belongs to its class"
    assert histogram.counts[-2:] == [1, 1]
    assert histogram.count == 5
    assert histogram.seconds == pytest.approx(601.0101)
    assert list(BUCKET_BOUNDS) == sorted(set(BUCKET_BOUNDS))


def test_the_first_text_counts_and_not_the_second() -> None:
    clock = FakeClock()
    measures = Metrics(clock=lambda: clock.seconds)
    watch = measures.begin_turn("terminal")
    clock.seconds += 2
    watch.mark_first_text()
    clock.seconds += 3
    watch.mark_first_text()
    watch.end()
    assert (measures.stages["first_text"].count, measures.stages["first_text"].seconds) == (1, 2)
    assert (measures.stages["turn"].count, measures.stages["turn"].seconds) == (1, 5)


# -- how turns end ------------------------------------------------------------------------------------------


async def test_an_answered_turn_is_counted_and_timed_stage_by_stage(house: Harness) -> None:
    house.model.enqueue(["Good ", "morning"], delay=0.01)
    await house.say("Hello")
    assert house.measures.messages == {"terminal": 1}
    assert house.measures.turns == {("terminal", "answered"): 1}
    assert counted(house) == {"waiting": 1, "recall": 1, "first_text": 1, "turn": 1, "delivery": 1}
    first, turn = house.measures.stages["first_text"].seconds, house.measures.stages["turn"].seconds
    assert 0.01 <= first < turn
    assert turn >= 0.03
    assert house.measures.deliveries == {("terminal", True): 1}


async def test_commands_and_sentences_of_ours_are_no_answers_of_a_model(house: Harness) -> None:
    await house.say("/help")
    await house.say("   ")
    await house.say("/retry")
    assert house.measures.turns == {("terminal", "command"): 1, ("terminal", "told"): 2}
    assert "turn" not in counted(house)
    assert house.measures.model_tries == {}


async def test_a_command_that_has_a_model_answer_again_counts_as_its_answer(house: Harness) -> None:
    house.model.enqueue("one")
    house.model.enqueue("two")
    await house.say("Hello")
    await house.say("/retry")
    assert house.measures.turns == {("terminal", "answered"): 2}


async def test_strangers_and_who_says_too_much_are_refused(tmp_path: Path) -> None:
    async with open_harness(tmp_path, per_minute=1) as house:
        await house.accept("Let me in", chat="telegram:9", sender="telegram:9")
        house.model.enqueue("yes")
        for _ in range(2):
            await house.accept("Hello", chat="telegram:2", sender="telegram:2")
        await house.wait_until_idle()
        assert house.measures.messages == {"telegram": 1}
        assert house.measures.turns == {("telegram", "refused"): 2, ("telegram", "answered"): 1}


async def test_a_turn_without_tokens_left_today_is_refused(tmp_path: Path) -> None:
    async with open_harness(tmp_path, daily_tokens=1) as house:
        house.model.enqueue("a long answer that costs")
        await house.say("Hello")
        assert await house.say("And?") == phrases.BUDGET_SPENT
        assert house.measures.turns == {("terminal", "answered"): 1, ("terminal", "refused"): 1}


async def test_a_turn_that_no_model_answers_has_failed(house: Harness) -> None:
    house.model.enqueue(error=RateLimited("slow down"))
    await house.say("Hello")
    assert house.measures.turns == {("terminal", "failed"): 1}
    assert house.measures.model_tries == {"scripted/model": 1}
    assert house.measures.model_errors == {("scripted/model", "rate_limit"): 1}
    assert "turn" not in counted(house)


async def test_a_turn_that_a_person_stops_is_stopped(house: Harness) -> None:
    house.model.enqueue("I will tell you", hang=True)
    await house.accept("Hello")
    async with asyncio.timeout(5):
        await house.terminal.began.wait()
    await house.assistant.stop(ChatId("terminal", "main"))
    await house.wait_until_idle()
    assert house.measures.turns == {("terminal", "stopped"): 1}
    assert house.measures.model_tries == {"scripted/model": 1}
    assert house.measures.model_errors == {}, "it says nothing of the model"


async def test_a_turn_that_the_end_of_the_program_breaks_off_is_parked(house: Harness) -> None:
    house.model.enqueue("I will tell you", hang=True)
    await house.accept("Hello", alone=False)
    async with asyncio.timeout(5):
        await house.terminal.began.wait()
    await house.assistant.close(0)
    assert house.measures.turns == {("terminal", "parked"): 1}


async def test_a_turn_that_waits_for_the_disk_is_parked_and_answered_later(house: Harness) -> None:
    full = StateUnusable("the disk is full")
    append, broke = house.state.append, False

    async def breaks_once(*args: object, **named: object) -> object:
        nonlocal broke
        if not broke:
            broke = True
            raise full
        return await append(*args, **named)  # type: ignore[arg-type]

    house.state.append = breaks_once  # type: ignore[method-assign, assignment]
    house.model.enqueue("at last")
    await house.accept("Hello", alone=False)
    await house.wait_until_idle()
    assert house.reply(0) == "at last"
    assert house.measures.turns == {("terminal", "parked"): 1, ("terminal", "answered"): 1}
    assert counted(house)["waiting"] == 1, "it has waited for its turn once"


# -- what turns are made of ---------------------------------------------------------------------------------


async def test_tools_are_counted_by_their_names_and_made_up_ones_together(house: Harness) -> None:
    bad = ToolCall("abcdefgh1", "rm -rf /home/anna", "{}")
    house.model.enqueue(calls=[("memory_search", {"query": "tea"}), ("memory_search", {"limit": "x"}), bad])
    house.model.enqueue("Nothing.")
    await house.say("Do I like tea?")
    assert house.measures.tools == {
        ("memory_search", True): 1,
        ("memory_search", False): 1,
        ("unknown", False): 1,
    }
    assert {name: each.count for name, each in house.measures.tool_times.items()} == {
        "memory_search": 2,
        "unknown": 1,
    }


async def test_reading_what_came_along_is_timed_where_something_did(house: Harness) -> None:
    house.terminal.files["handle"] = b"The boat is red."
    house.terminal.fetch_pause = 0.02
    document = Attachment("document", "handle", "boat.txt", "text/plain", 16)
    house.model.enqueue("Nice.")
    await house.say("Look", attachments=(document,))
    assert house.measures.stages["attachments"].count == 1
    assert house.measures.stages["attachments"].seconds >= 0.02


async def test_what_could_not_be_shown_counts_as_a_failed_delivery(tmp_path: Path) -> None:
    async with open_harness(tmp_path, pauses=(0.001, 0.001)) as house:
        house.model.enqueue("Well!")
        said = message("Hello", alone=False)
        house.terminal.breaks_on = said.id
        await house.assistant.accept(said)
        ends = perf_counter() + 5
        while not house.measures.deliveries["terminal", False]:
            assert perf_counter() < ends
            await asyncio.sleep(0.001)
        house.terminal.breaks_on = ""
        await house.wait_until_idle()
        assert house.measures.deliveries["terminal", True] == 1
        assert house.measures.stages["delivery"].count == 1
        assert house.measures.turns == {("terminal", "answered"): 1}


# -- models -------------------------------------------------------------------------------------------------


async def test_each_try_counts_for_the_model_that_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    first, second = ScriptedModel("a/one"), ScriptedModel("b/two")
    measures = Metrics()
    chain = tuple(ModelCandidate(each.name, (Route(each, RouteName(each.name)),)) for each in (first, second))
    model = FallbackModel(Routing(chain, retry=RetryPolicy(1, 0)), metrics=measures)
    for _ in range(2):
        first.enqueue(error=RateLimited("slow down"))
    second.enqueue("Good morning, Anna")
    _ = [event async for event in model.stream(ModelRequest("", (UserMessage("Hello"),)))]
    assert measures.model_tries == {"a/one": 2, "b/two": 1}
    assert measures.model_errors == {("a/one", "rate_limit"): 2}
    assert measures.fallbacks == {("a/one", "b/two"): 1}
    assert {name: each.count for name, each in measures.answers.items()} == {"b/two": 1}
    assert measures.usage == {"b/two": Usage(1, 4)}
    assert "going on with b/two" in caplog.text


def test_an_answer_that_is_there_at_once_does_not_make_the_first_token_quicker() -> None:
    measures = Metrics()
    answer = Answer(AssistantMessage("Yes."), Usage(10, 2, 5), first_token_seconds=0.4)
    measures.record_answer("a/one", answer, seconds=0.5)
    measures.record_answer("a/one", replace(answer, first_token_seconds=0.0), seconds=0.5)
    assert measures.first_tokens["a/one"].count == 1
    assert measures.answers["a/one"].count == 2
    assert measures.usage["a/one"] == Usage(20, 4, 10)


# -- what it costs ------------------------------------------------------------------------------------------


def test_counting_a_turn_costs_next_to_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    measures = Metrics()
    answer = Answer(AssistantMessage("Yes."), Usage(1000, 50, 800), first_token_seconds=0.4)

    def turn() -> None:
        """A turn of two steps with a tool between them."""
        measures.messages["telegram"] += 1
        began = measures.clock()
        measures.record_stage("waiting", since=began)
        watch = measures.begin_turn("telegram")
        measures.record_stage("recall", since=began)
        for _ in range(2):
            measures.count_request("openai/gpt-4.1")
            measures.record_answer("openai/gpt-4.1", answer, seconds=1.0)
            watch.mark_first_text()
        measures.record_tool("memory_search", since=began, well=True)
        watch.end()
        measures.record_stage("delivery", since=began)
        measures.count_delivery("telegram", well=True)

    turns, best = 200, float("inf")
    ends = perf_counter() + 10
    while perf_counter() < ends and best > MAX_MICROSECONDS:  # the machine may be busy with others
        start = process_time()
        for _ in range(turns):
            turn()
        best = min(best, (process_time() - start) / turns * 1e6)
    with capsys.disabled():
        print(f"\n  counting a turn: {best:.1f} µs")
    assert best <= MAX_MICROSECONDS
