"""What of a moment was said, before a clock and a calendar are asked."""

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
    """The first Monday of a month; -1 is the last."""

    nth: int
    weekday: int


@dataclass(frozen=True, slots=True)
class NextPeriod:
    """Next week, month, year: its first day."""

    unit: TimeUnit


Day = DaysAhead | OnDate | OnWeekdays | OnDayOfMonth | OnNthWeekday | NextPeriod


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """A time of day; `sure` where nobody can take 8 for 20: with am or pm, or by its hour."""

    at: time
    sure: bool = False
    spoken: bool = False
    """Told as people say it, at 3 or half past 3, and not as a clock shows it, 3:00 or 03."""


@dataclass(frozen=True, slots=True)
class Span:
    """How far from now: months and days on the calendar, the rest as it elapses."""

    months: int = 0
    days: int = 0
    elapsed: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Every:
    """How often; minutes for everything below a day."""

    unit: TimeUnit
    count: int = 1


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """All that was said of a moment."""

    day: Day | None = None
    weekday: int | None = None
    """What weekday `day`, a date, is said to be."""
    clocks: tuple[TimeOfDay, ...] = ()
    part: DayPart | None = None
    today: bool = False
    """Whether `part` is the one of today: this evening."""
    span: Span | None = None
    every: Every | None = None
    instant: datetime | None = None
    """Aware: a time with an offset from UTC."""


def as_date(day: OnDate, year: int) -> date | None:
    """The day in a year; None where that year has none."""
    try:
        return date(year, day.month, day.day)
    except ValueError:
        return None
