"""Values that a channel must know again after a restart, stored in state.db."""

from bot.state import channels
from bot.state.channels import Unread
from bot.state.database import State


class ChannelStore:
    """One channel's small values, such as a cursor, and its unreadable updates. Raises StateFault."""

    def __init__(self, state: State, channel: str) -> None:
        self._state = state
        self._channel = channel

    async def get(self, key: str) -> str:
        """Return the value of a key; "" if there is none."""
        return await self._state.read(lambda db: channels.read_fact(db, self._channel, key))

    async def list_prefix(self, prefix: str) -> dict[str, str]:
        """Return all values whose keys have this prefix, by key."""
        return await self._state.read(lambda db: channels.read_facts(db, self._channel, prefix))

    async def put(self, key: str, value: str) -> None:
        """Store a value; "" deletes it."""
        await self._state.change(lambda db: channels.save_fact(db, self._channel, key, value))

    async def keep_unreadable(self, update: str, raw: str, reason: str) -> bool:
        """Store an unreadable update as it came, so that it can be acknowledged; return whether it is new."""
        unread = Unread(self._channel, update, raw, reason, self._state.at())
        return await self._state.change(lambda db: channels.save_unread(db, unread))

    async def count_unreadable(self) -> int:
        """Return the number of unreadable updates."""
        return await self._state.read(lambda db: channels.count_unread(db, self._channel))
