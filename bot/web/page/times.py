"""Pure: times as the page shows them, in the owner's time zone."""

from dataclasses import dataclass
from datetime import datetime

from bot import phrases
from bot.quantities import rough_duration_in_words
from bot.timeparse import moment_in_short

DAY_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class ShownTime:
    """A time, for programs and for people."""

    iso: str
    words: str
    """`09:00, 3 min ago`."""


@dataclass(frozen=True, slots=True)
class PageClock:
    """Formats times relative to `now`."""

    now: datetime
    """Aware."""

    def at(self, moment: datetime) -> ShownTime:
        """Format an aware time."""
        short = moment_in_short(moment, self.now)
        seconds = (moment - self.now).total_seconds()
        words = (
            short
            if abs(seconds) >= DAY_SECONDS
            else phrases.WEB_TIME.format(time=short, distance=_format_distance(seconds))
        )
        return ShownTime(self._local(moment), words)

    def iso(self, text: str) -> ShownTime | None:
        """Format an ISO 8601 time; None for ""."""
        return self.at(datetime.fromisoformat(text)) if text else None

    def unix(self, seconds: float) -> ShownTime | None:
        """Format seconds since 1970; None for 0, which means never."""
        return self.at(datetime.fromtimestamp(seconds, self.now.tzinfo)) if seconds else None

    @property
    def time(self) -> ShownTime:
        """The current time."""
        return ShownTime(self._local(self.now), f"{self.now:%H:%M:%S}")

    @property
    def zone(self) -> str:
        """The time zone's name, such as `Europe/Berlin`."""
        return str(getattr(self.now.tzinfo, "key", "") or self.now.tzname() or "")

    def _local(self, moment: datetime) -> str:
        return moment.astimezone(self.now.tzinfo).isoformat(timespec="seconds")


def _format_distance(seconds: float) -> str:
    if -5 < seconds < 1:
        return phrases.WEB_JUST_NOW
    phrase = phrases.WEB_AGO if seconds < 0 else phrases.WEB_AHEAD
    return phrase.format(time=rough_duration_in_words(abs(seconds)))
