"""Format times and repetitions for people."""

from datetime import date, datetime, time
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
        date=day_in_words(at),
        time=f"{at:%H:%M:%S}" if seconds and at.second else f"{at:%H:%M}",
    )
    return phrases.MOMENT_ZONE.format(moment=told, zone=zone.key) if name_zone else told


def day_in_words(day: date | OnDate, *, this_year: int | None = None) -> str:
    """Return `30 February 2027`, even for a day that does not exist; `3.13.` for a month that does not exist.

    The year is left out if it is `this_year`.
    """
    year = None if day.year == this_year else day.year
    if not 1 <= day.month <= len(phrases.MONTHS):
        return f"{day.day}.{day.month}.{'' if year is None else year}"
    phrase = phrases.DATE_THIS_YEAR if year is None else phrases.DATE
    return phrase.format(day=day.day, month=phrases.MONTHS[day.month - 1], year=year)


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
    return phrases.DUE_EARLIER.format(
        weekday=phrases.WEEKDAYS[at.weekday()],
        date=day_in_words(at, this_year=today.year),
        time=f"{at:%H:%M}",
    )


def rule_in_words(rule: Recurrence) -> str:
    """Return `every 2 weeks on Monday and Thursday at 08:00`."""
    if rule.unit == "minutes":
        hours, rest = divmod(rule.count, 60)
        return _interval_in_words(rule.count, "minutes") if rest else _interval_in_words(hours, "hours")
    days = [phrases.WEEKDAYS[each] for each in rule.weekdays]
    every = _interval_in_words(rule.count, rule.unit)
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
    return phrases.RULE_AT.format(every=every, times=_join_list([_format_time(each) for each in rule.times]))


def _interval_in_words(count: int, unit: str) -> str:
    return phrases.RULE_EACH[unit] if count == 1 else phrases.RULE_EVERY[unit].format(count=count)


def _format_time(at: time) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def _join_list(items: list[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return phrases.AND.format(first=phrases.COMMA.join(items[:-1]), last=items[-1])
