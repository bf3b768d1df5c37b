"""Who may do what: pure rules over the `[access]` section, asked by every entry."""

from enum import IntEnum
from typing import TYPE_CHECKING

from bot.messages import IncomingMessage, PersonId

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bot.config import AccessSettings
    from bot.state.database import State

TERMINAL = "terminal"
"""The channel of whoever sits at the machine: there the operating system has checked already."""


class Standing(IntEnum):
    """How far a person is trusted; each grade may do all that the ones below may."""

    STRANGER = 0
    """Nothing at all."""
    GUEST = 1
    """May talk, without the memory."""
    ALLOWED = 2
    """May talk, with the memory."""
    OWNER = 3
    """May administer as well."""


def standing_of(person: PersonId, rules: "AccessSettings") -> Standing:
    """Look a person up.

    An entry for one person beats one for a whole channel (`telegram:*`); of `allow` and `guests`
    with the same entry, the narrower counts. `owners` names people only, never a channel.
    """
    if person.channel == TERMINAL:
        return Standing.OWNER
    by_name, by_channel = str(person), f"{person.channel}:*"
    if by_name in rules.owners and person.id != "*":
        return Standing.OWNER
    for entry in (by_name, by_channel):
        if entry in rules.guests:
            return Standing.GUEST
        if entry in rules.allow:
            return Standing.ALLOWED
    return Standing.STRANGER


class Access:
    """Who may do what just now: the settings, and what owners have decided since."""

    def __init__(self, rules: "AccessSettings", state: "State", *, now: "Callable[[], datetime]") -> None:
        self._rules = rules
        self._state = state
        self._now = now

    async def standing_of(self, person: PersonId) -> Standing:
        """How far a person is trusted at this moment."""
        raise NotImplementedError

    async def memory_is_open(self, message: IncomingMessage) -> bool:
        """Whether the memory may be used in the chat of a message: always where nobody else listens."""
        raise NotImplementedError

    async def greet(self, message: IncomingMessage) -> str:
        """What a stranger is told; "" for nothing at all."""
        raise NotImplementedError
