"""Notify programs that ask for it when notes appear, vanish or change."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated

from bot.mcp.note_resources import note_address, parse_address

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.subscriptions import ServerEvent

    from memory.listing import NoteStat
    from memory.memory import Memory

log = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 200
"""Notes that one program may follow."""

NOTIFY_SECONDS = 1.0
"""Time for a program to take a notification."""

_Versions = Mapping[str, "NoteStat"]


class TooManySubscriptions(Exception):
    """The program already follows too many notes; the text says so."""


class NoteSubscriptions:
    """The sessions and streams that are notified of changes to the notes, which are compared only while there are any.

    Programs that speak the protocol up to 2025 get notifications in their session, later ones in streams that they
    open (`SubscriptionBus`).
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory
        self._streams = InMemorySubscriptionBus()
        self._open_streams = 0
        self._sessions: dict[Connection, dict[str, str]] = {}
        """By session, the notes that it follows: their canonical addresses, and how the program writes them."""
        self._look = asyncio.Event()

    @property
    def listeners(self) -> int:
        """How many sessions and streams are notified."""
        return len(self._sessions) + self._open_streams

    # -- sessions -----------------------------------------------------------------------------------------------

    def add_session(self, connection: "Connection") -> None:
        """Notify a session of new and vanished notes until its connection closes."""
        if connection not in self._sessions:
            self._sessions[connection] = {}
            connection.exit_stack.callback(self._sessions.pop, connection, None)
            self._look.set()

    def follow(self, connection: "Connection", address: str) -> None:
        """Also notify a session of changes to one note. Raises `BadAddress` and `TooManySubscriptions`."""
        note = note_address(parse_address(address))
        self.add_session(connection)
        followed = self._sessions[connection]
        if len(followed) >= MAX_SUBSCRIPTIONS and note not in followed:
            raise TooManySubscriptions(
                f"You already follow {MAX_SUBSCRIPTIONS} notes; unsubscribe from some."
            )
        followed[note] = address

    def unfollow(self, connection: "Connection", address: str) -> None:
        """Undo `follow`. Raises `BadAddress`."""
        self._sessions.get(connection, {}).pop(note_address(parse_address(address)), None)

    # -- streams ------------------------------------------------------------------------------------------------

    async def publish(self, event: "ServerEvent") -> None:
        """Send an event to all streams that asked for its kind."""
        await self._streams.publish(event)

    def subscribe(self, listener: "Callable[[ServerEvent], None]") -> Callable[[], None]:
        """Register a stream for events; return a function that unregisters it."""
        end = self._streams.subscribe(listener)
        self._open_streams += 1
        self._look.set()
        is_open = True

        def unsubscribe() -> None:
            nonlocal is_open
            end()
            self._open_streams -= is_open
            is_open = False

        return unsubscribe

    # -- the notes ----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Compare the notes whenever the memory's watcher says so, until cancelled."""
        end = self._memory.on_notes_changed(self._look.set)
        known: _Versions | None = None
        try:
            while True:
                await self._look.wait()
                self._look.clear()
                if not self.listeners:
                    known = None
                    continue
                now = {each.path: each for each in (await self._memory.listing()).notes}
                if known is not None:
                    await self._tell(known, now)
                known = now
        finally:
            end()

    async def _tell(self, known: _Versions, now: _Versions) -> None:
        if known.keys() != now.keys():
            await self.publish(ResourcesListChanged())
            for connection in list(self._sessions):
                await _notify(connection.send_resource_list_changed())
        changed = [path for path in known.keys() | now.keys() if known.get(path) != now.get(path)]
        for address in map(note_address, changed):
            await self.publish(ResourceUpdated(address))
            for connection, followed in list(self._sessions.items()):
                if address in followed:
                    await _notify(connection.send_resource_updated(followed[address]))


async def _notify(sending: Awaitable[None]) -> None:
    """Send a notification, or drop it if it is not read in time, so that the others need not wait."""
    with suppress(TimeoutError):
        async with asyncio.timeout(NOTIFY_SECONDS):
            await sending
