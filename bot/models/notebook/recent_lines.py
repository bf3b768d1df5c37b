"""Pure: find the note lines that the conversation was about last."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from bot.models.notebook.line_edits import changed_lines, strip_mark
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.note_refs import format_note_ref

MAX_TURNS = 3
"""Turns back to which "that" may refer."""
_BULLET = r"[-*+][ \t]+"
_REMINDER_TOOLS = ("remind", "cancel_reminder")


class NoteLine(NamedTuple):
    """One line of a note, without its list mark."""

    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """Return the reference as `path:line`."""
        return format_note_ref(self.path, self.line, self.line)


class RecentLines(NamedTuple):
    """The note lines of the latest turn that used the notes, and what it did with them."""

    done: Literal["nothing", "wrote", "changed", "removed", "found"] = "nothing"
    lines: tuple[NoteLine, ...] = ()
    """Removed lines are represented by the place of the first."""
    before: tuple[str, ...] = ()
    """The previous text of changed or removed lines; of removed lines with their marks."""
    query: str = ""
    """The query, if lines were found."""
    turns_ago: int = 0


def last_lines(
    messages: Sequence[Message], *, changes_only: bool = False, max_turns: int = MAX_TURNS
) -> RecentLines:
    """Search the messages before this turn. `changes_only`: skip lines that were only found."""
    end = len(messages)
    for turns_ago in range(1, max_turns + 1):
        start = end
        while start and not isinstance(messages[start - 1], UserMessage):
            start -= 1
        last = _lines_of_turn(messages[start:end])
        if last.lines and not (changes_only and last.done == "found"):
            return last._replace(turns_ago=turns_ago)
        if any(isinstance(each, ToolResult) and each.name in _REMINDER_TOOLS for each in messages[start:end]):
            break  # "no, at 11" is about the reminder
        while start and isinstance(messages[start - 1], UserMessage):
            start -= 1
        if not start:
            break
        end = start
    return RecentLines()


def _lines_of_turn(turn: Sequence[Message]) -> RecentLines:
    calls: dict[str, Mapping[str, Any]] = {}
    for each in turn:
        if isinstance(each, AssistantMessage):
            calls |= {call.id: parse_object(call.arguments) for call in each.calls}
    answer = turn[-1].text if turn and isinstance(turn[-1], AssistantMessage) else ""
    done = [each for each in turn if isinstance(each, ToolResult) and not each.failed]
    for result in done:
        if result.name == "memory_edit":
            return _changed_lines(calls.get(result.call_id, {}), parse_object(result.content))
    wrote = [
        line
        for result in done
        if result.name == "memory_write"
        for line in _written_lines(calls.get(result.call_id, {}), parse_object(result.content))
    ]
    if wrote:
        return RecentLines("wrote", tuple(wrote))
    for result in done:
        if result.name == "memory_search":
            found = _found_lines(parse_object(result.content), answer)
            if found:
                return RecentLines("found", found, query=str(calls.get(result.call_id, {}).get("query", "")))
    return RecentLines()


def _changed_lines(asked: Mapping[str, Any], done: Mapping[str, Any]) -> RecentLines:
    path = str(done.get("path", ""))
    changed = changed_lines(str(asked.get("old", "")), str(asked.get("new", "")), _line_number(done))
    lines = tuple(
        NoteLine(path, changed.line + number, strip_mark(line)) for number, line in enumerate(changed.new)
    )
    if not changed.old:  # putting back counts as noting
        return RecentLines("wrote", lines)
    if not lines:
        return RecentLines("removed", (NoteLine(path, changed.line, ""),), changed.old)
    return RecentLines("changed", lines, tuple(strip_mark(line) for line in changed.old))


def _written_lines(asked: Mapping[str, Any], done: Mapping[str, Any]) -> list[NoteLine]:
    path, first = str(done.get("path", "")), _line_number(done)
    if not path or not first:
        return []
    lines = str(asked.get("content", "")).splitlines()
    return [NoteLine(path, first + number, strip_mark(line)) for number, line in enumerate(lines)]


def _found_lines(done: Mapping[str, Any], answer: str) -> tuple[NoteLine, ...]:
    """Return the lines of the passages that the answer shows."""
    hits = done.get("results")
    lines: list[NoteLine] = []
    for hit in hits if isinstance(hits, list) else []:
        path, first = str(hit.get("path", "")), _line_number(hit)
        if not first or not re.search(rf"`{re.escape(path)}:{first}(?![0-9])", answer):
            continue
        snippet = str(hit.get("snippet", "")).splitlines()
        lines += [
            NoteLine(path, first + number, re.sub(f"^{_BULLET}", "", line.strip()))
            for number, line in enumerate(snippet)
            if line.strip() and not line.lstrip().startswith("#")
        ]
    return tuple(lines)


def _line_number(values: Mapping[str, Any]) -> int:
    line = values.get("line_start")
    return line if isinstance(line, int) else 0


def parse_object(text: str) -> Mapping[str, Any]:
    """Return the JSON object in a tool's arguments or result; empty for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
