"""Pure: what the notebook is to do in a turn, as its messages and the tools it is offered decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.models.notebook.agenda import DayQuestion, read_day_question
from bot.models.notebook.line_changes import LineChange, plan_change
from bot.models.notebook.line_edits import NotePassage, find_passage
from bot.models.notebook.message_parser import Fact, LookupKind, ParsedMessage
from bot.models.notebook.recent_lines import parse_object
from bot.models.notebook.reminder_changes import ReminderChange, plan_reminder_change
from bot.models.notebook.reminder_plans import ReminderPlans, plan_reminders
from bot.models.notebook.tool_names import CANCEL, EDIT, GET, REMIND, SEARCH
from bot.models.notebook.turn import NotebookTurn, is_summary, merge_messages, previous_messages, read_turn
from bot.models.protocol import Message, ModelRequest

_PATHS: Mapping[LookupKind, str] = {"about_me": "MEMORY.md", "today": "{day}.md"}


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """What a turn asks for, and how far its tools have come."""

    messages: Sequence[Message]
    """The conversation without summaries."""
    turn: NotebookTurn
    now: datetime
    """The person's local time, aware."""
    offered: frozenset[str]
    """Names of the tools that may be called now."""
    done: frozenset[str]
    """Names of the tools that have returned a result in this turn."""
    parsed: ParsedMessage
    """What the messages ask for, without what the fields below carry out."""
    facts: tuple[Fact, ...]
    """What to note."""
    reminders: ReminderPlans
    reminder_change: ReminderChange | None
    """A reminder to cancel or to move."""
    line_change: LineChange | None
    """A correction, removal or restoring of lines in the notes."""
    passages: tuple[NotePassage, ...]
    """The passages to replace for `line_change`, once they have been read."""
    day_question: DayQuestion | None
    paths: Mapping[str, LookupKind]
    """Notes to show as a whole."""

    @property
    def earlier(self) -> Sequence[Message]:
        """The messages before this turn."""
        return self.messages[: self.turn.start]

    @property
    def pending(self) -> frozenset[str]:
        """Names of the tools that may be called and have not returned a result."""
        return self.offered - self.done


def plan_turn(request: ModelRequest, now: datetime) -> TurnPlan:
    """Read a request and decide what to do. `now` is the person's local time, aware."""
    messages = [each for each in request.messages if not is_summary(each)]
    turn = read_turn(messages)
    offered = frozenset(tool.name for tool in request.tools)
    done = frozenset(result.name for result in turn.results)
    usable = offered | done
    parsed = merge_messages(turn)
    earlier = messages[: turn.start]
    reminder_change = _find_reminder_change(parsed, earlier, turn, now) if CANCEL in usable else None
    line_change, passages = None, tuple[NotePassage, ...]()
    if not reminder_change and {GET, EDIT} <= usable:
        line_change, passages = _find_line_change(parsed, earlier, turn, now)
    if reminder_change:
        reminders = ReminderPlans(
            ParsedMessage(reminder_change.language), (reminder_change.set,) if reminder_change.set else ()
        )
    elif line_change:
        reminders = ReminderPlans(ParsedMessage(line_change.language, line_change.facts))
    else:
        reminders = plan_reminders(parsed, said=turn.said, earlier=turn.earlier, now=now)
    parsed = reminders.reading
    day_question = None
    if not (reminder_change or line_change) and SEARCH in usable:
        day_question = _find_day_question(parsed, turn, now)
    if day_question:
        parsed = ParsedMessage(day_question.language)
    facts = parsed.facts
    if REMIND not in usable:  # for example at the last step of a turn: it is noted instead
        notes = [each.note for each in reminders.clear]
        facts = tuple(dict.fromkeys((*facts, *(note for note in notes if note.text or note.block))))
    return TurnPlan(
        messages=messages,
        turn=turn,
        now=now,
        offered=offered,
        done=done,
        parsed=parsed,
        facts=facts,
        reminders=reminders,
        reminder_change=reminder_change,
        line_change=line_change,
        passages=passages,
        day_question=day_question,
        paths={_PATHS[kind].format(day=now.date().isoformat()): kind for kind in parsed.look},
    )


def _find_day_question(parsed: ParsedMessage, turn: NotebookTurn, now: datetime) -> DayQuestion | None:
    """Return the one message as a question about a day; None if it asks for the time or is no such question."""
    if len(turn.said) != 1 or {"clock", "day"} & set(parsed.unsupported):
        return None
    return read_day_question(turn.said[0], now, parsed.language)


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
