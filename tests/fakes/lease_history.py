"""Reconstruct the history of a lease from the records of several processes (`held_leases`)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True)
class Span:
    """A period in which a process held a lease."""

    name: str
    token: int
    process: str
    begin: float
    to: float


def read_spans(file: Path) -> list[Span]:
    if not file.exists():
        return []
    lines = file.read_text().split("\n")[:-1]  # a killed process may leave half a line
    return [
        Span(name, int(token), process, float(begin), float(to))
        for name, token, process, begin, to in map(str.split, lines)
    ]


@dataclass(frozen=True)
class Disturbance:
    """The moment at which a process was killed or stopped, on the clock of the spans."""

    process: str
    moment: float


def overlaps(spans: list[Span]) -> list[tuple[Span, Span]]:
    """Return pairs of processes that held the same lease at the same time."""
    found = []
    by_name: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_name[span.name].append(span)
    for each in by_name.values():
        latest: dict[str, Span] = {}
        for span in sorted(each, key=lambda span: span.begin):
            found += [
                (other, span)
                for other in latest.values()
                if other.process != span.process and other.to > span.begin
            ]
            if span.process not in latest or latest[span.process].to < span.to:
                latest[span.process] = span
    return found


def group_epochs(spans: Collection[Span]) -> list[Span]:
    """Return each holder's span per token, from its first to its last record, in order of time.

    No other process can hold it in between, recorded or not: it would have had a token of its own.
    """
    times: dict[tuple[str, int, str, float], list[float]] = defaultdict(list)
    for span in spans:
        known = (
            span.begin if not span.token else 0.0
        )  # no token: assumed to be ours while the server was away
        times[span.name, span.token, span.process, known] += [span.begin, span.to]
    found = [
        Span(name, token, process, min(moments), max(moments))
        for (name, token, process, _), moments in times.items()
    ]
    return sorted(found, key=lambda tenure: (tenure.begin, tenure.to))


def find_faults(tenures: Sequence[Span]) -> list[str]:
    """Return violations: two holders at once, two with one token, or a token older than the last."""
    faults = [
        f"{one.name} held twice: {one.process[:6]} with token {one.token} until {one.to:.3f}, "
        f"{other.process[:6]} with {other.token} from {other.begin:.3f}"
        for one, other in overlaps(list(tenures))
    ]
    with_token = [tenure for tenure in tenures if tenure.token]
    faults += [
        f"{later.name}: token {later.token} after {earlier.token}"
        for earlier, later in pairwise(with_token)
        if later.token <= earlier.token
    ]
    return faults


def take_overs(tenures: Sequence[Span], troubles: Collection[Disturbance]) -> list[float]:
    """Return the seconds from the end of each killed or stopped holder to the start of the next one."""
    return [
        later.begin - earlier.to
        for earlier, later in pairwise(tenures)
        if earlier.process != later.process
        and any(
            trouble.process == earlier.process and earlier.to - 0.01 <= trouble.moment <= later.begin
            for trouble in troubles
        )
    ]


def longest_free(spans: Collection[Span]) -> float:
    """Return the maximum seconds without a recorded holder, between the first and the last record."""
    ordered = sorted(spans, key=lambda span: span.begin)
    longest, held_to = 0.0, ordered[0].to if ordered else 0.0
    for span in ordered:
        longest = max(longest, span.begin - held_to)
        held_to = max(held_to, span.to)
    return longest
