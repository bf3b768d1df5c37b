"""Once a week, an owner is told that the core note is longer than what is always at hand."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot import phrases
from bot.conversations.core_note import core_warning
from bot.messages import ChatId, PersonId
from bot.state import inbox
from bot.state.database import State, stored

if TYPE_CHECKING:
    from apsw import Connection

    from memory.memory import Memory

AGAIN = timedelta(days=7)
KEY = "core-note "


class CoreNotice:
    """Tells of a long core note: in the private chat of the first owner who has one."""

    def __init__(
        self,
        memory: "Memory",
        state: State,
        *,
        home_of: Callable[[PersonId], ChatId | None],
        now: Callable[[], datetime],
        wake: Callable[[], None],
    ) -> None:
        """`wake` is called when there is a notice to deliver."""
        self._memory = memory
        self._state = state
        self._home_of = home_of
        self._now = now
        self._wake = wake

    async def send(self, owners: Sequence[str]) -> None:
        """Tell the first of `owners` (`channel:id`) whom a channel can reach, unless one was told within a week.

        The notice, and that it was given, are one row in state.db. Raises MemoryFault, StateFault.
        """
        home = self._home(owners)
        warning = await core_warning(self._memory) if home else ""
        if not warning:
            return
        now = self._now()

        def put(db: "Connection") -> bool:
            if inbox.when_put(db, KEY, since=stored(now - AGAIN), until=stored(now)):
                return False
            text = phrases.CORE_NOTICE.format(warning=warning)
            key = f"{KEY}{stored(now)}"
            return inbox.put(db, str(home), text, key=key, owner="", at=stored(now)) is not None

        if await self._state.change(put):
            self._wake()

    def _home(self, owners: Sequence[str]) -> ChatId | None:
        people = (PersonId(*owner.split(":", 1)) for owner in owners)
        return next(filter(None, map(self._home_of, people)), None)
