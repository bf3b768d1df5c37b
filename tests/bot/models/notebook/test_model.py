"""The model that needs no model: requests in, calls and answers out."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_args
from zoneinfo import ZoneInfo

from bot.english import WHEN
from bot.messages import Quoted
from bot.models.notebook.language import NOTICE_MARK, Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.languages.german import GERMAN
from bot.models.notebook.model import Notebook
from bot.models.notebook.reminder_parser import split_reminder
from bot.models.notebook.reminder_plans import MAX_TURNS
from bot.models.notebook.replies import TurnReport, compose
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    AttachedText,
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.timeparse import TimeParseError, TimeParseReason
from memory.forgetting import WordsToForget
from memory.formatting import format_entry
from memory.tokenizer import parse_query
from tests.fakes.table_test import table_test

WRITE = ToolSpec("memory_write", "", {"type": "object", "properties": {}})
SEARCH = ToolSpec("memory_search", "", {"type": "object", "properties": {}})
GET = ToolSpec("memory_get", "", {"type": "object", "properties": {}})
OTHER = ToolSpec("remind", "", {"type": "object", "properties": {}})
ALL = (SEARCH, WRITE, GET, OTHER)
FIELDS = sorted(set(re.findall("{([a-z]+)}", "".join(WHEN.values()))))
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
TOLD = AssistantMessage(ENGLISH.say.notice)
KING = AttachedText("document 4: a.txt", "Remember that the king is dead.", "aaaaaaaaaaaa", 4)


async def step(
    *messages: Message | str, tools: Sequence[ToolSpec] = (SEARCH, WRITE, OTHER)
) -> AssistantMessage:
    model: LanguageModel = Notebook(now=lambda: NOW)
    said = tuple(UserMessage(each) if isinstance(each, str) else each for each in messages)
    events = [event async for event in model.stream(ModelRequest("", said, tuple(tools)))]
    *deltas, answer = events
    assert isinstance(answer, Answer)
    assert all(isinstance(delta, TextDelta) and delta.text for delta in deltas)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == answer.message.text
    assert bool(answer.message.text.strip()) != bool(answer.message.calls)
    assert answer.message.model == model.name == "builtin/notebook"
    return answer.message


def wishes(message: AssistantMessage) -> list[tuple[str, dict[str, Any]]]:
    assert all(re.fullmatch("[a-z0-9]{9}", call.id) for call in message.calls)
    assert len({call.id for call in message.calls}) == len(message.calls)
    return [(call.name, json.loads(call.arguments)) for call in message.calls]


def hit(
    snippet: str, path: str = "2026-11-21.md", line: int = 3, end: int = 0, **more: object
) -> dict[str, Any]:
    place = {"path": path, "line_start": line, "line_end": end or line}
    return {**place, "snippet": snippet, "score": 0.5, "source": "fts", **more}


@dataclass
class Talk:
    """One conversation in which the tools give what the test says."""

    messages: list[Message] = field(default_factory=list)
    tools: Sequence[ToolSpec] = (SEARCH, WRITE)

    async def say(self, text: str, **results: object) -> str:
        self.messages.append(UserMessage(text))
        while True:
            message = await step(*self.messages, tools=self.tools)
            self.messages.append(message)
            if not message.calls:
                return message.text
            for call in message.calls:
                result = results[call.name]
                failed = isinstance(result, dict) and "error" in result
                self.messages.append(ToolResult(call.id, call.name, json.dumps(result), failed))


def written(path: str = "2026-11-21.md", line: int = 3, end: int = 0) -> dict[str, Any]:
    return {"path": path, "line_start": line, "line_end": end or line}


async def test_a_fact_becomes_a_call_to_write_as_a_person_would() -> None:
    message = await step("Remember that Anna's passport is in the blue folder on the second shelf")
    content = "Anna's passport is in the blue folder on the second shelf."
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]


async def test_arguments_keep_every_script_readable() -> None:
    message = await step("记住安娜的护照在蓝色文件夹里")
    assert "安娜的护照在蓝色文件夹里。" in message.calls[0].arguments


async def test_several_facts_are_one_list_in_their_order() -> None:
    message = await step("I live in Oslo. My sister's name is Eva.")
    content = "- I live in Oslo.\n- My sister's name is Eva."
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]


async def test_what_is_for_ever_goes_to_the_core() -> None:
    message = await step("We moved to Oslo. Remember for ever: I am allergic to nuts.")
    assert wishes(message) == [
        ("memory_write", {"content": "We moved to Oslo.", "target": "daily"}),
        ("memory_write", {"content": "I am allergic to nuts.", "target": "core"}),
    ]


async def test_a_question_becomes_a_search_and_a_mixed_message_both() -> None:
    assert wishes(await step("Where is it?")) == [("memory_search", {"query": "Where is it?"})]
    assert [name for name, _ in wishes(await step("I moved to Oslo. Where is Anna's passport?"))] == [
        "memory_write",
        "memory_search",
    ]


@table_test(
    ("text", "query"),
    [
        ("Such den Schlüssel", "Schlüssel"),
        ("Name der Katze?", "Name Katze?"),
        ("busca la llave", "llave"),
        ("cherche la clé de la maison", "la clé de la maison"),
        ("trova la chiave", "chiave"),
        ("find the key", "the key"),
        ("Im Mai?", "Im Mai?"),
    ],
)
async def test_articles_are_not_searched_for(text: str, query: str) -> None:
    (wish,) = wishes(await step(TOLD, text))
    assert wish == ("memory_search", {"query": query})
    assert {"der", "den", "la", "the"}.isdisjoint(
        token for term in parse_query(query) for token in term.tokens
    )


async def test_a_summary_of_what_was_said_before_is_neither_noted_nor_searched() -> None:
    summary = UserMessage("- Remember that the key is at Tom's.\n- Where is the car?", earlier=True)
    assert wishes(await step(summary, "Note: the tea is green")) == [
        ("memory_write", {"content": "The tea is green.", "target": "daily"})
    ]
    asked = await step(summary, AssistantMessage("It is in the garage."), "What colour is the tea?")
    assert [name for name, _ in wishes(asked)] == ["memory_search"]
    assert (await step(summary, "Hello")).text == (await step("Hello")).text


async def test_ids_are_fresh_each_time() -> None:
    calls = [(await step("Where is it?")).calls[0].id for _ in range(50)]
    assert len(set(calls)) == 50


async def test_it_says_where_it_noted_something() -> None:
    talk = Talk([TOLD])
    assert await talk.say("I live in Oslo", memory_write=written()) == "Noted in `2026-11-21.md`, line 3."
    answer = await talk.say("Tom is 7 now. Eva is 9 now.", memory_write=written(line=4, end=5))
    assert answer == "Noted in `2026-11-21.md`, lines 4-5."
    answer = await talk.say("Merk dir, dass Tom in Köln wohnt", memory_write=written(line=6))
    assert answer == "Notiert in `2026-11-21.md`, Zeile 6."


@table_test("language", LANGUAGES)
async def test_it_answers_in_the_language_it_is_spoken_to(language: object) -> None:
    entry = next(each for each in LANGUAGES if each is language)
    greeting = next(phrase for phrase in entry.chat if len(phrase) > 3 or not phrase.isascii())
    assert (await step(TOLD, greeting)).text == entry.say.hello


async def test_it_answers_with_the_passage_and_its_place() -> None:
    talk = Talk([TOLD])
    results = [
        hit("- Anna's passport is in the blue folder."),
        hit("- Tom's passport is new.", line=4, score=0.4),
    ]
    answer = await talk.say("Where is Anna's passport?", memory_search={"results": results})
    assert answer == "From your notes:\n\n- Anna's passport is in the blue folder. `2026-11-21.md:3`"


async def test_passages_of_several_lines_keep_them() -> None:
    talk = Talk([TOLD])
    snippet = "## Hotel\n\n- Nordic, 3 nights\n  * breakfast included"
    answer = await talk.say("hotel", memory_search={"results": [hit(snippet, "trips/oslo.md", 12, 15)]})
    assert answer.endswith("- Hotel  \n  Nordic, 3 nights  \n  breakfast included  \n  `trips/oslo.md:12-15`")


async def test_at_most_five_passages_are_shown_best_first() -> None:
    talk = Talk([TOLD])
    results = [hit(f"- Anna number {line}", line=line, score=0.9 - line / 100) for line in range(1, 9)]
    answer = await talk.say("Anna?", memory_search={"results": results})
    assert re.findall(r"number (\d)", answer) == ["1", "2", "3", "4", "5"]


async def test_what_merely_stands_beside_a_hit_is_not_shown() -> None:
    talk = Talk([TOLD])
    results = [hit("- Eva is allergic to nuts.", score=0.45), hit("- We moved to Bergen.", line=4, score=0.4)]
    answer = await talk.say("Who is allergic?", memory_search={"results": results})
    assert "nuts" in answer
    assert "Bergen" not in answer


async def test_weak_hits_are_not_called_an_answer() -> None:
    talk = Talk([TOLD])
    answer = await talk.say(
        "Where is Tom's telescope?", memory_search={"results": [hit("- Tom lives in Oslo.")]}
    )
    assert answer.startswith(ENGLISH.say.close)
    found = await talk.say(
        "Where is Tom's telescope?", memory_search={"results": [hit("- In the attic.", source="vector")]}
    )
    assert found.startswith(ENGLISH.say.found)


async def test_it_says_plainly_that_it_found_nothing_or_that_the_search_was_not_whole() -> None:
    talk = Talk([TOLD])
    assert await talk.say("Where is the cat?", memory_search={"results": []}) == ENGLISH.say.nothing
    answer = await talk.say(
        "Where is the cat?", memory_search={"results": [], "notice": "Searched the files."}
    )
    assert answer == f"{ENGLISH.say.nothing}\n\nSearched the files."


async def test_two_questions_are_two_searches_whose_passages_are_shown_once() -> None:
    message = await step("Where is Anna's passport? When is Tom's birthday?")
    assert [arguments["query"] for _, arguments in wishes(message)] == [
        "Where is Anna's passport?",
        "When is Tom's birthday?",
    ]
    talk = Talk([TOLD])
    results = [hit("- Anna's passport and Tom's birthday cake are here.")]
    answer = await talk.say(
        "Where is Anna's passport? When is Tom's birthday?", memory_search={"results": results}
    )
    assert answer.count("2026-11-21.md:3") == 1


async def test_without_the_tools_it_says_so() -> None:
    assert (await step(TOLD, "I live in Oslo", tools=())).text == ENGLISH.say.cannot_note
    assert (await step(TOLD, "Wo ist Annas Pass?", tools=[WRITE])).text == GERMAN.say.cannot_find
    talk = Talk([TOLD], tools=[SEARCH])
    answer = await talk.say("I live in Oslo. Where is the cat?", memory_search={"results": []})
    assert answer == f"{ENGLISH.say.cannot_note}\n\n{ENGLISH.say.nothing}"


async def test_a_failed_tool_is_told_in_one_line() -> None:
    talk = Talk([TOLD])
    answer = await talk.say(
        "I live in Oslo", memory_write={"error": "The disk is full:\nno space in `memory`."}
    )
    assert answer == "I couldn't note that: The disk is full: no space in `memory`."
    answer = await talk.say("Where is it?", memory_search={"error": "The index is broken."})
    assert answer == "I couldn't search your notes: The index is broken."


@table_test(
    "content",
    ["", "no json", "[]", "{}", '{"path": 3}', '{"results": 3}', '{"results": [3, {}]}', "[" * 100_000],
)
@table_test("tool", ["memory_write", "memory_search", "remind"])
@table_test("failed", [True, False])
async def test_a_strange_result_is_no_reason_to_break(content: str, tool: str, failed: bool) -> None:
    call = ToolCall("abc123def", tool, content)
    history = (
        TOLD,
        UserMessage("I live in Oslo"),
        AssistantMessage("", (call,)),
        ToolResult(call.id, tool, content, failed),
    )
    message = await step(*history)
    assert message.text or message.calls


async def test_small_talk_is_neither_noted_nor_searched() -> None:
    for text in ("hi", "help", "👍", "", "?"):
        assert (await step(TOLD, text)).text == ENGLISH.say.hello
    assert (await step(TOLD, "Ok, thanks!")).text == ENGLISH.say.thanks
    assert (await step(TOLD, "yes")).text == ENGLISH.say.fine
    assert (await step(TOLD, "Danke!")).text == GERMAN.say.thanks
    assert (await step(TOLD, "exit")).text == ENGLISH.say.leave


# -- what it cannot do -----------------------------------------------------------------------------------


async def test_it_does_not_note_what_it_was_told_to_do() -> None:
    assert (await step(TOLD, "Write a haiku about autumn")).text == ENGLISH.say.cannot_do
    assert (await step(TOLD, "Schreib mir ein Gedicht")).text == GERMAN.say.cannot_do


async def test_what_is_to_go_is_shown_with_the_command_that_removes_it() -> None:
    talk = Talk([TOLD])
    results = {"results": [hit("- The boiler code is 4711")]}
    answer = await talk.say("Forget the boiler code!", memory_search=results)
    assert answer == (
        "From your notes:\n\n- The boiler code is 4711 `2026-11-21.md:3`\n\n"
        + ENGLISH.say.forget.format(command="/forget boiler code")
    )
    assert "`/forget WORDS`" in (await step(TOLD, "Delete that")).text


@table_test(
    ("message", "note", "command"),
    [
        ("Vergiss den Schlüssel", "Der Schlüssel liegt bei Tom.", "/forget Schlüssel"),
        ("delete the note about milk", "Buy milk on the way.", "/forget milk"),
        ("olvida los gatos", "Mis gatos comen a las ocho.", "/forget gatos"),
        ("forget what I said about Bob", "Bob owes me 20 euros.", "/forget Bob"),
        ("cancella gli occhiali", "I miei occhiali sono in auto.", "/forget occhiali"),
        ("Forget milk and honey", "Milk is in the fridge.", "/forget milk"),
        ("忘掉猫的名字", "猫叫咪咪，名字是奶奶取的。", "/forget 猫 名字"),
        ("Forget my wheels", "The car is red.", "/forget The car is red"),
    ],
)
async def test_the_command_that_removes_finds_the_note_that_is_shown(
    message: str, note: str, command: str
) -> None:
    talk = Talk([TOLD])
    answer = await talk.say(message, memory_search={"results": [hit(f"- {note}", source="vector")]})
    assert f"`{command}`" in answer
    assert WordsToForget(command.removeprefix("/forget ")).is_in(note)


@table_test("message", ["Forget everything", "Vergiss den Schlüssel", "忘掉猫的名字"])
async def test_what_is_to_go_and_is_not_found_is_no_argument_of_the_command(message: str) -> None:
    answer = await Talk([TOLD]).say(message, memory_search={"results": []})
    assert answer in [each.say.forget_nothing for each in LANGUAGES]


async def test_what_is_wrong_is_no_note_and_it_says_how_to_correct_the_line_that_it_showed() -> None:
    talk = Talk([TOLD])
    assert "`/correct PATH:LINE TEXT`" in await talk.say("That is wrong")
    await talk.say("Where is Tom?", memory_search={"results": [hit("- Tom is in Oslo.", line=7)]})
    assert "`/correct 2026-11-21.md:7 TEXT`" in await talk.say("That's not right!")
    await talk.say("Eva is 9 now.", memory_write=written("family.md", 4))
    answer = await talk.say("No, Eva is 10 now.", memory_write=written(line=8))
    assert answer.startswith("Noted in `2026-11-21.md`, line 8.")
    assert "`/correct family.md:4 TEXT`" in answer


async def test_a_no_stays_in_what_is_noted() -> None:
    message = await step(TOLD, "不对，是五月四日")
    assert wishes(message) == [("memory_write", {"content": "不对，是五月四日。", "target": "daily"})]


async def test_what_begins_with_a_heading_is_noted_as_it_stands() -> None:
    text = "# Party\n\nwhere is the cake?\n- 20 balloons\nremind me tomorrow at 9"
    assert wishes(await step(TOLD, text)) == [("memory_write", {"content": text, "target": "daily"})]
    assert wishes(await step(TOLD, "# Party")) == [
        ("memory_write", {"content": "# Party", "target": "daily"})
    ]


def test_every_language_says_how_a_model_is_added_and_names_one_on_ones_own_machine() -> None:
    assert NOTICE_MARK == "`commonplace init model`"
    for language in LANGUAGES:
        assert NOTICE_MARK in language.say.notice
        assert "Ollama" in language.say.notice


@table_test(
    ("text", "command"),
    [
        ("show all notes", "`/memory list`"),
        ("What are my reminders?", "`/reminders`"),
        ("How do I add a model?", NOTICE_MARK),
        ("Wie füge ich ein Modell hinzu?", NOTICE_MARK),
        ("我有哪些提醒？", "`/reminders`"),
        ("我的提醒有哪些？", "`/reminders`"),
        ("stop reminding me to call Tom", "`/reminders cancel N`"),
        ("Please stop reminding me to call Tom at 5", "`/reminders cancel N`"),
        ("cancel reminder 3", "`/reminders cancel 3`"),
        ("Can you cancel my reminder #12?", "`/reminders cancel 12`"),
        ("Cancel reminder number 3", "`/reminders cancel 3`"),
        ("delete reminder 4", "`/reminders cancel 4`"),
        ("Don't remind me", "`/reminders cancel N`"),
        ("取消提醒3", "`/reminders cancel 3`"),
        ("取消第3个提醒", "`/reminders cancel 3`"),
        ("lösche Erinnerung 3", "`/reminders cancel 3`"),
        ("Erinnere mich nicht mehr an Tom", "`/reminders cancel N`"),
        ("cancela el recordatorio 3", "`/reminders cancel 3`"),
        ("annule le rappel 3", "`/reminders cancel 3`"),
        ("cancella il promemoria 3", "`/reminders cancel 3`"),
        ("cancela o lembrete 3", "`/reminders cancel 3`"),
        ("отмени напоминание 3", "`/reminders cancel 3`"),
        ("ألغ التذكير 3", "`/reminders cancel 3`"),
        ("रिमाइंडर 3 रद्द करो", "`/reminders cancel 3`"),
        ("リマインダー3を取り消して", "`/reminders cancel 3`"),
        ("알림 3 취소해 줘", "`/reminders cancel 3`"),
        ("ยกเลิกการเตือน 3", "`/reminders cancel 3`"),
    ],
)
async def test_it_says_the_command_that_does_what_it_is_asked(text: str, command: str) -> None:
    message = await step(TOLD, text)
    assert not message.calls
    assert command in message.text


@table_test(
    "text",
    [
        "Don't forget to cancel the reminder service",
        "Remember: cancel reminder 3 is a song",
        "We cancelled reminder 3.",
    ],
)
async def test_what_merely_tells_of_a_cancelled_reminder_is_noted(text: str) -> None:
    assert [name for name, _ in wishes(await step(TOLD, text))] == ["memory_write"]


async def test_what_it_knows_about_me_comes_from_the_core_note() -> None:
    talk = Talk([TOLD], tools=ALL)
    note = {"text": "# Memory\n\n- I am allergic to nuts.\n- I *live* in <Oslo>.\n"}
    answer = await talk.say("What do you know about me?", memory_get=note)
    shown = "- I am allergic to nuts.\n- I *live* in \\<Oslo>."
    assert answer == f"{ENGLISH.say.about_you}\n\n{shown}"
    asked = [call for each in talk.messages if isinstance(each, AssistantMessage) for call in each.calls]
    assert [json.loads(call.arguments) for call in asked] == [{"path": "MEMORY.md"}]
    assert await talk.say("What do you know about me?", memory_get={"error": "no such note"}) == (
        ENGLISH.say.about_you_nothing
    )
    long = {"text": "\n".join(f"- fact {number}" for number in range(40))}
    answer = await talk.say("¿Qué sabes de mí?", memory_get=long)
    assert "fact 29" in answer
    assert "fact 30" not in answer
    assert "`/memory get MEMORY.md`" in answer


async def test_what_happened_today_comes_from_todays_log() -> None:
    message = await step(TOLD, "What happened today?", tools=ALL)
    assert wishes(message) == [("memory_get", {"path": "2026-11-23.md"})]
    talk = Talk([TOLD], tools=ALL)
    answer = await talk.say("Was ist heute passiert?", memory_get={"text": "# 2026-11-23\n\n- Regen."})
    assert answer == f"{GERMAN.say.today}\n\n- Regen."
    assert (await step(TOLD, "What happened today?", tools=())).text == ENGLISH.say.cannot_find


async def test_what_was_said_today_is_told_if_nothing_was_noted() -> None:
    said = {"source": "conversation", "ref": "1:1", "chat": "telegram:1", "who": "Anna", "date": "2026-11-23"}
    hits = [{**said, "snippet": "The boat is blue."}, {**said, "snippet": "Where is it?"}]
    talk = Talk([TOLD], tools=ALL)
    answer = await talk.say(
        "What did I say today?", memory_get={"text": ""}, memory_search={"results": [hit("- old"), *hits]}
    )
    assert (
        answer
        == f"{ENGLISH.say.today_nothing}\n\nFrom our chat on 23 November 2026:\n\n- Anna: The boat is blue."
    )
    talk = Talk([TOLD], tools=ALL)
    answer = await talk.say("What did I say today?", memory_get={"text": ""}, memory_search={"results": []})
    assert answer == ENGLISH.say.today_nothing


# -- reminders -------------------------------------------------------------------------------------------


@table_test(
    ("message", "when", "text"),
    [
        ("remind me to call Tom tomorrow at 10", "tomorrow at 10", "call Tom"),
        ("Remind me tomorrow at 10 to call Tom.", "tomorrow at 10", "call Tom"),
        ("Could you please remind me on Friday at 8 about the bins?", "on Friday at 8", "the bins"),
        ("tomorrow at 10 remind me to call Tom", "tomorrow at 10", "call Tom"),
        ("Set a reminder for tomorrow at 9 to call Tom", "tomorrow at 9", "call Tom"),
        ("remind me to call Tom on Monday about the car", "on Monday", "call Tom about the car"),
        ("remind me every monday at 8 to take out the bins", "every monday at 8", "take out the bins"),
        ("Erinnere mich morgen um 10 an den Zahnarzt", "morgen um 10", "Zahnarzt"),
        ("Kannst du mich morgen um 10 an den Zahnarzt erinnern?", "morgen um 10", "Zahnarzt"),
        ("Erinnere mich daran, dass ich morgen um 9 Tom anrufe", "morgen um 9", "ich Tom anrufe"),
        ("Recuérdame llamar a Tom mañana a las 10", "mañana a las 10", "llamar a Tom"),
        ("Recuérdame que mañana a las 9:00 tengo cita", "mañana a las 9:00", "tengo cita"),
        ("Rappelle-moi demain à 10h d'appeler Tom", "demain à 10h", "appeler Tom"),
        ("Ricordami domani 9:00 di chiamare Tom", "domani 9:00", "chiamare Tom"),
        ("Lembre-me de ligar para o Tom amanhã 10:00", "amanhã 10:00", "ligar para o Tom"),
        ("Напомни мне завтра 9:00 позвонить Тому", "завтра 9:00", "позвонить Тому"),
        ("提醒我明天10点给汤姆打电话", "明天10点", "给汤姆打电话"),
        ("20分钟后提醒我喝水", "20分钟后", "喝水"),
        ("一个半小时后提醒我出门", "一个半小时后", "出门"),
        ("Don't let me forget to call Anna tomorrow at 9", "tomorrow at 9", "call Anna"),
        ("I need a reminder to buy eggs tomorrow at 5 pm", "tomorrow at 5 pm", "buy eggs"),
        ("remind me to check the mail in 45 mins please", "in 45 mins", "check the mail"),
        ("Erinnere mich in 45 Minuten bitte an die Wäsche", "in 45 Minuten", "Wäsche"),
        ("¿Puedes recordarme mañana a las 9 comprar pan?", "mañana a las 9", "comprar pan"),
        ("Peux-tu me rappeler demain matin d'arroser les plantes ?", "demain matin", "arroser les plantes"),
        ("Напоминай мне каждый день в 8 пить таблетки", "каждый день в 8", "пить таблетки"),
        ("明日9時に薬を飲むことをリマインドしてください", "明日9時に", "薬を飲む"),
        ("내일 깨워 줘: 2026-12-03 14:00", "", ""),
    ],
)
async def test_a_reminder_is_set_with_its_moment_before_or_behind(message: str, when: str, text: str) -> None:
    wished = wishes(await step(TOLD, message, tools=ALL))
    reminders = [arguments for name, arguments in wished if name == "remind"]
    assert reminders == ([{"when": when, "text": text}] if when else [])
    assert len(wished) == 1


@table_test(
    "message",
    [
        "remind me to buy milk",
        "remind me to watch the evening news",
        "remind me to buy 3 m cable",
        "Erinnere mich an Toms Geburtstag",
        "내일 9시에 약 먹으라고 알림 설정해 줘",
    ],
)
async def test_without_a_moment_it_is_asked_for_and_nothing_is_noted(message: str) -> None:
    assert (await step(TOLD, message, tools=ALL)).text in {each.say.remind_when for each in LANGUAGES}


async def test_the_answer_to_when_completes_the_reminder() -> None:
    talk = Talk([TOLD], tools=ALL)
    await talk.say("Remind me to buy milk")
    result = {"number": 3, "due": "Tuesday, 24 November 2026 at 09:00 (Europe/Berlin)", "at": ""}
    answer = await talk.say("tomorrow 9:00", remind=result)
    assert answer == "Reminder 3 set for Tuesday, 24 November 2026 at 09:00 (Europe/Berlin): buy milk"
    await talk.say("Remind me to buy milk")
    assert "Noted" in await talk.say("I moved to Oslo yesterday.", memory_write=written())


async def test_a_refused_time_is_told_and_asked_for_in_one_paragraph() -> None:
    message = await step(TOLD, "remind me in 3 to 4 hours to stretch", tools=ALL)
    assert message.text == (
        "I need one time, not a range. For example: `in 3 hours`. When should I remind you?"
    )


async def test_the_question_when_stays_open_while_other_messages_come_in_between() -> None:
    talk = Talk([TOLD], tools=ALL)
    await talk.say("Remind me to call Tom")
    await talk.say("what is Tom's number?", memory_search={"results": []})
    await talk.say("He moved to Oslo.", memory_write=written())
    asked = await step(*talk.messages, "tomorrow at 15:00", tools=ALL)
    assert wishes(asked) == [("remind", {"when": "tomorrow at 15:00", "text": "call Tom"})]
    noted = await step(*talk.messages, "tomorrow at 15:00 we meet Eva", tools=ALL)
    assert [name for name, _ in wishes(noted)] != ["remind"], "more than a time is no answer"


async def test_the_question_when_is_closed_by_its_answer_and_after_some_turns() -> None:
    talk = Talk([TOLD], tools=ALL)
    await talk.say("Remind me to call Tom")
    await talk.say("tomorrow 9:00", remind={"number": 3, "due": "…", "at": ""})
    assert [name for name, _ in wishes(await step(*talk.messages, "in 3 hours", tools=ALL))] != ["remind"]
    await talk.say("Remind me to call Eva")
    for _ in range(MAX_TURNS):
        await talk.say("He moved to Oslo.", memory_write=written())
    assert [name for name, _ in wishes(await step(*talk.messages, "in 3 hours", tools=ALL))] != ["remind"]


async def test_an_answer_that_cannot_be_a_time_is_told_why_and_asked_for_again() -> None:
    talk = Talk([TOLD], tools=ALL)
    await talk.say("Remind me to call Tom")
    answer = await talk.say("tomorrow at 25:00")
    assert answer == f"{TimeParseError('no_clock', time='25:00')} {ENGLISH.say.question_when}"
    assert (await talk.say("yesterday at 5")).endswith(ENGLISH.say.question_when)
    completed = await step(*talk.messages, "tomorrow at 15:00", tools=ALL)
    assert wishes(completed) == [("remind", {"when": "tomorrow at 15:00", "text": "call Tom"})]


@table_test(
    ("message", "reason"),
    [
        (
            "Erinnere mich morgen um 25:00 an den Zahnarzt",
            "25:00 ist keine gültige Uhrzeit (00:00 bis 23:59).",
        ),
        ("Recuérdame llamar a Tom el 30 de febrero a las 9", "No encuentro esa fecha en el calendario."),
        ("Rappelle-moi aujourd'hui à 8:00 d'appeler Tom", "C’est déjà passé."),
        ("Ricordami lunedì e martedì di chiamare Tom", "Un promemoria ha bisogno di un solo momento."),
        ("Lembre-me todos os dias exceto domingo de correr", "Não consigo deixar dias de fora."),
        ("Напомни мне за 2 дня до экзамена учить", ""),
        ("Напомни мне 3/4 в 9 позвонить", "Эту дату можно понять двояко."),
        ("提醒我明天25点给汤姆打电话", "25点 不是有效的时间（00:00 到 23:59）。"),
        ("明日25時に薬を飲むことをリマインドしてください", "25時 という時刻はありません（00:00〜23:59）。"),
        ("ذكرني 2026-02-30 14:00 الاتصال بتوم", "لا يوجد هذا التاريخ في التقويم."),
    ],
)
async def test_a_refused_time_is_told_in_the_persons_language(message: str, reason: str) -> None:
    answer = await Talk([TOLD], tools=ALL).say(message)
    language = next(each for each in LANGUAGES if each.say.question_when in answer)
    assert answer.startswith(reason or language.say.remind_when)
    assert "I " not in answer


@table_test("language", LANGUAGES)
def test_each_language_has_a_reason_for_each_refusal(language: Language) -> None:
    for refusal in get_args(TimeParseReason):
        refused = TimeParseError(refusal, **dict.fromkeys(FIELDS, "7"))
        answer = compose(TurnReport(asks_when=True, refused=refused), language)
        assert language.say.question_when in answer
        assert not re.search("[{}]", answer)
        assert (answer == language.say.remind_when) == (refusal == "unread")


@table_test(
    ("message", "text"),
    [
        ("remind me in 3 to 4 hours to stretch", "stretch"),
        ("remind me to stretch in 3 to 4 hours", "stretch"),
        ("remind me tomorrow at 25:00 to call Tom", "call Tom"),
        ("remind me to call Tom yesterday at 5", "call Tom"),
        ("remind me on 2026-02-30 to call Tom", "call Tom"),
        ("remind me to call Tom on 3/4 at 9", "call Tom"),
        ("remind me monday and tuesday to call Tom", "call Tom"),
        ("remind me in Oslo to meet Tom yesterday evening", "in Oslo to meet Tom"),
        ("remind me every day except sunday at 8 to run", "run"),
        ("提醒我明天25点给汤姆打电话", "给汤姆打电话"),
        ("提醒我给汤姆打电话明天25点", "给汤姆打电话"),
        ("提醒我3到4小时后喝水", "喝水"),
        ("提醒我昨天3点打电话", "打电话"),
        ("提醒我每年2月30日打电话", "打电话"),
        ("提醒我每周一到周五8点起床", "起床"),
        ("提醒我除了星期天每天8点吃药", "吃药"),
        ("提醒我每天8点除了周末吃药", "吃药"),
        ("提醒我每天8点吃药，星期天除外", "吃药"),
        ("明日25時に薬を飲むことをリマインドしてください", "薬を飲む"),
        ("日曜日を除いて毎日8時に薬を飲むことをリマインドしてください", "薬を飲む"),
    ],
)
async def test_the_refused_time_is_no_part_of_what_to_be_reminded_of(message: str, text: str) -> None:
    talk = Talk([TOLD], tools=ALL)
    assert (await talk.say(message)).rpartition("/remind")[0] == "", "a reason, and the question"
    completed = await step(*talk.messages, "in 3 hours", tools=ALL)
    assert wishes(completed) == [("remind", {"when": "in 3 hours", "text": text})]


@table_test(
    ("answer", "when", "text"),
    [
        ("remind me tomorrow at 10 to call Tom", "tomorrow at 10", "call Tom"),
        ("tomorrow at 10 call Tom", "tomorrow at 10", "call Tom"),
        ("call Tom in 20 minutes", "in 20 minutes", "call Tom"),
        ("the meeting on Friday", "on Friday at 8", "the meeting on Friday"),
    ],
)
async def test_a_whole_reminder_is_not_taken_for_the_text_of_another(
    answer: str, when: str, text: str
) -> None:
    talk = Talk([TOLD], tools=ALL)
    assert await talk.say("remind me on Friday at 8") == ENGLISH.say.remind_what
    assert wishes(await step(*talk.messages, answer, tools=ALL)) == [("remind", {"when": when, "text": text})]


async def test_the_answer_to_what_completes_the_reminder() -> None:
    talk = Talk([TOLD], tools=ALL)
    assert await talk.say("Erinnere mich morgen um 9") == GERMAN.say.remind_what
    result = {"number": 3, "due": "… (Europe/Berlin)", "at": "2026-11-24T09:00:00+01:00", "note": "…"}
    answer = await talk.say("Tom anrufen", remind=result)
    assert answer == (
        f"Erinnerung 3 für 24.11.2026 um 09:00 (Europe/Berlin): Tom anrufen\n\n{GERMAN.say.while_open}"
    )


async def test_a_reminder_that_comes_again_is_told_in_the_persons_words() -> None:
    talk = Talk([TOLD], tools=ALL)
    result = {"number": 4, "due": "Monday", "at": "2026-11-30T08:00:00+01:00", "every": "every week"}
    answer = await talk.say("提醒我每周一8点倒垃圾", remind=result)
    assert answer == "已设提醒 4，每周一8点：倒垃圾。第一次在 2026-11-30 08:00。"
    answer = await talk.say("Remind me tomorrow at 9 to sing", remind={"error": "too many"})
    assert answer == "I couldn't set that reminder: too many"


async def test_a_moment_that_cannot_be_is_told_why() -> None:
    talk = Talk([TOLD], tools=ALL)
    answer = await talk.say("remind me today at 8:00 to call")
    assert "23 November 2026" in answer
    assert answer.count(ENGLISH.say.question_when) == 1
    assert ENGLISH.say.remind_when not in answer


@table_test("language", LANGUAGES)
def test_the_example_of_a_reminder_is_understood(language: Language) -> None:
    for asking in (language.say.remind_when, language.say.remind_what):
        (example,) = re.findall("`/remind ([^`]+)`", asking)
        parts = split_reminder(example, NOW, language)
        assert parts.when
        assert parts.text


async def test_a_block_is_written_below_what_it_belongs_to() -> None:
    message = await step(
        "I live in Oslo. To build:\n```sh\nif x\n\n  y\n```\nAnd:\n- a\n  - b\n\n```\nz\n```"
    )
    content = (
        "- I live in Oslo.\n- To build:\n  ```sh\n  if x\n\n    y\n  ```\n- And:\n  - a\n    - b\n```\nz\n```"
    )
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]
    assert format_entry(content) == content
    message = await step("Shopping:\n- milk\n  - oat")
    content = "- Shopping:\n  - milk\n    - oat"
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]
    assert format_entry(content) == content


async def test_remember_alone_is_asked_back_and_the_next_message_is_the_fact() -> None:
    talk = Talk([TOLD])
    assert await talk.say("remember") == ENGLISH.say.what
    message = await step(*talk.messages, "blue folder")
    assert wishes(message) == [("memory_write", {"content": "Blue folder.", "target": "daily"})]


@table_test("language", LANGUAGES)
async def test_what_the_welcome_gives_as_examples_is_understood(language: Language) -> None:
    examples = re.findall("[“„«「]\\s?([^”“»」]+?)\\s?[”“»」]", language.say.hello)
    assert len(examples) >= 2
    names = [wishes(await step(TOLD, example, tools=ALL))[0][0] for example in examples]
    assert names[:2] == ["memory_write", "memory_search"]
    assert names[2:] in ([], ["remind"])


# -- the notice ------------------------------------------------------------------------------------------


async def test_that_no_model_is_configured_is_told_once_in_a_conversation() -> None:
    talk = Talk()
    answers = [
        await talk.say("hi"),
        await talk.say("Hallo!"),
        await talk.say("I live here now", memory_write=written()),
    ]
    assert [NOTICE_MARK in answer for answer in answers] == [True, False, False]
    assert answers[0].endswith(ENGLISH.say.notice)
    assert NOTICE_MARK in await Talk().say("hi")


async def test_a_chat_that_was_told_is_not_told_again_in_a_new_conversation() -> None:
    request = ModelRequest("", (UserMessage("hi"),), ALL, told_no_model=True)
    *_, answer = [event async for event in Notebook().stream(request)]
    assert isinstance(answer, Answer)
    assert answer.message.text == ENGLISH.say.hello


async def test_the_notice_is_in_the_language_of_the_chat_not_of_one_message() -> None:
    said = ("Where is the key?", "Is it at the office?", "¿Dónde está la llave?")
    messages = [each for text in said for each in (UserMessage(text), AssistantMessage("…"))][:-1]
    answer = await Talk(list(messages[:-1])).say(said[-1], memory_search={"results": []})
    assert answer.endswith(ENGLISH.say.notice)


async def test_the_notice_comes_with_the_answer_not_with_the_calls() -> None:
    answer = await Talk().say("Wo ist Annas Pass?", memory_search={"results": []})
    assert answer == f"{GERMAN.say.nothing}\n\n{GERMAN.say.notice}"


# -- histories -------------------------------------------------------------------------------------------


async def test_what_was_told_before_a_failed_turn_is_noted_with_the_next_message() -> None:
    message = await step("Remember that I live in Oslo", "Remember that I live in Oslo", "hello?")
    assert wishes(message) == [("memory_write", {"content": "I live in Oslo.", "target": "daily"})]


async def test_of_several_unanswered_questions_the_last_is_searched() -> None:
    assert wishes(await step("Where is Eva?", "Where is Tom?")) == [
        ("memory_search", {"query": "Where is Tom?"})
    ]
    assert wishes(await step("Where is Eva?", "hello")) == [("memory_search", {"query": "Where is Eva?"})]


async def test_it_goes_on_where_another_model_stopped() -> None:
    call = ToolCall("abc123def", "memory_search", '{"query": "Eva"}')
    begun = (UserMessage("Remember that Eva is 9"), AssistantMessage("Let me see.", (call,), "openai/gpt"))
    result = ToolResult(call.id, call.name, json.dumps({"results": [hit("- Eva is 8")]}))
    assert [name for name, _ in wishes(await step(*begun, result))] == ["memory_write"]


async def test_results_of_earlier_turns_are_not_told_again() -> None:
    talk = Talk([TOLD])
    await talk.say("Where is Eva?", memory_search={"results": [hit("- Eva is in Oslo.")]})
    assert await talk.say("thanks") == ENGLISH.say.thanks


@table_test("messages", [(), (TOLD,), (ToolResult("abc123def", "memory_search", "{}"),)])
async def test_a_history_without_a_question_is_greeted(messages: tuple[Message, ...]) -> None:
    assert (await step(*messages)).text


@table_test("language", LANGUAGES)
def test_every_language_tells_that_it_looks_into_nothing(language: Language) -> None:
    assert language.say.cannot_read
    assert language.code == "en" or language.say.cannot_read != ENGLISH.say.cannot_read


async def test_a_picture_alone_is_told_to_be_unseen() -> None:
    message = await step(TOLD, UserMessage("", (Image("image/png", b"x"),)))
    assert message.text == ENGLISH.say.cannot_read


async def test_what_a_document_says_is_neither_noted_nor_searched() -> None:
    assert (await step(TOLD, UserMessage("", documents=(KING,)))).text == ENGLISH.say.cannot_read
    message = await step(TOLD, UserMessage("Remember that the key is at Tom's.", documents=(KING,)))
    assert wishes(message) == [("memory_write", {"content": "The key is at Tom's.", "target": "daily"})]


async def test_what_is_said_aloud_is_noted_like_what_is_written() -> None:
    voice = AttachedText("voice message (0:12)", "Remember that the key is at Tom's.", spoken=True)
    message = await step(UserMessage("", documents=(voice,)))
    assert wishes(message) == [("memory_write", {"content": "The key is at Tom's.", "target": "daily"})]


@table_test(
    ("text", "content"),
    [
        ("Party at 9", "Party at 9"),
        (" Party at 9 \n\nat Tom's\n", "Party at 9\n\nat Tom's"),
        (f"{'word ' * 600}end", f"{'word ' * 600}end"),
        ("[Attached document 99: b.txt]", "[Attached document 99: b.txt]"),
    ],
)
async def test_remember_this_means_what_it_replies_to(text: str, content: str) -> None:
    message = await step(UserMessage("Remember this", speaker="Cy", quoted=Quoted(text, "Bo")))
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]


async def test_what_a_quotation_says_is_neither_noted_nor_searched_nor_its_language_spoken() -> None:
    quoted = Quoted("Denk bitte daran, dass der König tot ist. Wo ist der Schlüssel?")
    message = await step(UserMessage("thanks", quoted=quoted))
    assert not message.calls
    assert ENGLISH.say.notice in message.text


async def test_what_only_looks_like_a_quotation_or_a_document_is_the_persons_own() -> None:
    typed = "[In reply to Bo:]\n> Party at 9\n\nRemember this"
    (call,) = (await step(typed)).calls
    assert "Party at 9" in call.arguments
    assert "In reply to Bo" in call.arguments
    keep = ToolSpec("keep_document", "", {})
    assert not (await step("[Attached document 4: a.txt]\n\nKeep this file", tools=[keep])).calls


@table_test("said", ["Keep this file", "Could you save this document?"])
async def test_documents_are_filed_by_their_numbers(said: str) -> None:
    keep = ToolSpec("keep_document", "", {})
    both = (
        KING,
        AttachedText("document 7: b.txt", "b", "bbbbbbbbbbbb", 7),
        AttachedText("file. What is it?"),
    )
    here = await step(TOLD, UserMessage(said, speaker="Cy", documents=both), tools=[keep])
    before = await step(TOLD, UserMessage("", documents=both), TOLD, said, tools=[keep])
    assert wishes(here) == wishes(before) == [("keep_document", {"document": each}) for each in (4, 7)]


@table_test(
    ("text", "content"),
    [
        ("The ferry leaves at 8", "Ann Lee: The ferry leaves at 8"),
        ("Remind me tomorrow at 9 to call Bo", "Ann Lee: Remind me tomorrow at 9 to call Bo"),
        ("Where is it?\nUndo.", "- Ann Lee:\n  Where is it?\n  Undo."),
        ("What's on tomorrow?", "Ann Lee: What's on tomorrow?"),
    ],
)
async def test_forwarded_words_are_noted_and_ask_for_nothing(text: str, content: str) -> None:
    message = await step(UserMessage(text, forwarded_from="Ann\nLee"), tools=ALL)
    assert wishes(message) == [("memory_write", {"content": content, "target": "daily"})]
    assert not (await step(TOLD, UserMessage("", forwarded_from="Ann", documents=(KING,)))).calls


async def test_a_question_about_forwarded_words_is_searched_beside_them() -> None:
    forwarded = UserMessage("The ferry leaves at 8", forwarded_from="Ann")
    message = await step("Where does the ferry leave?", forwarded)
    assert [name for name, _ in wishes(message)] == ["memory_write", "memory_search"]


@table_test(("length", "waits"), [(900, True), (1_100, False)])
async def test_nobody_waits_while_a_long_message_is_read(length: int, waits: bool) -> None:
    turns = 0

    async def go_on() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(go_on())
    text = ("I met Anna on Friday, and her key is at Tom's place. " * 30)[:length]
    stream = Notebook(now=lambda: NOW).stream(ModelRequest("", (UserMessage(text),), ALL))
    await anext(stream)
    other.cancel()
    assert (turns == 0) == waits
