"""Split a line into a time and the remaining text."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.timeparse.ambiguity.check import ReadMoment
from bot.timeparse.ambiguity.days import SHORT_WEEKDAYS
from bot.timeparse.ambiguity.exclusions import check_days_left_out
from bot.timeparse.ambiguity.ranges import check_range, goes_on_to_a_time
from bot.timeparse.ambiguity.table import check_at_the_beginning, check_at_the_end
from bot.timeparse.ambiguity.zones import check_time_zone
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import words
from bot.timeparse.moment import TimeParseError, When
from bot.timeparse.parsed import ParsedTime
from bot.timeparse.resolve import settle

_MOST_BEHIND = 12
"""Maximum words and numbers of a time at the end of a line."""


def read_when(text: str, now: datetime, zone: ZoneInfo) -> tuple[When, str]:
    """Parse the longest beginning of `text` that is a time; return it and the rest ("" if there is none).

    If the text does not begin with a time, it may end with one: "call mum tomorrow at 9". A day without a
    time is at 9:00. Raises TimeParseError if there is no time, if it is in the past, or if it is ambiguous.
    """
    line = TokenLine(text)
    grammar = Grammar(line)
    begin = 0
    while (after := line.skip(words().leading, begin)) > begin:
        begin = after
    check_time_zone(line, begin)
    check_range(grammar, begin)
    check_days_left_out(grammar, begin)
    said, end = grammar.read(begin)
    if said == ParsedTime() or (end == begin + 1 < len(line.tokens) and line.folded(begin) in SHORT_WEEKDAYS):
        return _at_the_end(line, grammar, begin, now, zone)
    end = line.skip(words().or_so, end)
    check_at_the_beginning(ReadMoment(grammar, said, begin, end))
    return settle(said, now, zone), _behind(line, end)


def _at_the_end(
    line: TokenLine, grammar: Grammar, begin: int, now: datetime, zone: ZoneInfo
) -> tuple[When, str]:
    count = len(line.tokens)
    if line.is_whole:
        for at in range(max(begin + 1, count - _MOST_BEHIND), count):
            said, end = grammar.read(at)
            if said != ParsedTime() and end == count:
                check_at_the_end(ReadMoment(grammar, said, at, end))
                before = line.text[line.tokens[begin].start : line.tokens[at].start]
                return settle(said, now, zone), _without(line, begin, before)
    raise TimeParseError("unread")


def _behind(line: TokenLine, end: int) -> str:
    while line.folded(end) in words().punctuation and not (
        goes_on_to_a_time(line, end) and line.glued(end + 1)
    ):
        end += 1
    start = line.tokens[end].start if end < len(line.tokens) else line.tokens[-1].end
    return _without(line, end, line.text[start:])


def _without(line: TokenLine, at: int, text: str) -> str:
    """Remove a leading "to" from the text: "tomorrow to call mum"."""
    after = line.skip(words().before_text, at)
    if after > at and after < len(line.tokens):
        text = text[line.tokens[after].start - line.tokens[at].start :]
    elif line.glued(at):
        text = text.removeprefix("に")  # 20分後にお茶
    return text.strip()
