"""A `LanguageModel` that needs no language model: it notes, searches and reports what it found."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from bot.models.notebook import paraphrases
from bot.models.notebook.agenda import (
    DayLine,
    DayQuestion,
    day_search_words,
    lines_about_day,
    read_day_question,
    read_lines,
)
from bot.models.notebook.function_words import strip_function_words
from bot.models.notebook.language import NOTICE_MARK, Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.line_changes import LineChange, last_change, plan_change
from bot.models.notebook.line_edits import NotePassage, changed_lines, find_passage, line_range, strip_mark
from bot.models.notebook.message_parser import Fact, LookupKind, ParsedMessage, Reminder, parse_message
from bot.models.notebook.paraphrases import find_phrases
from bot.models.notebook.phrases import has_words, language_of
from bot.models.notebook.recent_lines import last_lines, parse_object
from bot.models.notebook.reminder_changes import ReminderChange, plan_reminder_change
from bot.models.notebook.reminder_plans import (
    MAX_TURNS,
    Exchange,
    PlannedReminder,
    ReminderPlans,
    plan_reminders,
)
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
    compose,
)
from bot.models.notebook.unsupported import UnsupportedKind
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Message,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
)
from bot.models.user_text import own_words
from bot.sanitize import one_line

WRITE = "memory_write"
EDIT = "memory_edit"
GET = "memory_get"
REMIND = "remind"
KEEP = "keep_document"
SEARCH = "memory_search"
LIST = "list_reminders"
CANCEL = "cancel_reminder"

_MAX_PASSAGES = 50
"""Maximum passages that are searched for matching lines."""
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
        if sum(len(_parsed_text(each)) for each in request.messages) > _LONG_CHARS:
            message = await asyncio.to_thread(self._answer, request)
        else:
            message = self._answer(request)
        for piece in _split_chunks(message.text):
            yield TextDelta(piece)
        yield Answer(message)

    def _answer(self, request: ModelRequest) -> AssistantMessage:
        messages = [each for each in request.messages if not _is_summary(each)]
        turn, now = _read_turn(messages), self._now()
        offered = {tool.name for tool in request.tools}
        done = {result.name for result in turn.results}
        wish = _merge_messages(turn)
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
            *(_read_calls(change) if change and GET in offered - done else ()),
            *(_edit_calls(change, passages) if change and EDIT in offered - done else ()),
            *(_write_calls(facts) if WRITE in offered - done else ()),
            *(_remind_calls(plans.clear) if REMIND in offered - done else ()),
            *(_cancel_calls(moved, turn) if moved and CANCEL in offered - done else ()),
            *(_keep_calls(turn.documents) if wish.keep and KEEP in offered - done else ()),
            *(_search_calls(wish, now.date()) if SEARCH in offered - done else ()),
            *(_day_calls(asked, offered - done) if asked else ()),
            *((_call(LIST),) if "list_reminders" in wish.unsupported and LIST in offered - done else ()),
            *((_call(GET, path=path) for path in paths) if GET in offered - done else ()),
        ]
        if calls:
            return AssistantMessage("", tuple(calls), self.name)
        report = TurnReport(
            writes=[_write_report(result) for result in turn.results if result.name in {WRITE, KEEP}],
            changes=[
                _change_report(result, turn)
                for result in turn.results
                if result.name == EDIT and not result.failed
            ],
            unsure=change.unsure.text if change and change.unsure else "",
            cancellations=[_cancel_report(result) for result in turn.results if result.name == CANCEL],
            searches=[
                _search_report(result, turn, wish, now.date())
                for result in turn.results
                if result.name == SEARCH and not asked
            ],
            reminder_lists=[_reminder_list(result) for result in turn.results if result.name == LIST],
            on_day=_day_report(asked, turn, now) if asked else None,
            reminders=[_reminder_report(result, turn) for result in turn.results if result.name == REMIND],
            asks_when=plans.asks_when or bool(plans.clear and REMIND not in done),
            asks_what=plans.asks_what,
            refused=plans.refused,
            notes=[
                _note_report(result, turn, paths)
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
    said = map(_said, _user_messages(messages)[-MAX_LANGUAGE_MESSAGES:])
    spoken = [language_of(text) for text in said if has_words(text)]
    return max([now, *spoken], key=spoken.count)


def _find_reference(answer: str) -> str:
    """Return the first note reference in an answer, as `path:line`; "" if there is none."""
    found = re.search(r"`([^`\s]{1,300}\.md)(?::(\d+)[^`]{0,40}`|`\D{0,16}?(\d+))", answer)
    return f"{found[1]}:{found[2] or found[3]}" if found else ""


class _NotebookTurn(NamedTuple):
    start: int
    """Number of messages before it."""
    before: str
    """The last answer."""
    earlier: tuple[Exchange, ...]
    """Earlier turns, the latest first; no more than a question stays open for."""
    said: tuple[str, ...]
    """What was said since: several messages if earlier ones got no answer."""
    queries: Mapping[str, str]
    """Queries of this turn, by call id."""
    arguments: Mapping[str, Mapping[str, Any]]
    """Arguments of this turn's calls, by call id."""
    results: tuple[ToolResult, ...]
    heard: tuple[UserMessage, ...]
    """The messages that `said` is from."""
    documents: tuple[int, ...]
    """Numbers of the documents attached now, or if there are none, attached to the previous messages."""
    documents_here: bool
    """Whether they were attached now."""
    cannot_read: bool
    """Whether something unreadable was attached."""
    in_room: bool
    """Whether several people talk."""


def _is_summary(message: Message) -> bool:
    """Return whether it is a summary of earlier conversation."""
    return isinstance(message, UserMessage) and message.earlier


def _read_turn(messages: Sequence[Message]) -> _NotebookTurn:
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    start = end
    while start and isinstance(messages[start - 1], UserMessage):
        start -= 1
    heard = _user_messages(messages[start:end])
    documents = _document_numbers(heard)
    shown = [each for message in heard for each in message.documents if not each.spoken]
    arguments: dict[str, Mapping[str, Any]] = {}
    results: list[ToolResult] = []
    for message in messages[end:]:
        if isinstance(message, AssistantMessage):
            arguments |= {call.id: parse_object(call.arguments) for call in message.calls}
        elif isinstance(message, ToolResult):
            results.append(message)
    last = messages[start - 1] if start else None
    return _NotebookTurn(
        start,
        last.text if isinstance(last, AssistantMessage) else "",
        tuple(_earlier_turns(messages[:start])),
        tuple(map(_said, heard)),
        {call: str(each.get("query", "")) for call, each in arguments.items()},
        arguments,
        tuple(results),
        heard=tuple(heard),
        documents=tuple(dict.fromkeys(documents or _earlier_documents(messages[:start]))),
        documents_here=bool(documents),
        cannot_read=len(shown) > len(documents) or any(message.images for message in heard),
        in_room=any(message.speaker for message in heard),
    )


def _user_messages(messages: Sequence[Message]) -> list[UserMessage]:
    return [message for message in messages if isinstance(message, UserMessage)]


def _earlier_turns(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Yield the last turns in these messages, the latest first."""
    end = len(messages)
    for _ in range(MAX_TURNS):
        answered = end
        while end and not isinstance(messages[end - 1], UserMessage):
            end -= 1
        answer = messages[end:answered]
        said_until = end
        while end and isinstance(messages[end - 1], UserMessage):
            end -= 1
        if end == answered:
            return
        last = answer[-1] if answer else None
        yield Exchange(
            tuple(map(_said, _user_messages(messages[end:said_until]))),
            last.text if isinstance(last, AssistantMessage) else "",
            any(isinstance(each, ToolResult) and each.name == REMIND and not each.failed for each in answer),
        )


def _earlier_documents(messages: Sequence[Message]) -> list[int]:
    """Return the numbers of documents attached to the latest of these messages, unless one of them was kept."""
    end = len(messages)
    while end and not isinstance(messages[end - 1], UserMessage):
        end -= 1
    if any(isinstance(message, ToolResult) and message.name == KEEP for message in messages[end:]):
        return []
    return _document_numbers(_user_messages(messages[max(end - 1, 0) : end]))


def _document_numbers(messages: Sequence[UserMessage]) -> list[int]:
    return [each.number for message in messages for each in message.documents if each.number is not None]


def _parsed_text(message: Message) -> str:
    """Return the text of a message that takes long to parse."""
    match message:
        case UserMessage():
            return _said(message)
        case AssistantMessage(text=text):
            return text
    return ""


def _said(message: UserMessage) -> str:
    """Return the person's own words; forwarded ones ask for nothing, whatever they say."""
    return "" if message.forwarded_from else own_words(message)


def _quoted_fact(message: UserMessage) -> Fact | None:
    """Return what a message replies to, as something to note."""
    if message.quoted is None:
        return None
    text = "\n".join(line.rstrip() for line in message.quoted.text.strip().splitlines())
    return Fact("", block=text) if "\n" in text else Fact(text)


def _forwarded_fact(message: UserMessage) -> Fact | None:
    """Return forwarded words with their author, as something to note."""
    if not message.forwarded_from or not message.text.strip():
        return None
    name, text = one_line(message.forwarded_from), message.text.strip()
    return Fact(f"{name}:", block=text) if "\n" in text else Fact(f"{name}: {text}")


def _merge_messages(turn: _NotebookTurn) -> ParsedMessage:
    """Merge what the messages of a turn ask for: every statement is noted, the last question is searched."""
    facts: dict[Fact, None] = {}
    queries: tuple[str, ...] = ()
    reminders: list[Reminder] = []
    unsupported: list[UnsupportedKind] = []
    reading, keep = ParsedMessage(), False
    asked_what = any(each.say.what in turn.before for each in LANGUAGES)
    for index, (message, text) in enumerate(zip(turn.heard, turn.said, strict=True)):
        reading = parse_message(
            text, expecting_note=asked_what and index == 0, with_document=bool(turn.documents)
        )
        keep = keep or reading.keep
        if forwarded := _forwarded_fact(message):
            reading = ParsedMessage(language_of(message.text), (forwarded,))
        elif reading.unfinished and (quoted := _quoted_fact(message)):  # "remember this" means what is quoted
            reading = reading._replace(facts=(quoted,), unfinished=False)
        facts.update(dict.fromkeys(reading.facts))
        queries = reading.queries or queries
        reminders.extend(each for each in reading.reminders if each not in reminders)
        unsupported.extend(each for each in reading.unsupported if each not in unsupported)
    return reading._replace(
        facts=tuple(facts),
        queries=queries,
        reminders=tuple(reminders),
        unsupported=tuple(unsupported),
        keep=keep,
    )


def _write_calls(facts: Sequence[Fact]) -> Iterator[ToolCall]:
    for target in dict.fromkeys(fact.target for fact in facts):
        noted = [fact for fact in facts if fact.target == target]
        alone = len(noted) == 1 and not noted[0].block
        content = noted[0].text if alone else "\n".join(map(_format_entry, noted))
        yield _call(WRITE, content=content, target=target)


def _format_entry(fact: Fact) -> str:
    """Return a fact as a list item with its block below; a block without text stands alone."""
    if not fact.text:
        return fact.block
    lines = fact.block.splitlines()
    return "\n".join([f"- {fact.text}", *(f"  {line}" if line else "" for line in lines)])


def _remind_calls(planned: Sequence[PlannedReminder]) -> Iterator[ToolCall]:
    return (_call(REMIND, when=each.when, text=each.text) for each in planned)


def _keep_calls(documents: Sequence[int]) -> Iterator[ToolCall]:
    return (_call(KEEP, document=number) for number in documents)


def _search_calls(wish: ParsedMessage, today: date) -> Iterator[ToolCall]:
    for query in wish.queries:
        yield _call(SEARCH, query=strip_function_words(query, wish.language, today))
        if group := find_phrases(query, wish.language):
            yield _call(SEARCH, query=paraphrases.topic_search_words(group), limit=_MAX_PASSAGES)


def _day_calls(asked: DayQuestion, tools: Collection[str]) -> Iterator[ToolCall]:
    day = asked.day.isoformat()
    if SEARCH in tools:
        yield _call(SEARCH, query=day_search_words(asked), limit=_MAX_PASSAGES)
    if GET in tools:
        yield _call(GET, path=f"{day}.md")
    if LIST in tools:
        yield _call(LIST, day=day)


def _call(tool: str, **arguments: str | int) -> ToolCall:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return ToolCall(
        "".join(letters[byte % 36] for byte in os.urandom(9)), tool, json.dumps(arguments, ensure_ascii=False)
    )


def _previous_messages(turn: _NotebookTurn) -> tuple[str, ...]:
    return turn.earlier[0].said if turn.earlier else ()


def _find_reminder_change(
    wish: ParsedMessage, earlier: Sequence[Message], turn: _NotebookTurn, now: datetime
) -> ReminderChange | None:
    return plan_reminder_change(
        wish, earlier, said=turn.said, said_before=_previous_messages(turn), before=turn.before, now=now
    )


def _find_line_change(
    wish: ParsedMessage, earlier: Sequence[Message], turn: _NotebookTurn, now: datetime
) -> tuple[LineChange | None, tuple[NotePassage, ...]]:
    """Return the changes that a message makes to the notes and, once these are read, the passages to replace.

    None if the lines are no longer there.
    """
    change = plan_change(
        wish,
        earlier,
        said=turn.said,
        said_before=_previous_messages(turn),
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


def _read_calls(change: LineChange) -> Iterator[ToolCall]:
    for edit in change.edits:
        line, limit = line_range(edit)
        yield _call(GET, path=edit.path, line=line, limit=limit)


def _edit_calls(change: LineChange, passages: Sequence[NotePassage]) -> Iterator[ToolCall]:
    for edit, passage in zip(change.edits, passages, strict=False):
        yield _call(EDIT, path=edit.path, old=passage.old, new=passage.new)


def _cancel_calls(moved: ReminderChange, turn: _NotebookTurn) -> Iterator[ToolCall]:
    """Yield the calls that cancel a reminder; its replacement must be set first."""
    is_set = any(result.name == REMIND and not result.failed for result in turn.results)
    if moved.cancel and (is_set or moved.set is None):
        yield _call(CANCEL, number=int(moved.cancel))


def _cancel_report(result: ToolResult) -> Cancelled:
    content = parse_object(result.content)
    if result.failed:
        return Cancelled(error=_error_text(result, content))
    return Cancelled(str(content.get("number", "")), str(content.get("text", "")))


def _change_report(result: ToolResult, turn: _NotebookTurn) -> ChangeReport:
    asked, where = turn.arguments.get(result.call_id, {}), _write_report(result)
    lines = changed_lines(str(asked.get("old", "")), str(asked.get("new", "")), where.line_start)
    last = lines.line + max(len(lines.new), 1) - 1
    return ChangeReport(
        WriteReport(where.path, lines.line, last, where.error), _join_lines(lines.old), _join_lines(lines.new)
    )


def _join_lines(lines: Sequence[str]) -> str:
    """Join the lines into one; all but the last lose their full stop."""
    said = [text for text in map(strip_mark, lines) if text]
    return "; ".join([*(text.rstrip(".。।") for text in said[:-1]), *said[-1:]])


def _write_report(result: ToolResult) -> WriteReport:
    content = parse_object(result.content)
    path, first = content.get("path"), content.get("line_start")
    if result.failed or not isinstance(path, str) or not isinstance(first, int):
        return WriteReport(error=_error_text(result, content))
    last = content.get("line_end")
    return WriteReport(path, first, last if isinstance(last, int) else first)


def _search_report(result: ToolResult, turn: _NotebookTurn, wish: ParsedMessage, today: date) -> SearchReport:
    content = parse_object(result.content)
    hits = content.get("results")
    query, asked = turn.queries.get(result.call_id) or " ".join(turn.said[-1:]), ""
    group: tuple[str, ...] = ()
    for each in wish.queries:
        searched, phrases = (
            strip_function_words(each, wish.language, today),
            find_phrases(each, wish.language),
        )
        if phrases and query == paraphrases.topic_search_words(phrases):
            query, asked, group = searched, each, phrases
        elif query == searched:
            asked = each
    if result.failed or not isinstance(hits, list):
        return SearchReport(query, error=_error_text(result, content), asked=asked)
    notice = content.get("notice", "")
    found = [hit for hit in hits if isinstance(hit, dict)]
    return SearchReport(query, found, str(notice), asked=asked, paraphrases=group)


def _reminder_report(result: ToolResult, turn: _NotebookTurn) -> ReminderReport:
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


def _reminder_list(result: ToolResult) -> ReminderList:
    content = parse_object(result.content)
    reminders = content.get("reminders")
    if result.failed or not isinstance(reminders, list):
        return ReminderList(error=_error_text(result, content))
    return ReminderList([each for each in reminders if isinstance(each, dict)])


def _day_report(asked: DayQuestion, turn: _NotebookTurn, now: datetime) -> DayReport:
    lines: list[DayLine] = []
    for result in turn.results:
        content = {} if result.failed else parse_object(result.content)
        if result.name == GET:
            lines += read_lines(content.get("path"), 1, content.get("text"), asked.day.isoformat())
        elif result.name == SEARCH:
            for hit in content.get("results", ()):
                lines += read_lines(
                    hit.get("path"), hit.get("line_start"), hit.get("snippet"), hit.get("told")
                )
    return DayReport(
        asked.words, [(each.text, each.place) for each in lines_about_day(lines, asked, now.date())]
    )


def _note_report(result: ToolResult, turn: _NotebookTurn, paths: Mapping[str, LookupKind]) -> NoteReport:
    path = str(turn.arguments.get(result.call_id, {}).get("path", ""))
    kind: LookupKind = paths.get(path, "about_me")
    content = {} if result.failed else parse_object(result.content)
    return NoteReport(kind, path, str(content.get("text", "")))


def _error_text(result: ToolResult, content: Mapping[str, Any]) -> str:
    return str(content.get("error") or result.content or "?")


def _split_chunks(text: str) -> list[str]:
    """Split a text into a few words at a time, as a model writes."""
    return re.findall(r"\s*\S{1,24}(?:[ ]\S{1,8}){0,3}\s*", text) if text else []
