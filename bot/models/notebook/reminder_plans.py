"""Pure: decide which reminders a message sets, and what still has to be asked."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.message_parser import Fact, ParsedMessage, Reminder, parse_message
from bot.models.notebook.reminder_parser import only_moment, refusal_of_moment, split_reminder
from bot.timeparse import TimeParseError

MAX_TURNS = 4
"""Turns for which the question when to remind stays open: other messages may come before its answer."""


class Exchange(NamedTuple):
    """An earlier turn: what was said and answered."""

    said: tuple[str, ...]
    answer: str
    reminded: bool = False
    """Whether a reminder was set, which closes earlier questions."""


class PlannedReminder(NamedTuple):
    """A reminder that can be set."""

    when: str
    text: str
    note: Fact
    """What to note if no reminder can be set."""


class ReminderPlans(NamedTuple):
    """What to do with the requested reminders."""

    reading: ParsedMessage
    """The message without its reminders."""
    clear: tuple[PlannedReminder, ...] = ()
    asks_when: bool = False
    """A valid time is missing."""
    asks_what: bool = False
    """The reminder's text is missing."""
    refused: TimeParseError | None = None
    """Why a time that was found is not possible."""


def plan_reminders(
    reading: ParsedMessage, *, said: Sequence[str], earlier: Sequence[Exchange], now: datetime
) -> ReminderPlans:
    """Split each reminder into time and text. An answer to "When?" or "What of?" completes an earlier one.

    `said`: the messages that were parsed into `reading`; `earlier`: the turns before them, the latest first.
    """
    if completed := _complete_earlier(reading, said=said, earlier=earlier[:MAX_TURNS], now=now):
        return completed
    clear: list[PlannedReminder] = []
    asks_when = asks_what = False
    refused: TimeParseError | None = None
    for reminder in reading.reminders:
        parts = split_reminder(reminder.request, now, reading.language)
        if not parts.when:
            asks_when = True
            refused = refused or parts.refused
        elif not parts.text:
            asks_what = True
        else:
            clear.append(PlannedReminder(parts.when, parts.text, reminder.note))
    return ReminderPlans(reading, tuple(clear), asks_when, asks_what, refused)


def _complete_earlier(
    reading: ParsedMessage, *, said: Sequence[str], earlier: Sequence[Exchange], now: datetime
) -> ReminderPlans | None:
    """Combine an answer with the reminder that was asked about; None if it is no such answer."""
    if len(said) != 1 or reading.reminders or not earlier:
        return None
    answer = said[0].strip()
    for language in LANGUAGES:
        if language.say.remind_what in earlier[0].answer:
            return _add_text(reading, _requested_reminders(earlier[0]), answer, language, now)
    for exchange in earlier:
        for language in LANGUAGES:
            asks = language.say.question_when
            if asks in exchange.answer and (reminders := _requested_reminders(exchange)):
                plans = _add_time(reminders, answer, language, now)
                # After other messages, only a time is an answer.
                return plans if plans and (plans.clear or asks in earlier[0].answer) else None
        if exchange.reminded:
            return None
    return None


def _requested_reminders(exchange: Exchange) -> list[Reminder]:
    return [each for text in exchange.said for each in parse_message(text).reminders]


def _add_time(
    reminders: Sequence[Reminder], answer: str, language: Language, now: datetime
) -> ReminderPlans | None:
    texts = [split_reminder(each.request, now, language) for each in reminders]
    text = next((each.text for each in texts if not each.when and each.text), "")
    if text and (when := only_moment(answer, now, language)):
        return ReminderPlans(ParsedMessage(language), (PlannedReminder(when, text, Fact(text)),))
    if text and (refused := refusal_of_moment(answer, now, language)):
        return ReminderPlans(ParsedMessage(language), asks_when=True, refused=refused)
    return None


def _add_text(
    reading: ParsedMessage, earlier: Sequence[Reminder], answer: str, language: Language, now: datetime
) -> ReminderPlans | None:
    whens = [split_reminder(each.request, now, language) for each in earlier]
    when = next((each.when for each in whens if each.when and not each.text), "")
    is_something_else = reading.queries and answer.endswith(("?", "？", "؟"))
    if (
        not when
        or is_something_else
        or reading.unsupported
        or reading.look
        or not (reading.facts or reading.queries)
    ):
        return None
    own = split_reminder(answer, now, language)
    if own.text and any(map(str.isdigit, own.when)):
        # "tomorrow at 10 call Tom" has its own time, with a time of day or a date.
        return ReminderPlans(ParsedMessage(language), (PlannedReminder(own.when, own.text, Fact(answer)),))
    return ReminderPlans(ParsedMessage(language), (PlannedReminder(when, answer, Fact(answer)),))
