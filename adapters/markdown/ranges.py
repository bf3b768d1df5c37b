"""Ranges of a text, looked up by binary search."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """Half-open ranges in order, overlapping ones merged; each lookup takes logarithmic time."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            elif start < end:
                self._starts.append(start)
                self._ends.append(end)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def find_end(self, place: int) -> int | None:
        """Return the end of the range with start <= place < end, or None."""
        at = bisect_right(self._starts, place) - 1
        return self._ends[at] if at >= 0 and place < self._ends[at] else None

    def hold(self, place: int) -> bool:
        """Return whether start <= place < end for a range."""
        return self.find_end(place) is not None

    def are_cut_at(self, place: int) -> bool:
        """Return whether start < place < end for a range."""
        at = bisect_left(self._starts, place) - 1
        return at >= 0 and place < self._ends[at]

    def overlap(self, start: int, end: int) -> bool:
        """Return whether a range overlaps the one from `start` to `end`, which nothing does if that is empty."""
        return start < end and next(self._iter_overlapping(start, end), None) is not None

    def outside(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of `start` to `end` outside all ranges, in order."""
        for first, last in self._iter_overlapping(start, end):
            if start < first:
                yield start, first
            start = last
        if start < end:
            yield start, end

    def _iter_overlapping(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        for at in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            yield self._starts[at], self._ends[at]
