"""What an adapter is told that is opened because its channel has become this instance's."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Ownership:
    """By default that of who shares its channels with nobody."""

    is_ours: Callable[[], bool] = lambda: True
    """Whether the channel still is; to be asked before anything leaves."""
    since: datetime | None = None
    """Until when another workspace has answered there; None where that was this one, or nobody."""
