"""Split a line into a time and the remaining text."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.timeparse.ambiguity.check import MomentInLine
from bot.timeparse.ambiguity.days import SHORT_WEEKDAYS
from bot.timeparse.ambiguity.exclusions import check_exclusions
from bot.timeparse.ambiguity.ranges import check_range, continues_as_range
from bot.timeparse.ambiguity.table import check_end, check_start
from bot.timeparse.ambiguity.zones import check_time_zone
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.lexicon import words
from bot.timeparse.moment import TimeParseError, When
from bot.timeparse.parsed import ParsedTime
from bot.timeparse.resolve import resolve

_MAX_TOKENS_AT_END = 12
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
    check_exclusions(grammar, begin)
    parsed, end = grammar.read(begin)
    if parsed == ParsedTime() or (
        end == begin + 1 < len(line.tokens) and line.folded(begin) in SHORT_WEEKDAYS
    ):
        return _read_at_end(line, grammar, begin, now, zone)
    end = line.skip(words().approximately, end)
    check_start(MomentInLine(grammar, parsed, begin, end))
    return resolve(parsed, now, zone), _text_after(line, end)


def _read_at_end(
    line: TokenLine, grammar: Grammar, begin: int, now: datetime, zone: ZoneInfo
) -> tuple[When, str]:
    count = len(line.tokens)
    if line.is_whole:
        for at in range(max(begin + 1, count - _MAX_TOKENS_AT_END), count):
            parsed, end = grammar.read(at)
            if parsed != ParsedTime() and end == count:
                check_end(MomentInLine(grammar, parsed, at, end))
                before = line.text[line.tokens[begin].start : line.tokens[at].start]
                return resolve(parsed, now, zone), _strip_link(line, begin, before)
    raise TimeParseError("unread")


def _text_after(line: TokenLine, end: int) -> str:
    while line.folded(end) in words().punctuation and not (
        continues_as_range(line, end) and line.glued(end + 1)
    ):
        end += 1
    start = line.tokens[end].start if end < len(line.tokens) else line.tokens[-1].end
    return _strip_link(line, end, line.text[start:])


def _strip_link(line: TokenLine, at: int, text: str) -> str:
    """Remove a leading "to" from the text: "tomorrow to call mum"."""
    after = line.skip(words().before_text, at)
    if after > at and after < len(line.tokens):
        text = text[line.tokens[after].start - line.tokens[at].start :]
    elif line.glued(at):
        text = text.removeprefix("に")  # 20分後にお茶
    return text.strip()
