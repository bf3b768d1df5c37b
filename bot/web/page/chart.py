"""Pure: two charts of a model's last 24 hours, and the same in numbers."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.state.model_history import HOUR_SECONDS, ModelHour

HOURS = 24
SLOT = 10
"""Width of an hour, in SVG units like all lengths here."""
WIDTH = HOURS * SLOT
GAP = 2
UP, DOWN = 36.0, 14.0
"""Maximum height of answered calls above the line, and of failed ones below it."""
HEIGHT = UP + DOWN
MIN_HEIGHT = 2.0
"""Minimum height of a bar, so that it is visible."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour; `up` is the height of answered calls, `down` of failed ones."""

    x: int
    up: float
    down: float


@dataclass(frozen=True, slots=True)
class WaitMark:
    """One hour's waits for the first words: mean and longest, as distances from the top."""

    x: float
    mean: float
    longest: float


@dataclass(frozen=True, slots=True)
class Charts:
    """The charts of one model's last 24 hours."""

    bars: tuple[Bar, ...]
    waits: tuple[WaitMark, ...]
    lines: tuple[str, ...]
    """The means of consecutive hours, each line as the points of an SVG polyline."""
    calls: int
    failures: int
    mean_seconds: float
    """Mean wait for the first words; 0 if there were none."""
    slowest_seconds: float

    @property
    def answered(self) -> float:
        """The share of answered calls, 0 to 1."""
        return 1 - self.failures / self.calls if self.calls else 0.0


def first_hour(now: float) -> int:
    """Return when the first hour of a chart begins; both in seconds since 1970."""
    return (int(now // HOUR_SECONDS) - HOURS + 1) * HOUR_SECONDS


def draw_charts(hours: Iterable[ModelHour], *, now: float) -> Charts:
    """Draw the last 24 hours of one model; older `hours` are ignored. `now`: seconds since 1970."""
    first = first_hour(now)
    places = [(int(each.start - first) // HOUR_SECONDS, each) for each in hours]
    shown = sorted(
        ((place, each) for place, each in places if 0 <= place < HOURS and each.calls), key=_position
    )
    most = max((max(each.calls - each.failures, each.failures * UP / DOWN) for _, each in shown), default=0)
    longest = max((each.slowest_seconds for _, each in shown), default=0.0)
    waited = [(place, each) for place, each in shown if each.first_token_seconds > 0]
    waits = {
        place: WaitMark(
            place * SLOT + SLOT / 2,
            _from_top(each.first_token_seconds, longest),
            _from_top(each.slowest_seconds, longest),
        )
        for place, each in waited
    }
    answers = [each.calls - each.failures for _, each in waited]
    seconds = sum(each.first_token_seconds * count for (_, each), count in zip(waited, answers, strict=True))
    return Charts(
        bars=tuple(
            Bar(
                place * SLOT + GAP // 2,
                _length((each.calls - each.failures) / most * UP),
                _length(each.failures / most * UP),
            )
            for place, each in shown
        ),
        waits=tuple(waits.values()),
        lines=tuple(_wait_lines(waits)),
        calls=sum(each.calls for _, each in shown),
        failures=sum(each.failures for _, each in shown),
        mean_seconds=seconds / sum(answers) if any(answers) else 0.0,
        slowest_seconds=longest,
    )


def _position(one: tuple[int, ModelHour]) -> int:
    return one[0]


def _length(length: float) -> float:
    return round(max(length, MIN_HEIGHT), 1) if length else 0.0


def _from_top(seconds: float, longest: float) -> float:
    return round(HEIGHT - MIN_HEIGHT - seconds / longest * (HEIGHT - 2 * MIN_HEIGHT), 1)


def _wait_lines(waits: dict[int, WaitMark]) -> Iterable[str]:
    points: list[str] = []
    before = -2
    for place, wait in waits.items():
        if place != before + 1:
            if len(points) > 1:
                yield " ".join(points)
            points = []
        points.append(f"{wait.x:g},{wait.mean:g}")
        before = place
    if len(points) > 1:
        yield " ".join(points)
