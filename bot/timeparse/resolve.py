"""Resolve the parts of a time with clock and calendar."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from bot import phrases
from bot.timeparse.formatting import day_in_words, moment_in_full
from bot.timeparse.lexicon import DayPart
from bot.timeparse.moment import TimeParseError, When
from bot.timeparse.parsed import (
    Day,
    DaysAhead,
    Every,
    NextPeriod,
    OnDate,
    OnDayOfMonth,
    OnNthWeekday,
    OnWeekdays,
    ParsedTime,
    TimeOfDay,
    as_date,
)
from bot.timeparse.recurrence import LAST, Recurrence, months_later, nth_weekday, on_wall

DEFAULT_TIME = time(9)
"""Time of a day that is named without one."""
PARTS: dict[DayPart, time] = {
    "morning": time(9),
    "noon": time(12),
    "afternoon": time(15),
    "evening": time(19),
    "tonight": time(20),
    "night": time(21),
    "midnight": time(0),
}
_EVENING_PARTS: tuple[DayPart, ...] = ("evening", "tonight", "night")
_LATEST_EARLY_HOUR = 4
_NIGHT_END_HOUR = 4
"""Before this hour "tonight at 2" is on the next calendar day."""


def resolve(parsed: ParsedTime, now: datetime, zone: ZoneInfo) -> When:
    """Return the time, or the repetition with its first time. Raises TimeParseError if it is in the past or invalid."""
    try:
        if parsed.every:
            when = _resolve_recurrence(parsed, parsed.every, now, zone)
        else:
            elapses = parsed.span is not None and bool(parsed.span.elapsed)
            when = When(_resolve_once(parsed, now, zone), on_wall=not (parsed.instant or elapses))
    except (OverflowError, ValueError):
        raise TimeParseError("too_far") from None
    if parsed.weekday is not None and parsed.weekday != when.due.weekday():
        raise TimeParseError(
            "other_day",
            day=day_in_words(when.due),
            weekday=phrases.WEEKDAYS[when.due.weekday()],
            told=phrases.WEEKDAYS[parsed.weekday],
            example=f"{when.due:%Y-%m-%d %H:%M}",
        )
    if when.due.astimezone(UTC) <= now.astimezone(UTC):
        raise TimeParseError("past", moment=moment_in_full(when.due, zone))
    return when


def _resolve_once(parsed: ParsedTime, now: datetime, zone: ZoneInfo) -> datetime:
    if parsed.instant:
        return parsed.instant.astimezone(zone)
    wall = now.astimezone(zone)
    today = wall.date()
    if parsed.span:
        times = _times_of_day(parsed)
        day = months_later(today, parsed.span.months) + timedelta(days=parsed.span.days)
        if isinstance(parsed.day, OnWeekdays):
            day += timedelta(days=parsed.day.weekdays[0] - day.weekday())
            times = times or (DEFAULT_TIME,)
        elif day == today:
            return (now.astimezone(UTC) + parsed.span.elapsed).astimezone(zone)
        at = times[0] if times else wall.time().replace(microsecond=0)
        return (on_wall(datetime.combine(day, at), zone).astimezone(UTC) + parsed.span.elapsed).astimezone(
            zone
        )
    times = _times_of_day(parsed) or (DEFAULT_TIME,)
    named = parsed.day or (DaysAhead(0) if parsed.today else None)
    if named == DaysAhead(0) and not (parsed.clocks or parsed.part):
        raise TimeParseError("today")
    later = timedelta(days=1) if _is_after_midnight(parsed, times[0]) and named else timedelta()
    if named is None and parsed.part == "midnight":
        later = timedelta()
    if named == DaysAhead(0) and parsed.part == "midnight" and not parsed.clocks:
        later = timedelta(days=1)
    due: datetime | None = None
    for day in _days(named, today):
        due = on_wall(datetime.combine(day, times[0]) + later, zone)
        if due.astimezone(UTC) > now.astimezone(UTC):
            break
    if due is None:
        raise TimeParseError("too_far")
    return due


def _days(day: Day | None, today: date) -> Iterator[date]:
    """Yield the days that may be meant, the nearest first; the last is meant if all are in the past."""
    match day:
        case None:
            yield from (today, today + timedelta(days=1))
        case DaysAhead(days):
            yield today + timedelta(days=days)
        case OnWeekdays(weekdays, next_week):
            monday = today - timedelta(days=today.weekday())
            if next_week:
                yield monday + timedelta(days=7 + weekdays[0])
            else:
                first = today + timedelta(days=(weekdays[0] - today.weekday()) % 7)
                yield from (first, first + timedelta(days=7))
        case OnDate(_, _, year):
            years = [year] if year is not None else range(today.year, today.year + 9)
            found = [made for each in years if (made := as_date(day, each))]
            if not found:
                raise TimeParseError("no_date", date=day_in_words(day))
            yield from found[:2]
        case OnDayOfMonth(number):
            for ahead in range(14):
                month = months_later(today.replace(day=1), ahead)
                last = months_later(month, 1) - timedelta(days=1)
                if number == LAST or number <= last.day:
                    yield last if number == LAST else month.replace(day=number)
        case OnNthWeekday(nth, weekday):
            for ahead in range(3):
                month = months_later(today.replace(day=1), ahead)
                yield nth_weekday(month.year, month.month, nth, weekday)
        case NextPeriod(unit):
            if unit == "week":
                yield today + timedelta(days=7 - today.weekday())
            elif unit == "month":
                yield months_later(today.replace(day=1), 1)
            else:
                yield date(today.year + 1, 1, 1)


def _resolve_recurrence(parsed: ParsedTime, every: Every, now: datetime, zone: ZoneInfo) -> When:
    today = now.astimezone(zone).date()
    if every.unit == "minute":
        start = now.astimezone(UTC).replace(microsecond=0) + timedelta(minutes=every.count)
        if parsed.clocks or parsed.day or parsed.part:
            start = _resolve_once(replace(parsed, every=None), now, zone).astimezone(UTC)
            if start <= now.astimezone(UTC):
                raise TimeParseError("past", moment=moment_in_full(start, zone))
        rule = Recurrence("minutes", every.count, start)
        return When(start.astimezone(zone), str(rule), on_wall=False)
    rule = _build_recurrence(parsed, every, today)
    anchored = isinstance(parsed.day, OnWeekdays | OnDayOfMonth | OnNthWeekday | OnDate)
    if every.count > 1 and anchored:
        first = replace(rule, count=1).next_after(now, zone)
        if first is not None:
            rule = replace(rule, start=_midnight(first.date()))
    due = rule.next_after(now, zone)
    if due is None:
        raise TimeParseError("too_far")
    return When(due, str(rule))


def _build_recurrence(parsed: ParsedTime, every: Every, today: date) -> Recurrence:
    times = tuple(sorted(set(_times_of_day(parsed) or (DEFAULT_TIME,))))
    start = today
    if isinstance(parsed.day, DaysAhead | OnDate | NextPeriod):
        days = list(_days(parsed.day, today))
        start = next((day for day in days if day >= today), days[-1])
    weekdays: tuple[int, ...] = ()
    number = 0
    match every.unit, parsed.day:
        case "week", OnWeekdays(weekdays, next_week):
            weekdays = tuple(sorted(set(weekdays)))
            if next_week:
                start = today + timedelta(days=7 - today.weekday())
        case "week", None | DaysAhead() | OnDate() | NextPeriod():
            weekdays = (start.weekday(),)
        case "month", OnDayOfMonth(number):
            pass
        case "month", OnNthWeekday(number, weekday):
            weekdays = (weekday,)
        case "month", OnWeekdays((weekday, *_)):
            number, weekdays = 1, (weekday,)
        case "month", None | DaysAhead() | OnDate() | NextPeriod():
            number = start.day
        case "year", OnDate(_, _, None) as day:
            start = next(
                made for year in range(today.year, today.year - 9, -1) if (made := as_date(day, year))
            )
        case "day", OnWeekdays((weekday, *_)):
            start = today + timedelta(days=(weekday - today.weekday()) % 7)
        case (("day" | "year"), None | DaysAhead() | OnDate() | NextPeriod()):
            pass
        case _:
            raise TimeParseError("odd_rule")
    unit = {"day": "days", "week": "weeks", "month": "months", "year": "years"}[every.unit]
    return Recurrence(unit, every.count, _midnight(start), times, weekdays, number)  # type: ignore[arg-type]


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def _times_of_day(parsed: ParsedTime) -> tuple[time, ...]:
    if parsed.clocks:
        if parsed.part is None and all(clock.at.hour <= 12 for clock in parsed.clocks):
            return tuple(_in_daytime(clock) for clock in parsed.clocks)
        return tuple(_in_part(clock, parsed.part) for clock in parsed.clocks)
    if parsed.part == "early":
        raise TimeParseError("unread")
    return (PARTS[parsed.part],) if parsed.part else ()


def _in_daytime(clock: TimeOfDay) -> time:
    """Return "at 3" as an afternoon time: people say so if they mean the night."""
    early = clock.spoken and not clock.sure and 1 <= clock.at.hour <= _LATEST_EARLY_HOUR
    return clock.at.replace(hour=clock.at.hour + 12) if early else clock.at


def _in_part(clock: TimeOfDay, part: DayPart | None) -> time:
    """Return nine in the evening as 21:00."""
    hour = clock.at.hour
    if clock.sure or part is None:
        return clock.at
    if hour == 12 and part in ("night", "tonight", "midnight", "early"):
        return clock.at.replace(hour=0)
    if hour < 12 and (part == "afternoon" or (part in _EVENING_PARTS and hour >= _NIGHT_END_HOUR)):
        return clock.at.replace(hour=hour + 12)
    return clock.at


def _is_after_midnight(parsed: ParsedTime, at: time) -> bool:
    return parsed.part in _EVENING_PARTS and bool(parsed.clocks) and at.hour < _NIGHT_END_HOUR
