"""What an adapter is told about its right to the channel when it is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Ownership:
    """The right to a channel; by default that of an instance that shares no channels."""

    is_ours: Callable[[], bool] = lambda: True
    """Return whether the channel is still ours; checked before anything is sent."""
    since: datetime | None = None
    """Until when another workspace may have answered there; None if it was this one or nobody."""
