"""The library's client: one connection to Discord, that tells a listener what happens, in order."""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import aiohttp
import discord

from adapters.backoff import BackoffTimes
from adapters.discord.private_api import fix_cancelled_limits, guard_events, limit_reconnects, silence_logs
from adapters.discord.response_timeouts import install_response_limits

log = logging.getLogger(__name__)

LONGEST_HOLD = 60.0
"""Seconds that the library waits for a rate limit to end, before it raises RateLimited."""


class GatewayListener(Protocol):
    """What is told of what happens. Each of these only notes it, so that nothing waits and the order is kept."""

    def connected(self, client: discord.Client, shard: int) -> None:
        """A session begins: what was said before it is not told any more."""
        ...

    def resumed(self, shard: int) -> None:
        """A session goes on: nothing was missed."""
        ...

    def disconnected(self, shard: int) -> None:
        """The connection is gone; the library tries to get it back."""
        ...

    def guild_available(self, guild: discord.Guild) -> None:
        """A guild can be heard from now on."""
        ...

    def guild_unavailable(self, guild: discord.Guild) -> None:
        """A guild cannot be heard for now."""
        ...

    def guilds_known(self, shard: int) -> None:
        """All guilds of a shard that can be heard have been told."""
        ...

    def said(self, message: discord.Message) -> None:
        """There is a message."""
        ...

    def edited(self, message: discord.Message) -> None:
        """A message is another one now."""
        ...

    def deleted(self, channel: int, messages: Collection[int]) -> None:
        """Messages are not there any more."""
        ...

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """The library stumbled over an event."""
        ...

    async def identify(self, *, initial: bool) -> None:
        """A session is about to begin; raises where it must not."""
        ...


def make_intents() -> discord.Intents:
    """What Discord is to tell of: guilds, messages in them, direct messages; what is privileged is asked for apart."""
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
    """Give a client that has asked nothing yet; it serves for one login.

    `guilds_within`: seconds after the last guild that Discord told of until all are taken to be known;
    `heartbeat_within`: seconds without a sign of life until a connection is taken to be dead; `openings` paces
    new ones, and `hello_within` is how many seconds one may stay silent at first. While the bot is not
    `is_ours`, every request fails with a ConnectionError.
    """
    silence_logs()
    options: dict[str, Any] = {
        "intents": make_intents(),
        "max_messages": None,
        "member_cache_flags": discord.MemberCacheFlags.none(),
        "chunk_guilds_at_startup": False,
        "guild_ready_timeout": guilds_within,
        "heartbeat_timeout": heartbeat_within,
        "max_ratelimit_timeout": LONGEST_HOLD,
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
    """Whether Discord gives this application the text of messages that do not mention it; known after the login."""
    flags = client.application_flags
    return flags.gateway_message_content or flags.gateway_message_content_limited


def _make_trace(is_ours: Callable[[], bool]) -> aiohttp.TraceConfig:
    """Stop what another instance is to do now before it leaves: all that the library asks of Discord comes by here."""

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
        if not self.is_closed():  # the library goes on to tell of things, without a loop to do it in
            super().dispatch(event, *args, **kwargs)


class _ShardedClient(_SingleClient, discord.AutoShardedClient):
    pass


def _install_events(client: discord.Client, listener: GatewayListener, *, begun: Callable[[], None]) -> None:
    """Have events told. Each runs in a task of its own, but those begin in order, and end before they wait.

    `begun` is called with each session that begins or goes on.
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
        log.exception("Discord: what came as %s could not be handled", event)

    # Where there are shards, the library tells only once that all of them are ready, never after a new session of one.
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
