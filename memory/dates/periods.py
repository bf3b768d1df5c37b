"""Pure arithmetic of days, weeks, months and years.

What lies beyond the calendar of `datetime.date` raises ValueError or OverflowError.
"""

from datetime import date, timedelta
from typing import Literal

Days = tuple[date, date]
"""The first and the last day, both of them inclusive."""
Unit = Literal["day", "week", "month", "year", "weekend"]
Opening = Literal["since", "before", "after"]

_DAY = timedelta(1)
_WEEK = timedelta(7)


def day_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def one_day(day: date) -> Days:
    return day, day


def month_of(year: int, month: int) -> Days:
    """The days of a month; `month` may lie outside 1 to 12, and counts on from the year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    first = date(year, month, 1)
    if (year, month) == (date.max.year, 12):
        return first, date.max
    return first, date(year + month // 12, month % 12 + 1, 1) - _DAY


def year_of(year: int) -> Days:
    return date(year, 1, 1), date(year, 12, 31)


def full_year(two_digits: int) -> int:
    """2022 for 22, as POSIX reads %y."""
    return two_digits + (2000 if two_digits < 69 else 1900)


def near_unit(unit: Unit, near: int, today: date) -> Days:
    """The day, week … which is `near` from the one that today is in."""
    if unit == "day":
        return one_day(today + timedelta(near))
    if unit == "month":
        return month_of(today.year, today.month + near)
    if unit == "year":
        return year_of(today.year + near)
    monday = today - timedelta(today.weekday()) + near * _WEEK
    return (monday if unit == "week" else monday + timedelta(5)), monday + timedelta(6)


def near_weekday(weekday: int, near: int, today: date) -> Days:
    """The last of that name before today (-1), the one of this week (0), the first after today (1)."""
    if near < 0:
        return one_day(today - timedelta((today.weekday() - weekday - 1) % 7 + 1))
    if near > 0:
        return one_day(today + timedelta((weekday - today.weekday() - 1) % 7 + 1))
    return one_day(today + timedelta(weekday - today.weekday()))


def near_month(month: int, near: int, today: date) -> Days:
    """The last month of that name that is over (-1), the one of this year (0), the first to come (1)."""
    passed = near < 0 and month >= today.month
    return month_of(today.year - passed + (near > 0 and month <= today.month), month)


def ago(unit: Unit, count: int, today: date) -> Days:
    """What lies `count` units back.

    Nobody counts days who speaks of weeks or months: these are seven days around, and the whole month or year.
    """
    if unit in ("week", "weekend"):
        middle = today - count * _WEEK
        return middle - timedelta(3), middle + timedelta(3)
    return near_unit(unit, -count, today)


def past(unit: Unit, count: int, today: date) -> Days:
    """The `count` days, weeks … up to today."""
    if unit in ("day", "week", "weekend"):
        return today - count * (_DAY if unit == "day" else _WEEK), today
    first, last = month_of(today.year, today.month - count * (12 if unit == "year" else 1))
    return first.replace(day=min(today.day, last.day)), today


def latest_month(month: int, today: date) -> Days:
    """The latest month of that number that has begun."""
    return month_of(today.year - (month > today.month), month)


def latest_days(month: int, days: tuple[int, int], today: date) -> Days | None:
    """The latest such days of a month that have begun; None where the calendar has none."""
    for year in range(today.year, max(0, today.year - 9), -1):  # 29 February is at most eight years back
        if (span := days_in(year, month, days)) and span[0] <= today:
            return span
    return None


def days_in(year: int, month: int, days: tuple[int, int]) -> Days | None:
    first, last = day_or_none(year, month, days[0]), day_or_none(year, month, days[1])
    return (first, last) if first and last and first <= last else None


def opened(span: Days, opening: Opening) -> Days | None:
    """What is since, before or after a span, to the end of the calendar; None where nothing is."""
    if opening == "since":
        return span[0], date.max
    if opening == "before":
        return (date.min, span[0] - _DAY) if span[0] > date.min else None
    return (span[1] + _DAY, date.max) if span[1] < date.max else None
