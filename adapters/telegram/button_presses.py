"""Owners of the buttons in rooms, and recent presses."""

import time
from collections.abc import Callable, Sequence

from bot.messages import IncomingMessage, PersonId
from bot.recent_dict import RecentDict

MAX_MESSAGES = 2000
"""About 0.6 MB. A press below an older message counts as its owner's."""
REPEATED_PRESS_SECONDS = 5.0
"""Seconds within which a second press counts as the same one: a double click or a slow answer."""
MAX_PRESSES = 1000


class ButtonPresses:
    """Kept in memory only; after a restart the owners of older messages are unknown."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._owners: RecentDict[tuple[str, str], PersonId] = RecentDict(MAX_MESSAGES)
        self._pressed: RecentDict[tuple[str, str, PersonId, str], tuple[str, float]] = RecentDict(MAX_PRESSES)

    def record_answer(self, chat: int, message: IncomingMessage | None, ids: Sequence[str]) -> None:
        """Record whom a room's messages answer; anonymous senders are skipped."""
        if message is None or not message.in_room or not message.sender.id.isdecimal():
            return
        for each in ids:
            self._owners[str(chat), each] = message.sender

    def find_owner(self, press: IncomingMessage) -> PersonId | None:
        """Return whom the message with the pressed button answers; None if unknown."""
        return self._owners.get((press.chat.name.partition("/")[0], press.handle))

    def is_anothers(self, press: IncomingMessage) -> bool:
        """Return whether the buttons are known to be for somebody else."""
        return self.find_owner(press) not in (None, press.sender)

    def is_repeated(self, press: IncomingMessage) -> bool:
        """Return whether the person pressed the button just before; a redelivered press does not count."""
        before, at = self._pressed.get(_press_key(press), (press.id, 0.0))
        return before != press.id and self._now() - at < REPEATED_PRESS_SECONDS

    def record_press(self, press: IncomingMessage) -> None:
        """Record an accepted press."""
        self._pressed[_press_key(press)] = press.id, self._now()


def _press_key(press: IncomingMessage) -> tuple[str, str, PersonId, str]:
    return press.chat.name, press.handle, press.sender, press.text
