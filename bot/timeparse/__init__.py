"""Future times: parse what people write, compute repetitions, and format them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.timeparse.formatting import day_in_words, due_before, moment_in_full, moment_in_short, rule_in_words
from bot.timeparse.moment import TimeParseError, TimeParseReason, When
from bot.timeparse.recurrence import Recurrence

__all__ = [
    "Recurrence",
    "TimeParseError",
    "TimeParseReason",
    "When",
    "day_in_words",
    "due_before",
    "moment_in_full",
    "moment_in_short",
    "read_when",
    "rule_in_words",
]


def read_when(text: str, now: datetime, zone: ZoneInfo) -> tuple[When, str]:
    """Call `bot.timeparse.parser.read_when`; the grammar is loaded on first use."""
    from bot.timeparse.parser import read_when as read

    return read(text, now, zone)
