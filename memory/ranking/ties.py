"""Nearly equal scores, and which of them comes first: the newest; in Python and in SQL."""

import math
from datetime import date

NEAR_TIE = 0.01
"""Width of a score band; scores in one band count as equal, and the newer note comes first.

The bands are fixed: with "differs by less than", A could equal B and B equal C, but A not C, and there would
be no total order. Measured, wider bands find less.
"""

EXACT_TIE = 0.3
"""Width of a score band for passages that contain every word of the query.

Their scores differ by length, surroundings and vector noise, which do not show which one is right. Measured,
.15 puts fewer of the latest statements first, and .5 finds less.
"""

LINKED_TIE = 0.05
"""Width of a score band in which a note that better hits link to, or that links to them, comes first."""

_LOWEST_BAND = -(1 << 30)


def score_band(score: float, width: float = NEAR_TIE) -> int:
    """Return the number of the band that a score is in; higher is better."""
    return math.floor(math.log(score) / math.log1p(width)) if score > 0 else _LOWEST_BAND


def band_floor(band: int) -> float:
    """Return a lower bound of the band's scores."""
    return math.exp((band - 1e-6) * math.log1p(NEAR_TIE))


def score_band_sql(score: str) -> str:
    """Return SQL for `score_band`, from SQL for a score of at least 0."""
    return f"floor(ln(greatest({score}, 1e-30)) / {math.log1p(NEAR_TIE)!r})"


def newest_first(
    day: date | None, mtime_ns: int, *, today: date, as_of: date | None = None
) -> tuple[int, int, int]:
    """Return a sort key that puts the newest first.

    An undated note does not age: it counts as of `as_of`, after notes dated so, the last modified first. A
    day after `today` counts as today. Days after `as_of`, the end of the time that the query names, come
    last.
    """
    now = as_of or today
    if day is None:
        return -now.toordinal(), 1, -mtime_ns
    day = min(day, today)
    return (-day.toordinal() if day <= now else day.toordinal()), 0, 0


def newest_first_sql(*, day: str, mtime_ns: str, path: str, first: str, today: str) -> str:
    """Return SQL to order chunks by as `newest_first` does, then by path and position, from SQL for each."""
    return (
        f"CASE WHEN {day} < {today} THEN {day} ELSE {today} END DESC, {day} IS NULL,"
        f" CASE WHEN {day} IS NULL THEN {mtime_ns} END DESC, {path}, {first}"
    )
