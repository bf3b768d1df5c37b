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

_MOST_PHRASES = 8
"""Maximum zone phrases of a line that are checked: for each the line is parsed again."""
_LONGEST_TEXT = 2_000
_MOST_AT_THE_END = 12
"""Maximum tokens of a time at the end of a line."""
_BEFORE = re.compile(r"[\s,，、(（]*(?:\b(?:in|nach|nel|en|em|no|pelo|в)\s)?$", re.IGNORECASE)
"""A comma, a bracket, a preposition."""
_BEHIND = re.compile(r"\s*[)）]?")


class _Phrase(NamedTuple):
    """A time zone, with its span including the signs around it."""

    zone: str
    start: int
    end: int


def check_time_zone(line: TokenLine, begin: int) -> None:
    """Raise `TimeParseError` if a time zone is named beside the time of day: "at 9 Tokyo time", 北京时间9点.

    `begin`: the token at which a time at the beginning of the line would begin.
    """
    for phrase in islice(_phrases(line), _MOST_PHRASES):
        without = TokenLine(f"{line.text[: phrase.start]} {line.text[phrase.end :]}")
        place = sum(token.start < phrase.start for token in without.tokens)
        if _is_beside_time(Grammar(without), begin, place):
            raise TimeParseError("zone", zone=phrase.zone)


def _phrases(line: TokenLine) -> Iterator[_Phrase]:
    """Yield the time zones of a line, except the offset in 2026-12-03T14:00Z, which is understood."""
    text = line.text[:_LONGEST_TEXT]
    iso = [range(token.start, token.end) for token in line.tokens if token.kind == "iso"]
    for start, end in find_zone_phrases(text):
        if not any(start in each for each in iso):
            before, behind = _BEFORE.search(text[:start]), _BEHIND.match(text, end)
            yield _Phrase(
                text[start:end].strip(), before.start() if before else start, behind.end() if behind else end
            )


def _is_beside_time(grammar: Grammar, begin: int, place: int) -> bool:
    """Return whether the line's time has a time of day and contains or touches a place."""
    try:
        said, end = grammar.read(begin)
        if said != ParsedTime():
            return begin <= place <= end and _has_time(said)
        count = len(grammar.line.tokens)
        for at in range(max(begin + 1, count - _MOST_AT_THE_END), count):
            said, end = grammar.read(at)
            if said != ParsedTime() and end == count:
                return at <= place and _has_time(said)
    except TimeParseError:
        pass
    return False


def _has_time(said: ParsedTime) -> bool:
    return bool(said.clocks or said.part)
