import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import agent as agent_module
from bot import english
from bot.agent import LAST_STEP_PROMPT, MAX_CALLS_PER_STEP, MAX_CALLS_PER_TURN, Agent
from bot.conversations.conversation import INTERRUPTED_RESULT, INTERRUPTED_TEXT, Conversation
from bot.messages import ChatId, ReplyPart
from bot.models.errors import EmptyAnswer, Overloaded
from bot.models.protocol import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from bot.note_writes import OnceWriter
from bot.state.database import State, StateUnusable
from bot.tools.memory import memory_tools
from bot.tools.toolbox import Toolbox, tool
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.harness import open_harness
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.stored_conversation import end_conversation, entries, open_conversation
from tests.fakes.turns import run_turn

CHAT = ChatId("terminal", "main")


class Bench:
    """Tools to be called, and what became of them."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.gate = asyncio.Event()

    def toolbox(self) -> Toolbox:
        @tool
        async def quick(name: str = "quick") -> dict[str, Any]:
            self.began.append(name)
            self.ended.append(name)
            return {"done": name}

        @tool
        async def waits(name: str = "waits") -> dict[str, Any]:
            self.began.append(name)
            await self.gate.wait()
            self.ended.append(name)
            return {"done": name}

        @tool
        async def opens(name: str = "opens") -> dict[str, Any]:
            self.began.append(name)
            self.gate.set()
            self.ended.append(name)
            return {"done": name}

        @tool
        async def stubborn() -> dict[str, Any]:
            self.began.append("stubborn")
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.ended.append("stubborn")
            return {"done": "in spite of it"}

        @tool
        async def deaf() -> dict[str, Any]:
            self.began.append("deaf")
            while not self.gate.is_set():
                try:
                    await self.gate.wait()
                except asyncio.CancelledError:
                    continue
            return {}

        return Toolbox([quick, waits, opens, stubborn, deaf])


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db")) as opened:
        yield opened


@pytest.fixture
def conversation(state: State) -> Conversation:
    return Conversation(state, CHAT)


@pytest.fixture
def agent(model: ScriptedModel, bench: Bench) -> Agent:
    return Agent(model, bench.toolbox(), prompt=lambda _: "the prompt", steps_per_turn=5)


async def turn(agent: Agent, conversation: Conversation, text: str = "hello") -> list[ReplyPart]:
    return [part async for part in run_turn(agent, conversation, text)]


async def show(agent: Agent, conversation: Conversation, shown: list[str]) -> None:
    async for part in run_turn(agent, conversation, "where?"):
        shown += [part.text]


async def until(condition: Callable[[], bool], task: asyncio.Task[Any]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            assert not task.done()
            await asyncio.sleep(0.001)


async def on_disk(state: State) -> tuple[Message, ...]:
    conversation = Conversation(state, CHAT)
    await conversation.load()
    return conversation.messages()


async def raw(state: State) -> list[tuple[str, dict[str, Any]]]:
    number = await open_conversation(state, str(CHAT))
    return (
        []
        if number is None
        else [(row.kind, json.loads(row.payload)) for row in await entries(state, number)]
    )


def assert_valid(messages: Sequence[Message]) -> None:
    rest = list(messages)
    seen: set[str] = set()
    while rest:
        message = rest.pop(0)
        assert not isinstance(message, ToolResult)
        if isinstance(message, AssistantMessage):
            assert message.calls or message.text.strip()
            for call in message.calls:
                assert call.id not in seen
                seen.add(call.id)
                result = rest.pop(0)
                assert isinstance(result, ToolResult)
                assert (result.call_id, result.name) == (call.id, call.name)


# -- a turn ---------------------------------------------------------------------------------------------------


async def test_the_reply_grows_and_its_last_part_is_the_whole(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue(["Hello", " there", "."])
    parts = await turn(agent, conversation)
    assert [part.text for part in parts] == ["Hello", "Hello there", "Hello there.", "Hello there."]
    assert [part.final for part in parts] == [False, False, False, True]
    (request,) = model.history
    assert (request.system, request.messages) == ("the prompt", (UserMessage("hello"),))
    assert [spec.name for spec in request.tools][:1] == ["quick"]
    assert await on_disk(state) == (
        UserMessage("hello"),
        AssistantMessage("Hello there.", (), "scripted/model"),
    )


@pytest.mark.thorough
async def test_a_long_reply_in_small_pieces_is_put_together_in_a_time_that_grows_with_its_length(
    agent: Agent, model: ScriptedModel, conversation: Conversation
) -> None:
    put_together = []
    for length in (50_000, 200_000):
        model.enqueue("words " * (length // 6))
        model.enqueue(["word", "s "] * (length // 6))
        (*_, whole), parts = await turn(agent, conversation), await turn(agent, conversation)
        assert parts[-1].text == whole.text
        assert parts[-2].text == whole.text, "also before a tool that may take long"
        put_together.append(sum(len(part.text) for part in parts))
    assert put_together[1] < 5 * put_together[0]


async def test_a_long_reply_that_breaks_off_is_shown_to_its_last_piece(
    agent: Agent, model: ScriptedModel, conversation: Conversation
) -> None:
    model.enqueue(["many words " * 1000, "and", " more"], error=Overloaded("too much to do"))
    shown: list[str] = []
    with pytest.raises(Overloaded):
        await show(agent, conversation, shown)
    assert shown[-1].endswith("and more")


async def test_what_was_said_before_a_tool_ran_stays_above_the_answer(
    agent: Agent, model: ScriptedModel, conversation: Conversation
) -> None:
    model.enqueue(["Let me look.\n"], calls=[("quick", {})])
    model.enqueue("", calls=[("quick", {})])
    model.enqueue(["\nIt is", " there.\n"])
    parts = await turn(agent, conversation)
    assert [part.text for part in parts] == [
        "Let me look.",
        "Let me look.\n\nIt is",
        "Let me look.\n\nIt is there.",
        "Let me look.\n\nIt is there.",
    ]


async def test_a_model_that_was_talked_into_a_flood_of_calls_is_held_back(
    model: ScriptedModel, conversation: Conversation, bench: Bench, state: State
) -> None:
    agent = Agent(model, bench.toolbox(), prompt=lambda _: "the prompt", steps_per_turn=1000)
    steps = -(-MAX_CALLS_PER_TURN // MAX_CALLS_PER_STEP)
    for _ in range(steps):
        model.enqueue("", calls=[("quick", {})] * 1000)
    model.enqueue("Enough.")
    await turn(agent, conversation)
    assert len(bench.ended) == steps * MAX_CALLS_PER_STEP < 2 * MAX_CALLS_PER_TURN
    assert (LAST_STEP_PROMPT in model.history[-1].system, model.history[-1].tools) == (True, ())
    assert_valid(await on_disk(state))


async def test_results_go_back_to_the_model_in_the_order_of_the_calls(
    agent: Agent, model: ScriptedModel, conversation: Conversation, bench: Bench, state: State
) -> None:
    """All calls of a step run at once: the first one ends only because the last one runs."""
    model.enqueue("", calls=[("waits", {"name": "a"}), ("quick", {"name": "b"}), ("opens", {"name": "c"})])
    model.enqueue("Done.")
    await turn(agent, conversation)
    assert bench.ended == ["b", "c", "a"]
    results = model.history[1].messages[2:]
    assert [json.loads(r.content)["done"] for r in results if isinstance(r, ToolResult)] == ["a", "b", "c"]
    assert model.history[1].messages == (await on_disk(state))[:-1]


async def test_bad_calls_go_back_to_the_model_which_can_mend_them(
    agent: Agent, model: ScriptedModel, conversation: Conversation
) -> None:
    bad = (ToolCall("bad000001", "quick", "{"), ToolCall("bad000002", "quik", "{}"))
    model.enqueue("", calls=[*bad, ("quick", {"names": 1})])
    model.enqueue("", calls=[("quick", {"name": "mended"})])
    model.enqueue("Done.")
    await turn(agent, conversation)
    results = [m for m in model.history[2].messages if isinstance(m, ToolResult)]
    assert [result.failed for result in results] == [True, True, True, False]
    assert "not valid JSON" in results[0].content
    assert '\\"quick\\"' in results[1].content


async def test_the_next_turn_knows_the_one_before(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("One.")
    await turn(agent, conversation, "first")
    model.enqueue("Two.")
    await turn(agent, Conversation(state, CHAT), "second")
    texts = [m.text for m in model.history[1].messages if not isinstance(m, ToolResult)]
    assert texts == ["first", "One.", "second"]


async def test_a_turn_after_new_begins_a_conversation_without_the_old_one(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("One.")
    await turn(agent, conversation, "first")
    await end_conversation(state, str(CHAT))
    model.enqueue("Two.")
    await turn(agent, conversation, "second")
    assert model.history[1].messages == (UserMessage("second"),)


async def test_ids_that_a_model_gives_twice_are_made_unique(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    same = ToolCall("same00000", "quick", "{}")
    for _ in range(2):
        model.enqueue("", calls=[same, same, ToolCall("", "quick", "{}")])
    model.enqueue("Done.")
    await turn(agent, conversation)
    history = await on_disk(state)
    assert_valid(history)
    ids = [call.id for m in history if isinstance(m, AssistantMessage) for call in m.calls]
    assert len(set(ids)) == 6
    assert all(len(each) == 9 and each.isalnum() for each in ids)


async def test_an_id_that_only_a_summary_stands_for_is_not_used_again(state: State) -> None:
    @tool
    async def sets() -> dict[str, Any]:
        return {}

    model, conversation = ScriptedModel(), Conversation(state, CHAT)
    agent = Agent(model, Toolbox([sets]), prompt=lambda _: "", steps_per_turn=5)
    for _ in range(2):
        model.enqueue("", calls=[ToolCall("same00000", "sets", "{}")])
        model.enqueue("Set.")
        await turn(agent, conversation)
        await conversation.compact(conversation.last_seq, "something was set", "")
    ids = [call["id"] for kind, fields in await raw(state) if kind == "assistant" for call in fields["calls"]]
    assert len(set(ids)) == 2


async def test_the_memory_is_written_and_found_in_a_turn(
    model: ScriptedModel, conversation: Conversation, state: State, tmp_path: Path
) -> None:
    async with Memory(
        MemorySettings(), workspace=tmp_path, now=lambda: datetime(2026, 11, 21, tzinfo=UTC)
    ) as memory:
        agent = Agent(
            model,
            Toolbox(memory_tools(memory, OnceWriter(memory, state))),
            prompt=lambda _: "",
            steps_per_turn=5,
        )
        model.enqueue("", calls=[("memory_write", {"content": "Anna likes tea", "target": "daily"})])
        model.enqueue("", calls=[("memory_search", {"query": "tea"})])
        model.enqueue("Noted.")
        parts = await turn(agent, conversation)
    assert parts[-1] == ReplyPart("Noted.", final=True)
    found = model.history[2].messages[-1]
    assert isinstance(found, ToolResult)
    assert json.loads(found.content)["results"][0]["snippet"].endswith("Anna likes tea")


# -- limits and failures --------------------------------------------------------------------------------------


async def test_the_last_step_has_no_tools_and_says_so(
    agent: Agent, model: ScriptedModel, conversation: Conversation
) -> None:
    for _ in range(4):
        model.enqueue("", calls=[("quick", {})])
    model.enqueue("This far I came.")
    parts = await turn(agent, conversation)
    assert parts[-1] == ReplyPart("This far I came.", final=True)
    assert len(model.history) == 5
    assert [bool(request.tools) for request in model.history] == [True] * 4 + [False]
    assert [LAST_STEP_PROMPT in request.system for request in model.history] == [False] * 4 + [True]


async def test_a_model_that_calls_to_the_end_is_stopped_with_a_sentence(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, bench: Bench
) -> None:
    for _ in range(5):
        model.enqueue("", calls=[("quick", {})])
    parts = await turn(agent, conversation)
    assert parts[-1].text == english.OUT_OF_STEPS.format(steps="5 steps")
    assert len(bench.ended) == 4
    history = await on_disk(state)
    assert_valid(history)
    assert history[-1] == AssistantMessage(english.OUT_OF_STEPS.format(steps="5 steps"), (), "scripted/model")


async def test_a_model_that_calls_without_having_tools_is_told_so(
    model: ScriptedModel, conversation: Conversation
) -> None:
    model.enqueue("", calls=[("memory_search", {"query": "x"})])
    model.enqueue("I have no memory here.")
    guest = Agent(model, Toolbox(), prompt=lambda _: "", steps_per_turn=5)
    assert (await turn(guest, conversation))[-1].text == "I have no memory here."
    told = model.history[1].messages[-1]
    assert isinstance(told, ToolResult)
    assert told.failed


async def test_one_step_alone_is_without_tools(
    model: ScriptedModel, bench: Bench, conversation: Conversation
) -> None:
    model.enqueue("Hello.")
    only = Agent(model, bench.toolbox(), prompt=lambda _: "the prompt", steps_per_turn=1)
    assert (await turn(only, conversation))[-1].text == "Hello."
    assert (model.history[0].tools, model.history[0].system) == ((), "the prompt")


@pytest.mark.parametrize("text", ["", " \n"])
async def test_an_empty_answer_is_an_error_and_not_an_empty_reply(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, text: str
) -> None:
    model.enqueue(text)
    with pytest.raises(EmptyAnswer):
        await turn(agent, conversation)
    assert await on_disk(state) == (UserMessage("hello"),)


async def test_an_empty_answer_after_a_preface_leaves_the_preface(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("Let me see.", calls=[("quick", {})])
    model.enqueue("")
    parts = await turn(agent, conversation)
    assert parts[-1] == ReplyPart("Let me see.", final=True)
    assert_valid(await on_disk(state))


async def test_a_failing_model_keeps_what_it_said_and_the_next_turn_goes_on(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("", calls=[("quick", {})])
    model.enqueue(["The passport ", "is"], error=Overloaded("too busy"))
    shown: list[str] = []
    with pytest.raises(Overloaded):
        await show(agent, conversation, shown)
    assert shown[-1] == "The passport is"
    history = await on_disk(state)
    assert_valid(history)
    assert history[-1] == AssistantMessage(f"The passport is\n\n{INTERRUPTED_TEXT}")
    model.enqueue("In the blue folder.")
    assert (await turn(agent, conversation, "again"))[-1].text == "In the blue folder."
    assert model.history[-1].messages == (*history, UserMessage("again"))


async def test_a_stream_that_ends_without_an_answer_is_an_error(bench: Bench, state: State) -> None:
    class Cut(ScriptedModel):
        async def stream(self, request):  # type: ignore[no-untyped-def]
            async for event in super().stream(request):
                if hasattr(event, "text"):
                    yield event

    model = Cut()
    model.enqueue(["half an ", "answer"])
    agent = Agent(model, bench.toolbox(), prompt=lambda _: "", steps_per_turn=5)
    with pytest.raises(EmptyAnswer):
        await turn(agent, Conversation(state, CHAT))
    assert (await on_disk(state))[-1] == AssistantMessage(f"half an answer\n\n{INTERRUPTED_TEXT}")


async def test_a_disk_that_fails_ends_the_turn_with_that(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("Hello.")
    state._connection.pragma("query_only", True)
    with pytest.raises(StateUnusable):
        await turn(agent, conversation)
    assert model.history == []


# -- stopping -------------------------------------------------------------------------------------------------


async def stopped(work: Coroutine[Any, Any, Any], when: Callable[[], bool]) -> None:
    task = asyncio.create_task(work)
    await until(when, task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stop_keeps_the_text_that_was_shown_and_closes_the_stream(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue(["The passport ", "is in "], hang=True)
    shown: list[str] = []

    await stopped(show(agent, conversation, shown), lambda: len(shown) == 2)
    assert model.closed == 1
    assert await on_disk(state) == (
        UserMessage("where?"),
        AssistantMessage(f"The passport is in\n\n{INTERRUPTED_TEXT}"),
    )


async def test_a_stop_while_tools_run_keeps_the_results_that_came_and_interrupts_the_others(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, bench: Bench
) -> None:
    model.enqueue("Looking.", calls=[("waits", {}), ("quick", {}), ("stubborn", {})])
    await stopped(turn(agent, conversation), lambda: len(bench.began) == 3)
    assert [kind for kind, _ in await raw(state)] == ["user", "assistant", "result", "result", "result"]
    assert [message.content for message in await on_disk(state) if isinstance(message, ToolResult)] == [
        INTERRUPTED_RESULT,
        '{"done": "quick"}',
        '{"done": "in spite of it"}',
    ]
    assert bench.ended == ["quick", "stubborn"]


async def results_on_disk(state: State, count: int, task: asyncio.Task[Any]) -> list[str]:
    """Wait until so many calls have their results on disk, and give their names in the order in which they came."""
    async with asyncio.timeout(20):
        while True:
            assert not task.done()
            names = [fields["name"] for kind, fields in await raw(state) if kind == "result"]
            if len(names) >= count:
                return names
            await asyncio.sleep(0.001)


async def test_each_result_is_on_disk_before_the_last_call_of_its_step_has_ended(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, bench: Bench
) -> None:
    model.enqueue("", calls=[("waits", {}), ("quick", {})])
    model.enqueue("Done.")
    task = asyncio.create_task(turn(agent, conversation))
    assert await results_on_disk(state, 1, task) == ["quick"]
    bench.gate.set()
    await task
    assert [fields["name"] for kind, fields in await raw(state) if kind == "result"] == ["quick", "waits"]
    assert_valid(model.history[1].messages)
    shown = [message.name for message in model.history[1].messages if isinstance(message, ToolResult)]
    assert shown == ["waits", "quick"]


async def test_a_disk_that_fails_while_tools_run_leaves_the_open_calls_open(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, bench: Bench
) -> None:
    model.enqueue("", calls=[("waits", {}), ("quick", {}), ("waits", {"name": "again"})])
    task = asyncio.create_task(turn(agent, conversation))
    await results_on_disk(state, 1, task)
    state._connection.pragma("query_only", True)
    bench.gate.set()
    with pytest.raises(StateUnusable):
        await task
    await asyncio.sleep(0)
    assert not [other for other in asyncio.all_tasks() if other is not asyncio.current_task()]
    assert [kind for kind, _ in await raw(state)] == ["user", "assistant", "result"]


async def test_a_tool_that_does_not_let_itself_be_stopped_does_not_hold_up_the_stop(
    agent: Agent,
    model: ScriptedModel,
    conversation: Conversation,
    state: State,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_module, "STOP_GRACE", 0.05)
    model.enqueue("", calls=[("deaf", {}), ("quick", {})])
    await stopped(turn(agent, conversation), lambda: len(bench.began) == 2)
    results = [message.content for message in await on_disk(state) if isinstance(message, ToolResult)]
    assert results == [INTERRUPTED_RESULT, '{"done": "quick"}']
    bench.gate.set()
    await asyncio.sleep(0.01)


async def test_stopping_twice_is_stopping_once(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State, bench: Bench
) -> None:
    model.enqueue("", calls=[("deaf", {}), ("quick", {})])
    task = asyncio.create_task(turn(agent, conversation))
    await until(lambda: len(bench.began) == 2, task)
    for _ in range(4):
        task.cancel()
        await asyncio.sleep(0.002)
    bench.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [kind for kind, _ in await raw(state)] == ["user", "assistant", "result", "result"]


async def test_closing_the_reply_is_a_stop(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue(["One", ", two"], hang=True)
    async with aclosing(run_turn(agent, conversation, "count")) as parts:
        async for part in parts:
            if part.text == "One, two":
                break
    assert model.closed == 1
    assert (await on_disk(state))[-1] == AssistantMessage(f"One, two\n\n{INTERRUPTED_TEXT}")


async def test_a_reply_that_is_dropped_is_closed_by_the_event_loop(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue(["One", ", two"])
    async for _ in run_turn(agent, conversation, "count"):
        break
    for _ in range(2000):
        await asyncio.sleep(0.005)
        if model.closed and len(await on_disk(state)) == 2:
            break
    assert model.closed == 1
    assert (await on_disk(state))[-1] == AssistantMessage(f"One\n\n{INTERRUPTED_TEXT}")


async def test_closing_at_the_last_part_finds_everything_on_disk(
    agent: Agent, model: ScriptedModel, conversation: Conversation, state: State
) -> None:
    model.enqueue("One.")
    async with aclosing(run_turn(agent, conversation, "count")) as parts:
        async for part in parts:
            if part.final:
                break
    assert (await on_disk(state))[-1] == AssistantMessage("One.", (), "scripted/model")


def enqueue_all(model: ScriptedModel) -> None:
    model.enqueue(["Let me ", "look."], calls=[("waits", {}), ("opens", {}), ("stubborn", {}), ("quick", {})])
    model.enqueue("", calls=[("quick", {}), ToolCall("broken000", "quick", "{")])
    model.enqueue(["It is ", "there."])


class CancelledAt:
    """Awaits a coroutine and cancels the task that does so at the given suspensions, counted from 1."""

    def __init__(self, work: Coroutine[Any, Any, None], *suspensions: int) -> None:
        self._work = work
        self._at = suspensions
        self.suspensions = 0

    def __await__(self) -> Generator[Any, None, None]:
        inner = self._work.__await__()
        resume: Callable[[], Any] = partial(inner.send, None)
        while True:
            try:
                waits_for = resume()
            except StopIteration:
                return
            self.suspensions += 1
            if self.suspensions in self._at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waits_for
                resume = partial(inner.send, None)
            except BaseException as error:  # noqa: BLE001 - handed on to the coroutine, whatever it is
                resume = partial(inner.throw, error)


async def cancelled_at(path: Path, *suspensions: int) -> bool:
    """Cancel a whole turn; tell whether it had come to its end before."""
    model, bench = ScriptedModel(), Bench()
    enqueue_all(model)
    agent = Agent(model, bench.toolbox(), prompt=lambda _: "", steps_per_turn=5)
    shown: list[str] = []
    async with State(copy_fresh_state(path)) as state:

        async def run() -> None:
            await CancelledAt(show(agent, Conversation(state, CHAT), shown), *suspensions)

        task = asyncio.create_task(run())
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()

        history = await on_disk(state)
        assert_valid(history)
        assert len(history) == len(await raw(state)), "nothing is left for the loading to mend"
        assert history[0] == UserMessage("where?"), "what was said is on disk, however early the stop"
        texts = [
            m.text.removesuffix(INTERRUPTED_TEXT).strip() for m in history if isinstance(m, AssistantMessage)
        ]
        assert not shown or "\n\n".join(filter(None, texts)) == shown[-1], "what was seen is on disk"
        after = ScriptedModel()
        after.enqueue("Here again.")
        agent = Agent(after, Toolbox(), prompt=lambda _: "", steps_per_turn=5)
        await turn(agent, Conversation(state, CHAT), "and?")
        assert after.history[0].messages == (*history, UserMessage("and?"))
    return not task.cancelled()


@pytest.mark.thorough
@pytest.mark.parametrize("again", [(), (1,), (2,), (1, 2, 3)])
async def test_a_stop_at_any_moment_leaves_a_history_that_can_go_on(
    tmp_path: Path, again: tuple[int, ...]
) -> None:
    for moment in range(1, 100):
        later = (moment + wait for wait in again)
        if await cancelled_at(tmp_path / f"{moment}.db", moment, *later):
            assert moment > 15
            return
    pytest.fail("the turn never came to its end")


async def closed_after(folder: Path, parts: int) -> bool:
    model, bench = ScriptedModel(), Bench()
    bench.gate.set()
    enqueue_all(model)
    agent = Agent(model, bench.toolbox(), prompt=lambda _: "", steps_per_turn=5)
    seen = 0
    async with State(copy_fresh_state(folder / f"closed{parts}.db")) as state:
        async with aclosing(run_turn(agent, Conversation(state, CHAT), "where?")) as reply:
            async for _ in reply:
                seen += 1
                if seen > parts:
                    break
        assert_valid(await on_disk(state))
        assert len(await on_disk(state)) == len(await raw(state))
    return seen <= parts


async def test_closing_at_any_part_leaves_a_history_that_can_go_on(tmp_path: Path) -> None:
    ends = [await closed_after(tmp_path, parts) for parts in range(7)]
    assert ends == [False] * 5 + [True] * 2


steps = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "\n\n", "b c", " "]), max_size=3),
        st.lists(st.sampled_from(["quick", "opens", "stubborn", "missing"]), max_size=3),
        st.sampled_from([None, None, None, "error", "hang"]),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(steps, st.integers(0, 60)), min_size=1, max_size=3))
def test_any_turns_with_any_failures_and_stops_leave_a_valid_history(turns: list[Any]) -> None:
    async def main(folder: Path) -> None:
        async with State(copy_fresh_state(folder / "state.db")) as state:
            conversation = Conversation(state, CHAT)
            for script, patience in turns:
                model, bench = ScriptedModel(), Bench()
                bench.gate.set()
                for chunks, calls, failure in script:
                    error = Overloaded("busy") if failure == "error" else None
                    model.enqueue(
                        chunks, calls=[(name, {}) for name in calls], error=error, hang=failure == "hang"
                    )
                model.enqueue("The end.")
                agent = Agent(model, bench.toolbox(), prompt=lambda _: "", steps_per_turn=3)
                task = asyncio.create_task(turn(agent, conversation))
                for _ in range(patience):
                    await asyncio.sleep(0.0002)
                    if task.done():
                        break
                task.cancel()
                await asyncio.wait([task])
                if not task.cancelled() and task.exception() is None:
                    assert task.result()[-1].final
                    assert task.result()[-1].text.strip()
                history = await on_disk(state)
                assert_valid(history)
                assert len(history) == len(await raw(state))

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


# -- kill -9 --------------------------------------------------------------------------------------------------

TALKER = """
import asyncio, sys
from pathlib import Path
from bot import english
from bot.agent import Agent
from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.state.database import State
from bot.tools.toolbox import Toolbox, tool
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.turns import run_turn

@tool
async def slow():
    print("tool", flush=True)
    await asyncio.sleep(0.01)
    return {"done": 1}

async def main():
    async with State(Path(sys.argv[1])) as state:
        conversation = Conversation(state, ChatId("terminal", "main"))
        for n in range(10**9):
            model = ScriptedModel()
            model.enqueue(["Let ", "me look."], calls=[("slow", {}), ("slow", {})], delay=0.002)
            model.enqueue(["It is ", "there."], delay=0.002)
            agent = Agent(model, Toolbox([slow]), prompt=lambda _: "", steps_per_turn=5)
            async for part in run_turn(agent, conversation, f"question {n}"):
                print("part", flush=True)

asyncio.run(main())
"""


def kill_talker_after(lines: int, path: Path) -> None:
    talker = subprocess.Popen([sys.executable, "-c", TALKER, str(path)], stdout=subprocess.PIPE, text=True)
    assert talker.stdout is not None
    for _ in range(lines):
        assert talker.stdout.readline()
    talker.send_signal(signal.SIGKILL)
    talker.wait()
    talker.stdout.close()


@pytest.mark.thorough
async def test_kill_9_at_any_moment_leaves_a_history_that_can_go_on(tmp_path: Path) -> None:
    for lines in (1, 3, 4, 8, 14, 17):
        kill_talker_after(lines, tmp_path / "state.db")
        async with State(tmp_path / "state.db") as state:
            history = await on_disk(state)
            assert_valid(history)
            model = ScriptedModel()
            model.enqueue("Here again.")
            agent = Agent(model, Toolbox(), prompt=lambda _: "", steps_per_turn=5)
            await turn(agent, Conversation(state, CHAT), "and?")
            assert model.history[0].messages == (*history, UserMessage("and?"))


THREE_CALLS = """
import asyncio, sys
from pathlib import Path
from bot.tools.toolbox import tool
from tests.fakes.harness import open_harness

folder = Path(sys.argv[1])

@tool
async def runs(name: str, waits: bool = False):
    with open(folder / "runs", "a") as file:
        print(name, file=file)
    if waits:
        await asyncio.Event().wait()
    return {"done": name}

async def main():
    async with open_harness(folder, tools=[runs]) as house:
        calls = [("first", False), ("second", True), ("third", False)]
        house.model.enqueue("", calls=[("runs", {"name": name, "waits": waits}) for name, waits in calls])
        await house.accept("go", chat="telegram:1", sender="telegram:1", alone=False)
        query = "SELECT count(*) FROM entries WHERE kind = 'result'"
        for _ in range(1000):
            if await house.state.read(lambda db: db.execute(query).get) == 2:
                break
            await asyncio.sleep(0.01)
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.thorough
async def test_kill_9_in_a_step_of_three_calls_runs_only_the_unfinished_one_again(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", THREE_CALLS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert sorted((tmp_path / "runs").read_text().split()) == ["first", "second", "third"]

    @tool
    async def runs(name: str, waits: bool = False) -> dict[str, Any]:
        with (tmp_path / "runs").open("a") as file:
            print(name, file=file)
        return {"done": f"{name}, after the crash" if waits else name}

    model = ScriptedModel()
    model.enqueue("All three are done.")
    async with open_harness(tmp_path, tools=[runs], model=model) as house:
        await house.wait_until_asked(1)
        await house.wait_until_idle()
        assert list(house.telegram.replies().values()) == ["All three are done."]
    assert (tmp_path / "runs").read_text().split()[3:] == ["second"]
    shown = model.history[0].messages
    assert_valid(shown)
    results = [message.content for message in shown if isinstance(message, ToolResult)]
    assert results == ['{"done": "first"}', '{"done": "second, after the crash"}', '{"done": "third"}']


async def test_a_turn_that_is_parked_in_a_step_of_two_calls_runs_the_unfinished_one_again(
    tmp_path: Path,
) -> None:
    ran: list[str] = []
    leaves = asyncio.Event()

    @tool
    async def quick() -> dict[str, Any]:
        ran.append("quick")
        return {}

    @tool
    async def waits() -> dict[str, Any]:
        ran.append("waits")
        await leaves.wait()
        return {}

    async with open_harness(tmp_path, tools=[quick, waits]) as house:
        house.model.enqueue("", calls=[("waits", {}), ("quick", {})])
        await house.accept("go", chat="telegram:1", sender="telegram:1", alone=False)
        async with asyncio.timeout(10):
            while sorted(ran) != ["quick", "waits"]:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
    leaves.set()
    model = ScriptedModel()
    model.enqueue("Done.")
    async with open_harness(tmp_path, tools=[quick, waits], model=model) as house:
        await house.wait_until_asked(1)
        await house.wait_until_idle()
        assert list(house.telegram.replies().values()) == ["Done."]
    assert ran[2:] == ["waits"]
    assert_valid(model.history[0].messages)


@pytest.mark.thorough
def test_importing_the_agent_is_light() -> None:
    script = (
        "import sys, bot.agent, bot.prompt, bot.tools.memory; heavy = 'aiohttp httpx numpy rich prompt_toolkit "
        "pydantic_settings'; print([name for name in heavy.split() if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
