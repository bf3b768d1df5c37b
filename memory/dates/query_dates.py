"""Which days a question speaks of."""

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from memory.dates.east_asian import read_east_asian
from memory.dates.folding import fold
from memory.dates.lexicon import may_contain_dates
from memory.dates.tokens import TokenMatcher, tokenize
from memory.dates.western import DateMatch, read_western

MOST_CHARACTERS = 1_000
"""A question says its date early; a query that is a whole document is not read to its end."""


class DateSpan(NamedTuple):
    """Days that a question speaks of. An end that it leaves open is `date.min` or `date.max`."""

    first: date
    last: date
    """Inclusive, as is `first`, and never before it."""
    start: int
    """Where in the question that is said: `query[start:end]`."""
    end: int


def read_dates(query: str, today: date) -> list[DateSpan]:
    """The days that `query` speaks of, in its order, seen from `today`; an empty list where it names none.

    What has no year is the latest that is not in the future: a question to a memory asks for what was. Two
    spans of the same words are two ways to read them, or either of two: "May or June".
    """
    query = query[:MOST_CHARACTERS]
    text, places = fold(query)
    readings = list(read_east_asian(text, today))
    if may_contain_dates(text):
        readings += read_western(TokenMatcher(tokenize(query, text, places), today))
    spans = {
        (places[reading.start], first, last, places[reading.end - 1] + 1)
        for reading in _drop_overlaps(readings)
        for first, last in reading.spans
    }
    return [DateSpan(first, last, start, end) for start, first, last, end in sorted(spans)]


def _drop_overlaps(readings: Iterable[DateMatch]) -> list[DateMatch]:
    """The longer of two that share a letter."""
    kept: list[DateMatch] = []
    taken: set[int] = set()
    for reading in sorted(readings, key=lambda reading: (reading.start - reading.end, reading.start)):
        letters = range(reading.start, reading.end)
        if taken.isdisjoint(letters):
            taken.update(letters)
            kept.append(reading)
    return kept
