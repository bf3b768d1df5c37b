"""Parse one time in a line: its parts, for as long as they fit together."""

from bot.timeparse.clock_parser import ClockParser
from bot.timeparse.day_parser import DayParser
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon, words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import (
    ParsedTime,
    ParseResult,
)
from bot.timeparse.recurrence_parser import RecurrenceParser
from bot.timeparse.span_parser import SpanParser

_MAX_FILLERS = 4
_ORDINALS = ("o", "a", "°", "er")


class Grammar:
    """Parses times in one line."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line
        self.words: TimeLexicon = words()
        self._spans = SpanParser(line)
        self._clocks = ClockParser(line)
        self._days = DayParser(line)
        self._recurrences = RecurrenceParser(line, self._spans, self._days)

    def read(self, at: int) -> tuple[ParsedTime, int]:
        """Return the time that begins at token `at`, and the index after it; `at` itself if there is none.

        Raises TimeParseError if the time is ambiguous or invalid.
        """
        parsed, end = ParsedTime(), at
        try:
            while (found := self._parse_next(parsed, end)) is not None:
                parsed, end = found
                if parsed.span and parsed.span.elapsed:
                    break
        except OverflowError:
            raise TimeParseError("too_far") from None
        self._refuse_ambiguous_number(parsed, end)
        return parsed, end

    def _parse_next(self, parsed: ParsedTime, at: int) -> ParseResult:
        after_at = False
        for _ in range(_MAX_FILLERS):
            parsers = (self._recurrences.parse, self._days.parse, self._clocks.parse_part)
            found = [each for parse in parsers if (each := parse(parsed, at))]
            if clock := self._clocks.parse(parsed, at, after_at):
                found.append(clock)
            if not after_at and (span := self._spans.parse(parsed, at)):  # "um 20h" is a time of day
                found.append(span)
            if found:
                return max(found, key=lambda each: each[1])
            at_end, filler_end = self.line.skip(self.words.at, at), self.line.skip(self.words.fillers, at)
            after_at = at_end > at and at_end >= filler_end
            if max(at_end, filler_end) == at:
                return None
            at = max(at_end, filler_end)
        return None

    def _refuse_ambiguous_number(self, parsed: ParsedTime, end: int) -> None:
        """Refuse a bare number after a day: it may be an hour or a quantity."""
        if (
            (parsed.day or parsed.every or parsed.span)
            and not (parsed.clocks or parsed.part)
            and not _is_shorter_than_day(parsed)
        ):
            hour = self.line.integer(end)
            glued = self.line.glued(end + 1) and self.line.folded(end + 1) not in _ORDINALS
            if hour is not None and hour <= 24 and not glued:
                begin = self.line.text[: self.line.tokens[end - 1].end].strip()
                raise TimeParseError("doubt", number=hour, begin=begin)


def _is_shorter_than_day(parsed: ParsedTime) -> bool:
    return bool((parsed.every and parsed.every.unit == "minute") or (parsed.span and parsed.span.elapsed))
