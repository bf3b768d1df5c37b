"""Moments that are only half understood: refused with a reason, rather than guessed."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import available_timezones

from bot.when.grammar import Grammar
from bot.when.moment import NoMoment, Refusal
from bot.when.said import Said
from bot.when.tokens import Line
from bot.when.words import Words

_LOOKED_THROUGH = 16
"""Words behind a day among which its time of day is looked for."""
_CLOCK_KINDS = ("clock", "number")
_NOON = 12
_LAST_HOUR = 24
_COLONS = (":", "：")
_FOUR_DIGITS = re.compile("(?:[01][0-9]|2[0-3])(?:[0-5][0-9]|[.][0-5][0-9])|[1-9][.][0-5][0-9]")
_BY_THEN = ("之前", "以前", "까지", "전에", "まで")
"""Behind a day: by then, or before it."""
_EACH = ("ごと", "おき", "마다")
"""Behind a span: again and again."""
_HAN_WEEK = ("周", "週", "星期", "礼拜")
_HAN_WEEKDAYS = frozenset("一二三四五六日天")
_KOREAN_WEEKDAYS = tuple(f"{day}요일" for day in "월화수목금토일")
_SHORT_ZONE = re.compile(
    r"(?:UTC|GMT|BST|CES?T|MES?Z|EES?T|WES?T|[ECMP][SD]T|JST|MSK|AE[SD]T)(?![A-Za-z])(?:[+-][0-9]{1,2})?"
)
_NAMED_ZONE = re.compile(
    r"(?P<place>[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20}){0,2}) (?:time|Time|Zeit)(?![A-Za-z])"
)
_ZONES_OF_AMERICA = ("Eastern", "Central", "Mountain", "Pacific")
_JOINS = frozenset((",", "、", "/", "&", "-", "–", "—"))
_OF = ("of", "von", "de", "di")
"""Before a day that belongs to the text: "plan of friday"."""
SHORT_WEEKDAYS = ("sun", "sat", "wed", "mon")
"""Words by themselves: "sun cream", "mon ami"."""


@dataclass(frozen=True, slots=True)
class ReadMoment:
    """A moment that was read from `begin` up to `end`, in a line that may change what it means."""

    grammar: Grammar
    said: Said
    begin: int
    end: int

    @property
    def line(self) -> Line:
        return self.grammar.line

    @property
    def words(self) -> Words:
        return self.grammar.words

    @property
    def comes_again(self) -> bool:
        return self.said.every is not None

    @property
    def behind(self) -> str:
        """The token right behind it."""
        return self.line.folded(self.end)

    @property
    def lacks_time(self) -> bool:
        """Whether it names a day, or comes again on days, without a time of day."""
        every = self.said.every
        return bool(self.said.day or (every and every.unit != "minute")) and not self.said.clocks

    def goes_on_with(self, phrases: Collection[str]) -> bool:
        return self.line.skip(phrases, self.end) > self.end

    def text(self, begin: int, end: int) -> str:
        return self.line.text[self.line.tokens[begin].start : self.line.tokens[end - 1].end]


Doubtful = Mapping[str, str] | bool
"""Whether there is a doubt; what its reason is filled in with."""


class Doubt(NamedTuple):
    """One way in which a moment may be understood wrongly."""

    name: str
    check: Callable[[ReadMoment], Doubtful]
    reason: Refusal


def check_range(grammar: Grammar, at: int) -> None:
    """Raise `NoMoment` where two numbers stand for one: in 3 to 4 hours, between 3 and 4."""
    line, words = grammar.line, grammar.words
    for place in range(at, min(at + 4, len(line.tokens))):
        after = line.skip(words.range_, place + 1)
        numbers = line.kind(place) == line.kind(after) == "number" and after > place + 1
        if numbers and line.find(words.units, after + 1):
            raise NoMoment("range", number=line.folded(place))


def check_days_left_out(grammar: Grammar, at: int) -> None:
    """Raise `NoMoment` where days are left out of what comes again behind them: 除了星期天每天8点."""
    line = grammar.line
    end = end_of_left_out(line, grammar.words, at)
    places = range(end, min(end + _LOOKED_THROUGH, len(line.tokens)))
    if end > at and any(grammar.read(place)[0].every for place in places):
        raise NoMoment("except")


def check_half_understood(moment: ReadMoment) -> None:
    """Raise `NoMoment` where what follows a moment changes what it means.

    Behind a colon or the like stands the text, whatever it says.
    """
    _raise_first(_FOLLOWING, moment)
    behind_mark = moment.behind in moment.words.punctuation
    _raise_first(_BEHIND_MARK if behind_mark else _BEHIND, moment)


def check_bounded(moment: ReadMoment) -> None:
    """Raise `NoMoment` where the moment at the end of a line is a bound, such as "before friday"."""
    _raise_first(DOUBTS_AT_THE_END, moment)


def _raise_first(doubts: Sequence[Doubt], moment: ReadMoment) -> None:
    for doubt in doubts:
        if fields := doubt.check(moment):
            raise NoMoment(doubt.reason, **({} if fields is True else fields))


def _has_second_weekday(moment: ReadMoment) -> Doubtful:
    """Monday and tuesday."""
    behind = moment.line.skip(moment.words.and_, moment.end)
    once = moment.said.day is not None and moment.said.every is None
    return once and behind > moment.end and moment.line.find(moment.words.weekdays, behind) is not None


def _names_another_day(moment: ReadMoment) -> Doubtful:
    """Mon-Fri; Mon, Wed; next month on the 15th: a second day behind a first one."""
    if not moment.said.day:
        return False
    line, known, end = moment.line, moment.words, moment.end
    joined = end + (moment.behind in _JOINS)
    joined = max(joined, line.skip(known.until, joined), line.skip(known.range_, joined))
    joined = max(joined, line.skip(known.and_, joined))
    weekday = line.find(known.weekdays, joined)
    if weekday and not (joined == end and line.folded(joined) in SHORT_WEEKDAYS):
        return True
    if joined > end and moment.behind in known.punctuation:
        return False
    while (after := line.skip(known.fillers, joined)) > joined:
        joined = after
    again, after = moment.grammar.read(joined)
    return bool(again.day and not again.every and after > joined + 1)


def _begins_day_list(moment: ReadMoment) -> Doubtful:
    """每周一三五, 매주 월요일과 목요일: weekdays without a space behind a first one."""
    if not moment.said.every or moment.said.every.unit != "week":
        return False
    after = moment.behind
    han = after in _HAN_WEEKDAYS and moment.line.folded(moment.end - 1).startswith(_HAN_WEEK)
    return han or after == "、" or after.startswith(_KOREAN_WEEKDAYS)


def _goes_on_to_another_hour(moment: ReadMoment) -> Doubtful:
    """At 3 to 4; в 9-30. Behind 9:00-10:00 the text begins, as the end of what begins then."""
    line, end = moment.line, moment.end
    if not moment.said.clocks:
        return False
    if moment.behind in ("-", "–"):
        return (
            line.kind(end - 1) == line.kind(end + 1) == "number" and line.glued(end) and line.glued(end + 1)
        )
    if moment.behind in ("到", "至", "から"):
        return bool(moment.grammar.read(end + 1)[0].clocks)
    return moment.behind in ("to", "till") and line.kind(end + 1) in _CLOCK_KINDS


def _has_second_hour(moment: ReadMoment) -> Doubtful:
    """At 10 and at 15: for one reminder."""
    line, after = moment.line, moment.line.skip(moment.words.and_, moment.end)
    second = line.kind(line.skip(moment.words.at, after)) in _CLOCK_KINDS
    return bool(moment.said.clocks) and after > moment.end and second


def _has_time_behind_mark(moment: ReadMoment) -> Doubtful:
    """Tomorrow, 15:00: the day stands without a time, and the time is not behind a colon."""
    if not moment.lacks_time or moment.behind in _COLONS:
        return False
    return _time_at(moment, moment.end + 1)


def _begins_range(moment: ReadMoment) -> Doubtful:
    """From 9 to 17; between 9 and 10."""
    line, end = moment.line, moment.end
    after = max(line.skip(moment.words.range_, end + 2), line.skip(moment.words.and_, end + 2))
    numbers = line.kind(end + 1) in _CLOCK_KINDS and line.kind(after) in _CLOCK_KINDS
    return moment.behind in moment.words.from_ and numbers and after > end + 2


def _begins_span(moment: ReadMoment) -> Doubtful:
    """Monday in a week; friday week."""
    if not moment.said.day or moment.said.span:
        return False
    line, end = moment.line, moment.end
    unit = line.find(moment.words.units, end)
    if (unit and unit[0] == "week") or line.skip(("en huit", "en quinze"), end) > end:
        return True
    within = line.skip(moment.words.within, end)
    said, after = moment.grammar.read(end)
    return within > end and said.span is not None and after > within + 1


def _is_in_another_zone(moment: ReadMoment) -> Doubtful:
    """At 9 Tokyo time, 9 Uhr Londoner Zeit, 9 EST: it would ring at 9:00 here."""
    if not moment.said.clocks or moment.end >= len(moment.line.tokens):
        return False
    behind = moment.line.text[moment.line.tokens[moment.end].start :]
    if short := _SHORT_ZONE.match(behind):
        return {"zone": short[0]}
    named = _NAMED_ZONE.match(behind)
    return named is not None and _is_zone(named["place"]) and {"zone": named[0]}


def _is_zone(place: str) -> bool:
    if place in _ZONES_OF_AMERICA:
        return True
    known = {name.rsplit("/", 1)[-1] for name in available_timezones()}
    words = place.replace(" ", "_")
    return words in known or words.removesuffix("er") in known


def _is_ago(moment: ReadMoment) -> Doubtful:
    """5 minutes ago."""
    after = moment.line.skip(moment.words.ago, moment.end)
    return bool(moment.said.span) and after > moment.end and {"ago": moment.text(moment.begin, after)}


def _has_minutes_past_part(moment: ReadMoment) -> Doubtful:
    """Noon and a half."""
    only_part = moment.said.part is not None and not moment.said.clocks
    return only_part and moment.line.find(moment.words.past_the_hour, moment.end) is not None


def _is_hour_or_span(moment: ReadMoment) -> Doubtful:
    """`16h`, `20h30` by themselves: a time of day in French, a span in English."""
    line, begin = moment.line, moment.begin
    hour = line.folded(begin)
    if not moment.said.span or line.kind(begin) != "number" or line.folded(begin + 1) != "h":
        return False
    return moment.end <= begin + 3 and hour.isdigit() and len(hour) == 2 and _NOON < int(hour) < _LAST_HOUR


def _leaves_days_out(moment: ReadMoment) -> Doubtful:
    """Every day except sunday; every day: walk the dog, not on Sundays; 每天8点吃药，星期天除外."""
    line, known = moment.line, moment.words
    if not moment.said.every:
        return False
    places = range(moment.end, len(line.tokens))
    return moment.goes_on_with(known.except_) or any(end_of_left_out(line, known, at) > at for at in places)


def end_of_left_out(line: Line, known: Words, at: int) -> int:
    """Return the place behind a day that is left out, with the words that do so before or behind it; else `at`."""
    excepting = line.skip(known.except_, at)
    day = line.skip(known.fillers, excepting)
    tables = (known.weekdays, known.all_such_days, known.weekend, known.workdays)
    end = max(line.skip(each, day) for each in tables)
    behind = line.skip(known.left_out, end)
    return behind if end > day and (excepting > at or behind > end) else at


def _is_beyond_the_day(moment: ReadMoment) -> Doubtful:
    """Every day at 25."""
    if moment.said.clocks or moment.said.part or moment.said.span:
        return False
    line, after = moment.line, moment.line.skip(moment.words.at, moment.end)
    hour = line.folded(after)
    if after == moment.end or line.kind(after) != "number" or not hour.isdigit():
        return False
    counts = line.find(moment.words.units, after + 1) or line.glued(after + 1)
    return (len(hour) > 9 or int(hour) > _LAST_HOUR) and not counts and {"time": hour}


def _is_vague(moment: ReadMoment) -> Doubtful:
    """Tomorrow at half 7, friday 9.30, tomorrow 0900, friday at lunch: it would ring at 9:00."""
    line, end = moment.line, moment.end
    if not (moment.lacks_time or (moment.said.today and not moment.said.clocks)):
        return False
    behind = line.skip(moment.words.at, end)
    after = line.skip(moment.words.vague, behind)
    vague = after > behind and (behind > end or line.kind(after) in _CLOCK_KINDS)
    if not vague and not (_FOUR_DIGITS.fullmatch(moment.behind) and not line.glued(end + 1)):
        return False
    last = after if vague and line.kind(after) in _CLOCK_KINDS else max(after, end + 1) - 1
    return {"time": moment.text(end, last + 1), "begin": moment.text(moment.begin, moment.end)}


def _has_time_in_text(moment: ReadMoment) -> Doubtful:
    """Tomorrow call Tom at 15:00: it would ring at 9:00."""
    if not (moment.lacks_time or (moment.said.today and not moment.said.clocks)):
        return False
    for at in range(moment.end, min(moment.end + _LOOKED_THROUGH, len(moment.line.tokens))):
        if moment.line.folded(at) in moment.words.punctuation:
            return False
        if fields := _time_at(moment, at):
            return fields
    return False


def _time_at(moment: ReadMoment, at: int) -> Doubtful:
    """Return the time of day that stands at a place, as the fields of a reason."""
    line, behind = moment.line, moment.line.skip(moment.words.at, at)
    if behind == at and line.kind(at) not in _CLOCK_KINDS:
        return False
    said, after = moment.grammar.read(at)
    if not said.clocks or said.day or said.every or said.span:
        return False
    return {
        "time": moment.text(behind if behind < after else at, after),
        "begin": moment.text(moment.begin, moment.end),
    }


def _has_day_in_text(moment: ReadMoment) -> Doubtful:
    """At 9 call Tom on friday: it would ring at the next 9:00."""
    said, line, count = moment.said, moment.line, len(moment.line.tokens)
    if not said.clocks or said.day or said.every or said.span or said.today or not line.is_whole:
        return False
    for at in range(max(moment.end + 1, count - 4), count):
        day, after = moment.grammar.read(at)
        if after == count and (day.day or day.every) and not day.clocks:
            of_text = line.folded(at - 1) in (*moment.words.about, *_OF)
            return not of_text and {
                "day": line.text[line.tokens[at].start :].strip(),
                "begin": moment.text(moment.begin, moment.end),
            }
    return False


def _ends_day_list(moment: ReadMoment) -> Doubtful:
    """Mon, Wed, Fri; friday or saturday; monday to friday: the moment at the end is only the last of them."""
    line, known, at = moment.line, moment.words, moment.begin
    joins = (_JOINS, known.and_, known.or_, known.until, known.range_)
    for join in range(max(1, at - 2), at + 1):
        if line.folded(at) == "," if join == at else any(line.skip(each, join) == at for each in joins):
            tables = known.weekdays, known.days
            days = [line.find(table, day) for table in tables for day in range(max(0, join - 4), join)]
            if any(each and each[1] == join for each in days):
                return True
    return False


def _ends_range(moment: ReadMoment) -> Doubtful:
    """9 or 10, 3 to 4; 9 and 10 behind `between`."""
    line, at = moment.line, moment.begin - 3
    if at < 0:
        return False
    joined = line.skip(moment.words.range_, at + 1) > at + 1 or line.folded(at - 1) in moment.words.from_
    return joined and line.kind(at) in _CLOCK_KINDS and line.kind(at + 2) in _CLOCK_KINDS


def _has_time_before(moment: ReadMoment) -> Doubtful:
    """Call Tom tomorrow at 3 and Eva at 4."""
    for place in range(max(0, moment.begin - _LOOKED_THROUGH), moment.begin):
        said, end = moment.grammar.read(place)
        hour = moment.line.skip(moment.words.at, place)
        counts = moment.line.kind(hour) in _CLOCK_KINDS or moment.line.folded(hour) in moment.words.numbers
        if said.clocks and (said.day or (hour > place and counts)) and end <= moment.begin:
            return True
    return False


def _is_day_of_text(moment: ReadMoment) -> Doubtful:
    """Tickets for friday."""
    line, at = moment.line, moment.begin
    of_text = moment.said.span is None and at > 0 and line.folded(at - 1) in moment.words.about
    return of_text and {"day": line.text[line.tokens[at].start :].strip()}


def _is_bound(moment: ReadMoment) -> Doubtful:
    """Call before friday."""
    known, at = moment.words, moment.begin
    bounds = (known.before_or_after, known.until, known.except_)
    return any(
        moment.line.skip(each, before) == at for before in range(max(0, at - 3), at) for each in bounds
    )


def goes_on_to_a_time(line: Line, end: int) -> bool:
    """Return whether a range ends behind a place: 9:00 to 17:00, 9:00-17:00."""
    return line.folded(end) in ("to", "-", "–", "bis") and line.kind(end + 1) in ("clock", "number", "iso")


_FOLLOWING = (
    Doubt("an end", lambda each: each.comes_again and each.goes_on_with(each.words.until), "until"),
    Doubt("a last hour", lambda each: each.comes_again and goes_on_to_a_time(each.line, each.end), "until"),
    Doubt("a second weekday", _has_second_weekday, "two_days"),
    Doubt("another day", _names_another_day, "two_days"),
    Doubt("a list of days", _begins_day_list, "two_days"),
    Doubt("a range of hours", _goes_on_to_another_hour, "no_range"),
    Doubt("a second hour", _has_second_hour, "no_range"),
)
_BEHIND_MARK = (Doubt("a time behind a sign", _has_time_behind_mark, "time_in_text"),)
_BEHIND = (
    Doubt("first and last hour", lambda each: each.comes_again and _begins_range(each), "until"),
    Doubt("a range", _begins_range, "no_range"),
    Doubt("a span behind a day", _begins_span, "unread"),
    Doubt("a span that has passed", _is_ago, "ago"),
    Doubt("another zone", _is_in_another_zone, "zone"),
    Doubt("an event", lambda each: each.goes_on_with(each.words.before_or_after), "relative"),
    Doubt("by then", lambda each: each.behind.startswith(_BY_THEN), "relative"),
    Doubt("minutes past noon", _has_minutes_past_part, "unread"),
    Doubt("each behind a span", lambda each: each.behind.startswith(_EACH), "unread"),
    Doubt("an hour or a span", _is_hour_or_span, "unread"),
    Doubt("days left out", _leaves_days_out, "except"),
    Doubt("a choice", lambda each: each.goes_on_with(each.words.or_), "two_days"),
    Doubt("an hour beyond the day", _is_beyond_the_day, "no_clock"),
    Doubt("a vague hour", _is_vague, "vague"),
    Doubt("a time in the text", _has_time_in_text, "time_in_text"),
    Doubt("a day in the text", _has_day_in_text, "day_in_text"),
)
DOUBTS = (*_FOLLOWING, *_BEHIND_MARK, *_BEHIND)
DOUBTS_AT_THE_END = (
    Doubt("a list of days before it", _ends_day_list, "two_days"),
    Doubt("a range before it", _ends_range, "no_range"),
    Doubt("a time before it", _has_time_before, "two_days"),
    Doubt("a day of the text", _is_day_of_text, "day_of_text"),
    Doubt("a bound before it", _is_bound, "relative"),
)
