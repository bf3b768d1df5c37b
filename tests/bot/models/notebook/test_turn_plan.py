"""What the notebook is to do in a turn, from the request to the calls."""

import json
from datetime import date, datetime
from zoneinfo import ZoneInfo

from bot.models.notebook.tool_calls import planned_calls
from bot.models.notebook.tool_names import CANCEL, EDIT, GET, LIST, REMIND, SEARCH, WRITE
from bot.models.notebook.tool_reports import turn_report
from bot.models.notebook.turn_plan import TurnPlan, plan_turn
from bot.models.protocol import AssistantMessage, Message, ModelRequest, ToolResult, ToolSpec, UserMessage

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
ALL = (SEARCH, WRITE, GET, EDIT, REMIND, CANCEL, LIST)


def plan_of(*messages: Message | str, tools: tuple[str, ...] = ALL) -> TurnPlan:
    said = tuple(UserMessage(each) if isinstance(each, str) else each for each in messages)
    offered = tuple(ToolSpec(name, "", {"type": "object", "properties": {}}) for name in tools)
    return plan_turn(ModelRequest("", said, offered), NOW)


def call_names(plan: TurnPlan) -> list[str]:
    return [call.name for call in planned_calls(plan)]


def test_a_statement_is_noted_and_then_reported() -> None:
    said = "Remember that the door code is 4711."
    plan = plan_of(said)
    assert [fact.text for fact in plan.facts] == ["The door code is 4711."]
    (call,) = planned_calls(plan)
    assert call.name == WRITE
    place = json.dumps({"path": "2026-11-23.md", "line_start": 3, "line_end": 3})
    after = plan_of(said, AssistantMessage("", (call,)), ToolResult(call.id, WRITE, place))
    assert (after.done, after.pending) == (frozenset([WRITE]), frozenset(ALL) - {WRITE})
    assert call_names(after) == []
    assert [(wrote.path, wrote.line_start) for wrote in turn_report(after).writes] == [("2026-11-23.md", 3)]


def test_a_tool_that_is_not_offered_is_not_called_and_that_is_reported() -> None:
    plan = plan_of("Remember that the door code is 4711.", tools=(SEARCH,))
    assert call_names(plan) == []
    assert turn_report(plan).may_not_note
    assert not turn_report(plan).may_not_find


def test_a_reminder_is_set_or_else_noted() -> None:
    said = "Remind me tomorrow at 9:00 to call Anna."
    plan = plan_of(said)
    assert len(plan.reminders.clear) == 1
    assert call_names(plan) == [REMIND]
    noted = plan_of(said, tools=(WRITE,))
    assert call_names(noted) == [WRITE]
    assert "Anna" in noted.facts[0].text


def test_a_question_about_a_day_is_no_search_for_its_words() -> None:
    plan = plan_of("What's on tomorrow?")
    assert plan.day_question is not None
    assert plan.day_question.day == date(2026, 11, 24)
    assert plan.parsed.queries == ()
    assert call_names(plan) == [SEARCH, GET, LIST]
    assert plan_of("What's on tomorrow?", tools=(WRITE,)).day_question is None


def test_a_note_is_shown_whole() -> None:
    plan = plan_of("What do you know about me?")
    assert plan.paths == {"MEMORY.md": "about_me"}
    assert [json.loads(call.arguments) for call in planned_calls(plan)] == [{"path": "MEMORY.md"}]


def test_summaries_are_no_part_of_the_conversation() -> None:
    summary = UserMessage("Remember that the door code is 1234.", earlier=True)
    plan = plan_of(summary, "Hello", AssistantMessage("Hello!"), "Where is the key?")
    assert plan.messages[0] == UserMessage("Hello")
    assert plan.earlier == plan.messages[:2]
    assert plan.facts == ()
    assert call_names(plan) == [SEARCH]
