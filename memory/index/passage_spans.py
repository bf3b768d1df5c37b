"""Pure: places of passages that were found, and what of them is read together."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from memory.search import NEIGHBOUR_WEIGHTS, Similarity

PassageSpan = tuple[int, int, int]
"""A note, and the first and the last of some neighbouring passages."""

MAX_DAILY_LOGS = 31
"""Daily logs that are looked through whole for one time that a question names: a month of them, some ms."""


def merge_spans(found: Iterable[PassageSpan]) -> list[PassageSpan]:
    """The places with their neighbours, in order; those that touch are one."""
    margin = len(NEIGHBOUR_WEIGHTS)
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
    """The similarity of each passage in some segments, which are `(first, last, text)`."""
    return {
        position: similar[text_id]
        for first, last, text_id in segments
        if text_id in similar
        for position in range(first, last + 1)
    }


def latest_day(days: Sequence[int | None]) -> int | None:
    """Return the latest of some days, counted from 0001-01-01; None where none is known."""
    return max((day for day in days if day is not None), default=None)


def parse_day(stored: object) -> date | None:
    """Return a day as it is stored; None for none."""
    known = isinstance(stored, int) and 0 < stored <= date.max.toordinal()
    return date.fromordinal(stored) if known and isinstance(stored, int) else None
