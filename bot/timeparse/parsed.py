"""The parts of a time as written, before they are resolved with clock and calendar."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from bot.timeparse.lexicon import DayPart, TimeUnit


@dataclass(frozen=True, slots=True)
class DaysAhead:
    """Today is 0."""

    days: int


@dataclass(frozen=True, slots=True)
class OnDate:
    """Without a year, the next such day."""

    month: int
    day: int
    year: int | None = None


@dataclass(frozen=True, slots=True)
class OnWeekdays:
    """Monday is 0."""

    weekdays: tuple[int, ...]
    next_week: bool = False


@dataclass(frozen=True, slots=True)
class OnDayOfMonth:
    """-1 is the last."""

    day: int


@dataclass(frozen=True, slots=True)
class OnNthWeekday:
    """For example the first Monday of a month; -1 is the last."""

    nth: int
    weekday: int


@dataclass(frozen=True, slots=True)
class NextPeriod:
    """The first day of the next week, month or year."""

    unit: TimeUnit


Day = DaysAhead | OnDate | OnWeekdays | OnDayOfMonth | OnNthWeekday | NextPeriod


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """A time of day; `sure` if 8 cannot mean 20: it has am or pm, or its hour decides."""

    at: time
    sure: bool = False
    spoken: bool = False
    """Whether it was written as people say it (at 3, half past 3), not as a clock shows it (3:00, 03)."""


@dataclass(frozen=True, slots=True)
class Span:
    """An offset from now: months and days by the calendar, the rest by elapsed time."""

    months: int = 0
    days: int = 0
    elapsed: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Every:
    """Interval of a repetition; minutes for everything shorter than a day."""

    unit: TimeUnit
    count: int = 1


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """All parts of a time."""

    day: Day | None = None
    weekday: int | None = None
    """The weekday that was named with the date in `day`."""
    clocks: tuple[TimeOfDay, ...] = ()
    part: DayPart | None = None
    today: bool = False
    """Whether `part` is today's: this evening."""
    span: Span | None = None
    every: Every | None = None
    instant: datetime | None = None
    """Aware: a time with an offset from UTC."""


ParseResult = tuple[ParsedTime, int] | None
"""What was parsed so far with what was found, and the index after it."""


def as_date(day: OnDate, year: int) -> date | None:
    """Return the date in a year; None if that year lacks it."""
    try:
        return date(year, day.month, day.day)
    except ValueError:
        return None
