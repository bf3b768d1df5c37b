"""Moments that are only half understood: refused with an example, rather than guessed."""

from bot import phrases
from bot.when.grammar import Grammar
from bot.when.moment import NoMoment
from bot.when.said import Said
from bot.when.tokens import Line
from bot.when.words import words

_LOOKED_THROUGH = 16
"""Words behind a day among which its time of day is looked for."""
_CLOCK_KINDS = ("clock", "number")
_LAST_HOUR = 24
_JOINS = frozenset((",", "、", "/", "&", "-", "–", "—"))
SHORT_WEEKDAYS = ("sun", "sat", "wed", "mon")
"""Words by themselves: "sun cream", "mon ami"."""


def check_half_understood(line: Line, said: Said, begin: int, end: int) -> None:
    """Raise `NoMoment` where what follows a moment, up to `end`, changes what it means.

    Behind a colon or the like stands the text, whatever it says.
    """
    if _names_another_day(line, said, end):
        raise NoMoment(phrases.WHEN_TWO_DAYS)
    if line.folded(end) in words().punctuation:
        return
    told = line.text[line.tokens[begin].start : line.tokens[end - 1].end]
    if _begins_range(line, end):
        raise NoMoment(phrases.WHEN_UNTIL if said.every else phrases.WHEN_NO_RANGE)
    if said.day and not said.span and _begins_span(line, end):
        raise NoMoment(phrases.WHEN_UNREAD)
    if said.span and (after := line.skip(words().ago, end)) > end:
        ago = line.text[line.tokens[begin].start : line.tokens[after - 1].end]
        raise NoMoment(phrases.WHEN_AGO.format(ago=ago))
    if line.skip(words().before_or_after, end) > end:
        raise NoMoment(phrases.WHEN_RELATIVE)
    if said.every and line.skip(words().except_, end) > end:
        raise NoMoment(phrases.WHEN_EXCEPT)
    if line.skip(words().or_, end) > end:
        raise NoMoment(phrases.WHEN_TWO_DAYS)
    if not (said.clocks or said.part or said.span):
        _check_hour(line, end)
    if (said.day or _is_daily(said)) and not (said.clocks or said.part):
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
    for before in range(max(0, at - 3), at):
        for bounds in (known.before_or_after, known.until, known.except_):
            if line.skip(bounds, before) == at:
                raise NoMoment(phrases.WHEN_RELATIVE)


def _names_another_day(line: Line, said: Said, end: int) -> bool:
    """Mon-Fri; Mon, Wed; next month on the 15th: a second day behind a first one."""
    if not said.day:
        return False
    known = words()
    joined = end + (line.folded(end) in _JOINS)
    joined = max(joined, line.skip(known.until, joined), line.skip(known.range_, joined))
    found = line.find(known.weekdays, joined)
    if found and not (joined == end and line.folded(joined) in SHORT_WEEKDAYS):
        return True
    if joined > end and line.folded(end) in known.punctuation:
        return False
    while (after := line.skip(known.fillers, joined)) > joined:
        joined = after
    again, after = Grammar(line).read(joined)
    return bool(again.day and not again.every and after > joined + 1)


def _begins_range(line: Line, end: int) -> bool:
    """From 9 to 17."""
    after = line.skip(words().range_, end + 2)
    numbers = line.kind(end + 1) in _CLOCK_KINDS and line.kind(after) in _CLOCK_KINDS
    return line.folded(end) in words().from_ and numbers and after > end + 2


def _begins_span(line: Line, end: int) -> bool:
    """Monday in a week; friday week."""
    unit = line.find(words().units, end)
    if unit and unit[0] == "week":
        return True
    within = line.skip(words().within, end)
    found, after = Grammar(line).read(end)
    return within > end and found.span is not None and after > within + 1


def _check_hour(line: Line, end: int) -> None:
    """Refuse "every day at 25"."""
    after = line.skip(words().at, end)
    hour = line.folded(after)
    if after > end and line.kind(after) == "number" and hour.isdigit() and int(hour) > _LAST_HOUR:
        if line.find(words().units, after + 1) or line.glued(after + 1):
            return
        raise NoMoment(phrases.WHEN_NO_CLOCK.format(time=hour))


def _is_daily(said: Said) -> bool:
    return said.every is not None and said.every.unit != "minute"


def _check_clock_in_text(line: Line, told: str, end: int) -> None:
    """Refuse "tomorrow call Tom at 15:00": it would ring at 9:00."""
    grammar = Grammar(line)
    for at in range(end, min(end + _LOOKED_THROUGH, len(line.tokens))):
        if line.folded(at) in words().punctuation:
            return
        behind = line.skip(words().at, at)
        begins = behind > at or line.kind(at) in _CLOCK_KINDS
        if not begins:
            continue
        found, after = grammar.read(at)
        if found.clocks and not (found.day or found.every or found.span):
            time = line.text[line.tokens[at].start : line.tokens[after - 1].end]
            bare = line.text[line.tokens[behind].start : line.tokens[after - 1].end] if behind > at else time
            raise NoMoment(phrases.WHEN_TIME_IN_TEXT.format(time=time, begin=told, bare=bare))


def _check_day_in_text(line: Line, told: str, end: int) -> None:
    """Refuse "at 9 call Tom on friday": it would ring at the next 9:00."""
    grammar = Grammar(line)
    count = len(line.tokens)
    if not count or line.tokens[-1].end != len(line.text.rstrip()):
        return
    for at in range(max(end + 1, count - 4), count):
        found, after = grammar.read(at)
        if after == count and (found.day or found.every) and not found.clocks:
            if line.folded(at - 1) in _ABOUT:
                return
            day = line.text[line.tokens[at].start :].strip()
            raise NoMoment(phrases.WHEN_DAY_IN_TEXT.format(day=day, begin=told))


_ABOUT = frozenset(
    ("for", "about", "of", "fur", "uber", "von", "pour", "para", "per", "de", "di", "since", "from")
)
"""Before a day that belongs to the text: "plan for friday"."""
