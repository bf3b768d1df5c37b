"""Pure: split a reminder request into time and text."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from bot.models.notebook.language import Language
from bot.models.notebook.phrases import ENDS, SEPARATORS, fold, has_words, phrase_at, phrase_ending_at
from bot.timeparse import TimeParseError, read_when
from memory.dates.folding import fold_letters
from memory.dates.lexicon import load_lexicon

if TYPE_CHECKING:
    from bot.timeparse.remaining_text import RemainingText

_MAX_CHARS = 2000
_MAX_WORDS_BEFORE = 7
"""Maximum words before a time in the middle."""
_BEGINS_WITH_TIME = r"(?:\S{1,4}\s+){0,2}\d{1,2}(?:[.:h]\d\d)?(?:\s|$)"
"""Text after a day that begins like this is a time of day that was not understood."""
_ISO_DATE = r"\d{4}-\d\d-\d\d"


class ReminderParts(NamedTuple):
    """The parts of a reminder request."""

    when: str
    """Time in the person's own words; "" if none was found."""
    text: str
    """Text of the reminder, without a refused time if its end is known; "" if none is given."""
    refused: TimeParseError | None = None
    """Why a time that was found is not possible."""


def split_reminder(request: str, now: datetime, language: Language) -> ReminderParts:
    """Split "to call Tom tomorrow at 10", the time first or last, with the parser for reminders.

    `now` is the owner's local time, aware. Without a valid time everything is returned as text.
    """
    request = strip_links(request[:_MAX_CHARS], language)
    try:
        found = _split(request, now)
    except TimeParseError as error:
        if error.refusal != "unread":
            text = _remaining_text(now, language).find(request, error)
            return ReminderParts("", strip_links(text, language) if text else request, error)
        if (shorter := _strip_please(request, language)) != request:
            return split_reminder(shorter, now, language)
        found = _split_in_middle(request, now)
    if found is None or not _is_complete(found, language):
        return ReminderParts("", request)
    return ReminderParts(found.when, strip_links(found.text, language))


def only_moment(text: str, now: datetime, language: Language) -> str:
    """Return the time if the text is one, without "please"; "" if it is none or says anything else."""
    text = _strip_please(_trim(text), language)
    try:
        found = _split(text, now) if has_words(text) else None
    except TimeParseError:
        return ""
    return found.when if found and not found.text and _is_complete(found, language) else ""


def _strip_please(text: str, language: Language) -> str:
    """Remove a word such as "please" at the end, in languages with spaces."""
    last = phrase_ending_at(fold(text), len(text), "please", prefer=language, only=True)
    return text[: last.start].rstrip(SEPARATORS) if last and language.spacing == "words" else text


def refusal_of_moment(text: str, now: datetime, language: Language) -> TimeParseError | None:
    """Return why a text is not a possible time; None if it is possible, or if it says anything else."""
    text = _trim(text)
    if not has_words(text):
        return None
    try:
        _text_beside_moment(text, now)
    except TimeParseError as refused:
        return refused if _remaining_text(now, language).is_refused_moment(text, refused) else None
    return None


def _split(request: str, now: datetime) -> ReminderParts | None:
    """Find the words of the time: the parser returns only the words beside it, and raises TimeParseError."""
    rest = _text_beside_moment(request, now)
    if not rest:
        return ReminderParts(request, "")
    at = request.rfind(rest) if request.endswith(rest) else request.find(rest)
    if at < 0:
        return None
    moment = request[:at] if request.endswith(rest) else request[at + len(rest) :]
    words = moment.split()
    # A linking word such as "to" may stand between the two and belongs to neither.
    for end in range(len(words), max(len(words) - 2, 0), -1):
        when = _trim(" ".join(words[:end]))
        if when and _is_whole_moment(when, now):
            return ReminderParts(when, _trim(rest))
    return None


def _split_in_middle(request: str, now: datetime) -> ReminderParts | None:
    """Find a time with a named day after the first words: "dass ich morgen um 9 Tom anrufe"."""
    words = request.split()
    for at in range(1, min(len(words), _MAX_WORDS_BEFORE)):
        if has_day_word(" ".join(words[:at])):
            return None
        try:
            found = _split(" ".join(words[at:]), now)
        except TimeParseError:
            continue
        if found and found.text and has_day_word(found.when):
            return ReminderParts(found.when, f"{' '.join(words[:at])} {found.text}")
    return None


def has_day_word(text: str) -> bool:
    """Return whether a text contains a word for a day: "tomorrow", "Friday"."""
    days = load_lexicon().days.keys() | load_lexicon().weekdays.keys()
    return not days.isdisjoint(fold_letters(text).split())


def _is_whole_moment(text: str, now: datetime) -> bool:
    try:
        return _text_beside_moment(text, now) == ""
    except TimeParseError:
        return False


def _text_beside_moment(text: str, now: datetime) -> str:
    return read_when(text, now if now.tzinfo else now.replace(tzinfo=UTC), _zone(now))[1]


def _remaining_text(now: datetime, language: Language) -> "RemainingText":
    from bot.timeparse.remaining_text import RemainingText

    return RemainingText(now, _zone(now), spaced=language.spacing != "none")


def _zone(now: datetime) -> ZoneInfo:
    return now.tzinfo if isinstance(now.tzinfo, ZoneInfo) else ZoneInfo("UTC")


def _is_complete(parts: ReminderParts, language: Language) -> bool:
    """Return whether a time was understood completely: for example no day is left beside it."""
    if not language.moments:
        return bool(re.search(_ISO_DATE, parts.when))
    if re.match(_BEGINS_WITH_TIME, parts.text) and not any(map(str.isdigit, parts.when)):
        return False
    words = parts.text.split()
    return has_day_word(parts.when) or not has_day_word(" ".join(words[:2] + words[-2:]))


def strip_links(text: str, language: Language) -> str:
    """Remove words that link a verb to the reminder's text: "to", "that"; at the end if verbs stand last."""
    text = _trim(text)
    for _ in range(3):
        folded = fold(text)
        kinds = ("reminder_links", "please")
        links = (phrase_at(folded, 0, kind, prefer=language, only=True) for kind in kinds)
        link = next(filter(None, links), None)
        rest = text[link.end :].lstrip(SEPARATORS) if link else ""
        if link is None or not has_words(rest):
            break
        text = rest
    ending = phrase_ending_at(fold(text), len(text), "reminder_links_end", prefer=language, only=True)
    return text[: ending.start].rstrip(SEPARATORS) if ending and ending.start else text


def _trim(text: str) -> str:
    return text.strip(SEPARATORS + "-–—").rstrip(ENDS + SEPARATORS)
