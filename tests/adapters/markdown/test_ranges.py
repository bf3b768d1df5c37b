"""Ranges, against what one finds by looking at each."""

from hypothesis import example, given
from hypothesis import strategies as st

from adapters.markdown.ranges import Ranges

places = st.integers(0, 20)
pairs = st.tuples(places, places).map(sorted).map(tuple)


@given(st.lists(pairs), pairs)
@example([(0, 2)], (1, 1))
def test_ranges_answer_as_each_of_them_would(given: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    ranges, (start, end) = Ranges(given), asked
    held = {place for first, last in given for place in range(first, last)}
    assert bool(ranges) == bool(held)
    assert [place for place in range(22) if ranges.hold(place)] == sorted(held)
    assert ranges.overlap(start, end) == (not held.isdisjoint(range(start, end)))
    outside = [place for first, last in ranges.outside(start, end) for place in range(first, last)]
    assert outside == [place for place in range(start, end) if place not in held]


def test_two_ranges_that_touch_stay_two() -> None:
    ranges = Ranges([(2, 4), (4, 6)])
    assert [ranges.are_cut_at(place) for place in range(8)] == [
        False, False, False, True, False, True, False, False,
    ]  # fmt: skip
    assert ranges.find_end(2) == 4
    assert ranges.find_end(4) == 6
    assert ranges.find_end(6) is None
