"""Moments that lie ahead: read from what people write, come round again by rules, and told in full."""

from bot.when.reading import NoMoment, When, read_when
from bot.when.rule import Rule
from bot.when.wording import due_before, moment_in_full, moment_in_short, rule_in_words

__all__ = [
    "NoMoment",
    "Rule",
    "When",
    "due_before",
    "moment_in_full",
    "moment_in_short",
    "read_when",
    "rule_in_words",
]
