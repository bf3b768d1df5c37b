"""What a person asks to remember is in the notes when the turn ends, once, whatever the model has done."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot import phrases
from bot.conversations.conversation import Conversation
from bot.inbox import mark_begun
from bot.messages import ChatId, IncomingMessage, Quoted
from bot.models.errors import Overloaded
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.noted_facts import find_lines
from bot.state import changes
from bot.state.changes import Change
from tests.fakes.harness import Harness, open_harness
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.table_test import table_test
from tests.fakes.turns import message

ASKS = "Remember that my sister's name is Ada"
FACT = "- My sister's name is Ada."
LOG = "2026-11-21.md"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as opened:
        yield opened


def notes(folder: Path) -> str:
    """All lines of the notes but titles and blank ones."""
    files = sorted((folder / "memory").glob("**/*.md"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("# "))


async def messages_of(house: Harness, chat: str = "terminal:main") -> tuple[Message, ...]:
    conversation = Conversation(house.state, ChatId.parse(chat))
    await conversation.load()
    return conversation.messages()


async def changes_of(house: Harness) -> tuple[Change, ...]:
    return await house.state.read(lambda db: changes.read_changes(db, limit=100))


def a_write(content: str) -> tuple[str, dict[str, str]]:
    return "memory_write", {"content": content, "target": "daily"}


async def test_what_was_asked_for_and_not_written_is_written_before_the_reply(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue("That's a great story!")
    reply = await house.say(ASKS)
    assert notes(tmp_path) == FACT
    assert reply == f"That's a great story!\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3')}"
    _, step, result, answer = await messages_of(house)
    assert isinstance(step, AssistantMessage)
    assert isinstance(result, ToolResult)
    (call,) = step.calls
    assert (call.name, json.loads(call.arguments)) == a_write("My sister's name is Ada.")
    assert json.loads(result.content) == {"path": LOG, "line_start": 3, "line_end": 3}
    assert not result.failed
    assert answer == AssistantMessage("That's a great story!", (), house.model.name)
    (change,) = await changes_of(house)
    origin = change.origin
    assert (origin.made_by, origin.person, origin.chat, origin.asked_at, origin.model) == (
        "agent",
        "terminal:owner",
        "terminal:main",
        1,
        "",
    )


async def test_the_next_turn_and_a_flush_see_the_write(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    await house.say(ASKS)
    house.model.enqueue("Hello.")
    await house.say("hello")
    shown = house.model.history[-1].messages
    assert any(isinstance(each, ToolResult) and each.name == "memory_write" for each in shown)
    house.model.enqueue("NOTHING")
    await house.say("/flush")
    assert "[The assistant used memory_write" in str(house.model.history[-1].messages)
    assert notes(tmp_path).count("Ada") == 1


async def test_what_the_model_writes_is_not_written_again(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue(calls=[a_write("The sister of the person is called Ada")])
    house.model.enqueue("Noted.")
    assert await house.say(ASKS) == "Noted."
    assert notes(tmp_path) == "- The sister of the person is called Ada"


async def test_a_write_of_the_model_that_failed_does_not_count(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue(calls=[("memory_write", {"content": "Ada", "target": "somewhere"})])
    house.model.enqueue("I noted it.")
    assert (await house.say(ASKS)).endswith(phrases.REMEMBERED.format(place=f"{LOG}:3"))
    assert notes(tmp_path) == FACT


async def test_an_earlier_write_does_not_count(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue(calls=[a_write("Tom has the key")])
    house.model.enqueue("Noted.")
    await house.say("Tom has the key")
    house.model.enqueue("Fine.")
    await house.say(ASKS)
    assert notes(tmp_path) == f"- Tom has the key\n{FACT}"


async def test_nothing_is_written_unasked(house: Harness, tmp_path: Path) -> None:
    for said in (
        "My sister's name is Ada",
        "Do you remember that my sister's name is Ada?",
        "Remind me tomorrow at 9 to call Ada",
        "He said: 'remember that my sister's name is Ada'",
        "> Remember that my sister's name is Ada\nIs that true?",
        "Remember this",
    ):
        house.model.enqueue("I see.")
        assert await house.say(said) == "I see."
    assert notes(tmp_path) == ""


async def test_nothing_is_written_for_forwarded_or_quoted_words(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    await house.assistant.accept(replace(message(ASKS, alone=False), forwarded_from="Tom"))
    await house.wait_until_idle()
    house.model.enqueue("Hm.")
    await house.say("Is this right?", quoted=Quoted(ASKS, "Tom"))
    assert notes(tmp_path) == ""


async def test_nothing_is_written_for_guests_or_where_the_memory_is_off(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue("I see.")
    assert await house.say(ASKS, chat="telegram:3", sender="telegram:3") == "I see."
    house.model.enqueue("I see.")
    await house.accept(ASKS, chat="telegram:-7", sender="telegram:1", in_room=True)
    await house.wait_until_idle()
    assert house.model.left == 0
    assert notes(tmp_path) == ""


async def test_what_a_guest_asked_in_vain_is_not_written_when_an_owner_has_the_next_message_answered_again(
    tmp_path: Path,
) -> None:
    room: dict[str, Any] = {"chat": "telegram:-7", "in_room": True}
    async with open_harness(tmp_path) as house:
        await house.accept("/memory on", **room, sender="telegram:1")
        await house.wait_until_idle()
        house.model.enqueue(error=Overloaded("busy", model="scripted/model"))
        await house.accept(ASKS, **room, sender="telegram:3")
        await house.wait_until_idle()
        for said in ("Remember that tea is hot.", "/retry"):
            house.model.enqueue("I see.")
            await house.accept(said, **room, sender="telegram:1")
            await house.wait_until_idle()
        assert house.model.left == 0
        assert notes(tmp_path) == "- Tea is hot."


async def test_a_fact_that_a_note_holds_already_is_not_written_again(house: Harness, tmp_path: Path) -> None:
    await house.memory.write("my sister's name is Ada, she lives in Oslo")
    house.model.enqueue("I see.")
    reply = await house.say(ASKS)
    assert reply == f"I see.\n\n{phrases.ALREADY_NOTED.format(place=f'{LOG}:3')}"
    assert notes(tmp_path) == "- my sister's name is Ada, she lives in Oslo"
    assert await changes_of(house) == ()


async def test_a_model_that_writes_what_was_asked_and_a_note_holds_already_is_told_where(
    house: Harness, tmp_path: Path
) -> None:
    await house.memory.write("my sister's name is Ada, she lives in Oslo")
    house.model.enqueue(calls=[a_write("My sister's name is Ada.")])
    house.model.enqueue("It was noted before.")
    assert await house.say(ASKS) == "It was noted before."
    result = (await messages_of(house))[2]
    assert isinstance(result, ToolResult)
    assert json.loads(result.content) == {
        "path": LOG,
        "line_start": 3,
        "line_end": 3,
        "already_noted": True,
    }
    assert notes(tmp_path) == "- my sister's name is Ada, she lives in Oslo"
    assert await changes_of(house) == ()


async def test_what_a_person_only_mentions_is_written_each_time(house: Harness, tmp_path: Path) -> None:
    for _ in range(2):
        house.model.enqueue(calls=[a_write("Anna went for a run.")])
        house.model.enqueue("Well done!")
        await house.say("I went for a run.")
    assert notes(tmp_path) == "- Anna went for a run.\n- Anna went for a run."


async def test_what_is_asked_for_in_memory_md_is_written_there_though_a_log_says_it(
    house: Harness, tmp_path: Path
) -> None:
    await house.memory.write("My sister's name is Ada.")
    for _ in range(2):
        house.model.enqueue(
            calls=[("memory_write", {"content": "My sister's name is Ada.", "target": "core"})]
        )
        house.model.enqueue("I see.")
        await house.say(ASKS)
    assert notes(tmp_path) == f"{FACT}\n{FACT}"


async def test_a_fact_that_only_a_document_holds_is_written(house: Harness, tmp_path: Path) -> None:
    filed = tmp_path / "memory/documents/2026-11-20-report.md"
    filed.parent.mkdir(parents=True)
    filed.write_text(f"# Report\n\n{FACT}\n", "utf-8")
    house.model.enqueue("I see.")
    await house.say(ASKS)
    assert notes(tmp_path) == f"{FACT}\n{FACT}"


async def test_a_fact_that_a_note_has_as_somebody_elses_words_is_written(
    house: Harness, tmp_path: Path
) -> None:
    await house.memory.write("My sister's name is Ada (says report.pdf).")
    house.model.enqueue("I see.")
    await house.say(ASKS)
    assert notes(tmp_path) == f"- My sister's name is Ada (says report.pdf).\n{FACT}"


async def test_a_fact_that_was_true_before_is_written_again(house: Harness, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir(exist_ok=True)
    (folder / "2026-01-03.md").write_text("# 2026-01-03\n\n- I live in Oslo.\n", "utf-8")
    (folder / "2026-05-03.md").write_text("# 2026-05-03\n\n- I live in Bergen.\n", "utf-8")
    house.model.enqueue("I see.")
    await house.say("Remember that I live in Oslo")
    assert notes(tmp_path) == "- I live in Oslo.\n- I live in Bergen.\n- I live in Oslo."


@table_test(
    ("note", "fact", "place"),
    [
        ("- I like tea.", "I like tea.", (0, 0)),
        ("# Ada\n\n- i like tea", "I like tea.", (2, 2)),
        ("I like tea, and cake.", "I like tea", (0, 0)),
        ("Tom said: I like tea.", "I like tea.", (0, 0)),
        ("I like tea no more.", "I like tea.", None),
        ("Ich mag Tee nicht.", "Ich mag Tee.", None),
        ("I don't think I like tea.", "I like tea.", None),
        ("I like", "I like tea", None),
        ("我姐姐叫艾达，住在奥斯陆。", "我姐姐叫艾达。", (0, 0)),
        ("我姐姐叫艾达吗", "我姐姐叫艾达。", None),
        ("- one\n- two\n- three", "- three\n- one", (0, 2)),
        ("- one", "- one\n- two", None),
        ("", "I like tea.", None),
    ],
)
def test_a_line_says_a_fact_in_the_same_words(note: str, fact: str, place: tuple[int, int] | None) -> None:
    assert find_lines(note, fact) == place


async def test_several_requests_of_one_message_are_one_note(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    reply = await house.say("Remember that Ada is my sister. And remember that Tom has the key.")
    assert notes(tmp_path) == "- Ada is my sister.\n- Tom has the key."
    assert reply == f"I see.\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3-4')}"


async def test_of_several_requests_those_that_the_model_left_out_are_written(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue(calls=[a_write("Tom has got the spare key")])
    house.model.enqueue("Noted.")
    await house.say("Remember that Ada is my sister. And remember that Tom has the key.")
    assert notes(tmp_path) == "- Tom has got the spare key\n- Ada is my sister."


async def test_several_messages_answered_together_are_each_written(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("Hi.", held=True)
    await house.accept("hello", alone=False)
    await house.wait_until_asked(1)
    await house.accept(ASKS, alone=False)
    await house.accept("and remember that Tom has the key", alone=False)
    house.model.enqueue("I see.")
    await house.wait_until_idle()
    assert notes(tmp_path) == f"{FACT}\n- Tom has the key."
    assert house.reply(1) == f"I see.\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3, {LOG}:4')}"


async def test_retry_writes_nothing_twice(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    await house.say(ASKS)
    house.model.enqueue("What a name!")
    assert await house.say("/retry") == "What a name!"
    assert notes(tmp_path) == FACT
    assert len(await changes_of(house)) == 1


async def test_retry_writes_what_a_failed_turn_has_not(house: Harness, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir(exist_ok=True)
    (memory / LOG).mkdir()  # no file can be written there
    house.model.enqueue("I see.")
    reply = await house.say(ASKS)
    assert "I couldn't write that down: " in reply
    assert notes_are_missing(tmp_path)
    (memory / LOG).rmdir()
    house.model.enqueue("Again.")
    assert await house.say("/retry") == f"Again.\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3')}"
    assert notes(tmp_path) == FACT


def notes_are_missing(folder: Path) -> bool:
    return not [each for each in (folder / "memory").glob("*.md") if each.is_file()]


async def test_what_was_asked_for_is_written_although_no_model_answers(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue(error=Overloaded("busy", model="scripted/model"))
    reply = await house.say(ASKS)
    assert reply.startswith(phrases.REMEMBERED.format(place=f"{LOG}:3"))
    assert len(reply.splitlines()) > 1, "and says that no model has answered"
    assert notes(tmp_path) == FACT
    house.model.enqueue("I see.")
    assert await house.say("/retry") == "I see."
    assert notes(tmp_path) == FACT


async def test_what_was_asked_for_is_written_although_the_tokens_of_the_day_are_used_up(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path, daily_tokens=1) as house:
        house.model.enqueue("Hello, hello, hello.")
        await house.say("hello")
        reply = await house.say(ASKS)
        assert reply == f"{phrases.BUDGET_SPENT}\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3')}"
    assert notes(tmp_path) == FACT


async def test_what_is_stopped_before_it_was_written_is_not_written(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("That is", hang=True)
    await house.accept(ASKS, alone=False)
    await house.wait_until_asked(1)
    await house.accept("/stop", alone=False)
    await house.wait_until_idle()
    assert phrases.STOPPED_HERE in house.reply(0)
    assert notes(tmp_path) == ""


async def test_a_write_that_has_begun_when_the_turn_is_stopped_is_completed(
    house: Harness, tmp_path: Path
) -> None:
    is_held, free = threading.Event(), threading.Event()

    def hold(note: object) -> None:
        is_held.set()
        assert free.wait(20)

    holding = asyncio.create_task(house.memory.hold(LOG, hold))
    await asyncio.to_thread(is_held.wait, 20)
    house.model.enqueue("I see.")
    await house.accept(ASKS, alone=False)
    ends = time.monotonic() + 20
    while not any(isinstance(each, AssistantMessage) for each in await messages_of(house)):
        assert time.monotonic() < ends, "the call is stored before the write, which waits for the note"
        await asyncio.sleep(0.005)
    await house.accept("/stop", alone=False)
    free.set()
    await holding
    await house.wait_until_idle()
    assert phrases.STOPPED_HERE in house.reply(0)
    assert notes(tmp_path) == FACT
    house.model.enqueue("Again.")
    assert await house.say("/retry") == "Again."
    assert notes(tmp_path) == FACT
    assert len(await changes_of(house)) == 1


def edited(original: IncomingMessage, text: str, number: int) -> IncomingMessage:
    return replace(original, id=f"{original.id}.{number}", text=text, edit_of=original.id)


async def test_an_edit_corrects_the_note(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    original = await house.accept(ASKS, alone=False)
    await house.wait_until_idle()
    for number, name in enumerate(("Adam", "Adele"), 1):
        house.model.enqueue("I see.")
        edit = edited(original, f"Remember that my sister's name is {name}", number)
        await house.assistant.accept(edit)
        await house.wait_until_idle()
        assert notes(tmp_path) == f"- My sister's name is {name}."
        reply = house.terminal.replies()[edit.id]
        assert reply == f"I see.\n\n{phrases.NOTE_CORRECTED.format(place=f'{LOG}:3')}"
    assert [change.origin.made_by for change in await changes_of(house)] == ["agent"] * 3


async def test_an_edit_of_several_facts_corrects_the_one_that_changed(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    original = await house.accept("Remember:\n- Ada likes tea\n- Tom likes jam", alone=False)
    await house.wait_until_idle()
    for number, drink in enumerate(("milk", "juice"), 1):
        house.model.enqueue("I see.")
        await house.assistant.accept(
            edited(original, f"Remember:\n- Ada likes {drink}\n- Tom likes jam", number)
        )
        await house.wait_until_idle()
        assert notes(tmp_path) == f"- Ada likes {drink}\n- Tom likes jam"


async def test_an_edit_of_a_note_that_was_removed_is_a_note_of_its_own(
    house: Harness, tmp_path: Path
) -> None:
    house.model.enqueue("I see.")
    original = await house.accept(ASKS, alone=False)
    await house.wait_until_idle()
    (tmp_path / "memory" / LOG).write_text("# 2026-11-21\n\n- Something else.\n", "utf-8")
    house.model.enqueue("I see.")
    await house.assistant.accept(edited(original, "Remember that my sister's name is Adam", 1))
    await house.wait_until_idle()
    assert notes(tmp_path) == "- Something else.\n- My sister's name is Adam."


async def test_an_edit_that_says_the_same_writes_nothing(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    original = await house.accept(ASKS, alone=False)
    await house.wait_until_idle()
    house.model.enqueue("I see.")
    await house.assistant.accept(edited(original, f"{ASKS}!", 1))
    await house.wait_until_idle()
    assert notes(tmp_path).rstrip("!.") == FACT.rstrip(".")


async def test_an_edit_of_what_asked_for_nothing_is_written(house: Harness, tmp_path: Path) -> None:
    house.model.enqueue("I see.")
    original = await house.accept("My sister's name is Ada", alone=False)
    await house.wait_until_idle()
    house.model.enqueue("I see.")
    await house.assistant.accept(edited(original, ASKS, 1))
    await house.wait_until_idle()
    assert notes(tmp_path) == FACT


async def end_without_mark(folder: Path) -> None:
    """Leave a turn whose answer is stored, but not marked as the reply."""
    async with open_harness(folder) as house:
        received = await house.inbox.accept(message(ASKS, alone=False))
        assert received
        conversation = Conversation(house.state, received.message.chat)
        await conversation.load()
        heard = [(UserMessage(ASKS), received.message.sender)]
        await conversation.add_user_messages(heard, also=mark_begun(received.number, [received.number]))
        await conversation.append(AssistantMessage("I see."))


async def test_a_turn_that_had_ended_before_a_crash_writes_what_was_asked_for(tmp_path: Path) -> None:
    await end_without_mark(tmp_path)
    for _ in range(2):  # the second time the reply is delivered
        async with open_harness(tmp_path) as house:
            await house.wait_until_idle()
            replies = list(house.terminal.replies().values())
            assert house.model.history == []
            assert [type(each) for each in await messages_of(house)] == [
                UserMessage,
                AssistantMessage,
                AssistantMessage,
                ToolResult,
            ]
        assert notes(tmp_path) == FACT
        assert replies in ([f"I see.\n\n{phrases.REMEMBERED.format(place=f'{LOG}:3')}"], [])


MORTAL = """
import asyncio, os, signal, sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from bot.conversations.conversation import Conversation
from bot.models.protocol import AssistantMessage, ToolResult
from bot.note_writes import OnceWriter
from bot.state import note_effects
from tests.bot.test_requested_notes import ASKS, edited, end_without_mark
from tests.fakes.harness import open_harness
from tests.fakes.turns import message

folder, moment = Path(sys.argv[1]), sys.argv[2]
append, mark_done = Conversation.append, note_effects.mark_done
dies = lambda: os.kill(os.getpid(), signal.SIGKILL)

def kind(messages):
    match messages:
        case (ToolResult(),): return "result"
        case (AssistantMessage(calls=()),): return "answer"
        case (AssistantMessage(),): return "call"

async def appending(self, *messages, also=None):
    if moment == f"before {kind(messages)}": dies()
    await append(self, *messages, also=also)
    if moment == f"after {kind(messages)}": dies()

def marking(*told):
    if moment == "after write": dies()
    mark_done(*told)

async def main():
    if "ended" in sys.argv:
        await end_without_mark(folder)
        Conversation.append, note_effects.mark_done = appending, marking
        async with open_harness(folder) as house:
            await house.wait_until_idle()
        return
    async with open_harness(folder) as house:
        original = replace(message(ASKS, alone=False), id="original")
        if "edit" in sys.argv:
            house.model.enqueue("I see.")
            await house.assistant.accept(original)
            await house.wait_until_idle()
        Conversation.append, note_effects.mark_done = appending, marking
        house.model.enqueue("I see.")
        await house.assistant.accept(
            edited(original, ASKS.replace("Ada", "Adam"), 1) if "edit" in sys.argv else original
        )
        await house.wait_until_idle()

asyncio.run(main())
"""
MOMENTS = (
    "before call",
    "after call",
    "after write",
    "before result",
    "after result",
    "before answer",
    "after answer",
)


def die_at(moment: str, folder: Path, *more: str) -> None:
    command = [sys.executable, "-c", MORTAL, str(folder), moment, *more]
    ended = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


async def assert_written_once(folder: Path, line: str, phrase: str, *, answered: bool) -> None:
    """Let the next process go on, and assert that the note, the record and the reply tell of one write."""
    model = ScriptedModel()
    if not answered:
        model.enqueue("I see.")
    async with open_harness(folder, model=model) as house:
        await house.wait_until_idle()
        assert model.left == 0
        assert list(house.terminal.replies().values()) == [
            f"I see.\n\n{phrase.format(place=f'{LOG}:3')}",
        ]
        made = await changes_of(house)
        conversation = await messages_of(house)
        results = [each for each in conversation if isinstance(each, ToolResult)]
        assert [each.failed for each in results] == [False] * len(made)
        model.enqueue("Again.")
        assert await house.say("/retry") == "Again."
        assert len(await changes_of(house)) == len(made)
    assert notes(folder) == line


@pytest.mark.parametrize(
    "moment",
    [pytest.param(each, marks=[] if each == "after write" else [pytest.mark.thorough]) for each in MOMENTS],
)
async def test_kill_9_at_any_step_of_a_write_leaves_it_written_once(moment: str, tmp_path: Path) -> None:
    die_at(moment, tmp_path)
    answered = moment == "after answer"
    await assert_written_once(tmp_path, FACT, phrases.REMEMBERED, answered=answered)


@pytest.mark.parametrize(
    "moment",
    [pytest.param(each, marks=[] if each == "after call" else [pytest.mark.thorough]) for each in MOMENTS],
)
async def test_kill_9_at_any_step_of_a_correction_leaves_it_made_once(moment: str, tmp_path: Path) -> None:
    die_at(moment, tmp_path, "edit")
    answered = moment == "after answer"
    await assert_written_once(
        tmp_path, FACT.replace("Ada", "Adam"), phrases.NOTE_CORRECTED, answered=answered
    )


@pytest.mark.thorough
@pytest.mark.parametrize("moment", MOMENTS[:5])
async def test_kill_9_after_the_answer_leaves_what_was_asked_for_written_once(
    moment: str, tmp_path: Path
) -> None:
    die_at(moment, tmp_path, "ended")
    await assert_written_once(tmp_path, FACT, phrases.REMEMBERED, answered=True)
