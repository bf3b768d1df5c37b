"""A moment that lies ahead, and the error where there is none."""

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
"""Why no moment can be made of what was written; "unread": nothing in it is one."""


class TimeParseError(Exception):
    """No moment that lies ahead can be made of what was written; the text says why, and how to write it."""

    def __init__(self, refusal: TimeParseReason, **fields: object) -> None:
        """`fields` fill in the sentence, as `phrases.WHEN` names them."""
        super().__init__(phrases.WHEN[refusal].format(**fields))
        self.refusal = refusal
        self.fields = fields


@dataclass(frozen=True, slots=True)
class When:
    """A moment that lies ahead."""

    due: datetime
    """Aware, in the zone that it was read for."""
    rule: str = ""
    """How it comes round again, as `Rule.parse` takes it; "" for once."""
    on_wall: bool = True
    """Whether it was meant on the clock on the wall: 9:00 is then 9:00 in any zone. "In 20 minutes" is not."""
