"""Pure: questions about what is on a day ("what's on tomorrow?"), and the note lines that concern that day."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from bot.models.notebook.language import Language
from bot.models.notebook.languages import LANGUAGES
from bot.models.notebook.languages.english import ENGLISH
from bot.models.notebook.message_parser import parse_message
from bot.models.notebook.phrases import OPENERS, SEPARATORS, body_end, fold, language_of, skip
from bot.models.notebook.reminder_parser import split_reminder
from bot.models.notebook.sentence import contains_phrase
from bot.note_refs import format_note_ref
from bot.timeparse import TimeParseError, read_when
from memory.dates.lexicon import load_lexicon

_MARKER = r"^[-*+][ \t]+"
_MAX_CHARS = 120
_MIN_WEEKDAY_LETTERS = 4
"""Minimum letters of a weekday to search for: "sun" and "sat" match too much."""


class DayQuestion(NamedTuple):
    """A question about what is on a day."""

    day: date
    words: str
    """The day in the person's words: "tomorrow", "Friday"."""
    language: Language


class DayLine(NamedTuple):
    """A line of a note, where it stands, and the day on which it was written."""

    text: str
    place: str
    told: date | None


def read_day_question(text: str, now: datetime, spoken_language: Language) -> DayQuestion | None:
    """Read "What's on tomorrow?", "Was steht am Freitag an?"; None for any other message. `now` is aware."""
    if len(text) > _MAX_CHARS or "\n" in text.strip():
        return None
    for language in dict.fromkeys(
        (spoken_language, ENGLISH, *LANGUAGES)
    ):  # "was", "am" and "an" are English words too
        for said in _frame_contents(text, language):
            if day := _parse_day(said, now, language):
                return DayQuestion(day, said, language)
    return None


def _frame_contents(text: str, language: Language) -> Iterator[str]:
    """Yield the text in place of the dots in each matching question of the language, the longest frame first."""
    body = text[: body_end(text)]
    body = body[skip(fold(body), 0, SEPARATORS + "¿¡" + OPENERS) :]
    folded = fold(body)
    for frame in sorted(language.on_day, key=len, reverse=True):
        before, _, behind = frame.partition("…")
        if folded.startswith(before) and folded.endswith(behind) and len(folded) > len(before) + len(behind):
            yield body[len(before) : len(body) - len(behind)].strip(SEPARATORS)


def _parse_day(said: str, now: datetime, language: Language) -> date | None:
    words = fold(said)
    if words in language.today_words:
        return now.date()
    if words in language.tomorrow_words:
        return now.date() + timedelta(1)
    if not language.moments or not words:
        return None
    zone = now.tzinfo if isinstance(now.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    try:
        when, rest = read_when(said, now, zone)
    except TimeParseError:
        return None
    return None if rest or when.rule else when.due.date()


def day_search_words(question: DayQuestion) -> str:
    """Return search words for notes that name the day.

    They are its date, its weekday in every language, and "tomorrow" and the like in this one.
    """
    tables = load_lexicon()
    weekdays = [
        word
        for word, weekday in tables.weekdays.items()
        if weekday == question.day.weekday() and len(word) >= _MIN_WEEKDAY_LETTERS and " " not in word
    ]
    near = (*question.language.today_words, *question.language.tomorrow_words)
    return " ".join(
        dict.fromkeys([question.day.isoformat(), str(question.day.day), question.words, *near, *weekdays])
    )


def read_lines(path: object, first: object, text: object, told: object) -> list[DayLine]:
    """Return the lines of a passage or a whole note, without headings; arguments are values of a tool result."""
    if not (isinstance(path, str) and isinstance(first, int) and isinstance(text, str)):
        return []
    day = date.fromisoformat(told) if isinstance(told, str) else None
    return [
        DayLine(re.sub(_MARKER, "", line.strip()), format_note_ref(path, number, number), day)
        for number, line in enumerate(text.splitlines(), first)
        if line.strip() and not line.lstrip().startswith("#")
    ]


def lines_about_day(lines: Sequence[DayLine], question: DayQuestion, today: date) -> list[DayLine]:
    """Return the lines about the day, without duplicates; lines merely written on that day do not count."""
    found: dict[str, DayLine] = {}
    for line in lines:
        if _mentions_day(line, question.day, today) and not is_reminder_request(line.text):
            found.setdefault(line.text, line)
    return list(found.values())


def is_reminder_request(line: str) -> bool:
    """Return whether a line is a request for a reminder, which was only noted so that it is not lost."""
    return bool(parse_message(line).reminders)


def _mentions_day(line: DayLine, day: date, today: date) -> bool:
    from memory.dates import read_dates

    told = line.told or today
    for span in read_dates(line.text, told):
        if span.first == span.last == day:
            return True
    for span in read_dates(line.text, day):  # a date without a year is in the future
        if span.first == span.last == day and any(map(str.isdigit, line.text[span.start : span.end])):
            return True
    if told == day:
        return _mentions_today(line.text) or _date_of_time(line.text, told, hour=0) == day
    return told < day and _date_of_time(line.text, told, hour=12) == day


def _mentions_today(text: str) -> bool:
    folded = fold(text)
    return any(contains_phrase(folded, words, each) for each in LANGUAGES for words in each.today_words)


def _date_of_time(text: str, told: date, *, hour: int) -> date | None:
    """Return the day of a time at the end of a line, as it was meant when written: "on Friday at 3", "at 3".

    `hour`: hour of the day at which it was written; "at 3" written in the morning is on that day.
    """
    zone = ZoneInfo("UTC")
    then = datetime(told.year, told.month, told.day, hour, tzinfo=zone)
    language = language_of(text)
    when = split_reminder(text, then, language).when
    if not when or not language.moments:
        return None
    try:
        return read_when(when, then, zone)[0].due.date()
    except TimeParseError:
        return None
