"""A repetition, stored as text, and its next time.

The text has words separated by single spaces:

every N minutes from 2026-11-22T10:00:00+00:00
every N days   from 2026-11-22 at 07:30
every N weeks  from 2026-11-23 on mon,thu at 08:00,20:00
every N months from 2026-12-01 on 31 at 09:00            the day of the month, or
every N months from 2026-12-01 on 1mon at 09:00          its first Monday; -1fri: its last Friday
every N years  from 2026-12-24 at 09:00

Minutes are elapsed time, unaffected by clock changes. All else is local time of a zone: a time skipped by a
clock change comes later by the length of the gap, of a repeated time the first counts, and the 29th, 30th or
31st of a shorter month is its last day. Each time is computed from the start, so nothing drifts.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, Self, get_args
from zoneinfo import ZoneInfo

RecurrenceUnit = Literal["minutes", "days", "weeks", "months", "years"]

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LAST = -1
MOST = 100_000
"""Maximum N."""

_TEXT = re.compile(
    r"every (?P<count>[1-9][0-9]{0,5}) (?P<unit>[a-z]+) from (?P<start>[0-9T:+-]+)"
    r"(?: on (?P<on>[a-z0-9,-]+))?(?: at (?P<times>[0-9:,]+))?"
)
_ON = re.compile(r"(-1|[1-5])(mon|tue|wed|thu|fri|sat|sun)")


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A repetition. `parse` reads and validates one."""

    unit: RecurrenceUnit
    count: int
    start: datetime
    """For minutes: aware, in UTC, the first time itself. Otherwise local midnight of the day from which periods count.
    """
    times: tuple[time, ...] = ()
    weekdays: tuple[int, ...] = ()
    """For weeks, in order; Monday is 0. For months: the weekday that `day` counts."""
    day: int = 0
    """For months: the day, or with `weekdays` the number of that weekday: 1 to 5, -1 for the last."""

    def __str__(self) -> str:
        if self.unit == "minutes":
            return f"every {self.count} minutes from {self.start.isoformat()}"
        on = ""
        if self.unit == "weeks":
            on = f" on {','.join(WEEKDAYS[each] for each in self.weekdays)}"
        elif self.unit == "months":
            on = f" on {self.day}{''.join(WEEKDAYS[each] for each in self.weekdays)}"
        at = ",".join(each.isoformat("seconds" if each.second else "minutes") for each in self.times)
        return f"every {self.count} {self.unit} from {self.start.date().isoformat()}{on} at {at}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the format that `str` writes. Raises ValueError."""
        match = _TEXT.fullmatch(text)
        unit = match["unit"] if match else ""
        if match is None or unit not in get_args(RecurrenceUnit) or int(match["count"]) > MOST:
            raise ValueError(f"{text!r} is not a rule")
        start = datetime.fromisoformat(match["start"])
        count, on = int(match["count"]), match["on"] or ""
        if unit == "minutes":
            if on or match["times"] or start.tzinfo is None:
                raise ValueError(f"{text!r} is not a rule")
            return cls("minutes", count, start.astimezone(UTC))
        times = tuple(sorted({time.fromisoformat(each) for each in (match["times"] or "").split(",")}))
        weekdays: tuple[int, ...] = ()
        day = 0
        if unit == "weeks":
            weekdays = tuple(sorted({WEEKDAYS.index(each) for each in on.split(",")}))
        elif unit == "months" and (nth := _ON.fullmatch(on)):
            day, weekdays = int(nth[1]), (WEEKDAYS.index(nth[2]),)
        elif unit == "months":
            day = int(on)
        elif on:
            raise ValueError(f"{text!r} is not a rule")
        if start.tzinfo is not None or not -1 <= day <= 31 or (unit == "months" and day == 0):
            raise ValueError(f"{text!r} is not a rule")
        return cls(unit, count, start, times, weekdays, day)  # type: ignore[arg-type]

    def next_after(self, moment: datetime, zone: ZoneInfo) -> datetime | None:
        """Return the first time after `moment`, in `zone`; None if the calendar ends before it."""
        try:
            if self.unit == "minutes":
                return self._minutes_after(moment).astimezone(zone)
            return self._next_local_time(moment.astimezone(UTC), zone).astimezone(zone)
        except OverflowError:
            return None

    def _minutes_after(self, moment: datetime) -> datetime:
        step = timedelta(minutes=self.count)
        passed = (moment.astimezone(UTC) - self.start) // step + 1
        return self.start + max(passed, 0) * step

    def _next_local_time(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Try periods in order, and one more after a match: a clock change may move a time past the next one."""
        wall = moment.astimezone(zone).date()
        period = max(self._period_of(wall) - 2, 0)
        found: datetime | None = None
        after = 2
        while after:
            for day in self._days(period):
                for at in self.times:
                    # In UTC, because two times of one zone compare by local time.
                    instant = on_wall(datetime.combine(day, at), zone).astimezone(UTC)
                    if instant > moment and (found is None or instant < found):
                        found = instant
            period += 1
            after -= found is not None
        assert found is not None
        return found

    def _period_of(self, day: date) -> int:
        start = self.start.date()
        match self.unit:
            case "years":
                passed = day.year - start.year
            case "months":
                passed = (day.year - start.year) * 12 + day.month - start.month
            case "weeks":
                passed = (_monday(day) - _monday(start)).days // 7
            case _:
                passed = (day - start).days
        return passed // self.count

    def _days(self, period: int) -> Iterator[date]:
        """Yield the days of a period that are not before the start."""
        start, steps = self.start.date(), period * self.count
        match self.unit:
            case "weeks":
                monday = _monday(start) + timedelta(weeks=steps)
                days = [monday + timedelta(days=each) for each in self.weekdays]
            case "months":
                year, month = divmod(start.year * 12 + start.month - 1 + steps, 12)
                days = [self._of_month(year, month + 1)]
            case "years":
                days = [_clamp_day(start.year + steps, start.month, start.day)]
            case _:
                days = [start + timedelta(days=steps)]
        return (day for day in days if day >= start)

    def _of_month(self, year: int, month: int) -> date:
        if not self.weekdays:
            return _clamp_day(year, month, 31 if self.day == LAST else self.day)
        return nth_weekday(year, month, self.day, self.weekdays[0])


def nth_weekday(year: int, month: int, nth: int, weekday: int) -> date:
    """Return the nth given weekday of a month (Monday is 0); -1, or a missing fifth, is the last."""
    first = _clamp_day(year, month, 1)
    first += timedelta(days=(weekday - first.weekday()) % 7)
    last = _clamp_day(year, month, 31)
    weeks = (last - first).days // 7
    return first + timedelta(weeks=weeks if nth == LAST else min(nth - 1, weeks))


def on_wall(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return local time as an aware time: later if it is skipped, the first if it is repeated."""
    return moment.replace(tzinfo=zone, fold=0).astimezone(UTC).astimezone(zone)


def months_later(day: date, months: int) -> date:
    """Return the same day of a later month, or its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return _clamp_day(year, month + 1, day.day)


def _clamp_day(year: int, month: int, day: int) -> date:
    if year > date.max.year:
        raise OverflowError("the calendar ends")
    return date(year, month, min(day, monthrange(year, month)[1]))


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
