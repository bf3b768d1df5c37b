"""Pure arithmetic of days, weeks, months and years.

What lies beyond the calendar of `datetime.date` raises ValueError or OverflowError.
"""

from datetime import date, timedelta
from typing import Literal

DayRange = tuple[date, date]
"""The first and the last day, both of them inclusive."""
DateUnit = Literal["day", "week", "month", "year", "weekend"]
Opening = Literal["since", "before", "after"]

_DAY = timedelta(1)
_WEEK = timedelta(7)


def make_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def single_day(day: date) -> DayRange:
    return day, day


def month_range(year: int, month: int) -> DayRange:
    """The days of a month; `month` may lie outside 1 to 12, and counts on from the year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    first = date(year, month, 1)
    if (year, month) == (date.max.year, 12):
        return first, date.max
    return first, date(year + month // 12, month % 12 + 1, 1) - _DAY


def year_range(year: int) -> DayRange:
    return date(year, 1, 1), date(year, 12, 31)


def expand_year(two_digits: int) -> int:
    """2022 for 22, as POSIX reads %y."""
    return two_digits + (2000 if two_digits < 69 else 1900)


def near_unit(unit: DateUnit, near: int, today: date) -> DayRange:
    """The day, week … which is `near` from the one that today is in."""
    if unit == "day":
        return single_day(today + timedelta(near))
    if unit == "month":
        return month_range(today.year, today.month + near)
    if unit == "year":
        return year_range(today.year + near)
    monday = today - timedelta(today.weekday()) + near * _WEEK
    return (monday if unit == "week" else monday + timedelta(5)), monday + timedelta(6)


def near_weekday(weekday: int, near: int, today: date) -> DayRange:
    """The last of that name before today (-1), the one of this week (0), the first after today (1)."""
    if near < 0:
        return single_day(today - timedelta((today.weekday() - weekday - 1) % 7 + 1))
    if near > 0:
        return single_day(today + timedelta((weekday - today.weekday() - 1) % 7 + 1))
    return single_day(today + timedelta(weekday - today.weekday()))


def near_month(month: int, near: int, today: date) -> DayRange:
    """The last month of that name that is over (-1), the one of this year (0), the first to come (1)."""
    passed = near < 0 and month >= today.month
    return month_range(today.year - passed + (near > 0 and month <= today.month), month)


def units_ago(unit: DateUnit, count: int, today: date) -> DayRange:
    """What lies `count` units back.

    Nobody counts days who speaks of weeks or months: these are seven days around, and the whole month or year.
    """
    if unit in ("week", "weekend"):
        middle = today - count * _WEEK
        return middle - timedelta(3), middle + timedelta(3)
    return near_unit(unit, -count, today)


def past_units(unit: DateUnit, count: int, today: date) -> DayRange:
    """The `count` days, weeks … up to today."""
    if unit in ("day", "week", "weekend"):
        return today - count * (_DAY if unit == "day" else _WEEK), today
    first, last = month_range(today.year, today.month - count * (12 if unit == "year" else 1))
    return first.replace(day=min(today.day, last.day)), today


def latest_month(month: int, today: date) -> DayRange:
    """The latest month of that number that has begun."""
    return month_range(today.year - (month > today.month), month)


def latest_days(month: int, days: tuple[int, int], today: date) -> DayRange | None:
    """The latest such days of a month that have begun; None where the calendar has none."""
    for year in range(today.year, max(0, today.year - 9), -1):  # 29 February is at most eight years back
        if (span := days_in_month(year, month, days)) and span[0] <= today:
            return span
    return None


def days_in_month(year: int, month: int, days: tuple[int, int]) -> DayRange | None:
    first, last = make_day(year, month, days[0]), make_day(year, month, days[1])
    return (first, last) if first and last and first <= last else None


def open_range(span: DayRange, opening: Opening) -> DayRange | None:
    """What is since, before or after a span, to the end of the calendar; None where nothing is."""
    if opening == "since":
        return span[0], date.max
    if opening == "before":
        return (date.min, span[0] - _DAY) if span[0] > date.min else None
    return (span[1] + _DAY, date.max) if span[1] < date.max else None
