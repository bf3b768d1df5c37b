"""The tool calls that carry out what was asked."""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from datetime import date

from bot.models.notebook import paraphrases
from bot.models.notebook.agenda import DayQuestion, day_search_words
from bot.models.notebook.function_words import strip_function_words
from bot.models.notebook.line_changes import LineChange
from bot.models.notebook.line_edits import NotePassage, line_range
from bot.models.notebook.message_parser import Fact, ParsedMessage
from bot.models.notebook.paraphrases import find_phrases
from bot.models.notebook.recent_lines import parse_object
from bot.models.notebook.reminder_changes import ReminderChange
from bot.models.notebook.reminder_plans import PlannedReminder
from bot.models.notebook.said import MAX_MESSAGES
from bot.models.notebook.tool_names import CANCEL, EDIT, GET, KEEP, LIST, REMIND, SEARCH, WRITE
from bot.models.notebook.turn import NotebookTurn
from bot.models.notebook.turn_plan import TurnPlan
from bot.models.protocol import ToolCall, ToolResult

_MAX_PASSAGES = 50
"""Maximum passages that are searched for matching lines."""


def planned_calls(plan: TurnPlan) -> tuple[ToolCall, ...]:
    """Return the calls to make next; none once everything has been done that can be done."""
    pending, parsed, turn = plan.pending, plan.parsed, plan.turn
    change, moved, question = plan.line_change, plan.reminder_change, plan.day_question
    return (
        *(read_calls(change) if change and GET in pending else ()),
        *(edit_calls(change, plan.passages) if change and EDIT in pending else ()),
        *(write_calls(plan.facts) if WRITE in pending else ()),
        *(remind_calls(plan.reminders.clear) if REMIND in pending else ()),
        *(cancel_calls(moved, turn) if moved and CANCEL in pending else ()),
        *(keep_calls(turn.documents) if parsed.keep and KEEP in pending else ()),
        *(search_calls(parsed, plan.now.date()) if SEARCH in pending else ()),
        *(day_calls(question, pending) if question else ()),
        *((make_call(LIST),) if "list_reminders" in parsed.unsupported and LIST in pending else ()),
        *((make_call(GET, path=path) for path in plan.paths) if GET in pending else ()),
        *(said_today_calls(plan) if SEARCH in pending else ()),
    )


def write_calls(facts: Sequence[Fact]) -> Iterator[ToolCall]:
    """Yield a call for each note to which facts are written."""
    for target in dict.fromkeys(fact.target for fact in facts):
        noted = [fact for fact in facts if fact.target == target]
        alone = len(noted) == 1 and not noted[0].block
        content = noted[0].text if alone else "\n".join(map(_format_entry, noted))
        yield make_call(WRITE, content=content, target=target)


def _format_entry(fact: Fact) -> str:
    """Return a fact as a list item with its block below; a block without text stands alone."""
    if not fact.text:
        return fact.block
    lines = fact.block.splitlines()
    return "\n".join([f"- {fact.text}", *(f"  {line}" if line else "" for line in lines)])


def remind_calls(planned: Sequence[PlannedReminder]) -> Iterator[ToolCall]:
    """Yield the calls that set reminders."""
    return (make_call(REMIND, when=each.when, text=each.text) for each in planned)


def keep_calls(documents: Sequence[int]) -> Iterator[ToolCall]:
    """Yield the calls that save attached documents."""
    return (make_call(KEEP, document=number) for number in documents)


def search_calls(parsed: ParsedMessage, today: date) -> Iterator[ToolCall]:
    """Yield the searches for what was asked, and for other words for it."""
    for query in parsed.queries:
        yield make_call(SEARCH, query=strip_function_words(query, parsed.language, today))
        if group := find_phrases(query, parsed.language):
            yield make_call(SEARCH, query=paraphrases.topic_search_words(group), limit=_MAX_PASSAGES)


def day_calls(question: DayQuestion, tools: Collection[str]) -> Iterator[ToolCall]:
    """Yield the calls that read what there is about a day, with the tools that are offered."""
    day = question.day.isoformat()
    if SEARCH in tools:
        yield make_call(SEARCH, query=day_search_words(question), limit=_MAX_PASSAGES)
    if GET in tools:
        yield make_call(GET, path=f"{day}.md")
    if LIST in tools:
        yield make_call(LIST, day=day)


def said_today_calls(plan: TurnPlan) -> Iterator[ToolCall]:
    """Yield the search for what was said today, if today's log was asked for and turned out to be empty."""
    for path, kind in plan.paths.items():
        logs = [
            result for result in plan.turn.results if plan.turn.arguments[result.call_id].get("path") == path
        ]
        if kind == "today" and logs and not any(has_lines(result) for result in logs):
            yield make_call(SEARCH, query=plan.now.date().isoformat(), limit=MAX_MESSAGES * 4)


def has_lines(result: ToolResult) -> bool:
    """Return whether a note that was read says anything below its title."""
    text = "" if result.failed else str(parse_object(result.content).get("text", ""))
    return any(line.strip() and not line.lstrip().startswith("# ") for line in text.splitlines())


def make_call(tool: str, **arguments: str | int) -> ToolCall:
    """Return a call with a new id."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return ToolCall(
        "".join(letters[byte % 36] for byte in os.urandom(9)), tool, json.dumps(arguments, ensure_ascii=False)
    )


def read_calls(change: LineChange) -> Iterator[ToolCall]:
    """Yield the calls that read the lines to change."""
    for edit in change.edits:
        line, limit = line_range(edit)
        yield make_call(GET, path=edit.path, line=line, limit=limit)


def edit_calls(change: LineChange, passages: Sequence[NotePassage]) -> Iterator[ToolCall]:
    """Yield the calls that replace the passages."""
    for edit, passage in zip(change.edits, passages, strict=False):
        yield make_call(EDIT, path=edit.path, old=passage.old, new=passage.new)


def cancel_calls(moved: ReminderChange, turn: NotebookTurn) -> Iterator[ToolCall]:
    """Yield the calls that cancel a reminder; its replacement must be set first."""
    is_set = any(result.name == REMIND and not result.failed for result in turn.results)
    if moved.cancel and (is_set or moved.set is None):
        yield make_call(CANCEL, number=int(moved.cancel))
