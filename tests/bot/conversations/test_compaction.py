import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from bot.config.settings import ModelsSettings, ProviderSettings, Settings
from bot.conversations.compaction import CompactionResult, find_cut
from bot.conversations.conversation import Conversation, Entry
from bot.conversations.summary import extract
from bot.messages import ChatId
from bot.models.errors import Unreachable
from bot.models.factory import open_model
from bot.models.fallback import FallbackModel
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import (
    AssistantMessage,
    AttachedText,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from bot.models.token_estimate import estimate_message_tokens
from bot.state.flushes import Cause
from memory.errors import MemoryFault
from tests.fakes.conversation_harness import CHAT, ConversationHarness, open_conversation_harness
from tests.fakes.model_server import KEY, ModelAnswer, hangs
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.stored_conversation import entries
from tests.fakes.table_test import table_test

LONG = "It was a long story with many words in it. " * 4
NOTES = "- Anna told a long story."


def hold(chat: ChatId) -> AbstractAsyncContextManager[None]:
    del chat
    return nullcontext()


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
async def talk(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[ConversationHarness]:
    """Ten turns of some 60 tokens each, twice what is allowed."""
    async with open_conversation_harness(tmp_path, alone(model), threshold=300) as talk:
        for number in range(10):
            await talk.take_turn(f"Story {number}. {LONG}", f"Answer {number}.")
        yield talk


def texts(messages: tuple[Message, ...]) -> str:
    return "\n".join(each.text for each in messages if not isinstance(each, ToolResult))


async def test_older_turns_become_a_summary_and_the_latest_stay_as_they_are(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(NOTES)
    model.enqueue("Anna tells stories.")
    assert await talk.compactor.needs_compaction(talk.conversation)
    done = await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    assert done.notice == "Our conversation has become long, so I've noted what matters in 2026-11-21.md:3-5."
    assert not await talk.compactor.needs_compaction(talk.conversation)
    first, *latest = talk.conversation.messages()
    assert isinstance(first, UserMessage)
    assert first.earlier  # else who is no language model would do once more what it tells of
    assert "Anna tells stories." in first.text
    assert texts(tuple(latest)).startswith("Story 9.")
    assert sum(map(estimate_message_tokens, latest)) <= 100
    number = talk.conversation.id
    assert number is not None
    kept = await entries(talk.state, number)
    assert sum(row.kind == "user" for row in kept) == 10  # the whole history stays


async def test_the_next_summary_is_told_the_one_before(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    for text in (NOTES, "First summary, of Mia the cat.", "- More stories.", "Second summary."):
        model.enqueue(text)
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    for number in range(10, 16):
        await talk.take_turn(f"Story {number}. {LONG}", f"Answer {number}.")
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    assert "First summary" in texts(model.history[-1].messages)
    assert "Second summary." in talk.conversation.summary
    assert "First summary" not in talk.conversation.summary
    assert [row["after"] for row in await talk.rows()] == [0, (await talk.rows())[0]["upto"]]


async def test_a_summary_is_never_longer_than_a_quarter(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(NOTES)
    model.enqueue("A summary that does not end. " * 1000)
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    ratio = talk.model.health.of(RouteName(model.name)).tokens_ratio
    assert len(talk.conversation.summary) / 3.5 * ratio <= 300 / 4 + 1


async def test_a_summary_that_says_nothing_does_not_stand_alone(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(NOTES)
    model.enqueue("No.")
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    assert "Story 8." in talk.conversation.summary


async def test_without_a_model_the_summary_is_what_the_person_said(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(error=Unreachable("away"))
    done = await talk.compactor.compact(talk.conversation, cause="overflow", flush=True)
    assert done.flushed.result == "raw"
    assert done.messages
    assert "own words" in talk.conversation.summary
    assert len(model.history) == 1  # nobody is asked for a summary where nobody answered before


async def test_a_conversation_of_guests_is_shortened_and_noted_nowhere(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    await talk.memory.write("The owner's secret", target="core")
    model.enqueue("A summary of what the guest said.")
    done = await talk.compactor.compact(talk.conversation, cause="threshold", flush=False)
    assert done.notice == ""
    assert talk.note() == ""
    assert talk.conversation.recalled == ""
    assert "secret" not in str(model.history)


async def test_what_the_notes_say_is_looked_up_again_with_each_fold(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(f"{NOTES}\n# MEMORY.md\n- Anna tells stories gladly.")
    model.enqueue("A summary of all of it.")
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    assert "Anna tells stories gladly." in talk.conversation.recalled
    assert NOTES in talk.conversation.recalled


async def test_a_turn_that_runs_stays_whole_however_long(tmp_path: Path, model: ScriptedModel) -> None:
    async with open_conversation_harness(tmp_path, alone(model), threshold=100) as talk:
        call = ToolCall("aaaaaaaa1", "memory_search", "{}")
        await talk.conversation.append(
            UserMessage(LONG), AssistantMessage("", (call,)), ToolResult(call.id, call.name, LONG * 3)
        )
        assert not await talk.compactor.needs_compaction(talk.conversation)
        done = await talk.compactor.compact(talk.conversation, cause="overflow", flush=True)
        assert done.messages == 0
        assert len(talk.conversation.messages()) == 3


async def test_tokens_count_as_the_model_counts_them(talk: ConversationHarness, model: ScriptedModel) -> None:
    conversation = Conversation(talk.state, ChatId("telegram", "2"))
    for number in range(4):
        await conversation.append(UserMessage(LONG), AssistantMessage(f"{number}", (), model.name))
    assert not await talk.compactor.needs_compaction(conversation)
    route, usage = RouteName(model.name), Usage(input_tokens=400)
    talk.model.health.record([CallOutcome(route, 1.0, usage=usage, tokens=100)])
    assert await talk.compactor.needs_compaction(conversation)


async def test_after_three_failures_the_words_are_kept_and_it_goes_on(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    results = []
    for _ in range(3):
        model.enqueue(error=Unreachable("away"))
        assert await talk.compactor.needs_compaction(talk.conversation)
        done = await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
        results.append((done.flushed.result, done.notice != "", done.messages > 0))
        await talk.take_turn("And then?", "Then it went on.")
    assert results == [("waits", False, False), ("waits", False, False), ("raw", True, True)]
    assert talk.note().count("Story 3.") == 1
    assert len(await talk.rows()) == 1


async def test_a_model_that_answers_again_clears_the_failures(
    talk: ConversationHarness, model: ScriptedModel
) -> None:
    model.enqueue(error=Unreachable("away"))
    await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    model.enqueue(NOTES)
    model.enqueue("A summary of all of it.")
    done = await talk.compactor.compact(talk.conversation, cause="threshold", flush=True)
    assert done.flushed.result == "noted"
    assert "not yet sorted" not in talk.note()


# -- idle ---------------------------------------------------------------------------------------------------


async def test_a_conversation_that_lies_idle_is_noted_once_and_the_person_told_in_a_line(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn("My dentist is Dr Weber.")
        await talk.compactor.flush_idle(hold)
        assert model.history == []
        talk.clock.pass_(minutes=361)
        model.enqueue("- Anna's dentist is Dr Weber.")
        await talk.compactor.flush_idle(hold)
        await talk.compactor.flush_idle(hold)
        assert await talk.notices() == [
            "Our conversation has been quiet for a while, so I've noted what matters in 2026-11-21.md:3-5."
        ]
        assert talk.woken == ["woken"]
        assert len(model.history) == 1


async def test_conversations_for_which_no_model_can_be_asked_keep_no_other_from_its_turn(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        numbers = [
            await talk.state.append(None, f"terminal:{name}", [("user", '{"text": "hello"}')], after=0)
            for name in range(5)
        ]
        for name in range(5):
            await talk.compactor.save_chat(ChatId("terminal", str(name)), name="", flush=True)
        talk.clock.pass_(minutes=361)
        held: list[ChatId] = []

        @asynccontextmanager
        async def refused(chat: ChatId) -> AsyncIterator[None]:
            held.append(chat)
            raise MemoryFault("just now it cannot be had")
            yield

        for _ in numbers:
            with pytest.raises(MemoryFault):
                await talk.compactor.flush_idle(refused)
        assert {chat.name for chat in held} == {"0", "1", "2", "3", "4"}


@pytest.mark.parametrize("settings", [{"idle_minutes": 0}, {"enabled": False}])
async def test_idle_conversations_are_left_alone_where_that_is_set(
    tmp_path: Path, model: ScriptedModel, settings: Mapping[str, Any]
) -> None:
    async with open_conversation_harness(tmp_path, alone(model), **settings) as talk:
        await talk.take_turn("My dentist is Dr Weber.")
        talk.clock.pass_(days=30)
        await talk.compactor.run_pending(hold)
        assert await talk.rows() == []


async def test_only_what_is_known_to_be_flushed_is_flushed_unasked(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await talk.take_turn("My dentist is Dr Weber.")
        await talk.compactor.save_chat(CHAT, name="a guest", flush=False)
        await Conversation(talk.state, ChatId("telegram", "unknown")).append(UserMessage("Hello"))
        talk.clock.pass_(days=1)
        await talk.compactor.run_pending(hold)
        assert model.history == []


@pytest.mark.thorough
async def test_whether_a_chat_may_be_flushed_is_known_however_many_others_there_are(
    tmp_path: Path, model: ScriptedModel
) -> None:
    async with open_conversation_harness(tmp_path, alone(model)) as talk:
        await asyncio.gather(
            *(
                talk.compactor.save_chat(ChatId("telegram", f"1{number}"), name="", flush=False)
                for number in range(1000)
            )
        )
        assert await talk.compactor.may_flush(CHAT)
        assert not await talk.compactor.may_flush(ChatId("telegram", "17"))
        assert not await talk.compactor.may_flush(ChatId("telegram", "unknown"))


# -- the cut ------------------------------------------------------------------------------------------------

USER, ANSWER = UserMessage("x" * 350), AssistantMessage("y" * 350)
CALLS = AssistantMessage("", (ToolCall("aaaaaaaa1", "memory_get", "{}"),))
RESULT = ToolResult("aaaaaaaa1", "memory_get", "{}")


@table_test(
    ("messages", "keep", "turns", "cut"),
    [
        ([], 100, None, None),
        ([USER], 0, None, None),
        ([USER, ANSWER], 1000, None, None),
        ([USER, ANSWER], 0, None, 2),
        ([USER, ANSWER, USER, ANSWER], 300, None, 2),
        ([USER, ANSWER, USER, USER, ANSWER], 1000, 1, 2),
        ([USER, ANSWER, USER], 0, None, 2),
        ([USER, ANSWER, USER, CALLS, RESULT], 0, None, 2),
        ([USER, CALLS, RESULT, ANSWER, USER, ANSWER], 300, None, 4),
    ],
)
def test_the_cut_is_between_turns(
    messages: list[Message], keep: int, turns: int | None, cut: int | None
) -> None:
    said = [Entry(seq, message) for seq, message in enumerate(messages, 1)]
    assert find_cut(said, keep_tokens=keep, max_turns=turns) == cut


# -- each cause with each way to fail, on a real server -----------------------------------------------------

CAUSES: tuple[Cause, ...] = ("threshold", "overflow", "asked", "new", "idle")
TWENTY_THOUSAND = "\n".join(f"- Fact {number} of a story about Anna." for number in range(600))
FAILURES = ("error", "timeout", "empty", "refusal", "refused", "long")


async def bring_about(talk: ConversationHarness, cause: Cause) -> CompactionResult:
    if cause == "new":
        return CompactionResult(await talk.compactor.end(CHAT, flush=True, key=f"message-{talk.clock.time}"))
    return await talk.compactor.compact(talk.conversation, cause=cause, flush=True)


@pytest.mark.thorough
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("cause", CAUSES)
async def test_no_cause_and_no_failure_of_a_model_loses_or_doubles_anything(
    tmp_path: Path, cause: Cause, failure: str
) -> None:
    timeout, seconds = (0.3, 0.5) if failure == "timeout" else (20, 20)  # a busy machine is no failure
    async with OpenAIServer() as server:
        settings = Settings(
            models=ModelsSettings(
                chain=("openai/gpt-test", "builtin/notebook"), max_retries=0, retry_delay=0, timeout=timeout
            ),
            providers={
                "openai": ProviderSettings.model_validate(
                    {"kind": "openai", "base_url": server.base_url, "api_key": KEY}
                )
            },
        )
        async with (
            open_model(settings, None, {}) as model,
            open_conversation_harness(tmp_path, model, threshold=300, seconds=seconds) as talk,
        ):
            for number in range(8):
                await talk.take_turn(f"Story {number}. {LONG}", f"Answer {number}.")
            match failure:
                case "error":
                    server.always(server.fails(503))
                case "timeout":
                    server.always(hangs())
                case "empty":
                    server.always(ModelAnswer(""))
                case "refusal":
                    server.always(ModelAnswer("I am sorry, but I cannot help with that."))
                case "refused":
                    server.always(ModelAnswer("", stop="content_filter"))
                case "long":
                    server.always(ModelAnswer(TWENTY_THOUSAND))
            done = await bring_about(talk, cause)
            if failure not in ("refusal", "long") and cause in ("threshold", "idle"):
                assert (done.flushed.result, done.messages) == ("waits", 0)
                assert talk.note() == ""
                for _ in range(2):
                    done = await bring_about(talk, cause)
            upto = (await talk.rows())[0]["upto"]
            flushed = [f"Story {number}." for number in range(8) if number * 2 + 1 <= upto]
            assert flushed
            if failure == "long":
                assert len(talk.note()) > 20_000
                assert talk.note().count("- Fact 7 of") == 1
            else:
                assert [talk.note().count(story) for story in flushed] == [1] * len(flushed)
            assert talk.note().count("\n## ") == 1
            server.always(ModelAnswer("- Anna has told her stories."))
            talk.clock.pass_(days=1)
            await model.health.reset()
            await talk.compactor.resume()
            if failure != "long":
                assert talk.note().endswith("## 12:00 Anna\n\n- Anna has told her stories.\n")
            assert talk.note().count("\n## ") == 1
            if cause not in ("new", "idle"):
                assert talk.conversation.summary


@pytest.mark.thorough
async def test_a_window_that_is_too_small_has_the_stretch_shown_in_smaller_pieces(tmp_path: Path) -> None:
    async with OpenAIServer() as server:
        server.always(ModelAnswer("- A story was told."))
        settings = Settings.model_validate(
            {
                "models": {
                    "chain": ("openai/gpt-test",),
                    "max_retries": 0,
                    "params": {"openai/gpt-test": {"context_window": 1500}},
                },
                "providers": {"openai": {"kind": "openai", "base_url": server.base_url, "api_key": KEY}},
            }
        )
        async with (
            open_model(settings, None, {}) as model,
            open_conversation_harness(tmp_path, model, threshold=9000) as talk,
        ):
            for number in range(20):
                await talk.take_turn(f"Story {number}. {LONG}", f"Answer {number}.")
            flushed = await talk.compactor.flush(talk.conversation)
            assert flushed.result == "noted"
            shown = "".join(str(asked.body["messages"][:-1]) for asked in server.requests)
            assert all(f"Story {number}." in shown for number in range(20))
            assert len(server.requests) > 1


async def test_chats_compact_at_the_same_time(tmp_path: Path) -> None:
    models = [ScriptedModel(), ScriptedModel()]
    chains: list[FallbackModel] = [alone(each) for each in models]
    async with (
        open_conversation_harness(tmp_path, chains[0], threshold=300) as one,
        open_conversation_harness(tmp_path, chains[1], threshold=300, chat=ChatId("discord", "2")) as two,
    ):
        for talk, model in zip((one, two), models, strict=True):
            for number in range(8):
                await talk.take_turn(f"Story {number}. {LONG}")
            model.enqueue(f"- {talk.conversation.chat} told stories.", delay=0.01)
            model.enqueue("A summary of all of it.", delay=0.01)
        await asyncio.gather(
            *(talk.compactor.compact(talk.conversation, cause="overflow", flush=True) for talk in (one, two))
        )
        assert one.note().count("told stories.") == 2
        assert one.note().count("\n## ") == 2


def test_an_extract_shows_who_spoke_and_what_was_said_aloud() -> None:
    voice = AttachedText("voice message", "Buy milk.", spoken=True)
    hi, spoken = UserMessage("Hi", speaker="Ann"), UserMessage("", documents=(voice,))
    lines = extract([hi, AssistantMessage("Yes?"), spoken], before="", max_tokens=1000).splitlines()
    assert lines[1:] == ["- Ann: Hi", "- [In a voice message:] Buy milk."]


def test_an_extract_of_an_earlier_version_is_carried_on_without_its_mark() -> None:
    before = (
        "(No model could sum this up. These are the person's own words, cut short; the earliest may be missing.)\n"
        "- Buy milk."
    )
    lines = extract([UserMessage("And bread.")], before=before, max_tokens=1000).splitlines()
    assert lines[1:] == ["- Buy milk.", "- And bread."]
