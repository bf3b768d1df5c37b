"""What a message makes of the reminder that was just set."""

import json
from datetime import datetime
from typing import Any

from bot.models.notebook.languages.english import ENGLISH
from bot.models.protocol import Message, ToolSpec
from tests.bot.models.notebook.test_model import ALL, TOLD, Talk, step, wishes
from tests.fakes.table_test import table_test

CANCEL = ToolSpec("cancel_reminder", "", {"type": "object", "properties": {}})
TOOLS = (*ALL, CANCEL)


def reminder(at: str, number: int = 1, **more: object) -> dict[str, Any]:
    return {"number": number, "at": f"{at}+01:00", "due": datetime.fromisoformat(at).isoformat(), **more}


async def after(told: str, at: str, **more: Any) -> list[Message]:
    """A conversation in which a reminder was set on Monday, 23 November 2026 at noon."""
    talk = Talk([TOLD], tools=TOOLS)
    await talk.say(told, remind=reminder(at, **more))
    return talk.messages


@table_test(
    ("told", "at", "said", "when"),
    [
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "no, at 7pm", "2026-11-24T19:00"),
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "no, at 7", "2026-11-24T19:00"),
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "sorry, I meant 7am", "2026-11-24T07:00"),
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "no, on Friday", "2026-11-27T18:00"),
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "no, Friday at 9", "Friday at 9"),
        ("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", "make it 19:30", "2026-11-24T19:30"),
        ("remind me at 10pm to call Tom", "2026-11-23T22:00:00", "sorry, 11pm", "2026-11-23T23:00"),
        ("remind me in 20 minutes to call Tom", "2026-11-23T12:20:00", "no, in 2 hours", "in 2 hours"),
        ("remind me every monday at 8 to call Tom", "2026-11-30T08:00:00", "no, at 9", "every monday at 9"),
        ("Erinnere mich morgen um 18 Uhr an Tom", "2026-11-24T18:00:00", "nein, um 19 Uhr", "2026-11-24T19:00"),
        ("Erinnere mich morgen um 18 Uhr an Tom", "2026-11-24T18:00:00", "nein, am Freitag", "2026-11-27T18:00"),
        ("Rappelle-moi demain à 18h d'appeler Tom", "2026-11-24T18:00:00", "non, à 19h", "2026-11-24T19:00"),
        ("Recuérdame mañana a las 18 llamar a Tom", "2026-11-24T18:00:00", "no, a las 19", "2026-11-24T19:00"),
        ("明天18点提醒我给Tom打电话", "2026-11-24T18:00:00", "不对，19点", "2026-11-24T19:00"),
    ],
)  # fmt: skip
async def test_another_time_keeps_the_rest_of_the_moment(told: str, at: str, said: str, when: str) -> None:
    again = {"every": "every week"} if "every" in told else {}
    messages = await after(told, at, **again)
    ((name, arguments),) = wishes(await step(*messages, said, tools=TOOLS))
    assert (name, arguments["when"]) == ("remind", when)
    assert "Tom" in arguments["text"], "the old one is cancelled only once the new one is set"


async def test_other_words_keep_the_moment() -> None:
    messages = await after("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00")
    assert wishes(await step(*messages, "no, call Anna", tools=TOOLS)) == [
        ("remind", {"when": "2026-11-24T18:00", "text": "call Anna"})
    ]


async def test_the_old_one_is_cancelled_once_the_new_one_is_set_and_stays_where_it_is_not() -> None:
    messages = await after("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00")
    talk = Talk(list(messages), tools=TOOLS)
    moved = await talk.say(
        "no, at 7pm",
        remind=reminder("2026-11-24T19:00:00", 2),
        cancel_reminder={"number": 1, "text": "call Tom", "at": "2026-11-24T18:00+01:00"},
    )
    assert moved.startswith("Moved: ")
    assert "(reminder 2)" in moved
    undone = wishes(await step(*talk.messages, "undo", tools=TOOLS))
    assert undone == [("remind", {"when": "2026-11-24T18:00", "text": "call Tom"})]
    talk = Talk(list(messages), tools=TOOLS)
    refused = await talk.say("no, at 7pm", remind={"error": "too many"})
    assert refused == ENGLISH.say.not_reminded.format(error="too many")


@table_test("said", ["cancel that", "forget that", "undo", "cancel the reminder", "delete it", "cancel"])
async def test_the_reminder_just_set_is_cancelled(said: str) -> None:
    messages = await after("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00", number=7)
    assert wishes(await step(*messages, said, tools=TOOLS)) == [("cancel_reminder", {"number": 7})]


async def test_a_reminder_is_cancelled_by_its_number() -> None:
    talk = Talk([TOLD], tools=TOOLS)
    answer = await talk.say("cancel reminder 3", cancel_reminder={"error": "There is no reminder 3 here."})
    assert answer == "I didn't cancel anything: There is no reminder 3 here."
    call = json.loads(talk.messages[-3].calls[0].arguments)  # type: ignore[union-attr]
    assert call == {"number": 3}


@table_test("between", ["We have a cat.", "thanks|hello"])
async def test_what_was_set_longer_ago_or_before_a_note_is_not_touched(between: str) -> None:
    talk = Talk(await after("remind me tomorrow at 6pm to call Tom", "2026-11-24T18:00:00"), tools=TOOLS)
    for text in between.split("|"):
        await talk.say(text, memory_write={"path": "2026-11-23.md", "line_start": 3, "line_end": 3})
    assert all(
        name != "cancel_reminder" for name, _ in wishes(await step(*talk.messages, "undo", tools=TOOLS))
    )
