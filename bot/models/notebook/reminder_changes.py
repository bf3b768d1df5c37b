"""Pure: parse a message that moves, cancels or restores the reminder of the last turns."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from bot.models.notebook.corrections import SpokenCorrection, corrected_statement, read_correction
from bot.models.notebook.language import Language, phrases
from bot.models.notebook.line_changes import UNDO_TURNS, answer_language, asks_for_input
from bot.models.notebook.message_parser import Fact, ParsedMessage
from bot.models.notebook.phrases import ENDS, fold
from bot.models.notebook.recent_lines import parse_object
from bot.models.notebook.reminder_parser import has_day_word, only_moment
from bot.models.notebook.reminder_plans import PlannedReminder
from bot.models.protocol import AssistantMessage, Message, ToolResult, UserMessage
from bot.timeparse import TimeParseError, read_when

_PROBE_TIME = "3:07"
"""A minute that nobody says by chance."""


_CANCEL = frozenset(
    phrases(
        "cancel|abbrechen|stornieren|annuler|annulez|cancelar|cancela|annullare|取消|キャンセル|취소|отмена"
    )
)
"""Said alone, these refer to the reminder just set; else they are small talk."""


class LastReminder(NamedTuple):
    """What a turn did with a reminder."""

    number: str
    """Number of the reminder that was set; "" if one was only cancelled."""
    text: str
    when: str
    """Time in the words with which it was set."""
    at: datetime
    every: bool = False
    earlier: "LastReminder | None" = None
    """The reminder that was cancelled in that turn."""


class ReminderChange(NamedTuple):
    """A reminder to cancel, and one to set first, as its replacement or alone."""

    language: Language
    set: PlannedReminder | None = None
    cancel: str = ""
    """Number of the reminder."""


def plan_reminder_change(
    parsed: ParsedMessage,
    earlier: Sequence[Message],
    *,
    said: Sequence[str],
    said_before: Sequence[str],
    before: str,
    now: datetime,
) -> ReminderChange | None:
    """Return the changes that "no, at 7", "cancel that" and "undo" make to the reminder of the last two turns.

    None if the message is something else. The arguments are those of `plan_change`; `now` is the owner's
    local time.
    """
    if len(said) != 1:
        return None
    language = answer_language(said[0], parsed, said_before)
    if parsed.unsupported == ("cancel_reminder",) and parsed.cancel:
        return ReminderChange(language, cancel=parsed.cancel)
    last = _last_reminder(earlier)
    if last is None:
        return None
    alone = fold(said[0]).strip(ENDS + " ") in _CANCEL
    if alone or parsed.unsupported in (("forget_that",), ("cancel_reminder",)):
        return ReminderChange(language, cancel=last.number) if last.number else None
    if parsed.unsupported == ("undo",):
        again = _restore(last.earlier) if last.earlier else None
        return ReminderChange(language, again, last.number)
    correction = read_correction(said[0], language)
    if not last.number or asks_for_input(before) or correction is None:
        return None
    if not correction.certain and not only_moment(correction.rest.rstrip(ENDS + " "), now, language):
        return None
    changed = _apply_correction(last, correction, language, now)
    return ReminderChange(language, changed, last.number) if changed else None


def _last_reminder(messages: Sequence[Message]) -> LastReminder | None:
    """Return the reminder that the last two turns set or cancelled; None if something else was noted since."""
    end = len(messages)
    for _ in range(UNDO_TURNS):
        start = end
        while start and not isinstance(messages[start - 1], UserMessage):
            start -= 1
        if found := _reminder_of_turn(messages[start:end]):
            return found
        changed = ("memory_write", "memory_edit")
        if any(isinstance(each, ToolResult) and each.name in changed for each in messages[start:end]):
            return None
        while start and isinstance(messages[start - 1], UserMessage):
            start -= 1
        if not start:
            return None
        end = start
    return None


def _reminder_of_turn(turn: Sequence[Message]) -> LastReminder | None:
    """Return what a turn did with one reminder; None if there was none, or several."""
    calls: dict[str, Mapping[str, Any]] = {}
    for each in turn:
        if isinstance(each, AssistantMessage):
            calls |= {call.id: parse_object(call.arguments) for call in each.calls}
    done = [each for each in turn if isinstance(each, ToolResult) and not each.failed]
    cancelled = [
        _parse_reminder(parse_object(each.content), {}) for each in done if each.name == "cancel_reminder"
    ]
    added = [
        _parse_reminder(parse_object(each.content), calls.get(each.call_id, {}))
        for each in done
        if each.name == "remind"
    ]
    if len(cancelled) > 1 or len(added) > 1 or None in cancelled + added:
        return None
    gone = cancelled[0] if cancelled else None
    if added and added[0]:
        return added[0]._replace(earlier=gone)
    return gone._replace(number="", earlier=gone) if gone else None


def _parse_reminder(told: Mapping[str, Any], asked: Mapping[str, Any]) -> LastReminder | None:
    try:
        at = datetime.fromisoformat(str(told.get("at", "")))
    except ValueError:
        return None
    when = str(asked.get("when") or told.get("every") or "")
    text = str(asked.get("text") or told.get("text") or "")
    return LastReminder(str(told.get("number", "")), text, when, at, "every" in told)


def _restore(reminder: LastReminder) -> PlannedReminder:
    when = reminder.when if reminder.every else f"{reminder.at:%Y-%m-%dT%H:%M}"
    return PlannedReminder(when, reminder.text, Fact(""))


def _apply_correction(
    last: LastReminder, correction: SpokenCorrection, language: Language, now: datetime
) -> PlannedReminder | None:
    """Return the reminder with another time or other words."""
    rest = correction.rest.rstrip(ENDS + " ")
    if last.every:
        when = corrected_statement(last.when, correction, language)
        if when and when != last.when and only_moment(when, now, language):
            return PlannedReminder(when, last.text, Fact(""))
    elif when := _merge_times(last, rest, language, now):
        return PlannedReminder(when, last.text, Fact(""))
    if only_moment(rest, now, language):
        return PlannedReminder(rest, last.text, Fact(""))
    text = corrected_statement(last.text, correction, language)
    return _restore(last._replace(text=text)) if text and text != last.text else None


def _merge_times(last: LastReminder, rest: str, language: Language, now: datetime) -> str:
    """Return the old time combined with a new time of day or a new day alone; "" for anything else."""
    if not only_moment(rest, now, language):
        return ""
    zone = now.tzinfo if isinstance(now.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    at = last.at.astimezone(zone)
    midnight = at.replace(hour=0, minute=0, second=0)
    if _names_only_day(rest, now, zone):
        day = read_when(rest, now, zone)[0].due
        return f"{day:%Y-%m-%d}T{at:%H:%M}"
    days = [_read_moment(rest, day, zone) for day in (midnight, midnight + timedelta(1))]
    one_hour_later = _read_moment(rest, midnight - timedelta(hours=1), zone)
    if has_day_word(rest) or None in days or days[0] is None or days[1] is None:
        return ""
    if days[1].date() - days[0].date() != timedelta(1) or one_hour_later == days[0] - timedelta(hours=1):
        return ""  # a date, or "in two hours"
    due = days[0]
    afternoon = re.search(r"(?<![a-z])p\.?m\b", last.when.lower()) and not re.search(
        r"(?<![a-z])a\.?m\b", rest.lower()
    )
    if due.hour < 12 and afternoon:
        due += timedelta(hours=12)
    return f"{due:%Y-%m-%dT%H:%M}" if due > now else ""


def _names_only_day(text: str, now: datetime, zone: ZoneInfo) -> bool:
    """Return whether words name only a day: a time of day can follow them."""
    try:
        when, rest = read_when(f"{text} {_PROBE_TIME}", now, zone)
    except TimeParseError:
        return False
    return not rest and f"{when.due:%H:%M}" == "03:07"


def _read_moment(text: str, now: datetime, zone: ZoneInfo) -> datetime | None:
    try:
        return read_when(text, now, zone)[0].due
    except TimeParseError:
        return None
