"""How much a passage counts by the day it was told: the newest most, or the last told by a named time."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from memory.ranking.query import NamedTime

NOW_BONUS = 1.5
"""How much more the newest passage counts than a very old one, if it matches best and the query names no time.

What matches less gains less by its age, so that newer passages come first only among those about the same thing.
Measured, the same bonus for every passage loses answers that consist of several old ones.
"""

THEN_BONUS = 1.5
"""The same for what was told last before the time that the query names, however well it matches.

It may hold what was true then.
"""

FADING_DAYS = 365.0
"""After so many days, a bonus has fallen to 1/e."""

NEAR_FACTOR = 1.3
"""Factor for passages told at the named time or near it: people write about things days later."""


@dataclass(frozen=True, slots=True)
class DayPreference:
    """The times that a query names, if any, and the day from which ages are counted."""

    times: Sequence[NamedTime]
    until: date
    """The last named day; the newest passage's if that is earlier, or if the query names no time."""
    is_lookup: bool = False
    """True if the query only names something: then age does not count unless a time is named."""

    def factor(self, day: date | None, match: float) -> float:
        """Return the factor, at most 1, for a passage told on that day; None if it is not known.

        `match`: how well it matches, relative to the best, 0 to 1. A passage without a day does not age, and
        may be of any time.
        """
        fading = math.exp(-max(0, (self.until - day).days) / FADING_DAYS) if day else 1.0
        if not self.times and self.is_lookup:
            return 1.0
        if not self.times:
            return (1 + NOW_BONUS * match * fading) / (1 + NOW_BONUS)
        most = 1 + THEN_BONUS
        if day is None:
            return NEAR_FACTOR / most
        near = NEAR_FACTOR if any(time.is_near(day) for time in self.times) else 1.0
        before = 1 + THEN_BONUS * fading if day <= self.until else 1.0
        return max(near, before) / most


def prefer_days(
    times: Sequence[NamedTime], days: Iterable[date | None], *, today: date, is_lookup: bool = False
) -> DayPreference:
    """Return the preference for these named times among passages told on `days`; days to come count as today."""
    newest = max((min(day, today) for day in days if day), default=today)
    return DayPreference(times, min([newest, max((time.last for time in times), default=newest)]), is_lookup)
