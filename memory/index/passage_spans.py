"""Ranges of passages that were found, and what is read with them; pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from memory.ranking.candidates import Similarity
from memory.ranking.word_scores import NEIGHBOUR_REACH

PassageSpan = tuple[int, int, int]
"""A note, and the first and last of some consecutive passages."""

MAX_DAILY_LOGS = 31
"""Maximum number of daily logs read whole for one time that a query names: a month, a few milliseconds."""


def merge_spans(found: Iterable[PassageSpan]) -> list[PassageSpan]:
    """Extend each range by its neighbours, sort them and merge those that touch."""
    margin = NEIGHBOUR_REACH
    places: list[PassageSpan] = []
    for note, first, last in sorted(found):
        if places and places[-1][0] == note and first - margin <= places[-1][2] + 1:
            places[-1] = (note, places[-1][1], max(places[-1][2], last + margin))
        else:
            places.append((note, max(0, first - margin), last + margin))
    return places


def similarity_by_position(
    segments: Iterable[PassageSpan], similar: Mapping[int, Similarity]
) -> dict[int, Similarity]:
    """Return the similarity of each passage in the segments, which are `(first, last, text)`."""
    return {
        position: similar[text_id]
        for first, last, text_id in segments
        if text_id in similar
        for position in range(first, last + 1)
    }


def latest_day(days: Sequence[int | None]) -> int | None:
    """Return the latest day, counted from 0001-01-01; None if none is known."""
    return max((day for day in days if day is not None), default=None)


def parse_day(stored: object) -> date | None:
    """Convert a stored day to a date; None stays None."""
    known = isinstance(stored, int) and 0 < stored <= date.max.toordinal()
    return date.fromordinal(stored) if known and isinstance(stored, int) else None
