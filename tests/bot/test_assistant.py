import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from bot import phrases
from bot.agent import Agent
from bot.assistant import Assistant
from bot.builtin_tools import memory_tools
from bot.commands.table import COMMANDS
from bot.config import AccessSettings
from bot.conversation import Conversation
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.errors import BadKey, RateLimited
from bot.models.protocol import UserMessage
from bot.state.database import State
from bot.tools import Toolbox
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.scripted_model import ScriptedModel, alone

ACCESS = AccessSettings(allow=("telegram:2",), guests=("telegram:3",))
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
numbers = count(1)


def message(text: str, *, chat: str = "terminal:main", sender: str = "terminal:owner") -> IncomingMessage:
    channel, _, person = sender.partition(":")
    return IncomingMessage(str(next(numbers)), ChatId.parse(chat), PersonId(channel, person), text, NOW)


@dataclass(slots=True)
class Prompt:
    breaks: bool = False

    def __call__(self) -> str:
        if self.breaks:
            raise ZeroDivisionError("a bug of ours")
        return ""


@dataclass(slots=True)
class House:
    assistant: Assistant
    memory: Memory
    state: State
    model: ScriptedModel
    terminal: RecordingAdapter
    telegram: RecordingAdapter
    prompt: "Prompt"
    sent: list[IncomingMessage] = field(default_factory=list)

    async def say(self, text: str, *, chat: str = "terminal:main", sender: str = "terminal:owner") -> str:
        """Say something, wait until all is quiet, return the reply."""
        await self.accept(text, chat=chat, sender=sender)
        await self.quiet()
        return self.reply(-1)

    async def accept(self, text: str, *, chat: str = "terminal:main", sender: str = "terminal:owner") -> None:
        self.sent.append(message(text, chat=chat, sender=sender))
        await self.assistant.accept(self.sent[-1])

    async def quiet(self) -> None:
        async with asyncio.timeout(5):
            await self.assistant.idle()

    async def asked(self, times: int) -> None:
        """Wait until the model has been asked so often."""
        ends = time.monotonic() + 5
        while len(self.model.history) < times:
            assert time.monotonic() < ends
            await asyncio.sleep(0.001)

    def reply(self, index: int) -> str:
        return (self.terminal.replies() | self.telegram.replies())[self.sent[index].id]

    async def history(self, chat: str = "terminal:main") -> list[str]:
        conversation = Conversation(self.state, ChatId.parse(chat))
        await conversation.load()
        return [getattr(each, "text", "") for each in conversation.messages()]


@asynccontextmanager
async def open_house(folder: Path, *, turns_at_once: int = 128) -> AsyncIterator[House]:
    model = ScriptedModel()
    async with (
        State(folder / ".commonplace" / "state.db") as state,
        Memory(MemorySettings(), workspace=folder, now=lambda: NOW) as memory,
    ):
        chain, prompt = alone(model), Prompt()
        agents = [
            Agent(chain, Toolbox(tools), prompt=prompt, steps_per_turn=5)
            for tools in (memory_tools(memory), ())
        ]
        assistant = Assistant(
            agent=agents[0],
            guest_agent=agents[1],
            access=ACCESS,
            commands=COMMANDS,
            memory=memory,
            state=state,
            model=chain,
            locks=folder / ".commonplace" / "locks",
            turns_at_once=turns_at_once,
        )
        house = House(
            assistant,
            memory,
            state,
            model,
            RecordingAdapter("terminal"),
            RecordingAdapter("telegram"),
            prompt,
        )
        assistant.attach(house.terminal)
        assistant.attach(house.telegram)
        try:
            yield house
        finally:
            await assistant.close(0)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path) as house:
        yield house


# -- turns --------------------------------------------------------------------------------------------------


async def test_a_message_is_answered_part_by_part_and_then_whole(house: House) -> None:
    house.model.enqueue(["Hello", ", Anna", "."], delay=0.01)
    assert await house.say("Hi") == "Hello, Anna."
    ((_, parts),) = house.terminal.shown
    assert [part.final for part in parts] == [False] * (len(parts) - 1) + [True]
    assert [part.text for part in parts][-3:] == ["Hello, Anna", "Hello, Anna.", "Hello, Anna."]


async def test_a_chat_is_answered_in_order_and_others_at_the_same_time(house: House) -> None:
    house.model.enqueue(hang=True)
    await house.accept("one 0", chat="terminal:one")
    await house.asked(1)
    for number in range(5):
        house.model.enqueue(f"answer {number}")
    for number in range(3):
        await house.accept(f"one {number + 1}", chat="terminal:one")
        await house.accept(f"two {number}", chat="terminal:two")
    await house.asked(4)
    await house.assistant.stop(ChatId("terminal", "one"))
    house.model.enqueue("answer 5")
    await house.quiet()
    asked = [request.messages[-1] for request in house.model.history]
    assert [each.text for each in asked if isinstance(each, UserMessage)] == [
        "one 0",
        *(f"two {number}" for number in range(3)),
        *(f"one {number}" for number in range(1, 4)),
    ]
    assert len(house.terminal.replies()) == 7


async def test_only_so_many_chats_are_answered_at_once(tmp_path: Path) -> None:
    async with open_house(tmp_path, turns_at_once=2) as house:
        for _ in range(5):
            house.model.enqueue("yes", delay=0.02)
        for number in range(5):
            await house.accept("well?", chat=f"terminal:{number}")
        await asyncio.sleep(0.02)
        assert len(house.model.history) <= 2
        await house.quiet()
        assert len(house.terminal.replies()) == 5


async def test_no_lane_and_no_task_is_left_when_all_is_said(house: House) -> None:
    before = len(asyncio.all_tasks())
    for number in range(10):
        house.model.enqueue("yes")
        await house.accept("well?", chat=f"terminal:{number}")
    await house.quiet()
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == before
    assert house.assistant._lanes == house.assistant._turns == {}


async def test_a_slow_channel_gets_the_latest_text_not_every_one(house: House) -> None:
    house.terminal.pause = 0.02
    house.model.enqueue(["word "] * 200)
    await house.say("Tell me a lot")
    ((_, parts),) = house.terminal.shown
    assert parts[-1].text == ("word " * 200).strip()
    assert len(parts) < 100


# -- what goes wrong ----------------------------------------------------------------------------------------


async def test_a_model_error_becomes_one_plain_sentence_and_the_lane_goes_on(house: House) -> None:
    house.model.enqueue(error=BadKey("401: key sk-very-secret refused", model="openai/x"))
    house.model.enqueue("here again")
    await house.accept("first")
    await house.accept("second")
    await house.quiet()
    assert "our key is missing or not accepted" in house.reply(0)
    assert "secret" not in house.reply(0)
    assert house.reply(1) == "here again"


async def test_text_that_was_shown_stays_above_the_sentence_about_the_error(house: House) -> None:
    house.model.enqueue(["The answer is"], error=RateLimited("slow down", model="a/b"))
    reply = await house.say("Hi")
    assert reply.startswith("The answer is\n\nI got no answer")


async def test_a_bug_is_an_apology_to_the_person_and_a_traceback_in_the_log(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.model.enqueue("here again")
    house.prompt.breaks = True
    with caplog.at_level(logging.ERROR):
        assert await house.say("Hi") == phrases.OUR_FAULT
    house.prompt.breaks = False
    assert any(record.exc_info for record in caplog.records)
    assert await house.say("Still there?") == "here again"


async def test_a_reply_that_cannot_be_shown_is_still_made_and_the_lane_goes_on(house: House) -> None:
    house.model.enqueue("not seen by anybody")
    house.model.enqueue("shown")
    lost, shown = message("first"), message("second")
    house.terminal.breaks_on = lost.id
    await house.assistant.accept(lost)
    await house.assistant.accept(shown)
    await house.quiet()
    assert house.terminal.replies() == {shown.id: "shown"}
    assert await house.history() == ["first", "not seen by anybody", "second", "shown"]


async def test_a_cancellation_that_comes_out_of_a_channel_does_not_end_the_lane(house: House) -> None:
    house.model.enqueue("not seen by anybody")
    house.model.enqueue("shown")
    lost, shown = message("first"), message("second")
    house.terminal.breaks_on, house.terminal.breaks_with = lost.id, asyncio.CancelledError()
    await house.assistant.accept(lost)
    await house.assistant.accept(shown)
    await house.quiet()
    assert house.terminal.replies() == {shown.id: "shown"}


async def test_an_error_that_nobody_is_shown_is_one_line_in_the_log_all_the_same(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.model.enqueue(error=BadKey("401", model="openai/x"))
    lost = message("first")
    house.terminal.breaks_on = lost.id
    await house.assistant.accept(lost)
    await house.quiet()
    gc.collect()  # which is when asyncio complains of an error that nobody looked at
    assert "no model answered in terminal:main: scripted/model: 401" in caplog.messages
    assert not [record for record in caplog.records if record.name == "asyncio"]


# -- stop ---------------------------------------------------------------------------------------------------


async def test_stop_ends_the_running_turn_at_once_and_keeps_what_was_said(house: House) -> None:
    house.model.enqueue(["Once upon a time"], hang=True)
    await house.accept("A story, please")
    await house.terminal.began.wait()
    await house.accept("/stop")
    await house.quiet()
    assert house.reply(0) == f"Once upon a time\n\n{phrases.STOPPED_HERE}"
    assert house.reply(1) == phrases.STOPPED
    assert house.model.closed == 1
    assert "Once upon a time" in " ".join(await house.history())
    house.model.enqueue("Hello")
    assert await house.say("Hi") == "Hello"


async def test_stop_concerns_its_own_chat_and_the_running_turn_only(house: House) -> None:
    house.model.enqueue("", hang=True)
    await house.accept("one", chat="terminal:one")
    await house.asked(1)
    house.model.enqueue("two", delay=0.1)
    house.model.enqueue("three")
    await house.accept("two", chat="terminal:two")
    await house.accept("three", chat="terminal:one")
    await house.accept("/stop", chat="terminal:one")
    await house.quiet()
    assert [house.reply(index) for index in range(4)] == [
        phrases.STOPPED_HERE,
        "two",
        "three",
        phrases.STOPPED,
    ]


async def test_stop_says_when_nothing_runs(house: House) -> None:
    assert await house.say("/stop") == phrases.NOTHING_RUNS


async def test_a_stranger_stops_nothing(house: House) -> None:
    house.model.enqueue("the end", delay=0.1)
    await house.accept("go on", chat="telegram:room", sender="telegram:2")
    await house.asked(1)
    await house.accept("/stop", chat="telegram:room", sender="telegram:666")
    await house.quiet()
    assert house.reply(0) == "the end"
    assert house.reply(1) == phrases.STRANGER


async def test_closing_waits_for_a_turn_that_ends_in_time(house: House) -> None:
    house.model.enqueue("just in time", delay=0.1)
    await house.accept("quick")
    await house.assistant.close(5)
    assert house.reply(0) == "just in time"


async def test_closing_cuts_a_turn_that_does_not_end_and_shows_what_there_was(house: House) -> None:
    house.model.enqueue(["It began"], hang=True)
    await house.accept("slow")
    await house.terminal.began.wait()
    async with asyncio.timeout(4):
        await house.assistant.close(0.05)
    assert house.reply(0) == f"It began\n\n{phrases.STOPPED_HERE}"
    assert "It began" in " ".join(await house.history())


async def test_closing_leaves_no_lane_behind_that_waits_for_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_house(tmp_path, turns_at_once=1) as house:
        house.model.enqueue(hang=True)
        await house.accept("slow", chat="terminal:one")
        await house.asked(1)
        await house.accept("waits", chat="terminal:two")
        await house.assistant.close(0.05)
        gc.collect()
        assert house.assistant._lanes == {}
        assert house.terminal.replies() == {house.sent[0].id: phrases.STOPPED_HERE}
        assert caplog.messages == ["messages that waited for their turn and are not answered: 1"]


# -- who may what -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Hello", "/help", "/status", "/memory", "/nonsense", ""])
async def test_a_stranger_gets_one_line_whatever_he_says_and_no_model_hears_it(
    house: House, text: str
) -> None:
    assert await house.say(text, chat="telegram:9", sender="telegram:9") == phrases.STRANGER
    assert house.model.history == []
    assert await house.history("telegram:9") == []


async def test_a_guest_talks_without_the_memory(house: House) -> None:
    house.model.enqueue("Hello, guest")
    assert await house.say("Hi", chat="telegram:3", sender="telegram:3") == "Hello, guest"
    assert house.model.history[0].tools == ()
    assert "There is no /recall" in await house.say("/recall x", chat="telegram:3", sender="telegram:3")


async def test_those_allowed_have_the_memory_but_do_not_administer_it(house: House) -> None:
    house.model.enqueue("Hello")
    await house.say("Hi", chat="telegram:2", sender="telegram:2")
    assert {tool.name for tool in house.model.history[0].tools} >= {"memory_search", "memory_write"}
    assert "There is no /memory" in await house.say("/memory", chat="telegram:2", sender="telegram:2")
    assert "/memory" not in await house.say("/help", chat="telegram:2", sender="telegram:2")


# -- commands (no model is ever asked) ----------------------------------------------------------------------


async def test_remember_and_recall(house: House, tmp_path: Path) -> None:
    assert await house.say("/remember Anna's passport is in the blue folder") == "Noted in 2026-11-21.md:3."
    assert "- Anna's passport is in the blue folder\n" in (tmp_path / "memory" / "2026-11-21.md").read_text(
        "utf-8"
    )
    reply = await house.say("/recall where is the passport?")
    assert reply.startswith("**2026-11-21.md:3**")
    assert "> - Anna's passport is in the blue folder" in reply
    assert await house.say("/recall giraffes") == phrases.NOTHING_FOUND


async def test_the_memory_command(house: House) -> None:
    await house.say("/remember The boiler was serviced in May")
    assert "Notes: 1" in await house.say("/memory")
    assert "boiler" in await house.say("/memory search boiler")
    assert "boiler" in await house.say("/memory get 2026-11-21.md:3")
    assert "Notes: 1" in await house.say("/memory rebuild")
    assert "no note" in await house.say("/memory get 1999-01-01.md")
    assert "root:" not in await house.say("/memory get ../../etc/passwd")
    assert "/memory search QUERY" in await house.say("/memory search")
    assert "status|search|get|rebuild" in await house.say("/memory burn")


async def test_a_look_at_all_notes_tells_what_it_found(house: House, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir(exist_ok=True)
    note = tmp_path / "memory" / "a.md"
    note.write_text("one\n", "utf-8")
    assert "1 new, 0 changed, 0 gone" in await house.say("/reindex")
    note.unlink()
    assert "0 new, 0 changed, 1 gone" in await house.say("/reindex")


async def test_a_long_note_is_shown_in_pieces(house: House, tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1, 201)]
    (tmp_path / "memory").mkdir(exist_ok=True)
    (tmp_path / "memory" / "long.md").write_text("\n".join(lines) + "\n", "utf-8")
    reply = await house.say("/memory get long.md")
    assert "line 60" in reply
    assert "line 61" not in reply
    assert reply.endswith("(lines 1 to 60 of 200; there is more)")
    assert (await house.say("/memory get long.md:150-152")) == "line 150\nline 151\nline 152"
    assert (await house.say("/memory get long.md:2-99")).endswith("(lines 2 to 61 of 200; there is more)")


async def test_new_begins_another_conversation(house: House) -> None:
    house.model.enqueue("Noted")
    house.model.enqueue("Who?")
    await house.say("I am Anna")
    assert await house.say("/new") == phrases.NEW
    await house.say("Who am I?")
    assert len(house.model.history[-1].messages) == 1


async def test_status_names_the_model_and_the_chat(house: House) -> None:
    reply = await house.say("/status")
    assert "scripted/model" in reply
    assert "terminal:main" in reply


async def test_commands_ask_no_model(house: House) -> None:
    for command in COMMANDS:
        await house.say(f"/{command.name} something")
        await house.say(f"/{command.name}")
    assert house.model.history == []


async def test_an_empty_message_is_said_to_be_empty(house: House) -> None:
    assert await house.say("  \n ") == phrases.NOTHING_SAID


async def test_many_conversations_are_kept_on_disk_not_in_memory(house: House) -> None:
    for number in range(100):
        house.model.enqueue("yes")
        await house.accept("well?", chat=f"terminal:{number}")
    await house.quiet()
    assert len(house.assistant._conversations) <= 64
    house.model.enqueue("yes")
    await house.say("again", chat="terminal:0")
    assert [getattr(each, "text", "") for each in house.model.history[-1].messages] == [
        "well?",
        "yes",
        "again",
    ]
