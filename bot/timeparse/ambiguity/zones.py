"""Detect a time zone beside a time of day: the reminder would come at that hour of the local zone."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from bot.timeparse.ambiguity.zone_phrases import find_zone_phrases
from bot.timeparse.grammar import Grammar
from bot.timeparse.lexer import TokenLine
from bot.timeparse.moment import TimeParseError
from bot.timeparse.parsed import ParsedTime

_MAX_PHRASES = 8
"""Maximum zone phrases of a line that are checked: for each the line is parsed again."""
_MAX_CHARS = 2_000
_MAX_TOKENS_AT_END = 12
"""Maximum tokens of a time at the end of a line."""
_BEFORE = re.compile(r"[\s,，、(（]*(?:\b(?:in|nach|nel|en|em|no|pelo|в)\s)?$", re.IGNORECASE)
"""A comma, a bracket, a preposition."""
_AFTER = re.compile(r"\s*[)）]?")


class _Phrase(NamedTuple):
    """A time zone, with its span including the signs around it."""

    zone: str
    start: int
    end: int


def check_time_zone(line: TokenLine, begin: int) -> None:
    """Raise `TimeParseError` if a time zone is named beside the time of day: "at 9 Tokyo time", 北京时间9点.

    `begin`: the token at which a time at the beginning of the line would begin.
    """
    for phrase in islice(_phrases(line), _MAX_PHRASES):
        without = TokenLine(f"{line.text[: phrase.start]} {line.text[phrase.end :]}")
        place = sum(token.start < phrase.start for token in without.tokens)
        if _is_beside_time(Grammar(without), begin, place):
            raise TimeParseError("zone", zone=phrase.zone)


def _phrases(line: TokenLine) -> Iterator[_Phrase]:
    """Yield the time zones of a line, except the offset in 2026-12-03T14:00Z, which is understood."""
    text = line.text[:_MAX_CHARS]
    iso = [range(token.start, token.end) for token in line.tokens if token.kind == "iso"]
    for start, end in find_zone_phrases(text):
        if not any(start in each for each in iso):
            before, following = _BEFORE.search(text[:start]), _AFTER.match(text, end)
            yield _Phrase(
                text[start:end].strip(),
                before.start() if before else start,
                following.end() if following else end,
            )


def _is_beside_time(grammar: Grammar, begin: int, place: int) -> bool:
    """Return whether the line's time has a time of day and contains or touches a place."""
    try:
        parsed, end = grammar.read(begin)
        if parsed != ParsedTime():
            return begin <= place <= end and _has_time(parsed)
        count = len(grammar.line.tokens)
        for at in range(max(begin + 1, count - _MAX_TOKENS_AT_END), count):
            parsed, end = grammar.read(at)
            if parsed != ParsedTime() and end == count:
                return at <= place and _has_time(parsed)
    except TimeParseError:
        pass
    return False


def _has_time(parsed: ParsedTime) -> bool:
    return bool(parsed.clocks or parsed.part)
