"""The outcome of a flush, as people are told it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot import phrases
from bot.conversations.log_section import RAW_MARK
from bot.language.text import localize
from bot.state.flushes import Cause, Flush

FlushOutcome = Literal["noted", "raw", "doubtful", "nothing", "old", "waits", "no model", "off", "fault"]


@dataclass(frozen=True, slots=True)
class FlushResult:
    """The outcome of a flush."""

    result: FlushOutcome
    places: tuple[str, ...] = ()
    """References to what was written, for people."""
    fault: str = ""
    cause: Cause | None = None

    @property
    def text(self) -> str:
        """The answer to a command that asked for the flush."""
        if self.result == "fault":
            return localize(self.fault)
        return phrases.FLUSHED[self.result].format(places=phrases.PLACES_AND.join(self.places))

    @property
    def notice(self) -> str:
        """One line for a chat that did not ask for the flush; "" if there is nothing to tell."""
        if self.cause in phrases.FLUSH_WHY and self.result in phrases.FLUSHED_UNASKED:
            places = phrases.PLACES_AND.join(self.places)
            return phrases.FLUSHED_UNASKED[self.result].format(
                why=phrases.FLUSH_WHY[self.cause], places=places
            )
        return self.text if self.result in ("noted", "raw", "doubtful", "fault") else ""


def combine_results(rows: Sequence[Flush], places: Sequence[str] | None = None) -> FlushResult:
    """Return the outcome of several flushes together."""
    if not rows:
        return FlushResult("old")
    shown = tuple(place for row in rows for place in row.places) if places is None else tuple(places)
    if not shown:
        return FlushResult("nothing")
    cause = rows[0].cause
    if any(row.raw and RAW_MARK in row.section for row in rows):
        return FlushResult("raw", shown, cause=cause)
    return FlushResult("doubtful" if any(row.raw for row in rows) else "noted", shown, cause=cause)
