"""What became of a lease, from what several processes have written down of it (`held_leases`)."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True)
class Span:
    """Somebody held a lease for all that time."""

    name: str
    token: int
    process: str
    begin: float
    to: float


def read_spans(file: Path) -> list[Span]:
    if not file.exists():
        return []
    lines = file.read_text().split("\n")[:-1]  # who is killed may leave half a line
    return [
        Span(name, int(token), process, float(begin), float(to))
        for name, token, process, begin, to in map(str.split, lines)
    ]


@dataclass(frozen=True)
class Disturbance:
    """A process was killed or stopped at that moment, by the clock of the spans."""

    process: str
    moment: float


def overlaps(spans: list[Span]) -> list[tuple[Span, Span]]:
    """Pairs of processes that held the same lease at one moment."""
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
    """From the first to the last moment of each holder with one token, in order of time.

    Nobody else can hold it in between, seen or not: whoever took it would have had a token of his own.
    """
    times: dict[tuple[str, int, str, float], list[float]] = defaultdict(list)
    for span in spans:
        known = (
            span.begin if not span.token else 0.0
        )  # no token: taken for one's own while the server was away
        times[span.name, span.token, span.process, known] += [span.begin, span.to]
    found = [
        Span(name, token, process, min(moments), max(moments))
        for (name, token, process, _), moments in times.items()
    ]
    return sorted(found, key=lambda tenure: (tenure.begin, tenure.to))


def find_faults(tenures: Sequence[Span]) -> list[str]:
    """What must never be: two who hold it at once, or with one token, or with one that is older than the last."""
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
    """Seconds from the last moment of a holder that was killed or stopped to the first of the next one."""
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
    """Seconds that nobody was seen to hold it, at most; from the first who did to the last."""
    ordered = sorted(spans, key=lambda span: span.begin)
    longest, held_to = 0.0, ordered[0].to if ordered else 0.0
    for span in ordered:
        longest = max(longest, span.begin - held_to)
        held_to = max(held_to, span.to)
    return longest
