"""Dates in languages with spaces between words: one grammar, with the words of all of them.

Each `_read_…` function parses one form at a position. The first match in `_FORMS` wins.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import memory.dates.periods as periods
import memory.dates.vocabulary as words
from memory.dates.lexicon import phrases
from memory.dates.periods import DateUnit, DayRange
from memory.dates.tokens import TokenMatcher


class DateMatch(NamedTuple):
    """A date and its range in the folded text. Several spans are different readings."""

    spans: tuple[DayRange, ...]
    start: int
    end: int


class _DateFound(NamedTuple):
    span: DayRange | None
    """None for a day that does not exist; then its parts are not read either."""
    after: int
    """The position of the first token after it."""
    other: DayRange | None = None
    """Another reading."""


def read_western(sentence: TokenMatcher) -> Iterator[DateMatch]:
    at = 0
    while at < len(sentence.tokens):
        found = _read_at(sentence, at)
        if found and found.span:
            yield _apply_opening(sentence, at, found)
        at = found.after if found else at + 1


def _read_at(sentence: TokenMatcher, at: int) -> _DateFound | None:
    for read in _FORMS:
        try:
            if found := read(sentence, at):
                return found
        except (ValueError, OverflowError):  # outside the calendar
            pass
    return None


def _apply_opening(sentence: TokenMatcher, at: int, found: _DateFound) -> DateMatch:
    """Apply "since", "before" or "after", if one precedes the date."""
    openings = sentence.lexicon.openings
    spans: list[DayRange | None] = [found.span, found.other]
    for end in (at, at - (sentence.word(at - 1) in phrases(words.ARTICLES))):
        begin = sentence.before(openings, end)
        if begin is not None:
            opening = openings[sentence.phrase(begin, end)]
            spans, at = [periods.open_range(span, opening) for span in spans if span], begin
            break
    start, end = sentence.tokens[at].start, sentence.tokens[found.after - 1].end
    return DateMatch(tuple(span for span in spans if span), start, end)


def _read_digits(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse 2023-06-03, 2023-06, 3.6.2023, 3/6/2023, am 3.6."""
    text = sentence.text(at, "iso", "year_month", "numeric", "day_month")
    if not text or sentence.word(at - 1) in phrases(words.VERSION):
        return None
    kind = sentence.tokens[at].kind
    numbers = [int(number) for number in re.findall("[0-9]+", text)]
    if kind == "year_month":
        return _DateFound(periods.month_range(*numbers), at + 1) if 1 <= numbers[1] <= 12 else None
    if kind == "day_month":
        if sentence.before(phrases(words.ON).union(sentence.lexicon.openings), at) is None:
            return None
        return _DateFound(periods.latest_days(numbers[1], (numbers[0], numbers[0]), sentence.today), at + 1)
    year, month, day = numbers if kind == "iso" else reversed(numbers)
    year = periods.expand_year(year) if kind == "numeric" and year < 100 else year
    span = periods.days_in_month(year, month, (day, day))
    other = (
        periods.days_in_month(year, day, (month, month)) if kind == "numeric" and "." not in text else None
    )
    return _DateFound(span or other, at + 1, other)


def _read_named_day(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse today, yesterday, the day before."""
    day = sentence.match(sentence.lexicon.days, at)
    if not day:
        return None
    word = sentence.word(at)
    if word in words.MORNING and sentence.word(at - 1) in phrases(words.MORNING[word]):
        return None
    if word == "hier" and any(token.text in phrases(words.GERMAN) for token in sentence.tokens):
        return None
    return _DateFound(periods.near_unit("day", day[0], sentence.today), day[1])


def _read_ago(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse three days ago, vor drei Tagen, неделю назад."""
    lexicon = sentence.lexicon
    begin = sentence.skip(phrases(words.AGO_BEFORE), at)
    count = sentence.count(begin) or (1, begin)
    unit = sentence.match(lexicon.units, count[1])
    if not unit or count[0] < 1 or (count[1] == begin and sentence.word(at) not in phrases(words.ONE_UNIT)):
        return None
    after = sentence.skip(phrases(words.AGO_AFTER), unit[1])
    if begin == at and after == unit[1]:
        return None
    return _DateFound(periods.units_ago(unit[0], count[0], sentence.today), after)


def _read_last_units(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse the last three days: up to today."""
    near = sentence.match(sentence.lexicon.near, at)
    count = sentence.count(near[1]) if near and near[0] < 0 else None
    unit = sentence.match(sentence.lexicon.units, count[1]) if count else None
    if not count or not unit or count[0] < 1:
        return None
    return _DateFound(periods.past_units(unit[0], count[0], sentence.today), unit[1])


def _read_weekend(sentence: TokenMatcher, at: int) -> tuple[DateUnit, int, int] | None:
    """Parse at the weekend: the latest that has begun, in the form of `TokenMatcher.near`."""
    unit = sentence.match(sentence.lexicon.units, at)
    article = at - (sentence.word(at - 1) in phrases(words.ARTICLES))
    on = any(sentence.before(phrases(words.ON), end) is not None for end in (at, article))
    if not unit or unit[0] != "weekend" or not on:
        return None
    return unit[0], -(sentence.today.weekday() < 5), unit[1]


def _read_near_unit(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse last week, la semaine dernière, last year in May, at the weekend."""
    lexicon, today = sentence.lexicon, sentence.today
    found = sentence.near(lexicon.units, at) or _read_weekend(sentence, at)
    if not found or found[0] == "day":  # the last day of school
        return None
    if found[0] == "year" and (
        month := sentence.match(lexicon.months, sentence.skip(lexicon.before_year, found[2]))
    ):
        return _DateFound(periods.month_range(today.year + found[1], month[0]), month[1])
    return _DateFound(periods.near_unit(found[0], found[1], today), found[2])


def _read_near_name(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse last Friday, lundi dernier, next May."""
    if weekday := sentence.near(sentence.lexicon.weekdays, at):
        return _DateFound(periods.near_weekday(weekday[0], weekday[1], sentence.today), weekday[2])
    month = sentence.near(sentence.lexicon.months, at)
    if not month or (month[1] == 0 and _is_verb(sentence, month[2] - 1, month[2])):  # this may hurt
        return None
    if year := sentence.year_after(month[2]):
        return _DateFound(periods.month_range(year[0], month[0]), year[1])
    return _DateFound(periods.near_month(month[0], month[1], sentence.today), month[2])


def _is_verb(sentence: TokenMatcher, at: int, after: int) -> bool:
    """Return whether a word is "may" or "march" in lower case, and the sentence goes on."""
    verb = sentence.word(at) in phrases(words.VERBS) and not sentence.tokens[at].capital
    return verb and sentence.word(after) != ""


def _read_day_and_month(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse 3 June, the 3rd of June, June 3, June 3-5, each with or without a year."""
    lexicon = sentence.lexicon
    if days := sentence.days(at):
        month = sentence.match(lexicon.months, sentence.skip(phrases(words.OF), days[1]))
        after = month[1] if month else at
        month_at = after - 1
    else:
        month = sentence.match(lexicon.months, at)
        if not month:
            return None
        days = sentence.days(
            sentence.skip(phrases(words.ARTICLES), month[1] + (sentence.sign(month[1]) == "."))
        )
        after = days[1] if days else at
        month_at = at
    if not month or not days:
        return None
    if _is_verb(sentence, month_at, after) and sentence.before(phrases(words.ON), at) is None:
        return None
    if year := sentence.year_after(after):
        return _DateFound(periods.days_in_month(year[0], month[0], days[0]), year[1])
    return _DateFound(periods.latest_days(month[0], days[0], sentence.today), after)


def _read_month(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse May 2022, in May, October."""
    month = sentence.match(sentence.lexicon.months, at)
    if not month:
        return None
    if year := sentence.year_after(month[1]):
        return _DateFound(periods.month_range(year[0], month[0]), year[1])
    if not _stands_as_date(sentence, at, month[1]):
        return None
    return _DateFound(periods.latest_month(month[0], sentence.today), month[1])


def _stands_as_date(sentence: TokenMatcher, at: int, after: int) -> bool:
    """Return whether a month or weekday is meant as a date: "in June" or "the June trip", not "June" or "June's"."""
    before = sentence.lexicon.ambiguous.get(sentence.word(at)) if after == at + 1 else None
    if before is None:
        return True
    after_article = sentence.tokens[at].capital and sentence.word(at - 1) in phrases(words.ARTICLES)
    return sentence.word(after) != "s" and (after_article or sentence.before(before, at) is not None)


def _read_weekday(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse on Friday; Friday, 3 June."""
    weekday = sentence.match(sentence.lexicon.weekdays, at)
    if not weekday or sentence.before(phrases(words.NOT_A_WEEKDAY), at) is not None:
        return None
    beside = sentence.skip(phrases(words.ARTICLES), weekday[1] + (sentence.sign(weekday[1]) in tuple(",.")))
    date = _read_digits(sentence, beside) or _read_day_and_month(sentence, beside)
    if date and date.span:
        return date
    if not _stands_as_date(sentence, at, weekday[1]):
        return None
    return _DateFound(periods.near_weekday(weekday[0], -1, sentence.today), weekday[1])


def _read_year(sentence: TokenMatcher, at: int) -> _DateFound | None:
    """Parse in 2022."""
    year = sentence.year(at)
    if not year or sentence.before(sentence.lexicon.before_year, at) is None:
        return None
    return (
        None
        if sentence.word(year[1]) in phrases(words.COUNTED_NOUNS)
        else _DateFound(periods.year_range(year[0]), year[1])
    )


_FORMS: tuple[Callable[[TokenMatcher, int], _DateFound | None], ...] = (
    _read_digits,
    _read_named_day,
    _read_ago,
    _read_last_units,
    _read_near_unit,
    _read_near_name,
    _read_day_and_month,
    _read_month,
    _read_weekday,
    _read_year,
)
