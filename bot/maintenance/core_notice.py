"""Tell an owner once a week that the core note is too long to be always in context."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Access, Standing
from bot.channels import Channels
from bot.conversations.core_note import core_warning
from bot.language.current import speaking
from bot.language.people import PeopleLanguages
from bot.messages import ChatId, PersonId
from bot.state import inbox
from bot.state.database import State, format_timestamp

if TYPE_CHECKING:
    from apsw import Connection

    from memory.memory import Memory

NOTICE_INTERVAL = timedelta(days=7)
NOTICE_KEY = "core-note "


class CoreNotice:
    """Sends a notice about a long core note to the private chat of the first owner who has one."""

    def __init__(
        self,
        memory: "Memory",
        state: State,
        access: Access,
        channels: Channels,
        *,
        now: Callable[[], datetime],
        wake: Callable[[], None],
        languages: PeopleLanguages,
    ) -> None:
        """`wake` is called when there is a notice to deliver."""
        self._memory = memory
        self._state = state
        self._access = access
        self._channels = channels
        self._now = now
        self._wake = wake
        self._languages = languages

    async def send(self) -> None:
        """Send the notice unless one was sent within a week. Raises MemoryFault and StateFault.

        One row in state.db holds both the notice and the fact that it was sent.
        """
        owner = await self._find_owner() if await core_warning(self._memory) else None
        if owner is None:
            return
        person, home = owner
        with speaking(await self._state.read(lambda db: self._languages.read(db, str(person)))):
            text = phrases.CORE_NOTICE.format(warning=await core_warning(self._memory))
        now = self._now()

        def put(db: "Connection") -> bool:
            if inbox.read_notice_times(
                db, NOTICE_KEY, since=format_timestamp(now - NOTICE_INTERVAL), until=format_timestamp(now)
            ):
                return False
            key = f"{NOTICE_KEY}{format_timestamp(now)}"
            return (
                inbox.add_notice(db, str(home), text, key=key, owner="", at=format_timestamp(now)) is not None
            )

        if await self._state.change(put):
            self._wake()

    async def _find_owner(self) -> tuple[PersonId, ChatId] | None:
        for channel in self._channels.health():
            for person in await self._access.list_people(channel):
                is_owner = await self._access.standing_of(person) is Standing.OWNER
                if is_owner and (home := self._channels.home_of(person)):
                    return person, home
        return None
