"""A moment that lies ahead, and that there is none."""

from dataclasses import dataclass
from datetime import datetime


class NoMoment(Exception):
    """No moment that lies ahead can be made of what was written; the text tells why, and how to write it."""


@dataclass(frozen=True, slots=True)
class When:
    """A moment that lies ahead."""

    due: datetime
    """Aware, in the zone that it was read for."""
    rule: str = ""
    """How it comes round again, as `Rule.parse` takes it; "" for once."""
