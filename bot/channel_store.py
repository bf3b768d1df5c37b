"""What a channel must know again after a restart, kept in state.db."""

from bot.state import channels
from bot.state.channels import Unread
from bot.state.database import State


class ChannelStore:
    """One channel's own small facts, such as a cursor, and what it could not read. Raises StateFault."""

    def __init__(self, state: State, channel: str) -> None:
        self._state = state
        self._channel = channel

    async def get(self, key: str) -> str:
        """What was noted under a key; "" for nothing."""
        return await self._state.read(lambda db: channels.read_fact(db, self._channel, key))

    async def list_prefix(self, prefix: str) -> dict[str, str]:
        """All that was noted under keys that begin like this, by key."""
        return await self._state.read(lambda db: channels.read_facts(db, self._channel, prefix))

    async def put(self, key: str, value: str) -> None:
        """Note something; "" forgets it. It is on disk when this returns."""
        await self._state.change(lambda db: channels.save_fact(db, self._channel, key, value))

    async def keep_unreadable(self, update: str, raw: str, reason: str) -> bool:
        """Keep what could not be read as it came, so that it may be acknowledged; tell whether it is new."""
        unread = Unread(self._channel, update, raw, reason, self._state.at())
        return await self._state.change(lambda db: channels.save_unread(db, unread))

    async def count_unreadable(self) -> int:
        """How much of the channel could not be read."""
        return await self._state.read(lambda db: channels.count_unread(db, self._channel))
