"""How the time of a function grows with its input: twice the input may cost little more than twice the time."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

SIZES = (25_000, 50_000, 100_000, 200_000)
"""Characters, each twice the one before."""
QUICK_SIZES = (4_000, 8_000, 16_000)
MOST_GROWTH = 2.5
"""Times that twice the input may cost."""
FLOOR = 0.03
"""Seconds of processor time that count as none: the collector of garbage and other tests make as much noise."""
TRIES = 4
"""Measurements of one size; the best counts, and a size that fits needs only one."""


@dataclass(frozen=True)
class Case:
    """One parser and one shape of input."""

    name: str
    call: Callable[[str], object]
    shape: Callable[[int], str]
    """Return a text of about so many characters."""


def repeated(piece: str) -> Callable[[int], str]:
    """Return a shape that is `piece` again and again."""
    return lambda size: piece * max(1, size // len(piece))


def cases(
    calls: Iterable[tuple[str, Callable[[str], object]]],
    shapes: Iterable[tuple[str, Callable[[int], str]]],
) -> list[Case]:
    """Return each call with each shape."""
    named = list(shapes)
    return [Case(f"{call}: {shape}", run, make) for call, run in calls for shape, make in named]


def seconds_of(call: Callable[[str], object], text: str) -> float:
    """Return the processor time of this thread that one call takes."""
    began = time.thread_time()
    call(text)
    return time.thread_time() - began


def assert_grows_linearly(case: Case, sizes: Sequence[int] = SIZES) -> list[float]:
    """Raise AssertionError where twice the input costs much more than twice the time; return seconds by size.

    Each size is measured again while it is too slow, up to TRIES times, since a busy machine only ever adds time. The
    first size that is too slow ends it: a quadratic shape is not tried at its largest.
    """
    texts = [case.shape(size) for size in sizes]
    best = [seconds_of(case.call, texts[0])]
    for smaller, text in pairwise(texts):
        allowed, taken = 0.0, math.inf
        for _ in range(TRIES):
            allowed = max(MOST_GROWTH * len(text) / len(smaller) / 2 * best[-1], FLOOR)
            taken = min(taken, seconds_of(case.call, text))
            if taken <= allowed:
                break
            # A smaller one that was disturbed would allow too much, never too little: it need not be measured again.
        assert taken <= allowed, (
            f"{case.name}: {len(smaller)} characters took {best[-1]:.3f} s, {len(text)} took {taken:.3f} s"
        )
        best.append(taken)
    return best
