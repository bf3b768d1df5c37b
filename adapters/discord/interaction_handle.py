"""The data stored with a command or button press so that any process can answer it; no I/O."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from discord.utils import snowflake_time

LIFETIME = timedelta(minutes=15)
"""How long Discord accepts answers."""
MARGIN = timedelta(seconds=20)
"""Allowance for a call in transit and for differing clocks."""


@dataclass(frozen=True, slots=True)
class InteractionHandle:
    """A command or press that waits for an answer; stored as a message's `handle`.

    Its first answer is the webhook message `@original` of application and token: the one that replaces "thinking
    …", or the message with the buttons.
    """

    interaction: int
    application: int
    token: str = field(repr=False)
    """Grants the right to answer: never log it."""
    private: bool = False
    """Whether only the sender sees the answer. An answer sent another way must be private too."""
    replaces: bool = False
    """Whether the answer replaces the message with the buttons."""
    buttons: int = 0
    """The message with the buttons; 0 for a command."""

    @property
    def until(self) -> datetime:
        """Time from which answers are no longer possible; aware."""
        return snowflake_time(self.interaction) + LIFETIME - MARGIN

    @property
    def written(self) -> str:
        """The handle's text."""
        parts = [self.interaction, self.application, self.token, self.private, self.replaces, self.buttons]
        return json.dumps(parts, separators=(",", ":"))


def parse_handle(handle: str) -> InteractionHandle | None:
    """Parse a message's handle; None if the message is not an interaction of Discord."""
    try:
        parts = json.loads(handle)
    except ValueError:
        return None
    match parts:
        case [int(), int(), str(), bool(), bool(), int()]:
            return InteractionHandle(*parts)
    return None
