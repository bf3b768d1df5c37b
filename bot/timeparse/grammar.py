"""What of a moment is said in a line: its words, taken as long as they fit."""

import re
from dataclasses import replace
from datetime import datetime, time, timedelta

from bot.timeparse.formatting import date_in_words
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon, TimeUnit, words
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
    Span,
    TimeOfDay,
)
from bot.timeparse.recurrence import LAST

ParseResult = tuple[ParsedTime, int] | None
"""What is said with what was found added, and the place after it."""

_MOST_FILLERS = 4
_SECONDS: dict[TimeUnit, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_THREE_DECIMALS = re.compile("[0-9]+[.,][0-9]{3}")
_MINUTES_TO = (15, 20, 25, 30)
_MINUTE_SIGNS = ("分", "分钟", "분", "분에")
_BEFORE_SPANS = ("in", "within", "dans", "tra", "fra", "через")
_ORDINALS = ("o", "a", "°", "er")
_DAY_SIGNS = ("日", "号", "號", "일", "일에")
_ONE_AS_ARTICLE = frozenset(
    ("a", "an", "ein", "eine", "einen", "einem", "einer", "un", "une", "una", "uno", "um", "uma", "一")
)
"""Words for one that are an hour only behind "la", or before a part of the day."""
_CALENDAR_SIGNS = ("月", "年", "년")
"""Behind a number they name a month or a year, unless "in" or "later" makes a span of them."""
_WORKDAYS = ("weekdays", "workdays", "werktags", "werktage", "工作日", "平日", "평일", "평일에")
_ARTICLES = ("le", "el", "il", "dia")
_SHORT_PARTS = frozenset(("morning", "noon", "midday", "afternoon", "evening", "night", "midnight"))
"""Behind a time of day they belong to the text: "9:00 morning run"."""


class Grammar:
    """Reads one line."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line
        self.words: TimeLexicon = words()

    def read(self, at: int) -> tuple[ParsedTime, int]:
        """Take what tells a moment from a place on; the place after it is `at` where nothing does."""
        said, end = ParsedTime(), at
        try:
            while (found := self._next(said, end)) is not None:
                said, end = found
                if said.span and said.span.elapsed:
                    break
        except OverflowError:
            raise TimeParseError("too_far") from None
        self._check_doubt(said, end)
        return said, end

    def _next(self, said: ParsedTime, at: int) -> ParseResult:
        behind_at = False
        for _ in range(_MOST_FILLERS):
            ways = (self._every, self._day, self._part)
            found = [each for way in ways if (each := way(said, at))]
            if clock := self._clock(said, at, behind_at):
                found.append(clock)
            if not behind_at and (span := self._span(said, at)):  # "um 20h" is a time of day
                found.append(span)
            if found:
                return max(found, key=lambda each: each[1])
            behind, after = self.line.skip(self.words.at, at), self.line.skip(self.words.fillers, at)
            behind_at = behind > at and behind >= after
            if max(behind, after) == at:
                return None
            at = max(behind, after)
        return None

    def _check_doubt(self, said: ParsedTime, end: int) -> None:
        """Refuse a bare number behind a day: it may be an hour, or how many."""
        if (
            (said.day or said.every or said.span)
            and not (said.clocks or said.part)
            and not _below_a_day(said)
        ):
            hour = _integer(self.line, end)
            glued = self.line.glued(end + 1) and self.line.folded(end + 1) not in _ORDINALS
            if hour is not None and hour <= 24 and not glued:
                begin = self.line.text[: self.line.tokens[end - 1].end].strip()
                raise TimeParseError("doubt", number=hour, begin=begin)

    # -- how far from now -------------------------------------------------------------------------------------

    def _span(self, said: ParsedTime, at: int) -> ParseResult:
        if said != ParsedTime(clocks=said.clocks):
            return None
        begin = self.line.skip(self.words.within, at)
        if begin == at and self.line.kind(at) != "number" and not self._half_unit(at):
            begin = at
        amounts = self._amounts(begin) or self._bare_unit(begin)
        if amounts is None:
            return None
        span, end = amounts
        after = self.line.skip(self.words.later, end)
        digits = self.line.kind(begin) == "number"
        if begin == at and after == end and not (digits and not said.clocks):
            return None  # "a week", "an hour": no moment by itself
        if begin == at and after == end and self.line.folded(end - 1) in _CALENDAR_SIGNS:
            return None  # 1月: January
        if span.elapsed and said.clocks:
            return None
        return replace(said, span=span), after

    def _bare_unit(self, at: int) -> tuple[Span, int] | None:
        """One, without a number: через час."""
        unit = self.line.find(self.words.units, at) if self.line.folded(at) in self.words.bare_units else None
        span = _span_of(1, unit[0]) if unit else None
        return (span, unit[1]) if unit and span else None

    def _half_unit(self, at: int) -> bool:
        return self.line.skip(self.words.half, at) > at

    def _amounts(self, at: int) -> tuple[Span, int] | None:
        """2 hours and 15 minutes, 2h30, half an hour."""
        span = Span()
        end = at
        while amount := self._amount(self.line.skip(self.words.and_, end) if end > at else end):
            count, unit, end = amount
            more = _span_of(count, unit)
            if more is None:
                return None
            span = Span(span.months + more.months, span.days + more.days, span.elapsed + more.elapsed)
            minutes = _integer(self.line, end)
            glued = self.line.glued(end) and not self.line.glued(end + 1)
            if unit == "hour" and minutes is not None and glued and minutes < 60:  # 2h30
                span, end = replace(span, elapsed=span.elapsed + timedelta(minutes=minutes)), end + 1
        return (span, end) if end > at else None

    def _amount(self, at: int) -> tuple[float, TimeUnit, int] | None:
        if minutes := self.line.find(self.words.minutes, at):
            halved = self.line.skip(self.words.and_a_half, minutes[1]) if minutes[0] == 60 else minutes[1]
            return minutes[0] + 30 * (halved > minutes[1]), "minute", halved
        count, after = self._count(at)
        if count is None:
            return None
        halved = self.line.skip(self.words.and_a_half, after)
        if halved > after and (unit := self.line.find(self.words.units, halved)):
            return count + 0.5, unit[0], unit[1]
        if unit := self.line.find(self.words.units, after):
            halved = self.line.skip(self.words.and_a_half, unit[1])
            return (count + 0.5, unit[0], halved) if halved > unit[1] else (count, *unit)
        return None

    def _count(self, at: int) -> tuple[float | None, int]:
        if self.line.kind(at) == "number":
            self._check_separator(at)
            return float(self.line.folded(at).replace(",", ".")[:12]), at + 1
        ways = [
            (0.5, self.line.skip(self.words.half, at)),
            (0.25, self.line.skip(self.words.quarter, at)),
            *([(float(number[0]), number[1])] if (number := self.line.find(self.words.numbers, at)) else []),
        ]
        count, after = max(ways, key=lambda way: way[1])
        return (count, after) if after > at else (None, at)

    def _check_separator(self, at: int) -> None:
        """Refuse "2,000": two thousand, or two."""
        number = self.line.folded(at)
        if _THREE_DECIMALS.fullmatch(number) and self._names_unit(at + 1):
            plain, point = re.sub("[.,]", "", number), f"{float(number.replace(',', '.')):g}"
            raise TimeParseError("separator", number=number, plain=plain, point=point)

    def _names_unit(self, at: int) -> bool:
        return self.line.find(self.words.units, at) is not None

    # -- times of day -----------------------------------------------------------------------------------------

    def _clock(self, said: ParsedTime, at: int, behind_at: bool) -> ParseResult:
        if said.clocks or (said.span and said.span.elapsed) or said.instant:
            return None
        if self.line.kind(at) == "clock" and at and self.line.folded(at - 1) in _BEFORE_SPANS:
            return None  # "in 2:30" is no time of day
        clock = self._one_clock(
            at, behind_at or self._ends_behind_day(said, at), bool(said.day or said.every)
        )
        if clock is None:
            return None
        clocks, end = [clock[0]], clock[1]
        while said.every:  # at 8:00, 12:00 and 20:00
            after = end + 1 if self.line.folded(end) == "," else self.line.skip(self.words.and_, end)
            more = self._one_clock(self.line.skip(self.words.at, after), behind_at) if after > end else None
            if more is None:
                break
            clocks.append(more[0])
            end = more[1]
        return replace(said, clocks=tuple(clocks)), end

    def _ends_behind_day(self, said: ParsedTime, at: int) -> bool:
        return bool((said.day or said.every) and at == len(self.line.tokens) - 1)

    def _one_clock(self, at: int, behind_at: bool, behind_day: bool = False) -> tuple[TimeOfDay, int] | None:
        line, words = self.line, self.words
        if line.kind(at) == "clock":
            hour, minute, second = [*map(int, line.folded(at).split(":")), 0][:3]
            return self._with_half_day(hour, minute, second, at, at + 1)
        if line.folded(at) == "halb" and (number := self._whole(at + 1)):
            return self._past_the_hour(number[0], -30, at, number[1])
        if behind_at and line.folded(at) == "час" and line.folded(at + 1) in ("дня", "ночи"):
            return TimeOfDay(time(13 if line.folded(at + 1) == "дня" else 1), sure=True), at + 2
        if line.folded(at) == "all una":  # one word with its apostrophe
            past = line.find(words.past_the_hour, at + 1)
            return self._past_the_hour(1, past[0], at, past[1]) if past else self._spoken(1, 0, at, at + 1)
        if relative := self._past_or_to(at):
            return relative
        if line.kind(at) == "number" and (dotted := _dotted(line.folded(at))):
            after = line.skip(words.clock, at + 1)
            if behind_at or after > at + 1 or self._half_day(at + 1):
                return self._with_half_day(*dotted, 0, at, after)
            return None
        number = self._whole(at)
        if number is None:
            return None
        value, end = number
        if self._half_day(end):
            return self._with_half_day(value, 0, 0, at, end)
        if value == 12 and line.folded(end) in ("noon", "midday", "midnight"):
            return TimeOfDay(time(0 if line.folded(end) == "midnight" else 12), sure=True), end + 1
        letters = line.folded(end)
        clock = line.skip(words.clock, end)
        if clock > end and (letters not in ("h", "hs") or behind_at or behind_day):
            if value <= 24 and (past := line.find(words.past_the_hour, clock)):
                return self._past_the_hour(value, past[0], at, past[1])
            minute, end = self._minutes_behind(clock)
            if letters in ("h", "hs"):
                return self._with_half_day(value, minute, 0, at, end)
            return self._spoken(value, minute, at, end)
        if not behind_at or (self.line.glued(end) and line.kind(end) in ("word", "number")):
            return None
        if line.folded(at) == "uma" and line.text[line.tokens[at - 1].start :].startswith(("à", "À")):
            end = line.skip(("hora",), end)  # "à uma", which is no article behind that accent
        elif (
            line.folded(at) in _ONE_AS_ARTICLE
            and line.folded(at - 1) != "la"
            and not line.find(words.parts, end)
        ):
            return None  # "at a friend's", "um eine Antwort"
        if value <= 24 and (past := line.find(words.past_the_hour, end)):
            return self._past_the_hour(value, past[0], at, past[1])
        if line.kind(at) == "number" and len(line.folded(at)) == 4:
            return self._with_half_day(value // 100, value % 100, 0, at, line.skip(("hours", "hrs"), end))
        if line.kind(at) == "word" and value <= 12 and (minutes := self._minutes_in_words(end)):
            return self._spoken(value, minutes[0], at, minutes[1])
        if line.folded(end) == "%" or any((line.find(words.units, end), line.find(words.months, end))):
            return None
        return self._spoken(value, 0, at, end) if value <= 24 else None

    def _minutes_behind(self, at: int) -> tuple[int, int]:
        """9 Uhr 30, 9点30分, 9点零五, huit heures trente."""
        spoken = self.line.find({**self.words.spoken_minutes, **self.words.few_minutes}, at)
        if spoken and not self.line.find(self.words.units, spoken[1]):
            return spoken
        if self.line.folded(at) in ("零", "〇") and (few := self._whole(at + 1)) and few[0] < 10:
            return few[0], few[1] + (self.line.folded(few[1]) in _MINUTE_SIGNS)
        number = self._whole(at)
        if (
            number
            and self.line.kind(at) == "word"
            and 12 < number[0] < 60
            and "\u3400" <= self.line.folded(at)[0] <= "\u9fff"
        ):
            return number[0], number[1] + (self.line.folded(number[1]) in _MINUTE_SIGNS)
        signed = number is not None and self.line.folded(number[1]) in _MINUTE_SIGNS
        if (
            number
            and number[0] < 60
            and (signed or self.line.kind(at) != "number" or len(self.line.folded(at)) == 2)
        ):
            after = number[1] + (self.line.folded(number[1]) in _MINUTE_SIGNS)
            if self.line.folded(at + 1) in _MINUTE_SIGNS or self.line.kind(at) == "number":
                return number[0], after
        return 0, at

    def _minutes_in_words(self, at: int) -> tuple[int, int] | None:
        """Behind an hour in words: five thirty, ocho y diez."""
        joined = at + (self.line.folded(at) in ("y", "e", "et"))
        known = {**self.words.spoken_minutes, **(self.words.few_minutes if joined > at else {})}
        return self.line.find(known, joined)

    def _past_the_hour(self, hour: int, minutes: int, begin: int, end: int) -> tuple[TimeOfDay, int] | None:
        total = hour * 60 + minutes
        if hour == 1 and minutes < 0:
            total += 12 * 60  # "quarter to one" is as 12:45 is
        return self._spoken(total // 60 % 24, total % 60, begin, end)

    def _past_or_to(self, at: int) -> tuple[TimeOfDay, int] | None:
        """Half past nine, quarter to ten, zehn nach acht; "from 9 to 17" is a range."""
        line, words = self.line, self.words
        if at and line.folded(at - 1) in words.from_:
            return None
        after = line.skip(words.quarter, at)
        minutes = 15
        if after == at and line.folded(at) == "half":
            after, minutes = at + 1, 30
        elif after == at and (number := self._whole(at)) and number[0] < 60:
            minutes, after = number
            after = unit[1] if (unit := line.find(words.units, after)) and unit[0] == "minute" else after
        if after == at:
            return None
        for phrases_, way in ((words.past, 1), (words.to, -1)):
            behind = line.skip(phrases_, after)
            if line.folded(after) in ("to", "till") and after == at + 1 and minutes not in _MINUTES_TO:
                continue  # "3 to 4", "10 to 12" are ranges
            if (
                behind > after
                and (hour := self._whole(behind))
                and hour[0] <= 24
                and line.kind(behind) != "clock"
            ):
                if self._names_unit(hour[1]) and line.skip(words.clock, hour[1]) == hour[1]:
                    return None  # "3 to 4 hours"
                return self._past_the_hour(hour[0], way * minutes, at, line.skip(words.clock, hour[1]))
        return None

    def _whole(self, at: int) -> tuple[int, int] | None:
        number = _integer(self.line, at)
        return (number, at + 1) if number is not None else self.line.find(self.words.numbers, at)

    def _half_day(self, at: int) -> str:
        """Am or pm, where it stands there: not the German word before a day."""
        if self.line.folded(at) in self.words.pm:
            return "pm"
        if self.line.folded(at) not in self.words.am:
            return ""
        behind = self.line.find(self.words.parts, at), self.line.find(self.words.weekdays, at + 1)
        german = any(behind) or (self.line.kind(at + 1) in ("number", "dotted") and not self.line.glued(at))
        return "" if german else "am"

    def _spoken(self, hour: int, minute: int, begin: int, end: int) -> tuple[TimeOfDay, int] | None:
        """At 3, half past 3: as people say it; 03 is what a clock shows."""
        found = self._with_half_day(hour, minute, 0, begin, end)
        shown = self.line.folded(begin).startswith("0")
        return (replace(found[0], spoken=not shown), found[1]) if found else None

    def _with_half_day(
        self, hour: int, minute: int, second: int, begin: int, end: int
    ) -> tuple[TimeOfDay, int] | None:
        end = self.line.skip(self.words.clock, end)
        half = self._half_day(end)
        if half:
            end += 1
            if hour <= 12:
                hour = hour % 12 + (12 if half == "pm" else 0)
        try:
            return TimeOfDay(time(hour, minute, second), sure=bool(half) or hour > 12), end
        except ValueError:
            shown = self.line.text[self.line.tokens[begin].start : self.line.tokens[end - 1].end]
            raise TimeParseError("no_clock", time=shown) from None

    def _part(self, said: ParsedTime, at: int) -> ParseResult:
        if said.instant or (said.span and said.span.elapsed):
            return None
        found = self.line.find(self.words.parts, at)
        if found is None:
            return None
        part, end = found
        if (said.part, part) in (("tonight", "midnight"), ("midnight", "tonight")) and not said.clocks:
            return replace(said, part="midnight", day=DaysAhead(0)), end
        if said.part:
            return None
        text = " ".join(self.line.folded(each) for each in range(at, end))
        if said.clocks and text in _SHORT_PARTS and not self._behind_day(said, at):
            return None
        today = text in self.words.todays
        if today and said.day and said.day != DaysAhead(0):
            return None
        return replace(said, part=part, today=today), end

    def _behind_day(self, said: ParsedTime, at: int) -> bool:
        """At 8 tomorrow evening, at 8 on friday evening."""
        tables = (self.words.days, self.words.weekdays)
        found = (self.line.find(table, begin) for table in tables for begin in range(max(0, at - 4), at))
        return bool(said.day) and any(each and each[1] == at for each in found)

    # -- days -------------------------------------------------------------------------------------------------

    def _day(self, said: ParsedTime, at: int) -> ParseResult:
        if said.day or said.instant:
            return None
        if said.span:  # in 2 weeks on Monday
            whole = not (said.span.elapsed or said.span.months or said.span.days % 7)
            return self._weekday(said, at) if whole else None
        for way in (
            self._written_date,
            self._named_day,
            self._date_with_month,
            self._weekday,
            self._of_month,
        ):
            if found := way(said, at):
                return found
        return None

    def _written_date(self, said: ParsedTime, at: int) -> ParseResult:
        kind, text = self.line.kind(at), self.line.folded(at)
        try:
            if kind == "iso":
                return _iso(said, text.upper()), at + 1
            if kind == "dotted":
                day, month, year = [*text.rstrip(".").split("."), ""][:3]
                return replace(said, day=OnDate(int(month), int(day), _year(year))), at + 1
            if kind == "slashed":
                return replace(said, day=_slashed(text)), at + 1
        except ValueError:
            raise TimeParseError("no_date", date=text.upper()) from None
        return None

    def _named_day(self, said: ParsedTime, at: int) -> ParseResult:
        if early := self.line.find(self.words.days_with_part, at):
            (days, part), end = early
            return replace(said, day=DaysAhead(days), part=part), end
        if found := self.line.find(self.words.days, at):
            return replace(said, day=DaysAhead(found[0])), found[1]
        if period := self.line.find(self.words.next_periods, at):
            weekday = self.line.find(self.words.weekdays, self.line.skip(("の",), period[1]))
            if period[0] == "week" and weekday:
                return replace(said, day=OnWeekdays((weekday[0],), next_week=True)), weekday[1]
            return replace(said, day=NextPeriod(period[0])), period[1]
        after = self.line.skip(self.words.next, at)
        if (
            after > at
            and (unit := self.line.find(self.words.units, after))
            and unit[0] in ("week", "month", "year")
        ):
            if unit[0] == "week" and (weekday := self.line.find(self.words.weekdays, unit[1])):
                return replace(said, day=OnWeekdays((weekday[0],), next_week=True)), weekday[1]
            return replace(said, day=NextPeriod(unit[0])), unit[1]
        return None

    def _weekday(self, said: ParsedTime, at: int) -> ParseResult:
        after = self.line.skip(self.words.next, at)
        next_week = after > at
        after = self.line.skip(self.words.this_one, at) if after == at else after
        first = self.line.find(self.words.weekdays, after)
        if first is None and said.every:  # every two weeks on mondays
            first = self.line.find(self.words.all_such_days, after)
        if first is None:
            return None
        weekdays, end = [first[0]], first[1]
        if (after := self.line.skip(self.words.next_behind, end)) > end:
            return replace(said, day=OnWeekdays(tuple(weekdays))), after
        behind = self.line.skip(self.words.next, end)
        if (period := self.line.find(self.words.next_periods, end)) and period[0] == "week":
            next_week, end = True, period[1]
        elif behind > end and (unit := self.line.find(self.words.units, behind)) and unit[0] == "week":
            next_week, end = True, unit[1]
        if said.every:
            weekdays, end = self._more_weekdays(weekdays, end)
        elif not (next_week or said.span) and (dated := self._date_behind_weekday(said, end)):
            return replace(dated[0], weekday=first[0]), dated[1]
        return replace(said, day=OnWeekdays(tuple(weekdays), next_week)), end

    def _date_behind_weekday(self, said: ParsedTime, at: int) -> ParseResult:
        """Friday, 4 December; Freitag, der 4.12."""
        for _ in range(_MOST_FILLERS):
            for way in (self._written_date, self._date_with_month, self._of_month):
                if found := way(said, at):
                    return found
            at = self.line.skip((",", "the", "der", "den", "dem", "on"), at)
        return None

    def _more_weekdays(self, weekdays: list[int], end: int) -> tuple[list[int], int]:
        known = {**self.words.weekdays, **self.words.all_such_days}
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

    def _date_with_month(self, said: ParsedTime, at: int) -> ParseResult:
        """3 December, 3rd of December 2027, December 3, 12月3日."""
        year = _integer(self.line, at)
        if year is not None and len(self.line.folded(at)) == 4 and self.line.folded(at + 1) in ("年", "년"):
            dated = self._date_with_month(said, at + 2)
            if dated and isinstance(dated[0].day, OnDate):
                return replace(said, day=replace(dated[0].day, year=year)), dated[1]
            return None
        day = self._day_number(at) or self.line.find(self.words.nth, at)
        if day is not None and day[0] > 0:
            after = self.line.skip(("of", "de", "of the"), day[1])
            if month := self.line.find(self.words.months, after):
                return self._with_year(said, month[0], day[0], month[1])
            number = _integer(self.line, day[1] + 1) if self.line.folded(day[1]) in ("月", "월") else None
            if number is not None and self.line.folded(day[1] + 2) in _DAY_SIGNS:
                return self._checked(said, OnDate(day[0], number), day[1] + 3)
            return None
        month = self.line.find(self.words.months, at)
        if month is None:
            return None
        after = month[1] + (self.line.folded(month[1]) == "." and self.line.glued(month[1]))  # Dec. 24
        after = self.line.skip(("the",), after)
        if (day := self._day_number(after)) and not (self._is_hour(day[1])):
            return self._with_year(said, month[0], day[0], day[1])
        return None

    def _is_hour(self, at: int) -> bool:
        """Mar 8h is a French tuesday."""
        return self.line.glued(at) and self.line.folded(at) == "h"

    def _with_year(self, said: ParsedTime, month: int, day: int, end: int) -> ParseResult:
        after = end + 1 if self.line.folded(end) in (",", ".") else end
        year = _integer(self.line, after)
        if year is not None and len(self.line.folded(after)) == 4 and 1900 < year < 2400:
            return self._checked(said, OnDate(month, day, year), after + 1)
        return self._checked(said, OnDate(month, day), end)

    def _checked(self, said: ParsedTime, day: OnDate, end: int) -> ParseResult:
        longest = 29 if day.month == 2 else 30 if day.month in (4, 6, 9, 11) else 31
        if not (1 <= day.month <= 12 and 1 <= day.day <= longest):
            raise TimeParseError("no_date", date=date_in_words(day))
        return replace(said, day=day), end

    def _day_number(self, at: int) -> tuple[int, int] | None:
        """3, 3rd, `3.`; not the hour of 9:00."""
        number = _integer(self.line, at)
        if number is None or not 1 <= number <= 31:
            return None
        if self.line.glued(at + 1) and self.line.folded(at + 1) in ("st", "nd", "rd", "th", "er", "."):
            return number, at + 2
        return number, at + 1

    def _of_month(self, said: ParsedTime, at: int) -> ParseResult:
        """The 1st, the last day of the month, the first Monday."""
        if nth := self._nth(at):
            if nth[0] <= 5 and (weekday := self.line.find(self.words.weekdays, nth[1])):
                self._check_named_month(weekday[1])
                if found := self._of_every_month(said, OnNthWeekday(nth[0], weekday[0]), weekday[1]):
                    return found
                end = self._of_the_month(weekday[1])
                if nth[0] == LAST and end == weekday[1] and not said.every:
                    return None  # "last monday" is over
                return replace(said, day=OnNthWeekday(nth[0], weekday[0])), end
            unit = self.line.find(self.words.units, nth[1])
            if unit and unit[0] == "day" and nth[0] in (1, -1):
                self._check_named_month(unit[1])
                if found := self._of_every_month(said, OnDayOfMonth(nth[0]), unit[1]):
                    return found
                return replace(said, day=OnDayOfMonth(nth[0])), self._of_the_month(unit[1])
            if nth[0] > 0 and (found := self._of_every_month(said, OnDayOfMonth(nth[0]), nth[1])):
                return found
            if nth[0] > 0 and self._of_the_month(nth[1]) > nth[1]:
                return replace(said, day=OnDayOfMonth(nth[0])), self._of_the_month(nth[1])
            if said.every and said.every.unit == "month":
                return replace(said, day=OnDayOfMonth(nth[0])), nth[1]
        number = self._day_number(at)
        hour = number and self.line.folded(number[1]) in ("every", "each")  # "at 9 every month"
        if number and not hour and (found := self._of_every_month(said, OnDayOfMonth(number[0]), number[1])):
            return found
        unit_again = said.every.unit if said.every else ""
        article = self.line.folded(at - 1) if at else ""
        if number and (
            (article == "dia" and not unit_again) or (unit_again == "month" and article in _ARTICLES)
        ):
            return replace(said, day=OnDayOfMonth(number[0])), number[1]  # el día 15; tous les mois le 5
        if number and number[1] == at + 1 and self.line.folded(at + 1) in _DAY_SIGNS:
            if (
                self.line.skip(self.words.ago, at + 2) > at + 2
                or self.line.skip(self.words.later, at + 2) > at + 2
            ):
                return None  # 2日前, 2日後
            return replace(said, day=OnDayOfMonth(number[0])), at + 2
        if number and number[1] == at + 2:  # with st, nd, rd, th or a point
            return replace(said, day=OnDayOfMonth(number[0])), self._of_the_month(number[1])
        return None

    def _check_named_month(self, at: int) -> None:
        """Refuse "the last day of february": it would be of this month."""
        after = self.line.skip(("of", "in", "im", "de", "des"), at)
        if after > at and self.line.find(self.words.months, after):
            raise TimeParseError("unread")

    def _of_every_month(self, said: ParsedTime, day: OnDayOfMonth | OnNthWeekday, at: int) -> ParseResult:
        """On the 1st of every month."""
        if (end := self.line.skip(self.words.of_every_month, at)) > at and not (said.every or said.span):
            return replace(said, every=Every("month"), day=day), end
        return None

    def _of_the_month(self, at: int) -> int:
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

    # -- again and again --------------------------------------------------------------------------------------

    def _every(self, said: ParsedTime, at: int) -> ParseResult:
        if said.every or said.span or said.instant:
            return None
        if found := self.line.find(self.words.every_unit, at):
            return replace(said, every=_every_of(1, found[0])), found[1]
        if not said.day and (such := self.line.find(self.words.all_such_days, at)):
            weekdays, end = self._more_weekdays([such[0]], such[1])
            return replace(said, every=Every("week"), day=OnWeekdays(tuple(weekdays))), end
        if self.line.folded(at) in _WORKDAYS:
            return replace(said, every=Every("week"), day=OnWeekdays((0, 1, 2, 3, 4))), at + 1
        after = self.line.skip(self.words.every, at)
        if after == at:
            return None
        return self._behind_every(said, after)

    def _behind_every(self, said: ParsedTime, at: int) -> ParseResult:
        line, words = self.line, self.words
        if line.folded(at) in ("morgen", "manana"):  # in the morning, not tomorrow
            return replace(said, every=Every("day"), part="morning"), at + 1
        if part := line.find(words.parts, at):
            return replace(said, every=Every("day"), part=part[0]), part[1]
        for known, weekdays in ((words.workdays, (0, 1, 2, 3, 4)), (words.weekend, (5, 6))):
            if (after := line.skip(known, at)) > at and not said.day:
                return replace(said, every=Every("week"), day=OnWeekdays(weekdays)), after
        if unit := line.find(words.units, at):
            behind = line.find(words.units, unit[1]), line.find(words.weekdays, unit[1])
            if unit[0] == "second" and any(behind):
                return self._second(said, unit[1])
            if unit[0] == "month" and line.folded(unit[1]) == "末":  # 毎月末
                return replace(said, every=Every("month"), day=OnDayOfMonth(LAST)), unit[1] + 1
            halved = line.skip(words.and_a_half, unit[1])
            return replace(said, every=_every_of(1.5 if halved > unit[1] else 1, unit[0])), halved
        after = line.skip(words.second, at)
        if after == at and (nth := self._nth(at)) and nth[0] == 2:
            after = nth[1]
        if after > at and (found := self._second(said, after)):
            return found
        if nth_unit := self._nth_unit(at):
            return replace(said, every=_every_of(nth_unit[0], nth_unit[1])), nth_unit[2]
        if amount := self._amount(at):
            count, of, end = amount
            if line.folded(at - 1) == "alle" and line.folded(end - 1) in ("ora", "ore", "minuti"):
                return None  # Italian: "alle 20 ora di cena"
            apart = line.folded(at - 1) == "每隔" and of not in ("second", "minute", "hour")
            if apart and count != 1:
                return None  # 每隔两天: every two days, or every three
            return replace(said, every=_every_of(2 if apart else count, of)), end
        if found := self._date_with_month(said, at):
            return replace(found[0], every=Every("year")), found[1]
        if weekday := line.find(words.weekdays, at):
            days, end = self._more_weekdays([weekday[0]], weekday[1])
            return replace(said, every=Every("week"), day=OnWeekdays(tuple(days))), end
        if found := self._of_month(said, at):
            return replace(found[0], every=Every("month")), found[1]
        return None

    def _nth(self, at: int) -> tuple[int, int] | None:
        """Second, 2nd, zweiten, `2.`; -1 is the last."""
        number = self._day_number(at)
        return number if number and number[1] == at + 2 else self.line.find(self.words.nth, at)

    def _nth_unit(self, at: int) -> tuple[int, TimeUnit, int] | None:
        """Every 3rd day, every third day."""
        nth = self._nth(at)
        unit = self.line.find(self.words.units, nth[1]) if nth and nth[0] > 1 else None
        return (nth[0], unit[0], unit[1]) if nth and unit else None

    def _second(self, said: ParsedTime, at: int) -> ParseResult:
        """Every second week, every other Monday; every second Monday of the month is another thing."""
        if unit := self.line.find(self.words.units, at):
            return replace(said, every=_every_of(2, unit[0])), unit[1]
        if weekday := self.line.find(self.words.weekdays, at):
            if (end := self._of_the_month(weekday[1])) > weekday[1]:
                return replace(said, every=Every("month"), day=OnNthWeekday(2, weekday[0])), end
            return replace(said, every=Every("week", 2), day=OnWeekdays((weekday[0],))), weekday[1]
        return None


def _below_a_day(said: ParsedTime) -> bool:
    return bool((said.every and said.every.unit == "minute") or (said.span and said.span.elapsed))


def _every_of(count: float, unit: TimeUnit) -> Every:
    if unit in ("hour", "minute", "second"):
        minutes = count * _SECONDS[unit] / 60
        if minutes < 1:
            raise TimeParseError("too_often")
        count, unit = minutes, "minute"
    if count != int(count) or not 1 <= count <= 100_000:
        raise TimeParseError("no_count", count=f"{count:g}", unit=unit)
    return Every(unit, int(count))


def _span_of(count: float, unit: TimeUnit) -> Span | None:
    if count > 1_000_000_000:
        raise TimeParseError("no_count", count=f"{count:g}", unit=unit)
    whole = count == int(count)
    if unit in ("month", "year"):
        return Span(months=int(count) * (12 if unit == "year" else 1)) if whole else None
    if unit in ("day", "week") and whole:
        return Span(days=int(count) * (7 if unit == "week" else 1))
    return Span(elapsed=timedelta(seconds=count * _SECONDS[unit]))


def _integer(line: TokenLine, at: int) -> int | None:
    text = line.folded(at)
    return int(text) if line.kind(at) == "number" and text.isdigit() and len(text) <= 9 else None


def _dotted(text: str) -> tuple[int, int] | None:
    hour, point, minute = text.partition(".")
    return (int(hour), int(minute)) if point and len(hour) <= 2 and len(minute) == 2 else None


def _iso(said: ParsedTime, text: str) -> ParsedTime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return replace(said, instant=moment)
    clocks = (TimeOfDay(moment.time(), sure=True),) if len(text) > 10 else said.clocks
    if len(text) > 10 and said.clocks:
        raise ValueError("two times of day")
    return replace(said, day=OnDate(moment.month, moment.day, moment.year), clocks=clocks)


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
