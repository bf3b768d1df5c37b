"""Format times and repetitions for people."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

from bot import phrases
from bot.timeparse.parsed import OnDate
from bot.timeparse.recurrence import LAST, Recurrence

WORKDAYS = (0, 1, 2, 3, 4)


def moment_in_full(moment: datetime, zone: ZoneInfo, *, seconds: bool = False, name_zone: bool = True) -> str:
    """Return `Monday, 23 November 2026 at 09:00 (Europe/Berlin)`."""
    at = moment.astimezone(zone)
    told = phrases.MOMENT.format(
        weekday=phrases.WEEKDAYS[at.weekday()],
        day=at.day,
        month=phrases.MONTHS[at.month - 1],
        year=at.year,
        time=f"{at:%H:%M:%S}" if seconds and at.second else f"{at:%H:%M}",
    )
    return phrases.MOMENT_ZONE.format(moment=told, zone=zone.key) if name_zone else told


def date_in_words(date: OnDate) -> str:
    """Return `30 February 2027`, even for a day that does not exist; `3.13.` for a month that does not exist."""
    year = f" {date.year}" if date.year is not None else ""
    if not 1 <= date.month <= len(phrases.MONTHS):
        return f"{date.day}.{date.month}.{year.strip()}"
    return f"{date.day} {phrases.MONTHS[date.month - 1]}{year}"


def moment_in_short(moment: datetime, now: datetime) -> str:
    """Return `09:00` in the zone of `now`; `2026-11-23 09:00` on another day."""
    at = moment.astimezone(now.tzinfo)
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def due_before(due: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return when something late was due: `18:00`, `yesterday 18:00`, `Monday 16 November 18:00`."""
    at, today = due.astimezone(zone), now.astimezone(zone).date()
    days = (today - at.date()).days
    if days == 0:
        return f"{at:%H:%M}"
    if days == 1:
        return phrases.DUE_YESTERDAY.format(time=f"{at:%H:%M}")
    year = f" {at.year}" if at.year != today.year else ""
    return phrases.DUE_EARLIER.format(
        weekday=phrases.WEEKDAYS[at.weekday()],
        day=at.day,
        month=phrases.MONTHS[at.month - 1] + year,
        time=f"{at:%H:%M}",
    )


def rule_in_words(rule: Recurrence) -> str:
    """Return `every 2 weeks on Monday and Thursday at 08:00`."""
    if rule.unit == "minutes":
        hours, rest = divmod(rule.count, 60)
        return _interval_in_words(rule.count, "minute") if rest else _interval_in_words(hours, "hour")
    days = [phrases.WEEKDAYS[each] for each in rule.weekdays]
    at = phrases.RULE_AT.format(times=_join_list([_format_time(each) for each in rule.times]))
    every = _interval_in_words(rule.count, rule.unit.removesuffix("s"))
    if rule.unit == "weeks" and rule.count == 1 and tuple(rule.weekdays) == WORKDAYS:
        every = phrases.RULE_WORKDAYS
    elif rule.unit == "weeks":
        every = phrases.RULE_WEEK_DAYS.format(every=every, days=_join_list(days))
    elif rule.unit == "months" and days:
        every = phrases.RULE_NTH.format(every=every, nth=phrases.NTH[rule.day], day=days[0])
    elif rule.unit == "months":
        phrase = phrases.RULE_LAST_DAY if rule.day == LAST else phrases.RULE_DAY
        phrase = phrases.RULE_LATE_DAY if rule.day > 28 else phrase
        every = phrase.format(every=every, day=rule.day)
    elif rule.unit == "years":
        start = rule.start
        every = phrases.RULE_DATE.format(every=every, day=start.day, month=phrases.MONTHS[start.month - 1])
    return f"{every} {at}"


def _interval_in_words(count: int, unit: str) -> str:
    return (
        phrases.RULE_ONE.format(unit=unit) if count == 1 else phrases.RULE_MANY.format(count=count, unit=unit)
    )


def _format_time(at: time) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def _join_list(items: list[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return phrases.AND.format(first=", ".join(items[:-1]), last=items[-1])
