"""Moments that lie ahead: read from what people write, come round again by rules, and told in full."""

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.when.moment import NoMoment, Refusal, When
from bot.when.rule import Rule
from bot.when.wording import due_before, moment_in_full, moment_in_short, rule_in_words

__all__ = [
    "NoMoment",
    "Refusal",
    "Rule",
    "When",
    "due_before",
    "moment_in_full",
    "moment_in_short",
    "read_when",
    "rule_in_words",
]


def read_when(text: str, now: datetime, zone: ZoneInfo) -> tuple[When, str]:
    """As `bot.when.reading` has it, whose grammar is loaded by the first moment that somebody writes."""
    from bot.when.reading import read_when as read

    return read(text, now, zone)
