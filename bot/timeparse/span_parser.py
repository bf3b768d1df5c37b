"""Parse durations: "in 2 hours and 15 minutes", "half an hour", 2h30."""

import re
from dataclasses import replace
from datetime import timedelta

from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon, TimeUnit, words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import (
    ParsedTime,
    ParseResult,
    Span,
)

SECONDS: dict[TimeUnit, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_THREE_DECIMALS = re.compile("[0-9]+[.,][0-9]{3}")
_CALENDAR_SIGNS = ("月", "年", "년")
"""After a number these name a month or a year, unless "in" or "later" makes it a duration."""


class SpanParser:
    """Parses an offset from now, and the amounts that it consists of."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line
        self.words: TimeLexicon = words()

    def parse(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse an offset such as "in 2 hours"; only a time of day may precede it."""
        if parsed != ParsedTime(clocks=parsed.clocks):
            return None
        begin = self.line.skip(self.words.within, at)
        amounts = self._parse_amounts(begin) or self._parse_bare_unit(begin)
        if amounts is None:
            return None
        span, end = amounts
        after = self.line.skip(self.words.later, end)
        digits = self.line.kind(begin) == "number"
        if begin == at and after == end and not (digits and not parsed.clocks):
            return None  # "a week", "an hour": no time by themselves
        if begin == at and after == end and self.line.folded(end - 1) in _CALENDAR_SIGNS:
            return None  # 1月: January
        if span.elapsed and parsed.clocks:
            return None
        return replace(parsed, span=span), after

    def _parse_amounts(self, at: int) -> tuple[Span, int] | None:
        """Parse "2 hours and 15 minutes", 2h30, "half an hour"."""
        span = Span()
        end = at
        while amount := self.parse_amount(self.line.skip(self.words.and_, end) if end > at else end):
            count, unit, end = amount
            more = _span(count, unit)
            if more is None:
                return None
            span = Span(span.months + more.months, span.days + more.days, span.elapsed + more.elapsed)
            minutes = self.line.integer(end)
            glued = self.line.glued(end) and not self.line.glued(end + 1)
            if unit == "hour" and minutes is not None and glued and minutes < 60:  # 2h30
                span, end = replace(span, elapsed=span.elapsed + timedelta(minutes=minutes)), end + 1
        return (span, end) if end > at else None

    def parse_amount(self, at: int) -> tuple[float, TimeUnit, int] | None:
        """Return count, unit and the index after them: "2 hours", "an hour and a half"."""
        if minutes := self.line.find(self.words.minutes, at):
            halved = self.line.skip(self.words.and_a_half, minutes[1]) if minutes[0] == 60 else minutes[1]
            return minutes[0] + 30 * (halved > minutes[1]), "minute", halved
        count, after = self._parse_count(at)
        if count is None:
            return None
        halved = self.line.skip(self.words.and_a_half, after)
        if halved > after and (unit := self.line.find(self.words.units, halved)):
            return count + 0.5, unit[0], unit[1]
        if unit := self.line.find(self.words.units, after):
            halved = self.line.skip(self.words.and_a_half, unit[1])
            return (count + 0.5, unit[0], halved) if halved > unit[1] else (count, *unit)
        return None

    def _parse_bare_unit(self, at: int) -> tuple[Span, int] | None:
        """Parse one unit without a number: "через час"."""
        unit = self.line.find(self.words.units, at) if self.line.folded(at) in self.words.bare_units else None
        span = _span(1, unit[0]) if unit else None
        return (span, unit[1]) if unit and span else None

    def _parse_count(self, at: int) -> tuple[float | None, int]:
        if self.line.kind(at) == "number":
            self._refuse_ambiguous_separator(at)
            return float(self.line.folded(at).replace(",", ".")[:12]), at + 1
        counts = [
            (0.5, self.line.skip(self.words.half, at)),
            (0.25, self.line.skip(self.words.quarter, at)),
            *([(float(number[0]), number[1])] if (number := self.line.find(self.words.numbers, at)) else []),
        ]
        count, after = max(counts, key=lambda each: each[1])
        return (count, after) if after > at else (None, at)

    def _refuse_ambiguous_separator(self, at: int) -> None:
        """Refuse "2,000": two thousand, or two."""
        number = self.line.folded(at)
        if _THREE_DECIMALS.fullmatch(number) and self.line.find(self.words.units, at + 1):
            plain, point = re.sub("[.,]", "", number), f"{float(number.replace(',', '.')):g}"
            raise TimeParseError("separator", number=number, plain=plain, point=point)


def _span(count: float, unit: TimeUnit) -> Span | None:
    if count > 1_000_000_000:
        raise TimeParseError("no_count", count=f"{count:g}", unit=unit)
    whole = count == int(count)
    if unit in ("month", "year"):
        return Span(months=int(count) * (12 if unit == "year" else 1)) if whole else None
    if unit in ("day", "week") and whole:
        return Span(days=int(count) * (7 if unit == "week" else 1))
    return Span(elapsed=timedelta(seconds=count * SECONDS[unit]))
