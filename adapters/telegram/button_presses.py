"""Whose buttons stand below a message of a room, and which of them were pressed just now."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from bot.messages import IncomingMessage, PersonId

MESSAGES_KEPT = 2000
"""Some 0.6 MB. Who presses a button below an older one is believed that it is theirs."""
AGAIN_SECONDS = 5.0
"""A second press within this is the same one: the finger was quick, or the answer slow."""
PRESSED_KEPT = 1000


class ButtonPresses:
    """Known as long as the program runs; after a restart it is not known whose an older message is."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._owners: OrderedDict[tuple[str, str], PersonId] = OrderedDict()
        self._pressed: OrderedDict[tuple[str, str, PersonId, str], tuple[str, float]] = OrderedDict()

    def record_answer(self, chat: int, message: IncomingMessage | None, ids: Sequence[str]) -> None:
        """Note to whom a room's messages are the answer; who writes as the group may be anybody."""
        if message is None or not message.in_room or not message.sender.id.isdecimal():
            return
        for each in ids:
            self._owners[str(chat), each] = message.sender
            self._owners.move_to_end((str(chat), each))
        while len(self._owners) > MESSAGES_KEPT:
            self._owners.popitem(last=False)

    def find_owner(self, press: IncomingMessage) -> PersonId | None:
        """Who brought the message about below which somebody pressed; None where that is not known."""
        return self._owners.get((press.chat.name.partition("/")[0], press.handle))

    def is_anothers(self, press: IncomingMessage) -> bool:
        """Whether the buttons are known not to be for whoever pressed."""
        return self.find_owner(press) not in (None, press.sender)

    def is_repeated(self, press: IncomingMessage) -> bool:
        """Whether the same person pressed the same button just before; the same press brought again is none."""
        before, at = self._pressed.get(_press_key(press), (press.id, 0.0))
        return before != press.id and self._now() - at < AGAIN_SECONDS

    def record_press(self, press: IncomingMessage) -> None:
        """Note a press that was taken in."""
        self._pressed[_press_key(press)] = press.id, self._now()
        self._pressed.move_to_end(_press_key(press))
        while len(self._pressed) > PRESSED_KEPT:
            self._pressed.popitem(last=False)


def _press_key(press: IncomingMessage) -> tuple[str, str, PersonId, str]:
    return press.chat.name, press.handle, press.sender, press.text
