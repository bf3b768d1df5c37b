"""A future time, and the error if a text contains none."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot import phrases

TimeParseReason = Literal[
    "unread",
    "past",
    "today",
    "no_clock",
    "no_date",
    "other_day",
    "two_dates",
    "doubt",
    "two_days",
    "no_count",
    "too_often",
    "too_far",
    "odd_rule",
    "separator",
    "range",
    "no_range",
    "ago",
    "relative",
    "except",
    "time_in_text",
    "vague",
    "day_in_text",
    "day_of_text",
    "until",
    "zone",
]
"""Why a text is no valid time; "unread": it contains none."""


class TimeParseError(Exception):
    """The text is no future time; the message says why, and how to write it."""

    def __init__(self, refusal: TimeParseReason, **fields: object) -> None:
        """`fields` fill in the sentence, as `phrases.WHEN` names them."""
        super().__init__(phrases.WHEN[refusal].format(**fields))
        self.refusal = refusal
        self.fields = fields


@dataclass(frozen=True, slots=True)
class When:
    """A future time."""

    due: datetime
    """Aware, in the zone that it was parsed for."""
    rule: str = ""
    """Its repetition, in the format of `Recurrence.parse`; "" for once."""
    on_wall: bool = True
    """Whether it was given in local time: 9:00 then stays 9:00 in any zone. "In 20 minutes" is not."""
