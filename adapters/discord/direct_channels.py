"""Channel ids of direct conversations, which Discord returns only when asked to open one."""

from contextlib import suppress
from typing import Any

import discord

from adapters.api_errors import ChatGone
from adapters.discord.api_calls import ApiCalls
from adapters.discord.private_api import http_client
from adapters.discord.read_cursor import DIRECT
from bot.channel_store import ChannelStore
from bot.state.database import StateFault


class DirectChannels:
    """The channels of direct conversations, cached and stored."""

    def __init__(self, calls: ApiCalls, store: ChannelStore) -> None:
        self._calls = calls
        self._store = store
        self._channels: dict[str, int] = {}

    async def channel_of(self, person: str) -> int:
        """Return the channel of a person, opening it if needed. Raises ApiRefused and ChannelFault."""
        if channel := self._channels.get(person):
            return channel
        channel = await self._find_noted(person) or await self._open(person)
        self._channels[person] = channel
        return channel

    async def _find_noted(self, person: str) -> int:
        with suppress(StateFault):
            noted = await self._store.get(f"{DIRECT}{person}")
            return int(noted) if noted.isdigit() else 0
        return 0

    async def _open(self, person: str) -> int:
        async def open_one(client: discord.Client) -> int:
            raw: Any = await http_client(client).start_private_message(int(person))
            return int(raw["id"])

        if not person.isdecimal():
            raise ChatGone("no such person")
        channel = await self._calls.make(open_one)
        with suppress(StateFault):
            await self._store.put(f"{DIRECT}{person}", str(channel))
        return channel
