"""Reminders and scheduled prompts: kept in state.db, delivered once when they are due, however late that is noticed."""

from collections.abc import Callable
from datetime import datetime

from bot.state.database import State


class Reminders:
    """What is due when, for every chat."""

    def __init__(self, state: State, *, now: Callable[[], datetime], zone: str) -> None:
        """`now` is on the owner's clock, in `zone` (an IANA name)."""
        self._state = state
        self._now = now
        self._zone = zone
