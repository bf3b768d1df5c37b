import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.access import Standing
from bot.attempts import MAX_TURN_ATTEMPTS
from bot.chat_lock import lock_chat
from bot.commands.command import Command, CommandCall
from bot.commands.memory import manage_memory
from bot.commands.registry import COMMANDS
from bot.config.settings import FlushSettings
from bot.conversations.conversation import Conversation, find_open_calls
from bot.messages import Attachment, ChannelFault, ChatId, IncomingMessage, NotAccepted, Reply, WriteChunk
from bot.models.errors import BadKey, RateLimited
from bot.models.protocol import AssistantMessage, ToolResult, UserMessage
from bot.prompt import ROOM_PROMPT
from bot.services import Services
from bot.tools.toolbox import ToolUse, tool
from tests.fakes.harness import Harness, open_harness
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.scripted_model import ScriptedModel, alone
from tests.fakes.turns import message


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


# -- turns --------------------------------------------------------------------------------------------------


async def test_a_message_is_answered_part_by_part_and_then_whole(house: Harness) -> None:
    house.model.enqueue(["Hello", ", Anna", "."], delay=0.01)
    assert await house.say("Hi") == "Hello, Anna."
    ((_, parts),) = house.terminal.shown
    assert [part.final for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [part.text for part in parts][-3:] == ["Hello, Anna", "Hello, Anna.", "Hello, Anna."]


async def test_a_chat_is_answered_in_order_and_others_at_the_same_time(house: Harness) -> None:
    house.model.enqueue(hang=True)
    await house.accept("one 0", chat="terminal:one")
    await house.wait_until_asked(1)
    for number in range(5):
        house.model.enqueue(f"answer {number}")
    for number in range(3):
        await house.accept(f"one {number + 1}", chat="terminal:one")
        await house.accept(f"two {number}", chat="terminal:two")
    await house.wait_until_asked(4)
    await house.assistant.stop(ChatId("terminal", "one"))
    house.model.enqueue("answer 5")
    await house.wait_until_idle()
    asked = [request.messages[-1] for request in house.model.history]
    assert [each.text for each in asked if isinstance(each, UserMessage)] == [
        "one 0",
        *(f"two {number}" for number in range(3)),
        *(f"one {number}" for number in range(1, 4)),
    ]
    assert len(house.terminal.replies()) == 7


async def test_only_so_many_chats_are_answered_at_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path, turns_at_once=2) as house:
        for _ in range(5):
            house.model.enqueue("yes", delay=0.02)
        for number in range(5):
            await house.accept("well?", chat=f"terminal:{number}")
        await asyncio.sleep(0.02)
        assert len(house.model.history) <= 2
        await house.wait_until_idle()
        assert len(house.terminal.replies()) == 5


async def test_no_lane_and_no_task_is_left_when_all_is_said(house: Harness) -> None:
    before = len(asyncio.all_tasks())
    for number in range(10):
        house.model.enqueue("yes")
        await house.accept("well?", chat=f"terminal:{number}")
    await house.wait_until_idle()
    await house.chain.health.write()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before
    assert house.assistant._queues._queues == house.assistant._turns._turns == {}
    assert await house.count_undelivered() == 0


async def test_a_slow_channel_gets_the_latest_text_not_every_one(house: Harness) -> None:
    house.terminal.pause = 0.02
    house.model.enqueue(["word "] * 200)
    await house.say("Tell me a lot")
    ((_, parts),) = house.terminal.shown
    assert parts[-1].text == ("word " * 200).strip()
    assert len(parts) < 100


# -- what goes wrong ----------------------------------------------------------------------------------------


async def test_a_model_error_becomes_one_plain_sentence_and_the_lane_goes_on(house: Harness) -> None:
    house.model.enqueue(error=BadKey("401: key sk-very-secret refused", model="openai/x"))
    house.model.enqueue("here again")
    await house.accept("first")
    await house.accept("second")
    await house.wait_until_idle()
    assert "API key missing or rejected" in house.reply(0)
    assert "secret" not in house.reply(0)
    assert house.reply(1) == "here again"


async def test_text_that_was_shown_stays_above_the_sentence_about_the_error(house: Harness) -> None:
    house.model.enqueue(["The answer is"], error=RateLimited("slow down", model="a/b"))
    reply = await house.say("Hi")
    assert reply.startswith("The answer is\n\nI got no answer")


async def test_a_bug_is_an_apology_to_the_person_and_a_traceback_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chain = alone(model := ScriptedModel())
    async with open_harness(tmp_path, chain_of=lambda _: chain) as house:
        model.enqueue("here again")
        chain.breaks = True
        with caplog.at_level(logging.ERROR):
            assert await house.say("Hi") == phrases.OUR_FAULT
        chain.breaks = False
        assert any(record.exc_info for record in caplog.records)
        assert await house.say("Still there?") == "here again"


async def test_a_reply_that_cannot_be_shown_is_still_made_and_the_lane_goes_on(house: Harness) -> None:
    house.model.enqueue("not seen by anybody")
    house.model.enqueue("shown")
    lost, shown = message("first"), message("second")
    house.terminal.breaks_on = lost.id
    await house.assistant.accept(lost)
    await house.assistant.accept(shown)
    await house.wait_until_idle()
    assert house.terminal.replies() == {shown.id: "shown"}
    assert await house.history() == ["first", "not seen by anybody", "second", "shown"]


async def test_a_cancellation_that_comes_out_of_a_channel_does_not_end_the_lane(house: Harness) -> None:
    house.model.enqueue("not seen by anybody")
    house.model.enqueue("shown")
    lost, shown = message("first"), message("second")
    house.terminal.breaks_on, house.terminal.breaks_with = lost.id, asyncio.CancelledError()
    await house.assistant.accept(lost)
    await house.assistant.accept(shown)
    await house.wait_until_idle()
    assert house.terminal.replies() == {shown.id: "shown"}


async def test_an_error_that_nobody_is_shown_is_one_line_in_the_log_all_the_same(
    house: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    house.model.enqueue(error=BadKey("401", model="openai/x"))
    lost = message("first")
    house.terminal.breaks_on = lost.id
    await house.assistant.accept(lost)
    await house.wait_until_idle()
    gc.collect()  # which is when asyncio complains of an error that nobody looked at
    assert "no model answered in terminal:main: scripted/model: 401" in caplog.messages
    assert not [record for record in caplog.records if record.name == "asyncio"]


# -- stop ---------------------------------------------------------------------------------------------------


async def test_stop_ends_the_running_turn_at_once_and_keeps_what_was_said(house: Harness) -> None:
    house.model.enqueue(["Once upon a time"], hang=True)
    await house.accept("A story, please")
    await house.terminal.began.wait()
    await house.accept("/stop")
    await house.wait_until_idle()
    assert house.reply(0) == f"Once upon a time\n\n{phrases.STOPPED_HERE}"
    assert house.reply(1) == phrases.STOPPED
    assert house.model.closed == 1
    assert "Once upon a time" in " ".join(await house.history())
    house.model.enqueue("Hello")
    assert await house.say("Hi") == "Hello"


async def test_stop_concerns_its_own_chat_and_the_running_turn_only(house: Harness) -> None:
    house.model.enqueue("", hang=True)
    await house.accept("one", chat="terminal:one")
    await house.wait_until_asked(1)
    house.model.enqueue("two", held=True)
    house.model.enqueue("three")
    await house.accept("two", chat="terminal:two")
    await house.wait_until_asked(2)
    await house.accept("three", chat="terminal:one")
    await house.accept("/stop", chat="terminal:one")
    await house.wait_until_idle()
    assert [house.reply(index) for index in range(4)] == [
        phrases.STOPPED_HERE,
        "two",
        "three",
        phrases.STOPPED,
    ]


async def test_a_stop_that_is_late_does_not_end_what_was_said_after_it(house: Harness) -> None:
    house.model.enqueue("the end", delay=0.03)
    await house.accept("/stop")
    await house.accept("go on", alone=False)
    await house.wait_until_idle()
    assert [house.reply(0), house.reply(1)] == [phrases.NOTHING_RUNS, "the end"]


async def test_stop_says_when_nothing_runs(house: Harness) -> None:
    assert await house.say("/stop") == phrases.NOTHING_RUNS


async def test_a_stranger_stops_nothing(house: Harness) -> None:
    house.model.enqueue("the end", held=True)
    await house.accept("go on", chat="telegram:room", sender="telegram:2")
    await house.wait_until_asked(1)
    await house.accept("/stop", chat="telegram:room", sender="telegram:666")
    await house.wait_until_idle()
    assert house.reply(0) == "the end"
    assert "/pair" in house.reply(1)


async def test_closing_waits_for_a_turn_that_ends_in_time(house: Harness) -> None:
    house.model.enqueue("just in time", delay=0.1)
    await house.accept("quick")
    await house.wait_until_asked(1)
    await house.assistant.close(5)
    assert house.reply(0) == "just in time"


async def test_a_turn_that_does_not_end_in_time_is_parked_and_goes_on_with_the_next_start(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue(["It began"], hang=True)
        asked = await house.accept("slow", chat="telegram:2", sender="telegram:2", alone=False)
        await house.telegram.began.wait()
        async with asyncio.timeout(20):
            await house.assistant.close(0.05)
        assert not any(part.final for _, parts in house.telegram.shown for part in parts)
        assert await house.history("telegram:2") == ["slow"]
    async with open_harness(tmp_path) as house:
        house.model.enqueue("It ended")
        await house.assistant.resume()
        await house.wait_until_idle()
        assert house.telegram.replies() == {asked.id: "It ended"}
        assert await house.history("telegram:2") == ["slow", "It ended"]
        assert await house.count_undelivered() == 0


async def test_what_waits_for_its_turn_at_the_end_is_answered_with_the_next_start(tmp_path: Path) -> None:
    async with open_harness(tmp_path, turns_at_once=1) as house:
        house.model.enqueue(hang=True)
        await house.accept("slow", chat="terminal:one")
        await house.wait_until_asked(1)
        await house.accept("waits", chat="terminal:two")
        await house.assistant.close(0.05)
        gc.collect()
        assert house.assistant._queues._queues == {}
        assert house.terminal.replies() == {}
    model = ScriptedModel()
    for text in ("one", "two"):
        model.enqueue(text)
    async with open_harness(tmp_path, model=model) as house:
        await house.wait_until_idle()
        assert sorted(house.terminal.replies().values()) == ["one", "two"]


# -- who may what -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Hello", "/help", "/status", "/memory", "/nonsense", "/stop", ""])
async def test_a_stranger_gets_a_code_whatever_he_says_and_no_model_hears_it(
    house: Harness, text: str
) -> None:
    assert "/pair" in await house.say(text, chat="telegram:9", sender="telegram:9")
    assert house.model.history == []
    assert await house.history("telegram:9") == []
    assert await house.count_undelivered() == 1, "what the owner is told"


async def test_who_is_shut_out_between_saying_and_being_heard_is_not_answered(house: Harness) -> None:
    house.model.enqueue("one", held=True)
    await house.accept("first", chat="telegram:2", sender="telegram:2")
    await house.wait_until_asked(1)
    await house.accept("second", chat="telegram:2", sender="telegram:2")
    await house.accept("/deny telegram:2")
    await house.wait_until_replied(house.sent[2])
    await house.wait_until_idle()
    assert house.reply(1) == phrases.STRANGER
    assert len(house.model.history) == 1


async def test_a_guest_talks_without_the_memory(house: Harness) -> None:
    house.model.enqueue("Hello, guest")
    assert await house.say("Hi", chat="telegram:3", sender="telegram:3") == "Hello, guest"
    (asked,) = house.model.history
    assert [tool.name for tool in asked.tools] == ["remind", "list_reminders", "cancel_reminder"]
    assert "# Your memory" not in asked.system
    assert "There is no /recall" in await house.say("/recall x", chat="telegram:3", sender="telegram:3")


async def test_those_allowed_have_the_memory_but_do_not_administer_it(house: Harness) -> None:
    house.model.enqueue("Hello")
    await house.say("Hi", chat="telegram:2", sender="telegram:2")
    (asked,) = house.model.history
    assert {tool.name for tool in asked.tools} >= {"memory_search", "memory_write", "remind"}
    assert "# Your memory" in asked.system
    assert "There is no /memory" in await house.say("/memory", chat="telegram:2", sender="telegram:2")
    assert "/memory" not in await house.say("/help", chat="telegram:2", sender="telegram:2")


# -- commands (no model is ever asked) ----------------------------------------------------------------------


async def test_remember_and_recall(house: Harness, tmp_path: Path) -> None:
    assert await house.say("/remember Anna's passport is in the blue folder") == "Noted in 2026-11-21.md:3."
    assert "- Anna's passport is in the blue folder\n" in (tmp_path / "memory" / "2026-11-21.md").read_text(
        "utf-8"
    )
    reply = await house.say("/recall where is the passport?")
    assert reply.startswith("**2026-11-21.md:3**")
    assert "> - Anna's passport is in the blue folder" in reply
    assert await house.say("/recall giraffes") == phrases.NOTHING_FOUND_ANYWHERE


async def test_the_memory_command(house: Harness) -> None:
    await house.say("/remember The boiler was serviced in May")
    assert "Notes: 1" in await house.say("/memory")
    assert "boiler" in await house.say("/memory search boiler")
    assert "boiler" in await house.say("/memory get 2026-11-21.md:3")
    assert "Notes: 1" in await house.say("/memory rebuild")
    assert "no note" in await house.say("/memory get 1999-01-01.md")
    assert "root:" not in await house.say("/memory get ../../etc/passwd")
    assert "/memory search QUERY" in await house.say("/memory search")
    assert await house.say("/memory cache clear") == (
        "Cache cleared: removed 0 vectors that no note needs and 0 from earlier searches. "
        "Kept 0 that your notes need."
    )
    assert await house.say("/memory cache") == "Usage: `/memory cache clear`"
    assert (await house.say("/memory burn")).startswith("Usage: `/memory [status|search|get|")


async def test_a_look_at_all_notes_tells_what_it_found(house: Harness, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(exist_ok=True)
    note = tmp_path / "memory" / "a.md"
    note.write_text("one\n", "utf-8")
    assert "1 new, 0 changed, 0 removed" in await house.say("/reindex")
    note.unlink()
    assert "0 new, 0 changed, 1 removed" in await house.say("/reindex")


async def test_a_long_note_is_shown_in_pieces(house: Harness, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1, 201)]
    (tmp_path / "memory").mkdir(exist_ok=True)
    (tmp_path / "memory" / "long.md").write_text("\n".join(lines) + "\n", "utf-8")
    reply = await house.say("/memory get long.md")
    assert "line 60" in reply
    assert "line 61" not in reply
    assert reply.endswith("(lines 1 to 60 of 200; there is more)")
    assert (await house.say("/memory get long.md:150-152")) == "line 150\nline 151\nline 152"
    assert (await house.say("/memory get long.md:2-99")).endswith("(lines 2 to 61 of 200; there is more)")


async def test_new_begins_another_conversation(house: Harness) -> None:
    house.model.enqueue("Hello")
    house.model.enqueue("- The person is called Anna.")
    house.model.enqueue("Who?")
    await house.say("I am Anna")
    assert (await house.say("/new")).startswith(phrases.NEW)
    await house.say("Who am I?")
    assert len(house.model.history[-1].messages) == 1


async def test_what_was_forgotten_by_another_process_is_told_no_model(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house, open_harness(tmp_path) as other:
        house.model.enqueue("Noted.")
        await house.say("The word is xyzzy")
        shown = await other.say("/forget xyzzy", chat="telegram:1", sender="telegram:1")
        code = shown.partition("/forget yes ")[2][:4]
        await other.say(f"/forget yes {code}", chat="telegram:1", sender="telegram:1")
        house.model.enqueue("Yes.")
        assert await house.say("Are you there?") == "Yes."
        heard = [getattr(each, "text", "") for each in house.model.history[-1].messages]
        assert heard[1:] == ["Noted.", "Are you there?"]
        assert "xyzzy" not in heard[0]


async def test_status_names_the_model_and_the_chat(house: Harness) -> None:
    reply = await house.say("/status")
    assert "scripted/model" in reply
    assert "terminal:main" in reply


async def test_the_owner_is_told_what_is_not_delivered(house: Harness) -> None:
    assert "Waiting to be answered" not in await house.say("/status")
    house.model.enqueue("lost")
    lost = message("well?", alone=False)
    house.terminal.breaks_on = lost.id
    await house.assistant.accept(lost)
    await house.wait_until_idle()
    assert "Waiting to be answered or delivered: 1" in await house.say("/status")


async def test_commands_ask_no_model(house: Harness) -> None:
    for command in COMMANDS:
        if command.name in {"compact", "flush", "retry"}:
            continue
        await house.say(f"/{command.name} something")
        await house.say(f"/{command.name}")
    assert house.model.history == []


async def test_an_empty_message_is_said_to_be_empty(house: Harness) -> None:
    assert await house.say("  \n ") == phrases.EMPTY_MESSAGE


@pytest.mark.thorough
async def test_many_conversations_are_kept_on_disk_not_in_memory(house: Harness) -> None:
    for number in range(70):
        house.model.enqueue("yes")
        await house.accept("well?", chat=f"terminal:{number}")
    await house.wait_until_idle()
    assert len(house.assistant._dispatcher._conversations) <= 64
    house.model.enqueue("yes")
    await house.say("again", chat="terminal:0")
    assert [getattr(each, "text", "") for each in house.model.history[-1].messages] == [
        "well?",
        "yes",
        "again",
    ]


# -- several messages in a row ------------------------------------------------------------------------------


async def test_what_a_person_says_in_a_row_while_a_turn_runs_is_answered_together(house: Harness) -> None:
    house.model.enqueue("first", held=True)
    house.model.enqueue("all of it")
    for text in ("one", "two", "three", "four"):
        await house.accept(text, alone=False)
        await house.wait_until_asked(1)
    await house.wait_until_idle()
    assert house.terminal.replies() == {house.sent[0].id: "first", house.sent[1].id: "all of it"}
    assert house.terminal.shown[-1][1][-1].answers == tuple(each.id for each in house.sent[1:])
    assert await house.history() == ["one", "first", "two", "three", "four", "all of it"]
    assert await house.count_undelivered() == 0


async def test_lines_that_want_their_own_answer_each_get_one(house: Harness) -> None:
    for number in range(4):
        house.model.enqueue(f"answer {number}", delay=0.01)
    for number in range(4):
        await house.accept(f"question {number}")
    await house.wait_until_idle()
    assert [house.reply(number) for number in range(4)] == [f"answer {number}" for number in range(4)]


async def test_a_command_in_between_keeps_its_place(house: Harness) -> None:
    house.model.enqueue("first", held=True)
    house.model.enqueue("second")
    house.model.enqueue("third")
    for text in ("one", "two", "/remember tea is out", "three"):
        await house.accept(text, alone=False)
        await house.wait_until_asked(1)
    await house.wait_until_idle()
    assert [house.reply(index) for index in range(4)] == [
        "first",
        "second",
        "Noted in 2026-11-21.md:3.",
        "third",
    ]


async def test_different_people_in_a_room_are_answered_one_by_one(house: Harness) -> None:
    for text in ("first", "second", "third"):
        house.model.enqueue(text, delay=0.02)
    for sender in ("telegram:1", "telegram:2", "telegram:1"):
        await house.accept("well?", chat="telegram:-5", sender=sender, alone=False, in_room=True)
    await house.wait_until_idle()
    assert [house.reply(index) for index in range(3)] == ["first", "second", "third"]
    assert all(ROOM_PROMPT in request.system for request in house.model.history)


async def test_what_comes_while_tools_run_is_heard_at_the_next_step(tmp_path: Path) -> None:
    began, gate = asyncio.Event(), asyncio.Event()

    @tool
    async def waits() -> dict[str, Any]:
        began.set()
        await gate.wait()
        return {}

    async with open_harness(tmp_path, tools=[waits]) as house:
        house.model.enqueue("Let me look.", calls=[("waits", {})])
        house.model.enqueue("Both done.")
        await house.accept("do this", alone=False)
        await began.wait()
        await house.accept("and that", alone=False)
        gate.set()
        await house.wait_until_idle()
        assert house.terminal.replies() == {house.sent[0].id: "Let me look.\n\nBoth done."}
        assert house.terminal.shown[-1][1][-1].answers == tuple(each.id for each in house.sent)
        assert [type(each) for each in house.model.history[-1].messages] == [
            UserMessage,
            AssistantMessage,
            ToolResult,
            UserMessage,
        ]
        assert await house.count_undelivered() == 0


async def test_a_message_that_is_delivered_twice_is_answered_once(house: Harness) -> None:
    house.model.enqueue("yes", delay=0.02)
    said = message("well?")
    for _ in range(3):
        await house.assistant.accept(said)
    await house.wait_until_idle()
    await house.assistant.accept(said)
    await house.wait_until_idle()
    assert house.terminal.replies() == {said.id: "yes"}
    assert len(house.model.history) == 1


async def test_a_message_is_answered_though_its_channel_gives_up_handing_it_over(house: Harness) -> None:
    house.model.enqueue("yes")
    said = message("Hello", alone=False)
    handing_over = asyncio.create_task(house.assistant.accept(said))
    await asyncio.sleep(0)
    handing_over.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handing_over
    await house.assistant.accept(said)
    await house.wait_until_idle()
    assert house.terminal.replies() == {said.id: "yes"}
    assert await house.count_undelivered() == 0


@pytest.mark.parametrize("steps", range(8))
async def test_a_message_that_is_stopped_before_it_is_heard_is_kept(house: Harness, steps: int) -> None:
    house.model.enqueue(hang=True)
    asked = await house.accept("Hello", chat="telegram:2", sender="telegram:2", alone=False)
    for _ in range(1 + steps):
        await asyncio.sleep(0)
    assert await house.assistant.stop(asked.chat)
    await house.wait_until_idle()
    assert house.telegram.replies() == {asked.id: phrases.STOPPED_HERE}
    assert await house.history("telegram:2") == ["Hello"]
    assert await house.count_undelivered() == 0


async def test_a_photo_without_words_that_is_stopped_before_it_is_looked_at_is_told_of(
    house: Harness,
) -> None:
    house.telegram.fetch_pause = 60
    photo = Attachment("picture", "f1", size=1000)
    asked = await house.accept("", chat="telegram:2", sender="telegram:2", attachments=(photo,))
    async with asyncio.timeout(20):
        while not house.telegram.fetched:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert await house.assistant.stop(asked.chat)
    await house.wait_until_idle()
    assert await house.history("telegram:2") == ["[Attached picture (1.0 kB). It was not read.]"]


async def test_nothing_is_summed_up_unnoted_after_a_stop_that_came_before_the_turn_began(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, flush=FlushSettings(token_threshold=60)) as house:
        said: dict[str, Any] = {"chat": "telegram:2", "sender": "telegram:2", "alone": False}
        house.model.enqueue("I see.")
        await house.accept("Anna's key lies under the third flower pot.", **said)
        await house.wait_until_idle()
        for _ in range(5):
            house.model.enqueue("- Anna's key lies under the third flower pot.")
        await house.accept("Tell me all about flower pots. " * 12, **said)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert await house.assistant.stop(ChatId("telegram", "2"))
        await house.wait_until_idle()
        folded = "SELECT count(*) FROM entries WHERE kind = 'summary'"
        flushed = "SELECT count(*) FROM flushes"
        assert await house.state.read(lambda db: db.execute(folded).get) <= await house.state.read(
            lambda db: db.execute(flushed).get
        )


async def test_nothing_is_summed_up_unnoted_after_a_stop_that_came_before_the_turn_went_on(
    tmp_path: Path,
) -> None:
    began = asyncio.Event()

    @tool
    async def reads() -> dict[str, Any]:
        return {"text": "All about flower pots. " * 12}

    @tool
    async def waits() -> dict[str, Any]:
        began.set()
        await asyncio.Event().wait()
        return {}

    flush, tools = FlushSettings(token_threshold=60), [reads, waits]
    async with open_harness(tmp_path, flush=flush, tools=tools) as house:
        house.model.enqueue("I see.")
        house.model.enqueue("", calls=[("reads", {})])
        house.model.enqueue("", calls=[("waits", {})])
        said: dict[str, Any] = {"chat": "telegram:2", "sender": "telegram:2", "alone": False}
        await house.accept("Anna's key lies under the third flower pot.", **said)
        await house.wait_until_idle()
        asked = await house.accept("And the fourth?", **said)
        await began.wait()
        await abandon(house)
    async with open_harness(tmp_path, flush=flush, tools=tools) as house:
        async with lock_chat(tmp_path / ".commonplace" / "locks", asked.chat):  # so that it cannot go on
            for _ in range(20):  # until it is in its lane
                await asyncio.sleep(0)
            assert await house.assistant.stop(asked.chat)
        await house.wait_until_idle()
        summary = "SELECT payload FROM entries WHERE kind = 'summary'"
        assert await house.state.read(lambda db: db.execute(summary).get) is None
        for _ in range(5):
            house.model.enqueue("- Anna's key lies under the third flower pot.")
        await house.say("Well?", chat="telegram:2", sender="telegram:2")
        first = "SELECT after FROM flushes ORDER BY id LIMIT 1"
        assert await house.state.read(lambda db: db.execute(first).get) == 0


async def test_a_message_is_kept_whatever_breaks_before_it_is_heard(house: Harness, tmp_path: Path) -> None:
    locks = tmp_path / ".commonplace" / "locks"
    locks.rename(tmp_path / "locks")
    locks.write_text("no folder")
    assert await house.say("Hello") == phrases.OUR_FAULT
    locks.unlink()
    (tmp_path / "locks").rename(locks)
    assert await house.history() == ["Hello"]


# -- edited messages ------------------------------------------------------------------------------------------


async def test_an_edited_question_starts_its_running_turn_again(house: Harness) -> None:
    house.model.enqueue(["About Bern"], hang=True)
    asked = await house.accept("Tell me of Bern", alone=False)
    await house.terminal.began.wait()
    house.model.enqueue("About Basel")
    await house.accept("Tell me of Basel", alone=False, edit_of=asked.id)
    await house.wait_until_idle()
    assert house.reply(1) == "About Basel"
    assert await house.count_undelivered() == 0


async def test_a_second_edit_starts_the_turn_of_the_first_again(house: Harness) -> None:
    house.model.enqueue(["About Bern"], hang=True)
    asked = await house.accept("Tell me of Bern", alone=False)
    await house.terminal.began.wait()
    house.model.enqueue(["About Basel"], hang=True)
    await house.accept("Tell me of Basel", alone=False, edit_of=asked.id)
    await house.wait_until_asked(2)
    house.model.enqueue("About Biel")
    await house.accept("Tell me of Biel", alone=False, edit_of=asked.id)
    await house.wait_until_idle()
    assert house.reply(2) == "About Biel"
    assert phrases.STOPPED_HERE in house.reply(1)


async def test_of_two_edits_in_a_row_the_later_one_counts(house: Harness) -> None:
    house.model.enqueue(["About Bern"], hang=True)
    asked = await house.accept("Tell me of Bern", alone=False)
    await house.terminal.began.wait()
    house.model.enqueue("About Biel")
    await house.accept("Tell me of Basel", alone=False, edit_of=asked.id)
    await house.accept("Tell me of Biel", alone=False, edit_of=asked.id)
    await house.wait_until_idle()
    heard = [text for text in await house.history() if text.startswith("Tell me")]
    assert heard == ["Tell me of Bern", "Tell me of Biel"]
    assert await house.count_undelivered() == 0


async def test_an_edit_does_not_take_the_answer_away_from_what_is_answered_along_with_it(
    house: Harness,
) -> None:
    house.model.enqueue("first", held=True)
    house.model.enqueue("both", held=True)
    house.model.enqueue("and the edit")
    for text in ("one", "two", "three"):
        await house.accept(text, alone=False)
        await house.wait_until_asked(1)
    house.model.release()
    await house.wait_until_asked(2)
    await house.accept("drei", alone=False, edit_of=house.sent[2].id)
    await house.wait_until_idle()
    assert [house.reply(0), house.reply(1), house.reply(3)] == ["first", "both", "and the edit"]


async def test_an_edited_question_that_waits_is_changed_where_it_stands(house: Harness) -> None:
    house.model.enqueue("first", held=True)
    house.model.enqueue("second")
    await house.accept("one")
    await house.wait_until_asked(1)
    asked = await house.accept("tow")
    await house.accept("two", edit_of=asked.id)
    await house.wait_until_idle()
    assert await house.history() == ["one", "first", "two", "second"]
    assert len(house.model.history) == 2


async def test_an_edited_question_that_was_answered_is_a_new_one(house: Harness) -> None:
    house.model.enqueue("first")
    house.model.enqueue("second")
    await house.say("one")
    await house.accept("one!", edit_of=house.sent[0].id)
    await house.wait_until_idle()
    assert await house.history() == ["one", "first", "one!", "second"]


# -- messages that are taken back ----------------------------------------------------------------------------


async def test_a_question_that_is_taken_back_while_it_waits_is_not_answered(house: Harness) -> None:
    house.model.enqueue("first", held=True)
    house.model.enqueue("third")
    await house.accept("one")
    await house.wait_until_asked(1)
    asked = await house.accept("two")
    await house.accept("three")
    await house.assistant.withdraw(asked.chat, asked.id)
    await house.wait_until_idle()
    assert await house.history() == ["one", "first", "three", "third"]
    assert await house.count_undelivered() == 0
    assert asked.id not in house.terminal.replies()


async def test_an_edit_that_waits_goes_with_its_question(house: Harness) -> None:
    house.model.enqueue("first")
    house.model.enqueue("second", held=True)
    asked = await house.accept("one")
    await house.wait_until_idle()
    await house.accept("two")
    await house.wait_until_asked(2)
    await house.accept("one!", edit_of=asked.id)
    await house.assistant.withdraw(asked.chat, asked.id)
    await house.wait_until_idle()
    assert await house.history() == ["one", "first", "two", "second"]
    assert await house.count_undelivered() == 0


async def test_an_answer_that_is_begun_goes_on_when_its_question_is_taken_back(house: Harness) -> None:
    house.model.enqueue(["It is", " blue"], delay=0.1)
    asked = await house.accept("one")
    await house.terminal.began.wait()
    await house.assistant.withdraw(asked.chat, asked.id)
    await house.assistant.withdraw(asked.chat, "never heard of")
    await house.wait_until_idle()
    assert house.reply(0) == "It is blue"


class Tells(RecordingAdapter):
    """A channel that can be asked whether a message is still there."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.withdrawn: set[str] = set()
        self.breaks = False

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        if self.breaks:
            raise RuntimeError("no idea")
        return message.text in self.withdrawn


async def test_what_was_taken_back_while_nobody_was_told_is_not_answered(tmp_path: Path) -> None:
    channel = Tells("terminal")
    async with open_harness(tmp_path, channels=[channel]) as house:
        house.terminal = channel
        channel.withdrawn = {"two", "three", "five"}
        house.model.enqueue("first", held=True)
        house.model.enqueue("fourth")
        for text in ("one", "two", "three", "four", "five"):
            await house.accept(text)
            await house.wait_until_asked(1)
        await house.wait_until_idle()
        assert await house.history() == ["one", "first", "four", "fourth"]
        assert await house.count_undelivered() == 0


async def test_a_channel_that_cannot_tell_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    channel = Tells("terminal")
    async with open_harness(tmp_path, channels=[channel]) as house:
        house.terminal = channel
        channel.breaks = True
        house.model.enqueue("first")
        assert await house.say("one") == "first"


# -- rooms, limits --------------------------------------------------------------------------------------------


async def test_in_a_room_the_memory_is_off_until_an_owner_opens_it(house: Harness) -> None:
    house.model.enqueue("hello")
    house.model.enqueue("hello again")

    async def say(text: str, sender: str) -> str:
        await house.accept(text, chat="telegram:-5", sender=sender, in_room=True)
        await house.wait_until_idle()
        return house.reply(-1)

    await say("hi", "telegram:1")
    assert "memory_search" not in {tool.name for tool in house.model.history[-1].tools}
    assert await say("/recall passport", "telegram:2") == phrases.MEMORY_IS_CLOSED
    assert "/memory" in await say("/memory on", "telegram:2"), "who is no owner is told of no such command"
    assert await say("/memory on", "telegram:1") == phrases.MEMORY_ON
    await say("hi", "telegram:2")
    assert "memory_search" in {tool.name for tool in house.model.history[-1].tools}
    assert await say("/recall passport", "telegram:2") == phrases.NOTHING_FOUND_ANYWHERE


async def test_closing_the_memory_of_a_room_ends_its_conversation_and_what_mattered_is_noted_later(
    house: Harness, tmp_path: Path
) -> None:
    room: dict[str, Any] = {"chat": "telegram:-5", "in_room": True}
    house.model.enqueue("hello")
    for text in ("/memory on", "The party is on Friday", "/memory off"):
        await house.accept(text, sender="telegram:1", **room)
        await house.wait_until_idle()
    assert await house.history("telegram:-5") == []
    assert not (tmp_path / "memory" / "2026-11-21.md").exists()
    house.model.enqueue("- The party is on Friday, 27 November 2026.")
    await house.compactor.resume()
    assert "- The party is on Friday" in (tmp_path / "memory" / "2026-11-21.md").read_text("utf-8")


async def test_a_crash_while_the_memory_of_a_room_is_closed_loses_nothing_that_mattered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room: dict[str, Any] = {"chat": "telegram:-5", "in_room": True, "sender": "telegram:1"}

    class Killed(BaseException):
        pass

    def killed(*args: object, **named: object) -> None:
        raise Killed

    async with open_harness(tmp_path) as house:
        house.model.enqueue("hello")
        for text in ("/memory on", "The party is on Friday"):
            await house.accept(text, **room)
            await house.wait_until_idle()
        call = CommandCall(
            message("/memory off", chat="telegram:-5", sender="telegram:1", in_room=True),
            Standing.OWNER,
            {"action": "off"},
            "message-9",
        )
        services = house.assistant.services
        with monkeypatch.context() as patch:
            patch.setattr("bot.state.flushes.end_once", killed)
            with pytest.raises(Killed):
                await manage_memory(call, services)
        assert await manage_memory(call, services) == phrases.MEMORY_OFF
        house.model.enqueue("- The party is on Friday, 27 November 2026.")
        await house.compactor.resume()
        assert "- The party is on Friday" in (tmp_path / "memory" / "2026-11-21.md").read_text("utf-8")


async def test_what_is_not_meant_for_the_bot_in_a_room_goes_no_further(house: Harness) -> None:
    from dataclasses import replace

    said = replace(message("just us", chat="telegram:-5", sender="telegram:1", in_room=True), addressed=False)
    await house.assistant.accept(said)
    await house.wait_until_idle()
    assert house.telegram.shown == []
    assert await house.state.read(lambda db: db.execute("SELECT count(*) FROM inbox").get) == 0


async def test_a_model_is_told_who_speaks_in_a_room(house: Harness) -> None:
    from dataclasses import replace

    house.model.enqueue("hello")
    said = replace(
        message("hi", chat="telegram:-5", sender="telegram:1", in_room=True), sender_name="Anna\nB"
    )
    await house.assistant.accept(said)
    await house.wait_until_idle()
    assert house.model.history[-1].messages == (UserMessage("hi", speaker="Anna\nB"),)
    assert await house.history("telegram:-5") == ["Anna B: hi", "hello"]


async def test_an_owner_asking_again_in_a_room_lends_a_guest_no_tools(house: Harness) -> None:
    for text in ("one", "two", "three"):
        house.model.enqueue(text)
    room: dict[str, Any] = {"chat": "telegram:-5", "in_room": True}
    await house.accept("/memory on", sender="telegram:1", **room)
    await house.accept("write this down", sender="telegram:3", **room)
    await house.accept("/retry", sender="telegram:1", **room)
    await house.wait_until_idle()
    assert len(house.model.history) == 2
    for request in house.model.history:
        assert "memory_write" not in {tool.name for tool in request.tools}


async def test_too_many_messages_are_refused_once_and_owners_are_exempt(tmp_path: Path) -> None:
    async with open_harness(tmp_path, per_minute=2) as house:
        for _ in range(6):
            house.model.enqueue("yes")
        for sender in ("telegram:2", "telegram:1"):
            for number in range(4):
                await house.accept(f"{number}", chat=sender, sender=sender)
        await house.wait_until_idle()
        assert [house.reply(number) for number in range(2)] == ["yes", "yes"]
        assert "too much" in house.reply(2)
        assert house.sent[3].id not in house.telegram.replies()
        assert [house.reply(number) for number in range(4, 8)] == ["yes"] * 4


async def test_what_could_not_be_kept_is_not_too_much_when_it_comes_again(tmp_path: Path) -> None:
    async with open_harness(tmp_path, per_minute=2) as house:
        said = message("well? " * 5000, chat="telegram:2", sender="telegram:2", alone=False)
        pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
        await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages}"))
        for _ in range(5):
            with pytest.raises(NotAccepted):
                await house.assistant.accept(said)
        await house.state.read(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
        house.model.enqueue("yes")
        await house.assistant.accept(said)
        await house.wait_until_idle()
        assert house.telegram.replies() == {said.id: "yes"}


async def test_a_message_that_is_delivered_again_counts_once(tmp_path: Path) -> None:
    async with open_harness(tmp_path, per_minute=2) as house:
        house.model.enqueue("yes")
        house.model.enqueue("yes, too")
        said = message("one", chat="telegram:2", sender="telegram:2")
        for _ in range(5):
            await house.assistant.accept(said)
        assert await house.say("two", chat="telegram:2", sender="telegram:2") == "yes, too"


async def test_when_the_tokens_of_the_day_are_spent_that_is_said_and_what_was_said_is_kept(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, daily_tokens=1) as house:
        house.model.enqueue("yes")
        assert await house.say("one", chat="telegram:2", sender="telegram:2") == "yes"
        assert await house.say("two", chat="telegram:2", sender="telegram:2") == phrases.BUDGET_SPENT
        assert await house.history("telegram:2") == ["one", "yes", "two"]
        assert len(house.model.history) == 1


# -- after a crash --------------------------------------------------------------------------------------------


async def abandon(house: Harness) -> None:
    """Leave everything as a process leaves it that is killed."""
    house.assistant._turns.park()
    house.assistant._leaving = True
    house.assistant._queues.close()
    house.assistant._tasks.cancel()
    await house.assistant._tasks.wait(1)


async def test_a_tool_that_ran_before_a_crash_is_not_run_again(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    async def counts(use: ToolUse) -> dict[str, Any]:
        ran.append(use.key)
        return {}

    async with open_harness(tmp_path, tools=[counts]) as house:
        house.model.enqueue("Let me see.", calls=[("counts", {})])
        house.model.enqueue("It is", hang=True)
        asked = await house.accept("well?", alone=False)
        await house.wait_until_asked(2)
        await abandon(house)
    async with open_harness(tmp_path, tools=[counts], model=(model := ScriptedModel())) as house:
        model.enqueue("It is so.")
        await house.wait_until_idle()
        assert house.terminal.replies() == {asked.id: "Let me see.\n\nIt is so."}
        assert len(ran) == 1
        assert [type(each) for each in model.history[0].messages] == [
            UserMessage,
            AssistantMessage,
            ToolResult,
        ]
        assert model.history[0].begun


async def test_a_tool_that_was_cut_off_is_run_again_under_the_same_key(tmp_path: Path) -> None:
    ran: list[str] = []
    began = asyncio.Event()

    @tool
    async def counts(use: ToolUse) -> dict[str, Any]:
        ran.append(use.key)
        if len(ran) == 1:
            began.set()
            await asyncio.Event().wait()
        return {"done": len(ran)}

    async with open_harness(tmp_path, tools=[counts]) as house:
        house.model.enqueue("", calls=[("counts", {})])
        await house.accept("well?", alone=False)
        await began.wait()
        await abandon(house)
    model = ScriptedModel()
    model.enqueue("Done.")
    async with open_harness(tmp_path, tools=[counts], model=model) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {house.terminal.shown[0][0]: "Done."}
        assert len(ran) == 2
        assert ran[0] == ran[1]
        result = model.history[0].messages[-1]
        assert isinstance(result, ToolResult)
        assert json.loads(result.content) == {"done": 2}


async def test_a_turn_that_is_stopped_before_it_goes_on_after_a_crash_leaves_no_call_open(
    tmp_path: Path,
) -> None:
    began = asyncio.Event()

    @tool
    async def waits() -> dict[str, Any]:
        began.set()
        await asyncio.Event().wait()
        return {}

    async with open_harness(tmp_path, tools=[waits]) as house:
        house.model.enqueue("", calls=[("waits", {})])
        asked = await house.accept("well?", alone=False)
        await began.wait()
        await abandon(house)
    async with open_harness(tmp_path, tools=[waits]) as house:
        async with lock_chat(tmp_path / ".commonplace" / "locks", asked.chat):  # so that it cannot begin
            for _ in range(20):  # until it is in its lane
                await asyncio.sleep(0)
            assert await house.assistant.stop(asked.chat)
            await house.wait_until_idle()
        conversation = Conversation(house.state, asked.chat)
        await conversation.load()
        assert find_open_calls([each.message for each in conversation.entries]) == ()
        assert house.terminal.replies() == {asked.id: phrases.STOPPED_HERE}


async def test_a_reply_that_was_not_delivered_is_shown_again_and_no_model_is_asked(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue("the answer")
        lost = message("well?", alone=False)
        house.terminal.breaks_on = lost.id
        await house.assistant.accept(lost)
        await house.wait_until_idle()
        assert house.terminal.replies() == {}
        assert await house.count_undelivered() == 1
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {lost.id: "the answer"}
        assert house.model.history == []
        assert await house.count_undelivered() == 0


async def test_a_reply_is_tried_again_until_the_channel_takes_it(tmp_path: Path) -> None:
    async with open_harness(tmp_path, pauses=(0.01, 0.01)) as house:
        house.model.enqueue("the answer")
        lost = message("well?", alone=False)
        house.terminal.breaks_on = lost.id
        await house.assistant.accept(lost)
        await asyncio.sleep(0.005)
        house.terminal.breaks_on = ""
        await house.wait_until_idle()
        assert house.terminal.replies() == {lost.id: "the answer"}


async def test_a_reply_outlasts_a_channel_that_is_away_for_long(tmp_path: Path) -> None:
    async with open_harness(tmp_path, pauses=(0, 0.001)) as house:
        house.model.enqueue("the answer")
        lost = message("well?", alone=False)
        house.terminal.breaks_on, house.terminal.breaks_with = lost.id, ChannelFault("away")
        await house.assistant.accept(lost)
        await asyncio.sleep(0.1)
        house.terminal.breaks_on = ""
        await house.wait_until_idle()
        assert house.terminal.replies() == {lost.id: "the answer"}
        assert await house.count_undelivered() == 0


async def test_a_reply_that_breaks_its_adapter_is_left_for_the_next_start(tmp_path: Path) -> None:
    async with open_harness(tmp_path, pauses=(0, 0)) as house:
        house.model.enqueue("the answer")
        house.model.enqueue("the next")
        lost = message("well?", alone=False)
        house.terminal.breaks_on, house.terminal.breaks_with = lost.id, ZeroDivisionError("a bug of ours")
        await house.assistant.accept(lost)
        assert await house.say("and now?") == "the next"
        assert await house.count_undelivered() == 1


async def test_a_turn_that_was_stopped_stays_stopped_after_a_crash(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue(["Once upon"], hang=True)
        asked = message("A story", alone=False)
        await house.assistant.accept(asked)
        await house.terminal.began.wait()
        house.terminal.pause = 10  # so that the crash comes before the end is shown
        await house.assistant.stop(asked.chat)
        async with asyncio.timeout(20):
            while len(await house.history()) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        await abandon(house)
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {asked.id: f"Once upon\n\n{phrases.STOPPED_HERE}"}
        assert house.model.history == []


async def test_messages_that_were_joined_are_not_answered_once_more_after_a_crash(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue("first", held=True)
        house.model.enqueue(hang=True)
        for text in ("one", "two", "three"):
            await house.accept(text, alone=False)
            await house.wait_until_asked(1)
        house.model.release()
        await house.wait_until_asked(2)
        await abandon(house)
        sent = house.sent
    model = ScriptedModel()
    model.enqueue("both")
    async with open_harness(tmp_path, model=model) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {sent[1].id: "both"}
        assert house.terminal.shown[0][1][-1].answers == (sent[1].id, sent[2].id)
        assert await house.count_undelivered() == 0


async def test_a_message_over_which_the_program_ends_again_and_again_is_given_up(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.model.enqueue(hang=True)
        poison = await house.accept("poison", alone=False)
        await house.wait_until_asked(1)
        for _ in range(MAX_TURN_ATTEMPTS):
            await house.inbox.count_attempt(1)
        await abandon(house)
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {poison.id: phrases.GIVEN_UP}
        assert house.model.history == []
        assert await house.history() == ["poison"], "what was said is kept"
        assert await house.count_undelivered() == 0


async def test_a_command_over_which_the_program_ends_again_and_again_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []
    begun = asyncio.Event()

    async def hang(call: CommandCall, services: Services) -> str:
        keys.append(call.key)
        begun.set()
        await asyncio.Event().wait()
        return ""

    poison = message("/poison", alone=False)
    monkeypatch.setattr("bot.service.assembly.COMMANDS", (*COMMANDS, Command("poison", "", hang)))
    for _ in range(MAX_TURN_ATTEMPTS):
        async with open_harness(tmp_path) as house:
            await house.assistant.accept(poison)
            async with asyncio.timeout(20):
                await begun.wait()
            begun.clear()
            await abandon(house)
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {poison.id: phrases.GIVEN_UP}
    assert keys == ["message-1"] * MAX_TURN_ATTEMPTS


# -- no room on the disk --------------------------------------------------------------------------------------


async def test_a_turn_waits_for_room_on_the_disk_and_then_goes_on(house: Harness) -> None:
    house.model.enqueue("the answer")
    asked = await house.accept("well? " * 5000, alone=False)
    pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
    await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages}"))
    await house.terminal.began.wait()
    await asyncio.sleep(0)
    assert house.terminal.replies() == {asked.id: phrases.CANNOT_SAVE_YET}
    await house.state.read(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
    await house.wait_until_idle()
    assert house.terminal.replies() == {asked.id: "the answer"}
    assert await house.history() == [asked.text, "the answer"]
    assert await house.count_undelivered() == 0


@pytest.mark.thorough
async def test_waiting_for_room_on_the_disk_is_not_ending_over_a_message(tmp_path: Path) -> None:
    """What is small still fits, and the answer does not."""
    async with open_harness(tmp_path, disk_pauses=(0,)) as house:
        house.model.enqueue("long " * 20_000, delay=0.5)
        asked = await house.accept("well?", alone=False)
        await house.wait_until_asked(1)
        pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
        await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages}"))
        await asyncio.sleep(0.8)  # some hundred looks for room
        await abandon(house)
        assert await house.count_undelivered() == 1
    model = ScriptedModel()
    model.enqueue("the answer")
    async with open_harness(tmp_path, model=model) as house:
        await house.wait_until_idle()
        assert house.terminal.replies() == {asked.id: "the answer"}


async def test_no_model_is_asked_while_there_is_no_room_for_its_answer(tmp_path: Path) -> None:
    flush = FlushSettings(token_threshold=1_000_000)
    async with open_harness(tmp_path, disk_pauses=(0.01,), flush=flush) as house:
        house.model.enqueue("a long answer " * 5000)
        house.model.enqueue("a long answer " * 5000)
        asked = await house.accept("well?", alone=False)
        pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
        await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 5}"))
        await house.wait_until_asked(1)
        await asyncio.sleep(0.3)
        assert len(house.model.history) == 1
        await house.state.read(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
        await house.wait_until_idle()
        assert house.terminal.replies()[asked.id].startswith("a long answer")
        assert len(house.model.history) == 2


@pytest.mark.parametrize("pause", [0.01, 3600.0])
async def test_a_turn_that_waits_for_room_on_the_disk_is_stopped_by_stop(
    tmp_path: Path, pause: float
) -> None:
    flush = FlushSettings(token_threshold=1_000_000)
    async with open_harness(tmp_path, disk_pauses=(pause,), flush=flush) as house:
        house.model.enqueue("a long answer " * 5000)
        asked = await house.accept("well?", alone=False)
        pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
        await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 5}"))
        async with asyncio.timeout(10):
            while phrases.CANNOT_SAVE_YET not in house.terminal.replies().get(asked.id, ""):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert await house.say("/stop") == phrases.STOPPED
        assert house.terminal.replies()[asked.id] == phrases.STOPPED_HERE
        assert await house.say("/stop") == phrases.NOTHING_RUNS
        await house.state.read(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
        house.model.enqueue("here I am")
        assert await house.say("still there?") == "here I am"
        assert len(house.model.history) == 2
        assert await house.count_undelivered() == 0


async def test_a_turn_that_waits_for_room_is_stopped_by_an_edit_of_its_message(tmp_path: Path) -> None:
    flush = FlushSettings(token_threshold=1_000_000)
    async with open_harness(tmp_path, disk_pauses=(3600.0,), flush=flush) as house:
        house.model.enqueue("a long answer " * 5000)
        asked = await house.accept("well?", alone=False)
        pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
        await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 5}"))
        async with asyncio.timeout(10):
            while phrases.CANNOT_SAVE_YET not in house.terminal.replies().get(asked.id, ""):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        house.model.enqueue("the answer")
        await house.accept("well, well?", alone=False, edit_of=asked.id)
        await house.wait_until_idle()
        assert house.terminal.replies()[asked.id] == phrases.STOPPED_HERE
        assert house.reply(1) == "the answer"


async def test_a_message_that_cannot_be_kept_is_not_acknowledged(house: Harness) -> None:
    pages = await house.state.read(lambda db: db.execute("PRAGMA page_count").get)
    await house.state.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages}"))
    with pytest.raises(NotAccepted, match="disk is full"):
        await house.accept("well? " * 5000)
    await house.state.read(lambda db: db.execute("PRAGMA max_page_count = 1000000"))
    house.model.enqueue("the answer")
    assert await house.say("well?") == "the answer"


async def writable(house: Harness, *, yes: bool) -> None:
    await house.state.read(lambda db: db.execute(f"PRAGMA query_only = {not yes:d}"))


class Paging(RecordingAdapter):
    """Shows a reply in two messages; state.db cannot be written when the first is to be noted, or at the end."""

    house: Harness
    at_the_end: bool

    async def render(self, reply: Reply) -> None:
        await super().render(reply)
        await writable(self.house, yes=self.at_the_end)
        await reply.keep(["m1"])
        await writable(self.house, yes=True)
        await reply.keep(["m1", "m2"])
        await writable(self.house, yes=not self.at_the_end)


async def shown(house: Harness) -> list[str]:
    ids: list[str] = json.loads(await house.state.read(lambda db: db.execute("SELECT shown FROM inbox").get))
    return ids


@pytest.mark.parametrize("at_the_end", [False, True])
async def test_what_could_not_be_noted_is_noted_later_as_it_is_by_then(
    house: Harness, at_the_end: bool
) -> None:
    adapter = Paging()
    adapter.house, adapter.at_the_end = house, at_the_end
    house.assistant.attach(adapter)
    house.model.enqueue("a long answer")
    await house.accept("well?", alone=False)
    await house.wait_until_idle()
    await writable(house, yes=True)
    assert await house.count_undelivered() == at_the_end
    await house.assistant.close(1)
    assert await house.count_undelivered() == 0, "the next start must not show it once more"
    assert await shown(house) == ["m1", "m2"]


async def test_a_disk_that_stays_full_is_one_line_in_the_log_each_time(
    house: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = Paging()
    adapter.house, adapter.at_the_end = house, True
    house.assistant.attach(adapter)
    for _ in range(3):
        house.model.enqueue("an answer")
        await house.accept("well?", alone=False)
        await house.wait_until_idle()
        await writable(house, yes=True)
    await writable(house, yes=False)
    caplog.clear()
    await house.assistant.close(1)
    assert len(caplog.records) == 1
    await writable(house, yes=True)
    await house.assistant.close(1)
    assert await house.count_undelivered() == 0, "nothing of it was forgotten"


# -- what belongs together ----------------------------------------------------------------------------------

ALBUM: dict[str, Any] = {"chat": "telegram:1", "sender": "telegram:1", "alone": False}
FILM = Attachment("other", "film")
SOON = 0.3
"""So long the next part of an album is waited for: longer than the disk takes for it, also on a busy machine."""


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.assistant.MORE_PARTS_SECONDS", SOON)


async def send_part(house: Harness, text: str, *attachments: Attachment) -> IncomingMessage:
    part = replace(message(text, **ALBUM, attachments=attachments), more_soon=True)
    house.sent.append(part)
    await house.assistant.accept(part)
    return part


@pytest.mark.usefixtures("_soon")
async def test_an_album_is_answered_once_all_of_it_has_come(house: Harness) -> None:
    house.model.enqueue("Two pictures")
    await send_part(house, "one")
    await send_part(house, "two")
    await house.wait_until_idle()
    assert house.reply(0) == "Two pictures"
    assert len(house.telegram.shown) == 1


@pytest.mark.usefixtures("_soon")
async def test_stop_ends_an_album_that_is_still_coming_in_and_nothing_that_is_said_after_it(
    house: Harness,
) -> None:
    await send_part(house, "one")
    await send_part(house, "two")
    await house.accept("/stop", **ALBUM)
    house.model.enqueue("Hello")
    await house.accept("Hi", **ALBUM)
    await house.wait_until_idle()
    assert [house.reply(place) for place in (0, 2, 3)] == [phrases.STOPPED_HERE, phrases.STOPPED, "Hello"]
    assert await house.history("telegram:1") == ["one", "two", "Hi", "Hello"]
    assert await house.count_undelivered() == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_an_edit_of_what_waits_for_its_rest_takes_its_place(house: Harness) -> None:
    house.model.enqueue("Two pictures")
    first = await send_part(house, "A cat")
    await send_part(house, "two")
    await house.accept("A dog", **ALBUM, edit_of=first.id)
    await house.wait_until_idle()
    assert await house.history("telegram:1") == ["A dog", "two", "Two pictures"]


@pytest.mark.usefixtures("_soon")
async def test_an_album_that_nobody_can_read_has_one_answer(house: Harness) -> None:
    house.model.enqueue("I see no films")
    for _ in range(3):
        await send_part(house, "", FILM)
    await house.wait_until_idle()
    assert [parts[-1].text for _, parts in house.telegram.shown] == ["I see no films"]
    assert await house.say("", chat="telegram:1", sender="telegram:1", attachments=(FILM,)) == (
        phrases.CANNOT_READ_KIND
    ), "one alone is worth no turn"


async def test_stop_does_not_wait_for_what_came_along_with_a_message_that_a_turn_takes_up(
    tmp_path: Path,
) -> None:
    """It is kept all the same, without what was being fetched."""
    begun, gate, fetching = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class SlowChannel(RecordingAdapter):
        async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
            fetching.set()
            await asyncio.Event().wait()

    @tool
    async def waits() -> dict[str, Any]:
        begun.set()
        await gate.wait()
        return {}

    async with open_harness(
        tmp_path, tools=[waits], channels=[RecordingAdapter(), telegram := SlowChannel("telegram")]
    ) as house:
        house.model.enqueue(calls=[("waits", {})])
        asked = await house.accept("Look", **ALBUM)
        await begun.wait()
        await house.accept("", **ALBUM, attachments=(Attachment("picture", "cat"),))
        gate.set()
        async with asyncio.timeout(20):
            await fetching.wait()
            await house.accept("/stop", **ALBUM)
            await house.assistant.wait_until_idle()
        assert telegram.replies()[asked.id] == phrases.STOPPED_HERE
        assert (await house.history("telegram:1"))[-1] == f"[Attached picture. {phrases.NOT_READ}]"
        assert await house.count_undelivered() == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_an_album_that_the_end_of_the_program_cuts_off_is_answered_whole_with_the_next_start(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as house:
        await send_part(house, "one")
        await send_part(house, "two")
        await house.assistant.close(1)
        assert house.telegram.shown == []
    model = ScriptedModel()
    model.enqueue("Two pictures")
    async with open_harness(tmp_path, model=model) as house:
        await house.wait_until_idle()
        assert await house.history("telegram:1") == ["one", "two", "Two pictures"]
        assert await house.count_undelivered() == 0


async def test_of_many_attachments_in_a_row_one_turn_takes_so_many_and_the_next_the_rest(
    house: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.message_batch.MAX_ATTACHMENTS", 2)
    house.model.enqueue("Hello", held=True)
    await house.accept("Hi", **ALBUM)
    await house.wait_until_asked(1)
    for text in ("a", "b", "c", "d"):
        await house.accept(text, **ALBUM, attachments=(FILM,))
    for reply in ("two of them", "the others"):
        house.model.enqueue(reply)
    await house.wait_until_idle()
    said = [text.partition("\n")[0] for text in await house.history("telegram:1")]
    assert said == ["Hi", "Hello", "a", "b", "two of them", "c", "d", "the others"]


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_a_command_below_an_album_is_meant_for_all_of_it(house: Harness, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        house.telegram.files[name] = f"# {name.upper()}\n\nText".encode()
        attached = Attachment("document", name, name=f"{name}.md")
        await send_part(house, "" if name != "a" else "/remember", attached)
    house.model.enqueue("Hello")
    await house.accept("Hi", **ALBUM)
    await house.wait_until_idle()
    filed = [file.name for file in (tmp_path / "memory" / "documents").iterdir()]
    assert len(filed) == 3
    assert (house.reply(0).count("Filed in"), house.reply(3)) == (3, "Hello")
    _, parts = house.telegram.shown[0]
    assert parts[-1].answers == tuple(each.id for each in house.sent[:3])
    assert await house.history("telegram:1") == ["Hi", "Hello"]
    assert await house.count_undelivered() == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_a_command_below_an_album_is_meant_for_all_of_it_also_after_a_crash(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        house.telegram.files |= {"a": b"Anna", "b": b"Bert"}
        first = await send_part(house, "/remember", Attachment("document", "a", name="a.txt"))
        await send_part(house, "", Attachment("document", "b", name="b.txt"))
        house.telegram.breaks_on = first.id
        await house.wait_until_idle()
        assert await house.count_undelivered() == 1
    async with open_harness(tmp_path) as house:
        await house.wait_until_idle()
        (shown,) = (parts[-1].text for _, parts in house.telegram.shown)
        assert shown.count("Filed in") == 2
        assert len(list((tmp_path / "memory" / "documents").iterdir())) == 2
        assert await house.count_undelivered() == 0


def text_file(house: Harness, name: str) -> Attachment:
    house.telegram.files[name] = name.encode()
    return Attachment("document", name, name=f"{name}.txt")


@pytest.mark.usefixtures("_soon")
async def test_what_is_sent_after_an_album_is_no_part_of_it(house: Harness) -> None:
    house.model.enqueue("Hello", held=True)
    await house.accept("Hi", **ALBUM)
    await house.wait_until_asked(1)
    for name, text in (("a", "/remember"), ("b", "")):
        await send_part(house, text, text_file(house, name))
    house.model.enqueue("A letter")
    await house.accept("", **ALBUM, attachments=(text_file(house, "c"),))
    await house.wait_until_idle()
    assert (house.reply(1).count("Filed in"), house.reply(3)) == (2, "A letter")


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_what_is_sent_after_an_album_is_no_part_of_it_after_a_crash_either(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as house:
        first = await send_part(house, "/remember", text_file(house, "a"))
        await send_part(house, "", text_file(house, "b"))
        house.telegram.breaks_on = first.id
        await house.wait_until_idle()
        await house.assistant.close(1)
        await send_part(house, "", text_file(house, "c"))
        files = house.telegram.files
    model = ScriptedModel()
    model.enqueue("A letter")
    async with open_harness(tmp_path, model=model) as house:
        house.telegram.files |= files
        await house.wait_until_idle()
        told = [parts[-1].text for _, parts in house.telegram.shown]
        assert (told[0].count("Filed in"), told[1:]) == (2, ["A letter"])


@pytest.mark.thorough
@pytest.mark.usefixtures("_soon")
async def test_the_parts_of_an_album_below_a_command_are_done_with_though_the_disk_was_full_when_they_came(
    house: Harness,
) -> None:
    await send_part(house, "/remember", text_file(house, "a"))
    await send_part(house, "", text_file(house, "b"))
    await writable(house, yes=False)
    await asyncio.sleep(3 * SOON)  # until all has come, and longer
    await writable(house, yes=True)
    await house.wait_until_idle()
    assert house.reply(0).count("Filed in") == 2
    assert await house.count_undelivered() == 0
