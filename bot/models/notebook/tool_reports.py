"""What the results of tools say, as the parts of a reply."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from bot.models.notebook import paraphrases
from bot.models.notebook.agenda import DayLine, DayQuestion, is_reminder_request, lines_about_day, read_lines
from bot.models.notebook.function_words import strip_function_words
from bot.models.notebook.line_changes import last_change
from bot.models.notebook.line_edits import changed_lines, strip_mark
from bot.models.notebook.message_parser import LookupKind, ParsedMessage
from bot.models.notebook.paraphrases import find_phrases
from bot.models.notebook.recent_lines import last_lines, parse_object
from bot.models.notebook.replies import (
    Cancelled,
    ChangeReport,
    DayReport,
    NoteReport,
    ReminderList,
    ReminderReport,
    SearchReport,
    TurnReport,
    WriteReport,
)
from bot.models.notebook.said import CONVERSATION
from bot.models.notebook.tool_names import CANCEL, EDIT, GET, KEEP, LIST, REMIND, SEARCH, WRITE
from bot.models.notebook.turn import NotebookTurn
from bot.models.notebook.turn_plan import TurnPlan
from bot.models.protocol import ToolResult


def turn_report(plan: TurnPlan) -> TurnReport:
    """Return everything to report once no call is left to make."""
    turn, parsed, now, done = plan.turn, plan.parsed, plan.now, plan.done
    question, change, paths = plan.day_question, plan.line_change, plan.paths
    last = last_lines(plan.earlier)
    return TurnReport(
        writes=[write_report(result) for result in turn.results if result.name in {WRITE, KEEP}],
        changes=[
            change_report(result, turn)
            for result in turn.results
            if result.name == EDIT and not result.failed
        ],
        unsure=change.unsure.text if change and change.unsure else "",
        cancellations=[cancel_report(result) for result in turn.results if result.name == CANCEL],
        searches=[
            search_report(result, turn, parsed, now.date())
            for result in turn.results
            if result.name == SEARCH and not question and not _is_of_today(result, turn, paths)
        ],
        reminder_lists=[reminder_list(result) for result in turn.results if result.name == LIST],
        on_day=day_report(question, turn, now) if question else None,
        reminders=[reminder_report(result, turn) for result in turn.results if result.name == REMIND],
        asks_when=plan.reminders.asks_when or bool(plan.reminders.clear and REMIND not in done),
        asks_what=plan.reminders.asks_what,
        refused=plan.reminders.refused,
        notes=[
            note_report(result, turn, paths)
            for result in turn.results
            if result.name == GET and turn.arguments.get(result.call_id, {}).get("path") in paths
        ],
        may_not_note=bool(parsed.facts and WRITE not in done) or (parsed.keep and KEEP not in done),
        may_not_find=(bool(parsed.queries) and SEARCH not in done) or (bool(paths) and GET not in done),
        in_room=turn.in_room,
        unfinished=parsed.unfinished,
        unsupported=parsed.unsupported,
        forget=parsed.forget,
        cancel=parsed.cancel,
        has_older_change="undo" in parsed.unsupported
        and ((not change and {GET, EDIT} & done != set()) or last_change(plan.earlier) is not None),
        place=_find_reference(turn.before) or (last.lines[0].place if last.lines else ""),
        line=last.lines[0].text if last.lines else "",
        cannot_read=turn.cannot_read or (turn.documents_here and not parsed.keep),
        may_keep=turn.documents_here and not parsed.keep and KEEP in plan.offered,
        chat=parsed.chat,
        now=now,
    )


def _find_reference(answer: str) -> str:
    """Return the first note reference in an answer, as `path:line`; "" if there is none."""
    found = re.search(r"`([^`\s]{1,300}\.md)(?::(\d+)[^`]{0,40}`|`\D{0,16}?(\d+))", answer)
    return f"{found[1]}:{found[2] or found[3]}" if found else ""


def cancel_report(result: ToolResult) -> Cancelled:
    """Return which reminder was cancelled."""
    content = parse_object(result.content)
    if result.failed:
        return Cancelled(error=_error_text(result, content))
    return Cancelled(str(content.get("number", "")), str(content.get("text", "")))


def change_report(result: ToolResult, turn: NotebookTurn) -> ChangeReport:
    """Return which lines were replaced by which."""
    asked, where = turn.arguments.get(result.call_id, {}), write_report(result)
    lines = changed_lines(str(asked.get("old", "")), str(asked.get("new", "")), where.line_start)
    last = lines.line + max(len(lines.new), 1) - 1
    return ChangeReport(
        WriteReport(where.path, lines.line, last, where.error), _join_lines(lines.old), _join_lines(lines.new)
    )


def _join_lines(lines: Sequence[str]) -> str:
    """Join the lines into one; all but the last lose their full stop."""
    said = [text for text in map(strip_mark, lines) if text]
    return "; ".join([*(text.rstrip(".。।") for text in said[:-1]), *said[-1:]])


def write_report(result: ToolResult) -> WriteReport:
    """Return where something was written."""
    content = parse_object(result.content)
    path, first = content.get("path"), content.get("line_start")
    if result.failed or not isinstance(path, str) or not isinstance(first, int):
        return WriteReport(error=_error_text(result, content))
    last = content.get("line_end")
    is_old = content.get("already_noted") is True
    return WriteReport(path, first, last if isinstance(last, int) else first, is_old=is_old)


def search_report(result: ToolResult, turn: NotebookTurn, parsed: ParsedMessage, today: date) -> SearchReport:
    """Return what a search found, and the question that it was for."""
    from memory.search_query import read_query

    content = parse_object(result.content)
    hits = content.get("results")
    query, asked = turn.queries.get(result.call_id) or " ".join(turn.said[-1:]), ""
    group: tuple[str, ...] = ()
    for each in parsed.queries:
        searched, phrases = (
            strip_function_words(each, parsed.language, today),
            find_phrases(each, parsed.language),
        )
        if phrases and query == paraphrases.topic_search_words(phrases):
            query, asked, group = searched, each, phrases
        elif query == searched:
            asked = each
    if result.failed or not isinstance(hits, list):
        return SearchReport(query, error=_error_text(result, content), asked=asked)
    notice = content.get("notice", "")
    found = [hit for hit in hits if isinstance(hit, dict)]
    return SearchReport(
        query,
        [hit for hit in found if hit.get("source") != CONVERSATION],
        [hit for hit in found if hit.get("source") == CONVERSATION],
        str(notice),
        asked=asked,
        paraphrases=group,
        names_time=any(read_query(text, today)[1] for text in (query, asked)),
    )


def reminder_report(result: ToolResult, turn: NotebookTurn) -> ReminderReport:
    """Return the reminder that was set."""
    content, asked = parse_object(result.content), turn.arguments.get(result.call_id, {})
    text, when = str(asked.get("text", "")), str(asked.get("when", ""))
    if result.failed or "number" not in content:
        return ReminderReport(text, when, error=_error_text(result, content))
    return ReminderReport(
        text,
        when,
        number=str(content["number"]),
        due=str(content.get("due", "")),
        at=str(content.get("at", "")),
        comes_again="every" in content,
        while_open="note" in content,
    )


def reminder_list(result: ToolResult) -> ReminderList:
    """Return the reminders that are listed."""
    content = parse_object(result.content)
    reminders = content.get("reminders")
    if result.failed or not isinstance(reminders, list):
        return ReminderList(error=_error_text(result, content))
    return ReminderList([each for each in reminders if isinstance(each, dict)])


def day_report(question: DayQuestion, turn: NotebookTurn, now: datetime) -> DayReport:
    """Return the lines about a day from all that was read."""
    lines: list[DayLine] = []
    for result in turn.results:
        content = {} if result.failed else parse_object(result.content)
        if result.name == GET:
            lines += read_lines(content.get("path"), 1, content.get("text"), question.day.isoformat())
        elif result.name == SEARCH:
            for hit in content.get("results", ()):
                lines += read_lines(
                    hit.get("path"), hit.get("line_start"), hit.get("snippet"), hit.get("told")
                )
    return DayReport(
        question.words, [(each.text, each.place) for each in lines_about_day(lines, question, now.date())]
    )


def note_report(result: ToolResult, turn: NotebookTurn, paths: Mapping[str, LookupKind]) -> NoteReport:
    """Return what a note says."""
    path = str(turn.arguments.get(result.call_id, {}).get("path", ""))
    kind: LookupKind = paths.get(path, "about_me")
    content = {} if result.failed else parse_object(result.content)
    said = [
        hit
        for other in turn.results
        if kind == "today" and not other.failed and _is_of_today(other, turn, paths)
        for hit in parse_object(other.content).get("results", ())
        if hit.get("source") == CONVERSATION and not is_reminder_request(str(hit.get("snippet", "")))
    ]
    return NoteReport(kind, path, str(content.get("text", "")), said)


def _is_of_today(result: ToolResult, turn: NotebookTurn, paths: Mapping[str, LookupKind]) -> bool:
    """Return whether it is the search for what was said today, beside today's log."""
    return result.name == SEARCH and f"{turn.queries.get(result.call_id, '')}.md" in paths


def _error_text(result: ToolResult, content: Mapping[str, Any]) -> str:
    return str(content.get("error") or result.content or "?")
