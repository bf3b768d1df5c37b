"""The library's client: one connection to Discord that reports events to a listener, in order."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import aiohttp
import discord

from adapters.backoff import BackoffTimes
from adapters.discord.private_api import fix_cancelled_limits, guard_events, limit_reconnects, silence_logs
from adapters.discord.response_timeouts import install_response_limits

log = logging.getLogger(__name__)

MAX_HOLD_SECONDS = 60.0
"""Seconds that the library waits for a rate limit before it raises RateLimited."""


class GatewayListener(Protocol):
    """Receives events; each method only records one, so that nothing blocks and the order is kept."""

    def connected(self, client: discord.Client, shard: int) -> None:
        """Record a new session; Discord does not send earlier messages."""
        ...

    def resumed(self, shard: int) -> None:
        """Record a resumed session, which missed no events."""
        ...

    def disconnected(self, shard: int) -> None:
        """Record a lost connection; the library tries to restore it."""
        ...

    def guild_available(self, guild: discord.Guild) -> None:
        """Record that a guild became available."""
        ...

    def guild_unavailable(self, guild: discord.Guild) -> None:
        """Record that a guild became unavailable."""
        ...

    def guilds_known(self, shard: int) -> None:
        """Record that all available guilds of a shard were reported."""
        ...

    def said(self, message: discord.Message) -> None:
        """Record a new message."""
        ...

    def edited(self, message: discord.Message) -> None:
        """Record an edited message."""
        ...

    def deleted(self, channel: int, messages: Collection[int]) -> None:
        """Record deleted messages."""
        ...

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """Record an event that the library could not parse."""
        ...

    async def identify(self, *, initial: bool) -> None:
        """Allow a session to start, or raise if it must not."""
        ...


def make_intents() -> discord.Intents:
    """Return the intents for guilds, their messages and direct messages; privileged ones are requested separately."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    return wanted


def open_client(
    listener: GatewayListener,
    *,
    shards: int,
    guilds_within: float,
    heartbeat_within: float,
    openings: BackoffTimes,
    hello_within: float,
    is_ours: Callable[[], bool] = lambda: True,
) -> discord.Client:
    """Return a client, not yet connected, for one login.

    `guilds_within`: seconds after the last reported guild until all count as known. `heartbeat_within`: seconds of
    silence until a connection counts as dead. `openings`: delays between new connections. `hello_within`: seconds
    that a new connection may be silent. While `is_ours` is false, every request fails with a ConnectionError.
    """
    silence_logs()
    options: dict[str, Any] = {
        "intents": make_intents(),
        "max_messages": None,
        "member_cache_flags": discord.MemberCacheFlags.none(),
        "chunk_guilds_at_startup": False,
        "guild_ready_timeout": guilds_within,
        "heartbeat_timeout": heartbeat_within,
        "max_ratelimit_timeout": MAX_HOLD_SECONDS,
        "allowed_mentions": discord.AllowedMentions.none(),
        "http_trace": _make_trace(is_ours),
    }
    client = _ShardedClient(shard_count=shards, **options) if shards > 1 else _SingleClient(**options)
    client.listener = listener
    fix_cancelled_limits(client)
    begun = limit_reconnects(client, openings, hello_within=hello_within)
    _install_events(client, listener, begun=begun)
    return client


def may_read_all(client: discord.Client) -> bool:
    """Return whether the application gets the text of messages that do not mention it; known after login."""
    flags = client.application_flags
    return flags.gateway_message_content or flags.gateway_message_content_limited


def _make_trace(is_ours: Callable[[], bool]) -> aiohttp.TraceConfig:
    """Return a trace that stops all the library's requests while another instance has the bot."""

    async def ask(*_: object) -> None:
        if not is_ours():
            raise ConnectionError("another instance has this bot now")

    trace = aiohttp.TraceConfig()
    trace.on_request_start.append(ask)
    install_response_limits(trace)
    return trace


class _SingleClient(discord.Client):
    listener: GatewayListener

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        await self.listener.identify(initial=initial)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if not self.is_closed():  # the library still dispatches events after its loop is closed
            super().dispatch(event, *args, **kwargs)


class _ShardedClient(_SingleClient, discord.AutoShardedClient):
    pass


def _install_events(client: discord.Client, listener: GatewayListener, *, begun: Callable[[], None]) -> None:
    """Register event handlers. Each runs in its own task, but they start in order and finish before awaiting.

    `begun` is called with each new or resumed session.
    """

    async def on_shard_connect(shard: int) -> None:
        begun()
        listener.connected(client, shard)

    async def on_shard_resumed(shard: int) -> None:
        begun()
        listener.resumed(shard)

    async def on_shard_disconnect(shard: int) -> None:
        listener.disconnected(shard)

    async def on_shard_ready(shard: int) -> None:
        listener.guilds_known(shard)

    async def on_connect() -> None:
        begun()
        listener.connected(client, 0)

    async def on_resumed() -> None:
        begun()
        listener.resumed(0)

    async def on_disconnect() -> None:
        listener.disconnected(0)

    async def on_guild_available(guild: discord.Guild) -> None:
        listener.guild_available(guild)

    async def on_guild_unavailable(guild: discord.Guild) -> None:
        listener.guild_unavailable(guild)

    async def on_ready() -> None:
        listener.guilds_known(0)

    async def on_message(message: discord.Message) -> None:
        listener.said(message)

    async def on_raw_message_edit(payload: discord.RawMessageUpdateEvent) -> None:
        listener.edited(payload.message)

    async def on_raw_message_delete(payload: discord.RawMessageDeleteEvent) -> None:
        listener.deleted(payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(payload: discord.RawBulkMessageDeleteEvent) -> None:
        listener.deleted(payload.channel_id, payload.message_ids)

    async def on_error(event: str, *_: object, **__: object) -> None:
        log.exception("Discord: could not handle the event %s", event)

    # With shards, the library's own events fire only when all are ready, and not for one shard's new session.
    is_sharded = isinstance(client, discord.AutoShardedClient)
    for told in (
        *((on_shard_connect, on_shard_resumed, on_shard_disconnect, on_shard_ready) if is_sharded else ()),
        *(() if is_sharded else (on_connect, on_resumed, on_disconnect, on_ready)),
        on_guild_available,
        on_guild_unavailable,
        on_message,
        on_raw_message_edit,
        on_raw_message_delete,
        on_raw_bulk_message_delete,
        on_error,
    ):
        client.event(told)
    client.event(_make_event(on_guild_available, "on_guild_join"))
    guard_events(client, listener)


def _make_event(told: Callable[[discord.Guild], Any], name: str) -> Any:
    async def again(guild: discord.Guild) -> None:
        await told(guild)

    again.__name__ = name
    return again
