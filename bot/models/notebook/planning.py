"""Pure: which reminders a message sets, and what is still to be asked about them."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.reading import Fact, Reading, Reminder, read
from bot.models.notebook.reminding import is_moment, split_reminder
from bot.when import NoMoment


class Planned(NamedTuple):
    """A reminder that can be set."""

    when: str
    text: str
    note: Fact
    """How it is noted where no reminder can be set."""


class Plans(NamedTuple):
    """What becomes of the reminders that somebody asks for."""

    reading: Reading
    """The message without what belongs to a reminder."""
    clear: tuple[Planned, ...] = ()
    unclear: tuple[Reminder, ...] = ()
    """Without a moment that is understood."""
    asks_what: bool = False
    """There is a moment, and nothing to be reminded of."""
    refused: NoMoment | None = None
    """Why a moment that was found cannot be one."""


def plan_reminders(
    reading: Reading, *, said: Sequence[str], before: str, said_before: Sequence[str], now: datetime
) -> Plans:
    """Split each reminder into when and what of. An answer to "When?" or "What of?" completes the earlier one.

    `before`: the last answer, to `said_before`; `said`: the messages since, of which `reading` was made.
    """
    if completed := _completed(reading, said=said, before=before, said_before=said_before, now=now):
        return completed
    clear: list[Planned] = []
    unclear: list[Reminder] = []
    asks_what = False
    refused: NoMoment | None = None
    for reminder in reading.reminders:
        parts = split_reminder(reminder.request, now, reading.language)
        if not parts.when:
            unclear.append(reminder)
            refused = refused or parts.refused
        elif not parts.text:
            asks_what = True
        else:
            clear.append(Planned(parts.when, parts.text, reminder.note))
    return Plans(reading, tuple(clear), tuple(unclear), asks_what, refused)


def _completed(
    reading: Reading, *, said: Sequence[str], before: str, said_before: Sequence[str], now: datetime
) -> Plans | None:
    """Put an answer together with the reminder that it was asked for; None where it is no such answer."""
    asked = [each for each in LANGUAGES if each.say.question_when in before or each.say.remind_what in before]
    if not asked or len(said) != 1 or reading.reminders:
        return None
    language, answer = asked[0], said[0].strip()
    earlier = [each for text in said_before for each in read(text).reminders]
    if language.say.question_when in before:
        return _with_moment(reading, earlier, answer, language, now)
    return _with_text(reading, earlier, answer, language, now)


def _with_moment(
    reading: Reading, earlier: Sequence[Reminder], answer: str, language: Language, now: datetime
) -> Plans | None:
    texts = [split_reminder(each.request, now, language) for each in earlier]
    text = next((each.text for each in texts if not each.when and each.text), "")
    if not text or not is_moment(answer, now, language):
        return None
    alone = Reading(language)
    return Plans(alone, (Planned(answer, text, Fact(text)),))


def _with_text(
    reading: Reading, earlier: Sequence[Reminder], answer: str, language: Language, now: datetime
) -> Plans | None:
    whens = [split_reminder(each.request, now, language) for each in earlier]
    when = next((each.when for each in whens if each.when and not each.text), "")
    is_something_else = reading.queries and answer.endswith(("?", "？", "؟"))
    if (
        not when
        or is_something_else
        or reading.wanted
        or reading.look
        or not (reading.facts or reading.queries)
    ):
        return None
    own = split_reminder(answer, now, language)
    if own.text and any(map(str.isdigit, own.when)):
        # "tomorrow at 10 call Tom" has a moment of its own, with a time of day or a date.
        return Plans(Reading(language), (Planned(own.when, own.text, Fact(answer)),))
    return Plans(Reading(language), (Planned(when, answer, Fact(answer)),))
