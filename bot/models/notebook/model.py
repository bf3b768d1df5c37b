"""A `LanguageModel` that needs no language model: it notes, searches and reports what it found."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, datetime

from bot.models.notebook.agenda import read_day_question
from bot.models.notebook.language import NOTICE_MARK, Language
from bot.models.notebook.line_changes import LineChange, last_change, plan_change
from bot.models.notebook.line_edits import NotePassage, find_passage
from bot.models.notebook.message_parser import LookupKind, ParsedMessage
from bot.models.notebook.phrases import has_words, language_of
from bot.models.notebook.recent_lines import last_lines, parse_object
from bot.models.notebook.reminder_changes import ReminderChange, plan_reminder_change
from bot.models.notebook.reminder_plans import ReminderPlans, plan_reminders
from bot.models.notebook.replies import TurnReport, compose
from bot.models.notebook.tool_calls import (
    cancel_calls,
    day_calls,
    edit_calls,
    keep_calls,
    make_call,
    read_calls,
    remind_calls,
    search_calls,
    write_calls,
)
from bot.models.notebook.tool_names import CANCEL, EDIT, GET, KEEP, LIST, REMIND, SEARCH, WRITE
from bot.models.notebook.tool_reports import (
    cancel_report,
    change_report,
    day_report,
    note_report,
    reminder_list,
    reminder_report,
    search_report,
    write_report,
)
from bot.models.notebook.turn import (
    NotebookTurn,
    is_summary,
    merge_messages,
    parsed_text,
    previous_messages,
    read_turn,
    said_words,
    user_messages,
)
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Message,
    ModelRequest,
    TextDelta,
)

_PATHS: Mapping[LookupKind, str] = {"about_me": "MEMORY.md", "today": "{day}.md"}
_LONG_CHARS = 1_000
"""Longer conversations are read in a thread, so that they block nobody."""
MAX_LANGUAGE_MESSAGES = 20
"""Number of latest messages that decide the chat's language."""


class Notebook:
    """Answers from the request and the clock alone; keeps no state between requests."""

    def __init__(
        self,
        name: str = "builtin/notebook",
        *,
        alone: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`name`: as in the chain. `alone`: there is no language model, so explain how to add one.

        `now` returns the owner's local time, aware.
        """
        self.name = name
        self._alone = alone
        self._now = now

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Yield the answer, or the tool calls needed to find one. Raises nothing."""
        if sum(len(parsed_text(each)) for each in request.messages) > _LONG_CHARS:
            message = await asyncio.to_thread(self._answer, request)
        else:
            message = self._answer(request)
        for piece in _split_chunks(message.text):
            yield TextDelta(piece)
        yield Answer(message)

    def _answer(self, request: ModelRequest) -> AssistantMessage:
        messages = [each for each in request.messages if not is_summary(each)]
        turn, now = read_turn(messages), self._now()
        offered = {tool.name for tool in request.tools}
        done = {result.name for result in turn.results}
        wish = merge_messages(turn)
        earlier = messages[: turn.start]
        last = last_lines(earlier)
        moved = _find_reminder_change(wish, earlier, turn, now) if CANCEL in offered | done else None
        change, passages = None, tuple[NotePassage, ...]()
        if not moved and {GET, EDIT} <= offered | done:
            change, passages = _find_line_change(wish, earlier, turn, now)
        if moved:
            plans = ReminderPlans(ParsedMessage(moved.language), (moved.set,) if moved.set else ())
        elif change:
            plans = ReminderPlans(ParsedMessage(change.language, change.facts))
        else:
            plans = plan_reminders(wish, said=turn.said, earlier=turn.earlier, now=now)
        wish = plans.reading
        asked = None
        if not (moved or change) and len(turn.said) == 1 and not {"clock", "day"} & set(wish.unsupported):
            asked = read_day_question(turn.said[0], now, wish.language)
        if asked and SEARCH in offered | done:
            wish = ParsedMessage(asked.language)
        else:
            asked = None
        facts = wish.facts
        if REMIND not in offered | done:  # for example at the last step of a turn: it is noted instead
            notes = [each.note for each in plans.clear]
            facts = tuple(dict.fromkeys((*facts, *(note for note in notes if note.text or note.block))))
        paths = {_PATHS[kind].format(day=now.date().isoformat()): kind for kind in wish.look}
        calls = [
            *(read_calls(change) if change and GET in offered - done else ()),
            *(edit_calls(change, passages) if change and EDIT in offered - done else ()),
            *(write_calls(facts) if WRITE in offered - done else ()),
            *(remind_calls(plans.clear) if REMIND in offered - done else ()),
            *(cancel_calls(moved, turn) if moved and CANCEL in offered - done else ()),
            *(keep_calls(turn.documents) if wish.keep and KEEP in offered - done else ()),
            *(search_calls(wish, now.date()) if SEARCH in offered - done else ()),
            *(day_calls(asked, offered - done) if asked else ()),
            *((make_call(LIST),) if "list_reminders" in wish.unsupported and LIST in offered - done else ()),
            *((make_call(GET, path=path) for path in paths) if GET in offered - done else ()),
        ]
        if calls:
            return AssistantMessage("", tuple(calls), self.name)
        report = TurnReport(
            writes=[write_report(result) for result in turn.results if result.name in {WRITE, KEEP}],
            changes=[
                change_report(result, turn)
                for result in turn.results
                if result.name == EDIT and not result.failed
            ],
            unsure=change.unsure.text if change and change.unsure else "",
            cancellations=[cancel_report(result) for result in turn.results if result.name == CANCEL],
            searches=[
                search_report(result, turn, wish, now.date())
                for result in turn.results
                if result.name == SEARCH and not asked
            ],
            reminder_lists=[reminder_list(result) for result in turn.results if result.name == LIST],
            on_day=day_report(asked, turn, now) if asked else None,
            reminders=[reminder_report(result, turn) for result in turn.results if result.name == REMIND],
            asks_when=plans.asks_when or bool(plans.clear and REMIND not in done),
            asks_what=plans.asks_what,
            refused=plans.refused,
            notes=[
                note_report(result, turn, paths)
                for result in turn.results
                if result.name == GET and turn.arguments.get(result.call_id, {}).get("path") in paths
            ],
            may_not_note=bool(wish.facts and WRITE not in done) or (wish.keep and KEEP not in done),
            may_not_find=(bool(wish.queries) and SEARCH not in done) or (bool(paths) and GET not in done),
            in_room=turn.in_room,
            unfinished=wish.unfinished,
            unsupported=wish.unsupported,
            forget=wish.forget,
            cancel=wish.cancel,
            last_change=last_change(earlier) if "undo" in wish.unsupported else None,
            reads_differently=not change and {GET, EDIT} & done != set() and "undo" in wish.unsupported,
            place=_find_reference(turn.before) or (last.lines[0].place if last.lines else ""),
            line=last.lines[0].text if last.lines else "",
            cannot_read=turn.cannot_read or (turn.documents_here and not wish.keep),
            may_keep=turn.documents_here and not wish.keep and KEEP in offered,
            chat=wish.chat,
            now=now,
        )
        knows_notice = not self._alone or any(
            NOTICE_MARK in message.text
            for message in request.messages
            if isinstance(message, AssistantMessage)
        )
        notice = (
            ""
            if knows_notice or request.told_no_model
            else _chat_language(messages, wish.language).say.notice
        )
        return AssistantMessage(compose(report, wish.language, notice=notice), (), self.name)


def _chat_language(messages: Sequence[Message], now: Language) -> Language:
    """Return the language of most of what people said; if none prevails, that of the answer."""
    said = map(said_words, user_messages(messages)[-MAX_LANGUAGE_MESSAGES:])
    spoken = [language_of(text) for text in said if has_words(text)]
    return max([now, *spoken], key=spoken.count)


def _find_reference(answer: str) -> str:
    """Return the first note reference in an answer, as `path:line`; "" if there is none."""
    found = re.search(r"`([^`\s]{1,300}\.md)(?::(\d+)[^`]{0,40}`|`\D{0,16}?(\d+))", answer)
    return f"{found[1]}:{found[2] or found[3]}" if found else ""


def _find_reminder_change(
    parsed: ParsedMessage, earlier: Sequence[Message], turn: NotebookTurn, now: datetime
) -> ReminderChange | None:
    return plan_reminder_change(
        parsed, earlier, said=turn.said, said_before=previous_messages(turn), before=turn.before, now=now
    )


def _find_line_change(
    parsed: ParsedMessage, earlier: Sequence[Message], turn: NotebookTurn, now: datetime
) -> tuple[LineChange | None, tuple[NotePassage, ...]]:
    """Return the changes that a message makes to the notes and, once these are read, the passages to replace.

    None if the lines are no longer there.
    """
    change = plan_change(
        parsed,
        earlier,
        said=turn.said,
        said_before=previous_messages(turn),
        before=turn.before,
        today=now.date(),
    )
    if change is None or not change.edits:
        return change, ()
    if any(result.failed for result in turn.results if result.name in (GET, EDIT)):
        return _put_back_as_facts(change), ()
    notes = [parse_object(result.content) for result in turn.results if result.name == GET]
    if not notes:
        return change._replace(facts=()), ()
    passages = tuple(
        passage
        for edit, note in zip(change.edits, notes, strict=False)
        if (passage := find_passage(edit, note)) is not None
    )
    if len(passages) < len(change.edits):
        return _put_back_as_facts(change), ()
    return change._replace(facts=()), passages


def _put_back_as_facts(change: LineChange) -> LineChange | None:
    """Return what can still be done if the lines have moved: lines to put back are noted again."""
    return change._replace(edits=()) if change.facts else None


def _split_chunks(text: str) -> list[str]:
    """Split a text into a few words at a time, as a model writes."""
    return re.findall(r"\s*\S{1,24}(?:[ ]\S{1,8}){0,3}\s*", text) if text else []
