"""What "undo", "forget that" and a correction change of what was noted last, in every language."""

import json
import re
from datetime import date

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.line_changes import is_long_ago, last_change
from bot.models.notebook.recent_lines import last_lines
from bot.models.protocol import AssistantMessage, Message, ToolSpec
from tests.bot.models.notebook.test_model import ALL, TOLD, Talk, step, wishes, written
from tests.fakes.table_test import table_test

EDIT = ToolSpec("memory_edit", "", {"type": "object", "properties": {}})
TOOLS = (*ALL, EDIT)
PATH = "2026-11-23.md"


def note(*lines: str) -> dict[str, object]:
    text = "\n".join(["# Title", "", *(f"- {line}" for line in lines)]) + "\n"
    return {"path": PATH, "line_start": 1, "total_lines": len(lines) + 2, "text": text}


def beginning(saying: str) -> str:
    return saying.partition("{")[0]


def noted(message: Message) -> str:
    assert isinstance(message, AssistantMessage)
    return str(json.loads(message.calls[0].arguments)["content"])


@table_test("language", LANGUAGES)
async def test_what_was_noted_is_removed_and_comes_back(language: Language) -> None:
    (example, *_) = re.findall("[“„«「]\\s?([^”“»」]+?)\\s?[”“»」]", language.say.hello)
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say(example, memory_write=written(PATH, 3))
    text = noted(talk.messages[2])
    gone = await talk.say(
        language.forget_that[0],
        memory_get=note(text),
        memory_edit={"path": PATH, "line_start": 3, "line_end": 3},
    )
    assert gone.startswith(beginning(language.say.removed))
    assert text.rstrip(".。।") in gone
    back = await talk.say(
        language.undo[0], memory_get=note(), memory_edit={"path": PATH, "line_start": 1, "line_end": 3}
    )
    assert back.startswith(beginning(language.say.back))
    assert text.rstrip(".。।") in back


@table_test("language", LANGUAGES)
async def test_with_nothing_to_undo_it_says_so(language: Language) -> None:
    for phrase in language.undo:
        assert (await step(TOLD, phrase, tools=TOOLS)).text == language.say.nothing_to_undo


@table_test("language", LANGUAGES)
async def test_what_was_noted_longer_ago_stays_and_undo_is_named(language: Language) -> None:
    (example, *_) = re.findall("[“„«「]\\s?([^”“»」]+?)\\s?[”“»」]", language.say.hello)
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say(example, memory_write=written(PATH, 3))
    for _ in range(2):
        await talk.say(language.thanks[0])
    message = await step(*talk.messages, language.undo[0], tools=TOOLS)
    assert not message.calls
    assert message.text == language.say.undo_older
    assert "`/undo`" in message.text
    assert "`/changes`" in message.text


def test_what_was_noted_on_the_day_before_yesterday_is_long_ago() -> None:
    messages: list[Message] = []
    assert last_change(messages) is None
    assert not is_long_ago(last_lines(messages), date(2026, 11, 23))


async def test_the_day_of_a_log_tells_how_long_ago_it_was() -> None:
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say("We have a cat.", memory_write=written("2026-11-21.md", 3))
    message = await step(*talk.messages, "undo", tools=TOOLS)
    assert message.text == ENGLISH.say.undo_older


async def test_a_line_that_was_changed_by_hand_since_is_left_alone() -> None:
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say("We have a cat.", memory_write=written(PATH, 3))
    answer = await talk.say("undo", memory_get=note("We have a dog."))
    assert "memory_edit" not in str(talk.messages)
    assert answer == ENGLISH.say.undo_older


@table_test("answer", ["I like black coffee", "no idea", "The meeting is on Friday."])
async def test_the_answer_to_which_words_changes_that_line_or_nothing(answer: str) -> None:
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say("I like green tea.", memory_write=written(PATH, 3))
    asked = await talk.say("no, coffee")
    assert asked == ENGLISH.say.which_words.format(text="I like green tea")
    first, *_ = wishes(await step(*talk.messages, answer, tools=TOOLS)) or [("nothing", {})]
    assert (first[0] == "memory_get") == (answer == "I like black coffee")


async def test_a_phrase_of_another_language_is_answered_in_it() -> None:
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say("Nothing much", memory_search={"results": []})
    assert (await step(*talk.messages, "rückgängig", tools=TOOLS)).text.startswith("Es gibt nichts")


@table_test("said", ["No, that's not what I meant", "das meinte ich nicht", "no quise decir eso"])
async def test_that_it_is_not_what_was_meant_is_no_note(said: str) -> None:
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say("We have a cat.", memory_write=written(PATH, 3))
    message = await step(*talk.messages, said, tools=TOOLS)
    assert not message.calls
    assert f"/correct {PATH}:3 TEXT" in message.text
