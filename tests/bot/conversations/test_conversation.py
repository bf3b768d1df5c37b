import asyncio
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.conversations.conversation import (
    INTERRUPTED_RESULT,
    INTERRUPTED_TEXT,
    Conversation,
    interrupted_result,
    repair_tool_calls,
)
from bot.messages import ChatId
from bot.models.protocol import (
    AssistantMessage,
    Image,
    Message,
    RawStep,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.state.database import State
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.stored_conversation import end_conversation, entries, open_conversation

CHAT = ChatId("terminal", "main")
ONE, TWO = (
    ToolCall("aaaaaaaa1", "memory_search", '{"query": "tea"}'),
    ToolCall("aaaaaaaa2", "memory_get", "{"),
)
STEP = AssistantMessage("Let me look.", (ONE, TWO), "scripted/model")
FOUND, FAILED = (
    ToolResult(ONE.id, ONE.name, '{"results": []}'),
    ToolResult(TWO.id, TWO.name, '{"error": "no"}', failed=True),
)
WHOLE = (
    UserMessage("Do I like tea? 喜欢茶吗"),
    STEP,
    FOUND,
    FAILED,
    AssistantMessage("I do not know.", (), "scripted/model"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def state(path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(path)) as opened:
        yield opened


def assert_valid(messages: Sequence[Message]) -> None:
    """Each call directly followed by its one result, in order; no answer that says nothing."""
    rest = list(messages)
    while rest:
        message = rest.pop(0)
        assert not isinstance(message, ToolResult), "a result without its call"
        if isinstance(message, AssistantMessage):
            assert message.calls or message.text.strip()
            for call in message.calls:
                result = rest.pop(0)
                assert isinstance(result, ToolResult)
                assert (result.call_id, result.name) == (call.id, call.name)


async def test_a_conversation_goes_on_after_a_restart_as_it_was(path: Path) -> None:
    async with State(path) as state:
        conversation = Conversation(state, CHAT)
        for message in WHOLE:
            await conversation.append(message)
        assert conversation.messages() == WHOLE
    async with State(path) as state:
        conversation = Conversation(state, CHAT)
        assert conversation.messages() == ()
        await conversation.load()
        assert conversation.messages() == WHOLE
        await conversation.load()
        assert conversation.messages() == WHOLE


async def test_new_ends_the_conversation_and_keeps_it_on_disk(state: State) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(*WHOLE)
    number = await open_conversation(state, str(CHAT))
    await end_conversation(state, str(CHAT))
    await conversation.load()
    assert conversation.messages() == ()
    await conversation.append(UserMessage("again"))
    assert conversation.messages() == (UserMessage("again"),)
    assert number is not None
    assert len(await entries(state, number)) == len(WHOLE)


async def test_a_turn_that_runs_while_its_conversation_is_ended_stays_in_the_old_one(state: State) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage("one"))
    await end_conversation(state, str(CHAT))
    await conversation.append(AssistantMessage("answer"))
    assert await open_conversation(state, str(CHAT)) is None
    assert conversation.messages() == (UserMessage("one"), AssistantMessage("answer"))


async def test_what_another_process_said_is_seen(state: State) -> None:
    here, there = Conversation(state, CHAT), Conversation(state, CHAT)
    await here.append(UserMessage("one"))
    await there.append(UserMessage("two"))
    assert there.messages() == (UserMessage("one"), UserMessage("two"))
    await here.append(UserMessage("three"))
    assert here.messages() == (UserMessage("one"), UserMessage("two"), UserMessage("three"))


async def test_calls_without_results_were_interrupted_on_load(state: State) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage("q"), STEP, FAILED)
    await conversation.append(UserMessage("q again"))
    again = Conversation(state, CHAT)
    await again.load()
    expected = (UserMessage("q"), STEP, interrupted_result(ONE), FAILED, UserMessage("q again"))
    assert again.messages() == conversation.messages() == expected


async def test_a_result_that_comes_after_somebody_elses_message_stands_at_its_call(state: State) -> None:
    here, there = Conversation(state, CHAT), Conversation(state, CHAT)
    await here.append(UserMessage("q"), STEP)
    await there.append(UserMessage("theirs"))
    await here.append(FOUND, FAILED)
    await there.load()
    assert there.messages() == (UserMessage("q"), STEP, FOUND, FAILED, UserMessage("theirs"))


async def test_interrupting_keeps_the_text_that_was_shown_and_says_so(state: State) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage("q"))
    await conversation.interrupt("The passport is ")
    assert conversation.messages()[1:] == (AssistantMessage(f"The passport is\n\n{INTERRUPTED_TEXT}"),)


async def test_interrupting_before_anything_was_shown_adds_nothing(state: State) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage("q"))
    await conversation.interrupt(" \n")
    assert conversation.messages() == (UserMessage("q"),)


async def test_interrupting_does_not_hide_what_ends_the_turn(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage("q"))
    state._connection.pragma("query_only", True)
    await conversation.interrupt("text")
    assert "could not store an interrupted turn" in caplog.text


async def test_a_cancelled_append_is_neither_lost_nor_doubled(state: State) -> None:
    conversation = Conversation(state, CHAT)
    for number in range(3):
        task = asyncio.create_task(conversation.append(UserMessage(str(number))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await conversation.append(UserMessage("last"))
    expected = tuple(UserMessage(text) for text in ("0", "1", "2", "last"))
    assert conversation.messages() == expected
    await conversation.load()
    assert conversation.messages() == expected


@pytest.mark.parametrize(
    "text", ["\ud83d half an emoji", "\ud83d\ude00", "nul \x00 \x1b", "喜欢 ü 🏳️‍🌈 \u2028", "", '"\\']
)
async def test_any_text_is_kept_and_fit_to_be_sent(state: State, text: str) -> None:
    conversation = Conversation(state, CHAT)
    await conversation.append(UserMessage(text), AssistantMessage(text, (ToolCall("x", text, text),)))
    again = Conversation(state, CHAT)
    await again.load()
    assert again.messages() == conversation.messages()
    kept = conversation.messages()[0]
    assert isinstance(kept, UserMessage)
    kept.text.encode()
    if "\ud83d" not in text:
        assert kept.text == text


async def test_unknown_fields_are_tolerated_and_unreadable_entries_left_out(
    state: State, caplog: pytest.LogCaptureFixture
) -> None:
    entries = [
        ("user", '{"text": "hello", "attachments": [1]}'),
        ("assistant", '{"text": "hi", "calls": [], "model": "m", "thinking": "…"}'),
        ("user", "{broken"),
        ("user", "[]"),
        ("hologram", "{}"),
        ("user", "{}"),
    ]
    await state.append(None, str(CHAT), entries, after=0)
    conversation = Conversation(state, CHAT)
    await conversation.load()
    assert conversation.messages() == (UserMessage("hello"), AssistantMessage("hi", (), "m"))
    assert caplog.text.count("is damaged and was skipped") == 4


# -- the rule, whatever happened --------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c"])
calls = st.builds(ToolCall, ids, st.just("t"), st.just("{}"))
messages = st.one_of(
    st.builds(UserMessage, st.just("u")),
    st.builds(AssistantMessage, st.sampled_from(["", " ", "text"]), st.lists(calls, max_size=3).map(tuple)),
    st.builds(ToolResult, ids, st.just("t"), st.sampled_from(["{}", '{"x": 1}'])),
)


@given(st.lists(messages, max_size=12))
def test_whatever_was_appended_in_whatever_order_is_shown_as_a_valid_history(history: list[Message]) -> None:
    shown = repair_tool_calls(history)
    assert_valid(shown)
    assert repair_tool_calls(shown) == shown
    assert [m for m in shown if isinstance(m, UserMessage)] == [
        m for m in history if isinstance(m, UserMessage)
    ]


def turns(who: str) -> st.SearchStrategy[list[Message]]:
    """What one process appends: whole turns, the last perhaps cut short anywhere."""

    def build(shape: list[int], cut: int) -> list[Message]:
        said: list[Message] = []
        for turn, width in enumerate(shape):
            step = tuple(ToolCall(f"{who}{turn}{n}", "t", "{}") for n in range(width))
            said.append(UserMessage(f"{who}{turn}"))
            if step:
                said.append(AssistantMessage("", step))
                said.extend(ToolResult(call.id, "t", '{"done": 1}') for call in step)
            said.append(AssistantMessage(f"{who}{turn} answered"))
        return said[: len(said) - cut]

    return st.builds(build, st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 3))


@given(turns("a"), turns("b"), st.randoms(use_true_random=False))
def test_two_processes_interleaved_lose_no_message_and_no_result(one, other, random) -> None:  # type: ignore[no-untyped-def]
    queues, history = [list(one), list(other)], []
    while any(queues):
        queue = random.choice([q for q in queues if q])
        history.append(queue.pop(0))
    shown = repair_tool_calls(history)
    assert_valid(shown)
    for message in history:
        assert message in shown
    assert sum(1 for m in shown if m not in history) == sum(
        1 for m in shown if isinstance(m, ToolResult) and m.content == INTERRUPTED_RESULT
    )


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), messages), max_size=8))
def test_two_objects_on_one_chat_come_to_the_same_history(writes: list[tuple[int, Message]]) -> None:
    async def run(folder: Path) -> None:
        async with (
            State(copy_fresh_state(folder / "state.db")) as first,
            State(folder / "state.db") as second,
        ):
            both = [Conversation(first, CHAT), Conversation(second, CHAT)]
            for who, message in writes:
                await both[who].append(message)
            for each in both:
                await each.load()
            assert (
                both[0].messages()
                == both[1].messages()
                == repair_tool_calls(message for _, message in writes)
            )

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


WRITER = """
import asyncio, sys
from pathlib import Path
from bot.conversations.conversation import Conversation
from bot.messages import ChatId
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage
from bot.state.database import State

async def main():
    async with State(Path(sys.argv[1])) as state:
        conversation = Conversation(state, ChatId("terminal", "main"))
        await conversation.load()
        for n in range(10**9):
            calls = (ToolCall(f"{n}a", "t", "{}"), ToolCall(f"{n}b", "t", "{}"))
            for messages in (
                [UserMessage(str(n))],
                [AssistantMessage("", calls)],
                [ToolResult(call.id, "t", "{}") for call in calls],
                [AssistantMessage(str(n))],
            ):
                await conversation.append(*messages)
                print(n, len(messages), flush=True)

asyncio.run(main())
"""


def acknowledged_until_killed(path: Path, lines: int) -> int:
    """Let somebody append until so many appends returned, then kill them; count the entries that are safe."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    safe = [writer.stdout.readline() for _ in range(lines)]
    writer.send_signal(signal.SIGKILL)
    safe += [line for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    return sum(int(line.split()[1]) for line in safe)


@pytest.mark.thorough
async def test_kill_9_between_and_within_appends_leaves_what_was_acknowledged(path: Path) -> None:
    acknowledged = 0
    for kill in range(5):
        acknowledged += acknowledged_until_killed(path, 7 + 3 * kill)
        async with State(path) as state:
            conversation = Conversation(state, CHAT)
            await conversation.load()
            assert_valid(conversation.messages())
            number = await open_conversation(state, str(CHAT))
            assert number is not None
            rows = await entries(state, number)
            assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
            assert 0 <= len(rows) - acknowledged <= 2, "one append may have been committed and not yet told"
            acknowledged = len(rows)
            assert state._connection.pragma("integrity_check") == "ok"


def test_the_database_can_be_read_with_any_sqlite(path: Path) -> None:
    async def main() -> None:
        async with State(path) as state:
            await Conversation(state, CHAT).append(UserMessage("喜欢茶"))

    asyncio.run(main())
    db = apsw.Connection(str(path))
    assert db.execute("SELECT json_extract(payload, '$.text') FROM entries").get == "喜欢茶"
    db.close()


async def test_what_a_provider_wrote_and_pictures_come_back_byte_for_byte(path: Path) -> None:
    raw = RawStep("anthropic", {"content": [{"type": "thinking", "thinking": "嗯", "signature": "a=="}]})
    messages = (
        UserMessage("What is this?", (Image("image/png", bytes(range(256))),)),
        AssistantMessage("A passport.", (), "anthropic/claude", raw),
    )
    async with State(path) as state:
        await Conversation(state, CHAT).append(*messages)
    async with State(path) as state:
        again = Conversation(state, CHAT)
        await again.load()
        assert again.messages() == messages


async def test_a_retracted_answer_is_gone_for_everybody_in_the_chat(state: State) -> None:
    here, there = Conversation(state, CHAT), Conversation(state, CHAT)
    assert not await here.retract()
    await here.append(*WHOLE)
    await there.load()
    assert await here.retract()
    await there.load()
    assert (here.messages(), there.messages()) == (WHOLE[:-1], WHOLE), "there is nothing in its place yet"
    better = AssistantMessage("Yes, you do.", (), "scripted/model")
    await here.append(better)
    await there.load()
    assert here.messages() == there.messages() == (*WHOLE[:-1], better)
    assert await here.retract(), "again and again"
    await here.append(WHOLE[-1])
    await there.load()
    assert here.messages() == there.messages() == WHOLE


async def test_what_was_forgotten_by_hand_is_read_anew_by_whoever_holds_the_conversation(
    state: State,
) -> None:
    held, other = Conversation(state, CHAT), Conversation(state, CHAT)
    await held.load()
    await held.append(UserMessage("a secret"), AssistantMessage("I see"))
    await other.load()
    await state.change(
        lambda db: db.execute(
            "UPDATE entries SET payload = '{\"text\": \"[forgotten]\"}' WHERE kind = 'user'"
        )
    )
    for conversation in (held, other):
        await conversation.load()
        assert conversation.messages() == (UserMessage("[forgotten]"), AssistantMessage("I see"))
    await held.append(UserMessage("and now?"))
    await other.load()
    assert len(other.messages()) == 3
