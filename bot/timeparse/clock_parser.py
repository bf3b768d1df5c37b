"""Parse times of day: 9:00, "half past nine", "at 8 in the evening"."""

from dataclasses import replace
from datetime import time

from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import TimeLexicon, words
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import (
    DaysAhead,
    ParsedTime,
    ParseResult,
    TimeOfDay,
)

_MINUTES_TO = (15, 20, 25, 30)
_MINUTE_SIGNS = ("分", "分钟", "분", "분에")
_BEFORE_SPANS = ("in", "within", "dans", "tra", "fra", "через")
_ONE_AS_ARTICLE = frozenset(
    ("a", "an", "ein", "eine", "einen", "einem", "einer", "un", "une", "una", "uno", "um", "uma", "一")
)
"""Words for one that mean an hour only after "la", or before a part of the day."""
_SHORT_PARTS = frozenset(("morning", "noon", "midday", "afternoon", "evening", "night", "midnight"))
"""After a time of day these belong to the text: "9:00 morning run"."""


class ClockParser:
    """Parses times and parts of the day."""

    def __init__(self, line: TokenLine) -> None:
        self.line = line
        self.words: TimeLexicon = words()

    def parse(self, parsed: ParsedTime, at: int, after_at: bool) -> ParseResult:
        """Parse a time of day, or several of a repetition; `after_at`: a word for "at" precedes it."""
        if parsed.clocks or (parsed.span and parsed.span.elapsed) or parsed.instant:
            return None
        if self.line.kind(at) == "clock" and at and self.line.folded(at - 1) in _BEFORE_SPANS:
            return None  # "in 2:30" is not a time of day
        clock = self._parse_one(
            at, after_at or self._is_last_after_day(parsed, at), bool(parsed.day or parsed.every)
        )
        if clock is None:
            return None
        clocks, end = [clock[0]], clock[1]
        while parsed.every:  # at 8:00, 12:00 and 20:00
            after = end + 1 if self.line.folded(end) == "," else self.line.skip(self.words.and_, end)
            more = self._parse_one(self.line.skip(self.words.at, after), after_at) if after > end else None
            if more is None:
                break
            clocks.append(more[0])
            end = more[1]
        return replace(parsed, clocks=tuple(clocks)), end

    def parse_part(self, parsed: ParsedTime, at: int) -> ParseResult:
        """Parse a part of the day: "evening", "this morning"."""
        if parsed.instant or (parsed.span and parsed.span.elapsed):
            return None
        found = self.line.find(self.words.parts, at)
        if found is None:
            return None
        part, end = found
        if (parsed.part, part) in (("tonight", "midnight"), ("midnight", "tonight")) and not parsed.clocks:
            return replace(parsed, part="midnight", day=DaysAhead(0)), end
        if parsed.part:
            return None
        text = " ".join(self.line.folded(each) for each in range(at, end))
        if parsed.clocks and text in _SHORT_PARTS and not self._follows_day(parsed, at):
            return None
        today = text in self.words.todays_parts
        if today and parsed.day and parsed.day != DaysAhead(0):
            return None
        return replace(parsed, part=part, today=today), end

    def _is_last_after_day(self, parsed: ParsedTime, at: int) -> bool:
        return bool((parsed.day or parsed.every) and at == len(self.line.tokens) - 1)

    def _parse_one(self, at: int, after_at: bool, after_day: bool = False) -> tuple[TimeOfDay, int] | None:
        line, words = self.line, self.words
        if line.kind(at) == "clock":
            hour, minute, second = [*map(int, line.folded(at).split(":")), 0][:3]
            return self._time_of_day(hour, minute, second, at, at + 1)
        if line.folded(at) == "halb" and (number := self._parse_whole_number(at + 1)):
            return self._minutes_past(number[0], -30, at, number[1])
        if after_at and (half := line.find(words.half_hours, at)):
            return self._minutes_past(half[0], -30, at, half[1])
        if after_at and line.folded(at) == "час" and line.folded(at + 1) in ("дня", "ночи"):
            return TimeOfDay(time(13 if line.folded(at + 1) == "дня" else 1), sure=True), at + 2
        if line.folded(at) == "all una":  # one word with its apostrophe
            past = line.find(words.past_the_hour, at + 1)
            return (
                self._minutes_past(1, past[0], at, past[1]) if past else self._spoken_time(1, 0, at, at + 1)
            )
        if relative := self._parse_past_or_to(at):
            return relative
        if line.kind(at) == "number" and (dotted := _dotted(line.folded(at))):
            after = line.skip(words.clock, at + 1)
            if after_at or after > at + 1 or self._am_or_pm(at + 1):
                return self._time_of_day(*dotted, 0, at, after)
            return None
        number = self._parse_whole_number(at)
        if number is None:
            return None
        value, end = number
        if self._am_or_pm(end):
            return self._time_of_day(value, 0, 0, at, end)
        if value == 12 and line.folded(end) in ("noon", "midday", "midnight"):
            return TimeOfDay(time(0 if line.folded(end) == "midnight" else 12), sure=True), end + 1
        unit = line.folded(end)
        unit_end = line.skip(words.clock, end)
        if unit_end > end and (unit not in ("h", "hs") or after_at or after_day):
            if value <= 24 and (past := line.find(words.past_the_hour, unit_end)):
                return self._minutes_past(value, past[0], at, past[1])
            minute, end = self._parse_minutes(unit_end)
            if unit in ("h", "hs"):
                return self._time_of_day(value, minute, 0, at, end)
            return self._spoken_time(value, minute, at, end)
        if not after_at or (self.line.glued(end) and line.kind(end) in ("word", "number")):
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
            return self._minutes_past(value, past[0], at, past[1])
        if line.kind(at) == "number" and len(line.folded(at)) == 4:
            return self._time_of_day(value // 100, value % 100, 0, at, line.skip(("hours", "hrs"), end))
        if line.kind(at) == "word" and value <= 12 and (minutes := self._parse_minutes_in_words(end)):
            return self._spoken_time(value, minutes[0], at, minutes[1])
        if line.folded(end) == "%" or any((line.find(words.units, end), line.find(words.months, end))):
            return None
        return self._spoken_time(value, 0, at, end) if value <= 24 else None

    def _parse_minutes(self, at: int) -> tuple[int, int]:
        """Return the minutes after an hour and the index after them: 9 Uhr 30, 9点30分, 9点零五, huit heures trente."""
        spoken = self.line.find({**self.words.spoken_minutes, **self.words.few_minutes}, at)
        if spoken and not self.line.find(self.words.units, spoken[1]):
            return spoken
        if self.line.folded(at) in ("零", "〇") and (few := self._parse_whole_number(at + 1)) and few[0] < 10:
            return few[0], few[1] + (self.line.folded(few[1]) in _MINUTE_SIGNS)
        number = self._parse_whole_number(at)
        if (
            number
            and self.line.kind(at) == "word"
            and 12 < number[0] < 60
            and "\u3400" <= self.line.folded(at)[0] <= "\u9fff"
        ):
            return number[0], number[1] + (self.line.folded(number[1]) in _MINUTE_SIGNS)
        has_sign = number is not None and self.line.folded(number[1]) in _MINUTE_SIGNS
        if (
            number
            and number[0] < 60
            and (has_sign or self.line.kind(at) != "number" or len(self.line.folded(at)) == 2)
        ):
            after = number[1] + (self.line.folded(number[1]) in _MINUTE_SIGNS)
            if self.line.folded(at + 1) in _MINUTE_SIGNS or self.line.kind(at) == "number":
                return number[0], after
        return 0, at

    def _parse_minutes_in_words(self, at: int) -> tuple[int, int] | None:
        """Parse minutes after an hour in words: "five thirty", "ocho y diez"."""
        joined = at + (self.line.folded(at) in ("y", "e", "et"))
        known = {**self.words.spoken_minutes, **(self.words.few_minutes if joined > at else {})}
        return self.line.find(known, joined)

    def _minutes_past(self, hour: int, minutes: int, begin: int, end: int) -> tuple[TimeOfDay, int] | None:
        total = hour * 60 + minutes
        if hour == 1 and minutes < 0:
            total += 12 * 60  # "quarter to one" is as 12:45 is
        return self._spoken_time(total // 60 % 24, total % 60, begin, end)

    def _parse_past_or_to(self, at: int) -> tuple[TimeOfDay, int] | None:
        """Parse "half past nine", "quarter to ten", "zehn nach acht"; "from 9 to 17" is a range."""
        line, words = self.line, self.words
        if at and line.folded(at - 1) in words.from_:
            return None
        after = line.skip(words.quarter, at)
        minutes = 15
        if after == at and line.folded(at) == "half":
            after, minutes = at + 1, 30
        elif after == at and (number := self._parse_whole_number(at)) and number[0] < 60:
            minutes, after = number
            after = unit[1] if (unit := line.find(words.units, after)) and unit[0] == "minute" else after
        if after == at:
            return None
        for phrases, sign in ((words.past, 1), (words.to, -1)):
            hour_begin = line.skip(phrases, after)
            if line.folded(after) in ("to", "till") and after == at + 1 and minutes not in _MINUTES_TO:
                continue  # "3 to 4", "10 to 12" are ranges
            if (
                hour_begin > after
                and (hour := self._parse_whole_number(hour_begin))
                and hour[0] <= 24
                and line.kind(hour_begin) != "clock"
            ):
                if line.find(words.units, hour[1]) and line.skip(words.clock, hour[1]) == hour[1]:
                    return None  # "3 to 4 hours"
                return self._minutes_past(hour[0], sign * minutes, at, line.skip(words.clock, hour[1]))
        return None

    def _parse_whole_number(self, at: int) -> tuple[int, int] | None:
        number = self.line.integer(at)
        return (number, at + 1) if number is not None else self.line.find(self.words.numbers, at)

    def _am_or_pm(self, at: int) -> str:
        """Return "am" or "pm" if it stands there; "" if not, or if it is the German "am" before a day."""
        if self.line.folded(at) in self.words.pm:
            return "pm"
        if self.line.folded(at) not in self.words.am:
            return ""
        days = self.line.find(self.words.parts, at), self.line.find(self.words.weekdays, at + 1)
        german = any(days) or (self.line.kind(at + 1) in ("number", "dotted") and not self.line.glued(at))
        return "" if german else "am"

    def _spoken_time(self, hour: int, minute: int, begin: int, end: int) -> tuple[TimeOfDay, int] | None:
        """Return a time as people say it, "at 3" or "half past 3"; 03 is what a clock shows."""
        found = self._time_of_day(hour, minute, 0, begin, end)
        as_shown = self.line.folded(begin).startswith("0")
        return (replace(found[0], spoken=not as_shown), found[1]) if found else None

    def _time_of_day(
        self, hour: int, minute: int, second: int, begin: int, end: int
    ) -> tuple[TimeOfDay, int] | None:
        end = self.line.skip(self.words.clock, end)
        half = self._am_or_pm(end)
        if half:
            end += 1
            if hour <= 12:
                hour = hour % 12 + (12 if half == "pm" else 0)
        try:
            return TimeOfDay(time(hour, minute, second), sure=bool(half) or hour > 12), end
        except ValueError:
            shown = self.line.text[self.line.tokens[begin].start : self.line.tokens[end - 1].end]
            raise TimeParseError("no_clock", time=shown) from None

    def _follows_day(self, parsed: ParsedTime, at: int) -> bool:
        """Return whether a day precedes the part: "at 8 tomorrow evening", "at 8 on friday evening"."""
        tables = (self.words.days, self.words.weekdays)
        found = (self.line.find(table, begin) for table in tables for begin in range(max(0, at - 4), at))
        return bool(parsed.day) and any(each and each[1] == at for each in found)


def _dotted(text: str) -> tuple[int, int] | None:
    hour, point, minute = text.partition(".")
    return (int(hour), int(minute)) if point and len(hour) <= 2 and len(minute) == 2 else None
