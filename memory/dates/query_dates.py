"""Find the days that a query names."""

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from memory.dates.east_asian import read_east_asian
from memory.dates.folding import fold
from memory.dates.lexicon import may_contain_dates
from memory.dates.tokens import TokenMatcher, tokenize
from memory.dates.western import DateMatch, read_western

MAX_CHARACTERS = 1_000
"""A query names its date early; the rest of a long one is not read."""


class DateSpan(NamedTuple):
    """Days that a query names. An open end is `date.min` or `date.max`."""

    first: date
    last: date
    """Inclusive, like `first`, and never before it."""
    start: int
    """The words that name it are `query[start:end]`."""
    end: int


def read_dates(query: str, today: date) -> list[DateSpan]:
    """Return the days that `query` names, in its order, relative to `today`; empty if it names none.

    A date without a year is the latest that is not in the future, since a memory is asked about the past. Two
    spans of the same words are two readings, or alternatives: "May or June".
    """
    query = query[:MAX_CHARACTERS]
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
    """Keep the longer of two overlapping matches."""
    kept: list[DateMatch] = []
    taken: set[int] = set()
    for reading in sorted(readings, key=lambda reading: (reading.start - reading.end, reading.start)):
        letters = range(reading.start, reading.end)
        if taken.isdisjoint(letters):
            taken.update(letters)
            kept.append(reading)
    return kept
