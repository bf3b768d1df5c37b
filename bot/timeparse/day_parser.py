"""Parse days: dates, weekdays, "tomorrow", "the first Monday of the month"."""

from dataclasses import replace
from datetime import datetime

from bot.timeparse.formatting import day_in_words
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon, words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import (
    DaysAhead,
    Every,
    NextPeriod,
    OnDate,
    OnDayOfMonth,
    OnNthWeekday,
    OnWeekdays,
    ParsedTime,
    ParseResult,
    TimeOfDay,
)
from bot.timeparse.recurrence import LAST

_MAX_FILLERS = 4
_DAY_SIGNS = ("日", "号", "號", "일", "일에")
_ARTICLES = ("le", "el", "il", "dia")


class DayParser:
    """Parses dates, weekdays and other days."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line
        self.words: TimeLexicon = words()

    def parse(self, parsed: ParsedTime, at: int) -> ParseResult:
        if parsed.day or parsed.instant:
            return None
        if parsed.span:  # in 2 weeks on Monday
            whole = not (parsed.span.elapsed or parsed.span.months or parsed.span.days % 7)
            return self._parse_weekday(parsed, at) if whole else None
        for parse in (
            self._parse_numeric_date,
            self._parse_named_day,
            self.parse_date_with_month,
            self._parse_weekday,
            self.parse_day_of_month,
        ):
            if found := parse(parsed, at):
                return found
        return None

    def parse_date_with_month(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse "3 December", "3rd of December 2027", "December 3", 12月3日."""
        year = self.line.integer(at)
        if year is not None and len(self.line.folded(at)) == 4 and self.line.folded(at + 1) in ("年", "년"):
            dated = self.parse_date_with_month(parsed, at + 2)
            if dated and isinstance(dated[0].day, OnDate):
                return replace(parsed, day=replace(dated[0].day, year=year)), dated[1]
            return None
        day = self._parse_day_number(at) or self.line.find(self.words.nth, at)
        if day is not None and day[0] > 0:
            after = self.line.skip(("of", "de", "of the"), day[1])
            if month := self.line.find(self.words.months, after):
                return self._parse_year(parsed, month[0], day[0], month[1])
            number = self.line.integer(day[1] + 1) if self.line.folded(day[1]) in ("月", "월") else None
            if number is not None and self.line.folded(day[1] + 2) in _DAY_SIGNS:
                return self._with_valid_date(parsed, OnDate(day[0], number), day[1] + 3)
            return None
        month = self.line.find(self.words.months, at)
        if month is None:
            return None
        after = month[1] + (self.line.folded(month[1]) == "." and self.line.glued(month[1]))  # Dec. 24
        after = self.line.skip(("the",), after)
        if (day := self._parse_day_number(after)) and not (self._is_french_hour(day[1])):
            return self._parse_year(parsed, month[0], day[0], day[1])
        return None

    def parse_day_of_month(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse "the 1st", "the last day of the month", "the first Monday"."""
        if nth := self.parse_ordinal(at):
            if nth[0] <= 5 and (weekday := self.line.find(self.words.weekdays, nth[1])):
                self._refuse_named_month(weekday[1])
                if found := self._parse_of_every_month(parsed, OnNthWeekday(nth[0], weekday[0]), weekday[1]):
                    return found
                end = self.skip_of_the_month(weekday[1])
                if nth[0] == LAST and end == weekday[1] and not parsed.every:
                    return None  # "last monday" is in the past
                return replace(parsed, day=OnNthWeekday(nth[0], weekday[0])), end
            unit = self.line.find(self.words.units, nth[1])
            if unit and unit[0] == "day" and nth[0] in (1, -1):
                self._refuse_named_month(unit[1])
                if found := self._parse_of_every_month(parsed, OnDayOfMonth(nth[0]), unit[1]):
                    return found
                return replace(parsed, day=OnDayOfMonth(nth[0])), self.skip_of_the_month(unit[1])
            if nth[0] > 0 and (found := self._parse_of_every_month(parsed, OnDayOfMonth(nth[0]), nth[1])):
                return found
            if nth[0] > 0 and self.skip_of_the_month(nth[1]) > nth[1]:
                return replace(parsed, day=OnDayOfMonth(nth[0])), self.skip_of_the_month(nth[1])
            if parsed.every and parsed.every.unit == "month":
                return replace(parsed, day=OnDayOfMonth(nth[0])), nth[1]
        number = self._parse_day_number(at)
        hour = number and self.line.folded(number[1]) in ("every", "each")  # "at 9 every month"
        if (
            number
            and not hour
            and (found := self._parse_of_every_month(parsed, OnDayOfMonth(number[0]), number[1]))
        ):
            return found
        unit_again = parsed.every.unit if parsed.every else ""
        article = self.line.folded(at - 1) if at else ""
        if number and (
            (article == "dia" and not unit_again) or (unit_again == "month" and article in _ARTICLES)
        ):
            return replace(parsed, day=OnDayOfMonth(number[0])), number[1]  # el día 15; tous les mois le 5
        if number and number[1] == at + 1 and self.line.folded(at + 1) in _DAY_SIGNS:
            if (
                self.line.skip(self.words.ago, at + 2) > at + 2
                or self.line.skip(self.words.later, at + 2) > at + 2
            ):
                return None  # 2日前, 2日後
            return replace(parsed, day=OnDayOfMonth(number[0])), at + 2
        if number and number[1] == at + 2:  # with st, nd, rd, th or a point
            return replace(parsed, day=OnDayOfMonth(number[0])), self.skip_of_the_month(number[1])
        return None

    def parse_weekday_list(self, weekdays: list[int], end: int) -> tuple[list[int], int]:
        known = {**self.words.weekdays, **self.words.plural_weekdays}
        while True:
            after = end
            while (
                self.line.folded(after) in (",", "、", "/") or self.line.skip(self.words.and_, after) > after
            ):
                after += 1
            found = self.line.find(known, self.line.skip(("on", "am"), after)) if after > end else None
            if found is None:
                return weekdays, end
            weekdays, end = [*weekdays, found[0]], found[1]

    def parse_ordinal(self, at: int) -> tuple[int, int] | None:
        """Parse "second", "2nd", "zweiten", `2.`; -1 is the last."""
        number = self._parse_day_number(at)
        return number if number and number[1] == at + 2 else self.line.find(self.words.nth, at)

    def skip_of_the_month(self, at: int) -> int:
        known = (
            "of the month",
            "of each month",
            "of every month",
            "in the month",
            "of a month",
            "des monats",
            "im monat",
        )
        return self.line.skip(known, at)

    def _parse_numeric_date(self, parsed: ParsedTime, at: int) -> ParseResult:
        kind, text = self.line.kind(at), self.line.folded(at)
        try:
            if kind == "iso":
                return _iso(parsed, text.upper()), at + 1
            if kind == "dotted":
                day, month, year = [*text.rstrip(".").split("."), ""][:3]
                return replace(parsed, day=OnDate(int(month), int(day), _year(year))), at + 1
            if kind == "slashed":
                return replace(parsed, day=_slashed(text)), at + 1
        except ValueError:
            raise TimeParseError("no_date", date=text.upper()) from None
        return None

    def _parse_named_day(self, parsed: ParsedTime, at: int) -> ParseResult:
        if early := self.line.find(self.words.days_with_part, at):
            (days, part), end = early
            return replace(parsed, day=DaysAhead(days), part=part), end
        if on_weekday := self.line.find(self.words.weekdays_with_part, at):
            (weekday_number, part), end = on_weekday
            return replace(parsed, day=OnWeekdays((weekday_number,)), part=part), end
        if found := self.line.find(self.words.days, at):
            return replace(parsed, day=DaysAhead(found[0])), found[1]
        if period := self.line.find(self.words.next_periods, at):
            weekday = self.line.find(self.words.weekdays, self.line.skip(("の",), period[1]))
            if period[0] == "week" and weekday:
                return replace(parsed, day=OnWeekdays((weekday[0],), next_week=True)), weekday[1]
            return replace(parsed, day=NextPeriod(period[0])), period[1]
        after = self.line.skip(self.words.next, at)
        if (
            after > at
            and (unit := self.line.find(self.words.units, after))
            and unit[0] in ("week", "month", "year")
        ):
            if unit[0] == "week" and (weekday := self.line.find(self.words.weekdays, unit[1])):
                return replace(parsed, day=OnWeekdays((weekday[0],), next_week=True)), weekday[1]
            return replace(parsed, day=NextPeriod(unit[0])), unit[1]
        return None

    def _parse_weekday(self, parsed: ParsedTime, at: int) -> ParseResult:
        after = self.line.skip(self.words.next, at)
        next_week = after > at
        after = self.line.skip(self.words.this, at) if after == at else after
        first = self.line.find(self.words.weekdays, after)
        if first is None and parsed.every:  # every two weeks on mondays
            first = self.line.find(self.words.plural_weekdays, after)
        if first is None:
            return None
        weekdays, end = [first[0]], first[1]
        if (after := self.line.skip(self.words.next_after, end)) > end:
            return replace(parsed, day=OnWeekdays(tuple(weekdays))), after
        following = self.line.skip(self.words.next, end)
        if (period := self.line.find(self.words.next_periods, end)) and period[0] == "week":
            next_week, end = True, period[1]
        elif following > end and (unit := self.line.find(self.words.units, following)) and unit[0] == "week":
            next_week, end = True, unit[1]
        if parsed.every:
            weekdays, end = self.parse_weekday_list(weekdays, end)
        elif not (next_week or parsed.span) and (dated := self._parse_date_after_weekday(parsed, end)):
            return replace(dated[0], weekday=first[0]), dated[1]
        return replace(parsed, day=OnWeekdays(tuple(weekdays), next_week)), end

    def _parse_date_after_weekday(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse "Friday, 4 December", "Freitag, der 4.12."."""
        for _ in range(_MAX_FILLERS):
            for parse in (self._parse_numeric_date, self.parse_date_with_month, self.parse_day_of_month):
                if found := parse(parsed, at):
                    return found
            at = self.line.skip((",", "the", "der", "den", "dem", "on"), at)
        return None

    def _is_french_hour(self, at: int) -> bool:
        """Return whether it is an hour: in "mar 8h" "mar" is a French Tuesday."""
        return self.line.glued(at) and self.line.folded(at) == "h"

    def _parse_year(self, parsed: ParsedTime, month: int, day: int, end: int) -> ParseResult:
        after = end + 1 if self.line.folded(end) in (",", ".") else end
        year = self.line.integer(after)
        if year is not None and len(self.line.folded(after)) == 4 and 1900 < year < 2400:
            return self._with_valid_date(parsed, OnDate(month, day, year), after + 1)
        return self._with_valid_date(parsed, OnDate(month, day), end)

    def _with_valid_date(self, parsed: ParsedTime, day: OnDate, end: int) -> ParseResult:
        longest = 29 if day.month == 2 else 30 if day.month in (4, 6, 9, 11) else 31
        if not (1 <= day.month <= 12 and 1 <= day.day <= longest):
            raise TimeParseError("no_date", date=day_in_words(day))
        return replace(parsed, day=day), end

    def _parse_day_number(self, at: int) -> tuple[int, int] | None:
        """Parse "3", "3rd", `3.`; not the hour of 9:00."""
        number = self.line.integer(at)
        if number is None or not 1 <= number <= 31:
            return None
        if self.line.glued(at + 1) and self.line.folded(at + 1) in ("st", "nd", "rd", "th", "er", "."):
            return number, at + 2
        return number, at + 1

    def _refuse_named_month(self, at: int) -> None:
        """Refuse "the last day of february", which would be taken for this month."""
        after = self.line.skip(("of", "in", "im", "de", "des"), at)
        if after > at and self.line.find(self.words.months, after):
            raise TimeParseError("unread")

    def _parse_of_every_month(
        self, parsed: ParsedTime, day: OnDayOfMonth | OnNthWeekday, at: int
    ) -> ParseResult:
        """Parse "of every month" after a day."""
        if (end := self.line.skip(self.words.of_every_month, at)) > at and not (parsed.every or parsed.span):
            return replace(parsed, every=Every("month"), day=day), end
        return None


def _iso(parsed: ParsedTime, text: str) -> ParsedTime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return replace(parsed, instant=moment)
    clocks = (TimeOfDay(moment.time(), sure=True),) if len(text) > 10 else parsed.clocks
    if len(text) > 10 and parsed.clocks:
        raise ValueError("two times of day")
    return replace(parsed, day=OnDate(moment.month, moment.day, moment.year), clocks=clocks)


def _slashed(text: str) -> OnDate:
    parts = [int(each) for each in text.split("/")]
    if parts[0] > 31:
        return OnDate(parts[1], parts[2] if len(parts) > 2 else 0, parts[0])
    first, second, *rest = parts
    if first <= 12 and second <= 12 and first != second:
        raise TimeParseError("two_dates", date=text)
    day, month = (first, second) if first > 12 or first == second else (second, first)
    return OnDate(month, day, _year(str(rest[0])) if rest else None)


def _year(text: str) -> int | None:
    return None if not text else int(text) + (2000 if len(text) == 2 else 0)
