"""What nobody noted is told as what was said, in the person's language."""

import json
from datetime import date

import pytest

from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.languages.german import GERMAN
from bot.models.notebook.message_parser import ParsedMessage
from bot.models.notebook.replies import SearchReport, TurnReport, compose
from bot.models.notebook.said import MAX_MESSAGES
from bot.models.notebook.tool_reports import search_report
from bot.models.notebook.turn import read_turn
from bot.models.protocol import AssistantMessage, ToolCall, ToolResult, UserMessage


def said(text: str, *, who: str = "Anna", day: str = "2026-03-03") -> dict[str, object]:
    return {
        "source": "conversation",
        "ref": "1:1",
        "chat": "telegram:1",
        "who": who,
        "date": day,
        "snippet": text,
    }


NOTE = {
    "source": "fts",
    "path": "a.md",
    "line_start": 3,
    "line_end": 3,
    "snippet": "- Anna likes tea",
    "score": 0.4,
}


def told(
    *hits: dict[str, object], notes: tuple[dict[str, object], ...] = (), query: str = "spare key"
) -> str:
    return compose(TurnReport(searches=[SearchReport(query, notes, hits)]), ENGLISH)


def test_what_was_said_is_told_with_its_day_and_who_said_it() -> None:
    assert told(said("The spare key is\nunder *the* stone")) == (
        "From our chat on 3 March 2026:\n\n- Anna: The spare key is  \n  under *the* stone"
    )
    assert told(said("the spare key", who="")) == "From our chat on 3 March 2026:\n\n- the spare key"


def test_it_stands_before_notes_that_have_less_of_it() -> None:
    text = told(said("The spare key of Anna"), notes=(NOTE,), query="Anna's spare key")
    assert text.index("The spare key") < text.index("Anna likes tea")


def test_questions_and_what_fits_worse_are_left_out() -> None:
    assert "I found nothing" in told(said("Where is the spare key?"), said("鍵はどこ？"))
    text = told(said("the spare key"), said("a key"), said("the spare key", day="2026-03-04"))
    assert text == "From our chat on 3 March 2026:\n\n- Anna: the spare key"
    many = told(*[said(f"the spare key {number}") for number in range(9)])
    assert many.count("- Anna") == MAX_MESSAGES


@pytest.mark.parametrize(
    "text",
    [
        "The spare key is at Ben's. When is he at home?",
        "The spare key is at Ben's, when is he at home?",
        "Der Ersatzschlüssel liegt bei Ben. Wann ist er zu Hause?",
        "备用钥匙在门口的花盆下面，我怎么告诉小明？",
        "Запасной ключ у Бена. Когда он дома?",
    ],
)
def test_what_was_said_before_a_question_is_told(text: str) -> None:
    assert text.partition("?")[0] in told(said(text, who=""), query=text)


@pytest.mark.parametrize(
    "text",
    [
        "where is the spare key",
        "Tell me, where is the spare key?",
        "Anna, where is the spare key?",
        "When I was at Ben's, where was the spare key?",
        "wo ist der Ersatzschlüssel",
        "备用钥匙在哪里",
        "Где запасной ключ",
    ],
)
def test_what_only_asks_is_not_told(text: str) -> None:
    assert "I found nothing" in told(said(text), query=text)


def test_what_somebody_said_cannot_change_the_page() -> None:
    text = told(said("# spare key\n```\n[link](http://x)", who="**Ben**\n# x"))
    assert "\n# " not in text
    assert "](" not in text.replace("\\(", "")


def test_every_language_says_it_in_its_words() -> None:
    headings = {each.say.said for each in LANGUAGES}
    assert len(headings) == len(LANGUAGES)
    for language in LANGUAGES:
        assert "{date}" in language.say.said
        text = compose(TurnReport(searches=[SearchReport("key", (), [said("key")])]), language)
        assert "2026" in text
        assert "{" not in text


def test_you_is_not_said_in_another_language() -> None:
    report = TurnReport(searches=[SearchReport("Boot", (), [said("Das Boot ist blau", who="You")])])
    assert compose(report, GERMAN).endswith("\n\n- Das Boot ist blau")
    assert compose(report, ENGLISH).endswith("\n\n- You: Das Boot ist blau")


def test_it_is_read_from_the_result_of_the_tool() -> None:
    call = ToolCall("abcdefgh1", "memory_search", '{"query": "spare key"}')
    result = ToolResult(
        call.id, call.name, json.dumps({"results": [NOTE, said("the spare key")], "note": "x"})
    )
    turn = read_turn([UserMessage("Where is the spare key?"), AssistantMessage("", (call,)), result])
    report = search_report(result, turn, ParsedMessage(), date(2026, 3, 5))
    assert [list(report.hits), list(report.said), report.notice] == [[NOTE], [said("the spare key")], ""]
