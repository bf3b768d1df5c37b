"""Parse repetitions: "every day", "every second Monday", 毎月末."""

from dataclasses import replace

from bot.timeparse.day_parser import DayParser
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import EVERY_SUFFIX, TimeLexicon, TimeUnit, words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import (
    Every,
    OnDayOfMonth,
    OnNthWeekday,
    OnWeekdays,
    ParsedTime,
    ParseResult,
)
from bot.timeparse.recurrence import LAST
from bot.timeparse.span_parser import SECONDS, SpanParser


class RecurrenceParser:
    """Parses how often a time repeats."""

    def __init__(self, line: TokenLine, spans: SpanParser, days: DayParser) -> None:
        self.line = line
        self.words: TimeLexicon = words()
        self._spans = spans
        self._days = days

    def parse(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse a repetition with its unit or days. Raises TimeParseError if its interval is not supported."""
        if parsed.every or parsed.span or parsed.instant:
            return None
        if found := self.line.find(self.words.every_unit, at):
            return replace(parsed, every=_interval(1, found[0])), found[1]
        if not parsed.day and (such := self.line.find(self.words.plural_weekdays, at)):
            weekdays, end = self._days.parse_weekday_list([such[0]], such[1])
            return replace(parsed, every=Every("week"), day=OnWeekdays(tuple(weekdays))), end
        if not parsed.day and (after := self.line.skip(self.words.on_workdays, at)) > at:
            return replace(parsed, every=Every("week"), day=OnWeekdays((0, 1, 2, 3, 4))), after
        if amount := self._spans.parse_amount(at):
            count, unit, end = amount
            after = self.line.skip(self.words.every_after, end)
            if after > end or self.line.folded(end - 1).endswith(EVERY_SUFFIX):
                return replace(parsed, every=_interval(count, unit)), after
        after = self.line.skip(self.words.every, at)
        if after == at:
            return None
        return self._parse_after_every(parsed, after)

    def _parse_after_every(self, parsed: ParsedTime, at: int) -> ParseResult:
        line, words = self.line, self.words
        if part := line.find(words.every_part, at) or line.find(words.parts, at):
            return replace(parsed, every=Every("day"), part=part[0]), part[1]
        if on_weekday := line.find(words.weekdays_with_part, at):
            (weekday_number, named_part), end = on_weekday
            return replace(
                parsed, every=Every("week"), day=OnWeekdays((weekday_number,)), part=named_part
            ), end
        for known, weekdays in ((words.workdays, (0, 1, 2, 3, 4)), (words.weekend, (5, 6))):
            if (after := line.skip(known, at)) > at and not parsed.day:
                return replace(parsed, every=Every("week"), day=OnWeekdays(weekdays)), after
        if unit := line.find(words.units, at):
            following = line.find(words.units, unit[1]), line.find(words.weekdays, unit[1])
            if unit[0] == "second" and any(following):
                return self._parse_every_second(parsed, unit[1])
            if unit[0] == "month" and line.folded(unit[1]) == "末":  # 毎月末
                return replace(parsed, every=Every("month"), day=OnDayOfMonth(LAST)), unit[1] + 1
            halved = line.skip(words.and_a_half, unit[1])
            return replace(parsed, every=_interval(1.5 if halved > unit[1] else 1, unit[0])), halved
        after = line.skip(words.second, at)
        if after == at and (nth := self._days.parse_ordinal(at)) and nth[0] == 2:
            after = nth[1]
        if after > at and (found := self._parse_every_second(parsed, after)):
            return found
        if nth_unit := self._parse_ordinal_unit(at):
            return replace(parsed, every=_interval(nth_unit[0], nth_unit[1])), nth_unit[2]
        if amount := self._spans.parse_amount(at):
            count, count_unit, end = amount
            if line.folded(at - 1) == "alle" and line.folded(end - 1) in ("ora", "ore", "minuti"):
                return None  # Italian: "alle 20 ora di cena"
            skips_one = line.folded(at - 1) == "每隔" and count_unit not in ("second", "minute", "hour")
            if skips_one and count != 1:
                return None  # 每隔两天: every two days, or every three
            return replace(parsed, every=_interval(2 if skips_one else count, count_unit)), end
        if found := self._days.parse_date_with_month(parsed, at):
            return replace(found[0], every=Every("year")), found[1]
        if weekday := line.find(words.weekdays, at):
            days, end = self._days.parse_weekday_list([weekday[0]], weekday[1])
            return replace(parsed, every=Every("week"), day=OnWeekdays(tuple(days))), end
        if found := self._days.parse_day_of_month(parsed, at):
            return replace(found[0], every=Every("month")), found[1]
        return None

    def _parse_ordinal_unit(self, at: int) -> tuple[int, TimeUnit, int] | None:
        """Parse "3rd day", "third day"; return count, unit and the index after them."""
        nth = self._days.parse_ordinal(at)
        unit = self.line.find(self.words.units, nth[1]) if nth and nth[0] > 1 else None
        return (nth[0], unit[0], unit[1]) if nth and unit else None

    def _parse_every_second(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse "second week", "other Monday"; "second Monday of the month" is monthly instead."""
        if unit := self.line.find(self.words.units, at):
            return replace(parsed, every=_interval(2, unit[0])), unit[1]
        if weekday := self.line.find(self.words.weekdays, at):
            if (end := self._days.skip_of_the_month(weekday[1])) > weekday[1]:
                return replace(parsed, every=Every("month"), day=OnNthWeekday(2, weekday[0])), end
            return replace(parsed, every=Every("week", 2), day=OnWeekdays((weekday[0],))), weekday[1]
        return None


def _interval(count: float, unit: TimeUnit) -> Every:
    if unit in ("hour", "minute", "second"):
        minutes = count * SECONDS[unit] / 60
        if minutes < 1:
            raise TimeParseError("too_often")
        count, unit = minutes, "minute"
    if count != int(count) or not 1 <= count <= 100_000:
        raise TimeParseError("no_count", count=f"{count:g}", unit=unit)
    return Every(unit, int(count))
