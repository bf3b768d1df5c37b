"""How the time of a function grows with its input: twice the input may cost little more than twice the time.

To hold a parser to that, add its rows: `cases([("name", parse)], SHAPES)`, and call `assert_grows_linearly` with each.
"""

import gc
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SIZES = (25_000, 100_000)
"""Characters."""
QUICK_SIZES = (2_000, 8_000)
MAX_GROWTH = 2.5
"""Times that twice the input may cost."""
FLOOR = 0.05
"""Seconds of processor time that count as none: less than that is noise."""
TRIES = 4
"""Measurements of one size; one is enough where it is quick enough."""

Shape = Callable[[int], str]
"""Returns a text of about so many characters."""


@dataclass(frozen=True)
class Case:
    """One parser and one shape of input."""

    name: str
    call: Callable[[str], object]
    shape: Shape


def cases(calls: Iterable[tuple[str, Callable[[str], object]]], shapes: Mapping[str, Shape]) -> list[Case]:
    """Return each call with each shape."""
    return [Case(f"{name}: {shape}", call, shapes[shape]) for name, call in calls for shape in shapes]


def repeated(piece: str) -> Shape:
    """Return the shape that is `piece` again and again."""
    return lambda size: piece * max(1, size // len(piece))


def nested(opening: str, closing: str, inside: str = "a") -> Shape:
    """Return the shape of openings, something inside, and as many closings."""
    return lambda size: (
        opening * (size // len(opening + closing)) + inside + closing * (size // len(opening + closing))
    )


def around(before: str, piece: str, behind: str = "") -> Shape:
    """Return the shape that is `piece` again and again between two texts."""
    return lambda size: before + piece * max(1, size // len(piece)) + behind


def numbered(piece: str) -> Shape:
    """Return the shape that is `piece` again and again, each with another number in the place of `{}`."""
    return lambda size: "".join(piece.format(number) for number in range(max(1, size // (len(piece) + 3))))


def seconds_of(call: Callable[[str], object], text: str) -> float:
    """Return the processor time of this thread that one call takes, without the collector's, which is everybody's."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        began = time.thread_time()
        call(text)
        return time.thread_time() - began
    finally:
        if was_enabled:
            gc.enable()


def assert_grows_linearly(case: Case, sizes: Sequence[int] = SIZES) -> list[float]:
    """Raise AssertionError where the time grows much faster than the input; return the seconds by size.

    The first size that is too slow ends it, so that a quadratic shape is not tried at its largest. Where a size seems
    too slow, it and the one before are measured again, next to each other: a busy machine slows down both.
    """
    texts = [case.shape(size) for size in sizes]
    taken = [seconds_of(case.call, texts[0])]
    for smaller, text in pairwise(texts):
        most = MAX_GROWTH ** math.log2(max(len(text), 2) / max(len(smaller), 1))
        before = taken[-1]
        for _ in range(TRIES):
            seconds = seconds_of(case.call, text)
            if seconds <= max(before * most, FLOOR):
                break
            before = seconds_of(case.call, smaller)
        else:
            raise AssertionError(
                f"{case.name}: {len(smaller):,} characters took {before:.3f} s, {len(text):,} took {seconds:.3f} s"
            )
        taken.append(seconds)
    return taken
