"""Moments that are only half understood: refused with an example, rather than guessed."""

import re

from bot import phrases
from bot.when.grammar import Grammar
from bot.when.moment import NoMoment
from bot.when.said import Said
from bot.when.tokens import Line
from bot.when.words import words

_LOOKED_THROUGH = 16
"""Words behind a day among which its time of day is looked for."""
_CLOCK_KINDS = ("clock", "number")
_NOON = 12
_LAST_HOUR = 24
_COLONS = (":", "：")
_FOUR_DIGITS = re.compile("(?:[01][0-9]|2[0-3])(?:[0-5][0-9]|[.][0-5][0-9])|[1-9][.][0-5][0-9]")
_BY_THEN = ("之前", "以前", "까지", "전에", "まで")
"""Behind a day: by then, or before it."""
_LEFT_OUT_BEFORE = ("除外", "以外")
"""Behind a day that is left out."""
_EACH = ("ごと", "おき", "마다")
"""Behind a span: again and again."""
_HAN_WEEK = ("周", "週", "星期", "礼拜")
_HAN_WEEKDAYS = frozenset("一二三四五六日天")
_KOREAN_WEEKDAYS = tuple(f"{day}요일" for day in "월화수목금토일")
_JOINS = frozenset((",", "、", "/", "&", "-", "–", "—"))
SHORT_WEEKDAYS = ("sun", "sat", "wed", "mon")
"""Words by themselves: "sun cream", "mon ami"."""


def check_half_understood(line: Line, said: Said, begin: int, end: int) -> None:
    """Raise `NoMoment` where what follows a moment, up to `end`, changes what it means.

    Behind a colon or the like stands the text, whatever it says.
    """
    if _names_another_day(line, said, end) or _begins_day_list(line, said, end):
        raise NoMoment(phrases.WHEN_TWO_DAYS)
    if said.clocks and (_goes_on_to_another_hour(line, end) or _has_second_hour(line, end)):
        raise NoMoment(phrases.WHEN_NO_RANGE)
    told = line.text[line.tokens[begin].start : line.tokens[end - 1].end]
    if line.folded(end) in words().punctuation:
        if (said.day or _is_daily(said)) and not said.clocks and line.folded(end) not in _COLONS:
            _check_clock(line, told, end + 1)
        return
    if _begins_range(line, end):
        raise NoMoment(phrases.WHEN_UNTIL if said.every else phrases.WHEN_NO_RANGE)
    if said.day and not said.span and _begins_span(line, end):
        raise NoMoment(phrases.WHEN_UNREAD)
    if said.span and (after := line.skip(words().ago, end)) > end:
        ago = line.text[line.tokens[begin].start : line.tokens[after - 1].end]
        raise NoMoment(phrases.WHEN_AGO.format(ago=ago))
    if line.skip(words().before_or_after, end) > end or line.folded(end).startswith(_BY_THEN):
        raise NoMoment(phrases.WHEN_RELATIVE)
    if said.part and not said.clocks and line.find(words().past_the_hour, end):
        raise NoMoment(phrases.WHEN_UNREAD)
    if line.folded(end).startswith(_EACH) or _is_hour_or_span(line, said, begin, end):
        raise NoMoment(phrases.WHEN_UNREAD)
    if said.every and (line.skip(words().except_, end) > end or _leaves_days_out(line, end)):
        raise NoMoment(phrases.WHEN_EXCEPT)
    if line.skip(words().or_, end) > end:
        raise NoMoment(phrases.WHEN_TWO_DAYS)
    if not (said.clocks or said.part or said.span):
        _check_hour(line, end)
    if (said.day or said.today or _is_daily(said)) and not said.clocks:
        _check_vague_hour(line, told, end)
        _check_clock_in_text(line, told, end)
    elif said.clocks and not (said.day or said.every or said.span or said.today):
        _check_day_in_text(line, told, end)


def check_range(line: Line, at: int) -> None:
    """Raise `NoMoment` where two numbers stand for one: in 3 to 4 hours, between 3 and 4."""
    for place in range(at, min(at + 4, len(line.tokens))):
        after = line.skip(words().range_, place + 1)
        if line.kind(place) == line.kind(after) == "number" and after > place + 1:
            unit = line.find(words().units, after + 1)
            if unit:
                raise NoMoment(phrases.WHEN_RANGE.format(number=line.folded(place)))


def check_bounded(line: Line, at: int) -> None:
    """Raise `NoMoment` where the moment at the end of a line, from `at` on, is a bound: "before friday"."""
    known = words()
    if _lists_days(line, at):
        raise NoMoment(phrases.WHEN_TWO_DAYS)
    if at > 2 and _is_range(line, at - 3):
        raise NoMoment(phrases.WHEN_NO_RANGE)
    if Grammar(line).read(at)[0].span is None and at and line.folded(at - 1) in words().about:
        raise NoMoment(phrases.WHEN_DAY_OF_TEXT.format(day=line.text[line.tokens[at].start :].strip()))
    for before in range(max(0, at - 3), at):
        for bounds in (known.before_or_after, known.until, known.except_):
            if line.skip(bounds, before) == at:
                raise NoMoment(phrases.WHEN_RELATIVE)


def _lists_days(line: Line, at: int) -> bool:
    """Mon, Wed, Fri; friday or saturday; monday to friday: the moment at the end is only the last of them."""
    known = words()
    joins = (_JOINS, known.and_, known.or_, known.until, known.range_)
    for join in range(max(1, at - 2), at + 1):
        if line.folded(at) == "," if join == at else any(line.skip(each, join) == at for each in joins):
            tables = known.weekdays, known.days
            found = [line.find(table, day) for table in tables for day in range(max(0, join - 4), join)]
            if any(each and each[1] == join for each in found):
                return True
    return False


def _is_range(line: Line, at: int) -> bool:
    """9 or 10, 3 to 4; 9 and 10 behind `between`."""
    joined = line.skip(words().range_, at + 1) > at + 1 or line.folded(at - 1) in words().from_
    return joined and line.kind(at) in _CLOCK_KINDS and line.kind(at + 2) in _CLOCK_KINDS


def _goes_on_to_another_hour(line: Line, end: int) -> bool:
    """At 3 to 4; в 9-30. Behind 9:00-10:00 the text begins, as the end of what begins then."""
    if line.folded(end) in ("-", "–"):
        return (
            line.kind(end - 1) == line.kind(end + 1) == "number" and line.glued(end) and line.glued(end + 1)
        )
    if line.folded(end) in ("到", "至"):
        return bool(Grammar(line).read(end + 1)[0].clocks)
    return line.folded(end) in ("to", "till") and line.kind(end + 1) in _CLOCK_KINDS


def _has_second_hour(line: Line, end: int) -> bool:
    """At 10 and at 15: for one reminder."""
    after = line.skip(words().and_, end)
    return after > end and line.kind(line.skip(words().at, after)) in _CLOCK_KINDS


def _leaves_days_out(line: Line, end: int) -> bool:
    """Every day: walk the dog, not on Sundays; 星期天除外."""
    known = words()
    for at in range(end, len(line.tokens)):
        if line.folded(at) in _LEFT_OUT_BEFORE:
            return True
        after = line.skip(known.except_, at)
        named = line.skip(known.fillers, after)
        if after > at and (line.find(known.weekdays, named) or line.find(known.all_such_days, named)):
            return True
    return False


def _is_hour_or_span(line: Line, said: Said, begin: int, end: int) -> bool:
    """`16h`, `20h30` by themselves: a time of day in French, a span in English."""
    hour = line.folded(begin)
    if not said.span or line.kind(begin) != "number" or line.folded(begin + 1) != "h" or end > begin + 3:
        return False
    return hour.isdigit() and len(hour) == 2 and _NOON < int(hour) < _LAST_HOUR


def _names_another_day(line: Line, said: Said, end: int) -> bool:
    """Mon-Fri; Mon, Wed; next month on the 15th: a second day behind a first one."""
    if not said.day:
        return False
    known = words()
    joined = end + (line.folded(end) in _JOINS)
    joined = max(joined, line.skip(known.until, joined), line.skip(known.range_, joined))
    joined = max(joined, line.skip(known.and_, joined))
    found = line.find(known.weekdays, joined)
    if found and not (joined == end and line.folded(joined) in SHORT_WEEKDAYS):
        return True
    if joined > end and line.folded(end) in known.punctuation:
        return False
    while (after := line.skip(known.fillers, joined)) > joined:
        joined = after
    again, after = Grammar(line).read(joined)
    return bool(again.day and not again.every and after > joined + 1)


def _begins_day_list(line: Line, said: Said, end: int) -> bool:
    """每周一三五, 매주 월요일과 목요일: weekdays without a space behind a first one."""
    if not said.every or said.every.unit != "week":
        return False
    han = line.folded(end) in _HAN_WEEKDAYS and line.folded(end - 1).startswith(_HAN_WEEK)
    return han or line.folded(end) == "、" or line.folded(end).startswith(_KOREAN_WEEKDAYS)


def _begins_range(line: Line, end: int) -> bool:
    """From 9 to 17; between 9 and 10."""
    after = max(line.skip(words().range_, end + 2), line.skip(words().and_, end + 2))
    numbers = line.kind(end + 1) in _CLOCK_KINDS and line.kind(after) in _CLOCK_KINDS
    return line.folded(end) in words().from_ and numbers and after > end + 2


def _begins_span(line: Line, end: int) -> bool:
    """Monday in a week; friday week."""
    unit = line.find(words().units, end)
    if (unit and unit[0] == "week") or line.skip(("en huit", "en quinze"), end) > end:
        return True
    within = line.skip(words().within, end)
    found, after = Grammar(line).read(end)
    return within > end and found.span is not None and after > within + 1


def _check_hour(line: Line, end: int) -> None:
    """Refuse "every day at 25"."""
    after = line.skip(words().at, end)
    hour = line.folded(after)
    if (
        after > end
        and line.kind(after) == "number"
        and hour.isdigit()
        and (len(hour) > 9 or int(hour) > _LAST_HOUR)
    ):
        if line.find(words().units, after + 1) or line.glued(after + 1):
            return
        raise NoMoment(phrases.WHEN_NO_CLOCK.format(time=hour))


def _is_daily(said: Said) -> bool:
    return said.every is not None and said.every.unit != "minute"


def _check_vague_hour(line: Line, told: str, end: int) -> None:
    """Refuse "tomorrow at half 7", "friday 9.30", "tomorrow 0900", "friday at lunch": it would ring at 9:00."""
    behind = line.skip(words().at, end)
    after = line.skip(words().vague, behind)
    number = line.folded(end)
    vague = after > behind and (behind > end or line.kind(after) in _CLOCK_KINDS)
    if not vague and not (_FOUR_DIGITS.fullmatch(number) and not line.glued(end + 1)):
        return
    last = after if vague and line.kind(after) in _CLOCK_KINDS else max(after, end + 1) - 1
    time = line.text[line.tokens[end].start : line.tokens[last].end]
    raise NoMoment(phrases.WHEN_VAGUE.format(time=time, begin=told))


def _check_clock_in_text(line: Line, told: str, end: int) -> None:
    """Refuse "tomorrow call Tom at 15:00": it would ring at 9:00."""
    for at in range(end, min(end + _LOOKED_THROUGH, len(line.tokens))):
        if line.folded(at) in words().punctuation:
            return
        _check_clock(line, told, at)


def _check_clock(line: Line, told: str, at: int) -> None:
    behind = line.skip(words().at, at)
    if behind == at and line.kind(at) not in _CLOCK_KINDS:
        return
    found, after = Grammar(line).read(at)
    if found.clocks and not (found.day or found.every or found.span):
        time = line.text[line.tokens[behind if behind < after else at].start : line.tokens[after - 1].end]
        raise NoMoment(phrases.WHEN_TIME_IN_TEXT.format(time=time, begin=told))


def _check_day_in_text(line: Line, told: str, end: int) -> None:
    """Refuse "at 9 call Tom on friday": it would ring at the next 9:00."""
    grammar = Grammar(line)
    count = len(line.tokens)
    if not count or line.tokens[-1].end != len(line.text.rstrip()):
        return
    for at in range(max(end + 1, count - 4), count):
        found, after = grammar.read(at)
        if after == count and (found.day or found.every) and not found.clocks:
            if line.folded(at - 1) in (*words().about, *_OF):
                return
            day = line.text[line.tokens[at].start :].strip()
            raise NoMoment(phrases.WHEN_DAY_IN_TEXT.format(day=day, begin=told))


_OF = ("of", "von", "de", "di")
"""Before a day that belongs to the text: "plan of friday"."""
