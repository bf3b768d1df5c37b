"""Arithmetic with days, weeks, months and years; pure.

Functions raise ValueError or OverflowError outside the calendar of `datetime.date`.
"""

from datetime import date, timedelta
from typing import Literal

DayRange = tuple[date, date]
"""First and last day, inclusive."""
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
    """Return the days of a month; a `month` outside 1 to 12 continues into other years."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    first = date(year, month, 1)
    if (year, month) == (date.max.year, 12):
        return first, date.max
    return first, date(year + month // 12, month % 12 + 1, 1) - _DAY


def year_range(year: int) -> DayRange:
    return date(year, 1, 1), date(year, 12, 31)


def expand_year(two_digits: int) -> int:
    """Return 2022 for 22, as POSIX reads %y."""
    return two_digits + (2000 if two_digits < 69 else 1900)


def near_unit(unit: DateUnit, near: int, today: date) -> DayRange:
    """Return the day, week, … that is `near` units from today's."""
    if unit == "day":
        return single_day(today + timedelta(near))
    if unit == "month":
        return month_range(today.year, today.month + near)
    if unit == "year":
        return year_range(today.year + near)
    monday = today - timedelta(today.weekday()) + near * _WEEK
    return (monday if unit == "week" else monday + timedelta(5)), monday + timedelta(6)


def near_weekday(weekday: int, near: int, today: date) -> DayRange:
    """Return the last such weekday before today (-1), this week's (0), or the first after today (1)."""
    if near < 0:
        return single_day(today - timedelta((today.weekday() - weekday - 1) % 7 + 1))
    if near > 0:
        return single_day(today + timedelta((weekday - today.weekday() - 1) % 7 + 1))
    return single_day(today + timedelta(weekday - today.weekday()))


def near_month(month: int, near: int, today: date) -> DayRange:
    """Return the last such month that is over (-1), this year's (0), or the next (1)."""
    passed = near < 0 and month >= today.month
    return month_range(today.year - passed + (near > 0 and month <= today.month), month)


def units_ago(unit: DateUnit, count: int, today: date) -> DayRange:
    """Return the range that is `count` units back.

    People who speak of weeks or months do not count days: the range is seven days around, or the whole month
    or year.
    """
    if unit in ("week", "weekend"):
        middle = today - count * _WEEK
        return middle - timedelta(3), middle + timedelta(3)
    return near_unit(unit, -count, today)


def past_units(unit: DateUnit, count: int, today: date) -> DayRange:
    """Return the last `count` days, weeks, … up to today."""
    if unit in ("day", "week", "weekend"):
        return today - count * (_DAY if unit == "day" else _WEEK), today
    first, last = month_range(today.year, today.month - count * (12 if unit == "year" else 1))
    return first.replace(day=min(today.day, last.day)), today


def latest_month(month: int, today: date) -> DayRange:
    """Return the latest month of that number that has begun."""
    return month_range(today.year - (month > today.month), month)


def latest_days(month: int, days: tuple[int, int], today: date) -> DayRange | None:
    """Return the latest such days of a month that have begun; None if the calendar has none."""
    for year in range(today.year, max(0, today.year - 9), -1):  # 29 February is at most eight years back
        if (span := days_in_month(year, month, days)) and span[0] <= today:
            return span
    return None


def days_in_month(year: int, month: int, days: tuple[int, int]) -> DayRange | None:
    first, last = make_day(year, month, days[0]), make_day(year, month, days[1])
    return (first, last) if first and last and first <= last else None


def open_range(span: DayRange, opening: Opening) -> DayRange | None:
    """Return the range since, before or after a span, to the end of the calendar; None if it is empty."""
    if opening == "since":
        return span[0], date.max
    if opening == "before":
        return (date.min, span[0] - _DAY) if span[0] > date.min else None
    return (span[1] + _DAY, date.max) if span[1] < date.max else None
