"""The connection to Discord: opened, kept, and opened again for as long as it takes."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp
import discord

from adapters.discord.client import may_read_all, open_client
from adapters.discord.connection_health import (
    ConnectionHealth,
    ConnectionLost,
    ReconnectTimes,
    TooManySessions,
    is_intent_off,
)
from adapters.discord.files import fetch_file
from adapters.discord.gateway import GatewayInfo, fetch_gateway
from adapters.discord.private_api import (
    LibraryChanged,
    check_library,
    has_connected,
    http_client,
    is_reconnect_request,
    request_message_text,
    set_endpoints,
    stop_heartbeats,
)
from adapters.discord.receiving import AcceptMessage, Receiver, ReceiveTimes
from adapters.discord.response_timeouts import limit_response_time
from bot.channel_store import ChannelStore
from bot.config.discord import DiscordSettings
from bot.messages import Attachment, ChannelFault, ChannelHealth, PersonId, WithdrawMessage, WriteChunk
from bot.supervisor import Supervisor

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0
CANCEL_SECONDS = 1.0
"""Before a task that continues is cancelled again."""
SESSIONS_AT_ONCE = 10
SESSIONS_WINDOW_SECONDS = 600.0
"""At most this many sessions in this many seconds: after a thousand a day, Discord resets the token."""
CONNECTION_ERRORS = (
    discord.DiscordException,
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    ConnectionLost,
    TooManySessions,
    LibraryChanged,
)


@dataclass(frozen=True, slots=True)
class ConnectionTimes:
    """Durations in seconds."""

    waits: ReconnectTimes = field(default_factory=ReconnectTimes)
    pauses: ReceiveTimes = field(default_factory=ReceiveTimes)
    client: float = 20.0
    """Wait for a connection before a call."""


@dataclass(frozen=True, slots=True)
class ConnectionEvents:
    """Callbacks besides the assistant's; they must neither block nor raise."""

    health: Callable[[ChannelHealth], None]
    opened: Callable[[discord.Client], None] = lambda _: None
    """Gets a client before it connects, to register event handlers."""
    ready: Callable[[discord.Client], None] = lambda _: None
    """A session began and its guilds are known; called for each session of each shard."""


class GatewayConnection:
    """The Gateway connection of one token's bot."""

    def __init__(
        self,
        settings: DiscordSettings,
        store: ChannelStore,
        *,
        people: Callable[[], Awaitable[Sequence[PersonId]]],
        events: ConnectionEvents,
        withdraw: WithdrawMessage | None = None,
        times: ConnectionTimes | None = None,
        is_ours: Callable[[], bool] = lambda: True,
        since: datetime | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`people`: owners and others with access, as Discord does not list direct channels.

        `withdraw` is called with each deleted message. `is_ours` returns whether this process holds the bot;
        `since`: until when another instance has answered. `supervisor` opens direct channels.
        """
        self._supervisor = supervisor or Supervisor()
        self._is_ours = is_ours
        self._since = since
        self._api_base = settings.api_base.rstrip("/")
        self._token = settings.token.get_secret_value().strip()
        self._store = store
        self._people = people
        self._withdraw = withdraw
        self._events = events
        self._times = times or ConnectionTimes()
        self._waits = self._times.waits
        self._health = ConnectionHealth(events.health, self._waits, token=self._token)
        self._client: discord.Client | None = None
        self._logged_in = asyncio.Event()
        self._lost = asyncio.Event()
        self._back = asyncio.Event()
        self._session_starts: deque[float] = deque()
        """Start times of sessions."""
        self._sessions_left = 1000
        self._shards = 1
        self._is_text_refused = False
        self._receiver: Receiver | None = None

    def may_be_deleted(self, message: int) -> bool:
        """Return whether a message may have been deleted without an event reaching us."""
        return self._receiver is None or self._receiver.may_be_deleted(message)

    async def client(self) -> discord.Client:
        """Return the logged-in client, after waiting for a while. Raises ChannelFault."""
        try:
            async with asyncio.timeout(self._times.client):
                while True:
                    await self._logged_in.wait()
                    if self._client and not self._client.is_closed():
                        return self._client
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise ChannelFault("Discord cannot be reached") from error

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Download a received file. Raises AttachmentLost and ChannelFault."""
        await fetch_file(attachment, write, api_base=self._api_base, client=self.client)

    async def run(self, accept: AcceptMessage) -> None:
        """Receive until cancelled, even while Discord is unreachable or rejects the token."""
        receiver = self._receiver = Receiver(
            accept,
            self._store,
            people=self._people,
            problem=self._health.set_problem,
            withdraw=self._withdraw,
            pauses=self._times.pauses,
            since=self._since,
            supervisor=self._supervisor,
        )
        await receiver.load()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(receiver.keep_saving())
                group.create_task(self._stay_connected(receiver))
        finally:
            self._receiver = None
            await receiver.close()

    # -- connecting -----------------------------------------------------------------------------------------

    async def _stay_connected(self, receiver: Receiver) -> None:
        while True:
            error: Exception = ConnectionLost()
            try:
                await self._connect(receiver)
            except CONNECTION_ERRORS as expected:
                error = expected
            except Exception as unexpected:
                log.exception("Discord: the connection failed")
                error = unexpected
            if is_intent_off(error):  # switched off since login
                self._is_text_refused = True
                receiver.set_text_hidden(True)
            await asyncio.sleep(self._health.record_failure(error))

    async def _connect(self, receiver: Receiver) -> None:
        """Use a new client from login to close; a client cannot be reused."""
        check_library()
        answer = self._health.answer_seconds
        async with asyncio.timeout(answer):
            gateway = await fetch_gateway(self._api_base, self._token)
        if gateway.sessions < gateway.shards:
            raise TooManySessions(gateway.reset_after)
        self._sessions_left, self._shards = gateway.sessions, gateway.shards
        set_endpoints(self._api_base, gateway.address)
        client = open_client(
            _ConnectionListener(self, receiver),
            shards=gateway.shards,
            guilds_within=self._waits.guilds,
            heartbeat_within=self._waits.heartbeat,
            openings=self._waits,
            hello_within=self._waits.answer,
            is_ours=self._is_ours,
        )
        try:
            async with asyncio.timeout(self._waits.call), limit_response_time(answer):
                await client.login(self._token)
            if may_read_all(client) and not self._is_text_refused:
                request_message_text(client)
                receiver.set_text_hidden(False)
            self._events.opened(client)
            self._client = client
            self._logged_in.set()
            await self._stay_open(client, gateway)
        finally:
            self._logged_in.clear()
            self._client = None
            await _close_client(client)

    async def _stay_open(self, client: discord.Client, gateway: GatewayInfo) -> None:
        """Stay connected until the connection ends or the library fails to restore it."""
        self._back.clear()
        self._lost.set()
        connecting = asyncio.create_task(client.connect())
        watching = asyncio.create_task(self._watch_connection())
        try:
            await asyncio.wait([connecting, watching], return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
            try:
                connecting.result()
            except AttributeError as error:
                # The library fails on a first connection that fails; the cause is its error's context.
                if not has_connected(client) and isinstance(error.__context__, CONNECTION_ERRORS):
                    raise error.__context__ from None
                if not has_connected(client) and is_reconnect_request(error.__context__):
                    raise ConnectionLost from None
                raise
        finally:
            pending = {connecting, watching}
            while pending:  # with several shards the library may swallow a cancellation
                for task in pending:
                    task.cancel()
                _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
            await asyncio.gather(connecting, watching, return_exceptions=True)

    async def _watch_connection(self) -> None:
        """Report a connection lost for more than a moment; raise ConnectionLost if it stays lost."""
        while True:
            await self._lost.wait()
            if not await self._reconnects_within(self._waits.told):
                self._health.record_loss()
                if not await self._reconnects_within(self._waits.given_up):
                    raise ConnectionLost

    async def _reconnects_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._back.wait()
        return self._back.is_set()

    # -- events of the client -------------------------------------------------------------------------------

    def mark_connected(self) -> None:
        """Note that the connection works."""
        self._lost.clear()
        self._back.set()
        self._health.record_success()

    def mark_disconnected(self) -> None:
        """Note that the connection is lost for now."""
        self._back.clear()
        self._lost.set()

    def ready(self, client: discord.Client) -> None:
        """Report that all guilds are known."""
        self._events.ready(client)

    async def identify(self, *, initial: bool) -> None:
        """Allow a session to start. Raises TooManySessions if there were too many."""
        now = time.monotonic()
        while self._session_starts and now - self._session_starts[0] > SESSIONS_WINDOW_SECONDS:
            self._session_starts.popleft()
        if self._sessions_left <= 0 or len(self._session_starts) >= SESSIONS_AT_ONCE + self._shards:
            raise TooManySessions(
                SESSIONS_WINDOW_SECONDS - (now - self._session_starts[0]) if self._session_starts else 0.0
            )
        self._sessions_left -= 1
        self._session_starts.append(now)
        if not initial:
            await asyncio.sleep(self._waits.identify)


class _ConnectionListener:
    """Passes a client's events to the connection and the receiver."""

    def __init__(self, connection: GatewayConnection, receiver: Receiver) -> None:
        self._connection = connection
        self._receiver = receiver
        self._client: discord.Client | None = None

    def connected(self, client: discord.Client, shard: int) -> None:
        self._client = client
        self._receiver.connected(client, shard)
        self._connection.mark_connected()

    def resumed(self, shard: int) -> None:
        self._receiver.resumed(shard)
        self._connection.mark_connected()

    def disconnected(self, shard: int) -> None:
        self._receiver.disconnected(shard)
        self._connection.mark_disconnected()

    def guild_available(self, guild: discord.Guild) -> None:
        self._receiver.guild_available(guild)

    def guild_unavailable(self, guild: discord.Guild) -> None:
        self._receiver.guild_unavailable(guild)

    def guilds_known(self, shard: int) -> None:
        self._receiver.guilds_known(shard)
        if self._client:
            self._connection.ready(self._client)

    def said(self, message: discord.Message) -> None:
        self._receiver.said(message)

    def edited(self, message: discord.Message) -> None:
        self._receiver.edited(message)

    def deleted(self, channel: int, messages: Collection[int]) -> None:
        self._receiver.deleted(channel, messages)

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        self._receiver.unreadable(event, raw, error)

    async def identify(self, *, initial: bool) -> None:
        await self._connection.identify(initial=initial)


async def _close_client(client: discord.Client) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()
    except Exception as error:  # noqa: BLE001 - the next connection does not depend on it
        log.debug("discord: closing failed: %s", type(error).__name__)
        await http_client(client).close()
    finally:
        stop_heartbeats(client)
