"""Pure: what is kept with a slash command or a press, so that it can be answered by any process."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from discord.utils import snowflake_time

LIFETIME = timedelta(minutes=15)
"""For so long Discord takes answers to it."""
MARGIN = timedelta(seconds=20)
"""Of that, what a call on its way may need, and clocks that differ."""


@dataclass(frozen=True, slots=True)
class InteractionHandle:
    """A command or a press that Discord waits for to be answered; it is written as a message's `handle`.

    Its first answer is the webhook message `@original` of application and token: what is shown in the place of
    "thinking …", or the message that holds the buttons.
    """

    interaction: int
    application: int
    token: str = field(repr=False)
    """Whoever has it can answer: never to be logged."""
    private: bool = False
    """Whether nobody but who asked sees the answer. What is told another way must not be seen by others either."""
    replaces: bool = False
    """Whether the answer takes the place of the message that holds the buttons."""
    buttons: int = 0
    """The message that holds the buttons; 0 where none was pressed."""

    @property
    def until(self) -> datetime:
        """From then on nothing can be answered with it; aware."""
        return snowflake_time(self.interaction) + LIFETIME - MARGIN

    @property
    def written(self) -> str:
        """As a handle."""
        parts = [self.interaction, self.application, self.token, self.private, self.replaces, self.buttons]
        return json.dumps(parts, separators=(",", ":"))


def parse_handle(handle: str) -> InteractionHandle | None:
    """What a message's handle says; None where the message is neither a command nor a press of Discord's."""
    try:
        parts = json.loads(handle)
    except ValueError:
        return None
    match parts:
        case [int(), int(), str(), bool(), bool(), int()]:
            return InteractionHandle(*parts)
    return None
