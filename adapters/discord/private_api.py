"""Everything in discord.py that we use although it is not public: another version may lack it, so each start checks.

No other module reaches for what the library keeps to itself. Nothing is imported here before it is used, so that a
library in which something is missing is told in one line.
"""

import asyncio
import importlib
import inspect
import logging
import threading
import zlib
from collections.abc import Awaitable, Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

import aiohttp
import discord
import yarl

from adapters.backoff import Backoff, BackoffTimes, add_jitter

if TYPE_CHECKING:
    from discord.http import HTTPClient, MultipartParameters
    from discord.webhook.async_ import AsyncWebhookAdapter

TESTED = "2.7.1"
"""The version that all of this was tried with."""
CHANGED = (
    "discord.py {version} has no {missing}: install the version that Commonplace was tested with "
    "(pip install discord.py=={tested})"
)

NAMES: Mapping[str, tuple[str, ...]] = {
    "aiohttp:ClientResponse._body": (),
    "discord:Message": ("state", "channel", "data"),
    "discord:Attachment": ("data", "state"),
    "discord:Interaction.__slots__": (),
    "discord:Client.dispatch": ("event",),
    "discord:Client.before_identify_hook": ("shard_id", "initial"),
    "discord.client:ExponentialBackoff.delay": (),
    "discord.shard:ExponentialBackoff.delay": (),
    "discord.gateway:DiscordWebSocket.DEFAULT_GATEWAY": (),
    "discord.gateway:KeepAliveHandler": ("ws", "interval", "shard_id"),
    "discord.gateway:KeepAliveHandler.stop": (),
    "discord.gateway:ReconnectWebSocket": (),
    "discord.http:Route.BASE": (),
    "discord.http:handle_message_parameters": ("content", "flags", "file", "view", "nonce", "allowed_mentions"),
    "discord.http:HTTPClient.request": ("route",),
    "discord.http:HTTPClient.ws_connect": ("url",),
    "discord.http:HTTPClient.close": (),
    "discord.http:HTTPClient.send_message": ("channel_id", "params"),
    "discord.http:HTTPClient.edit_message": ("channel_id", "message_id", "params"),
    "discord.http:HTTPClient.delete_message": ("channel_id", "message_id"),
    "discord.http:HTTPClient.edit_channel": ("channel_id",),
    "discord.http:HTTPClient.send_typing": ("channel_id",),
    "discord.http:HTTPClient.get_message": ("channel_id", "message_id"),
    "discord.http:HTTPClient.logs_from": ("channel_id", "limit", "after"),
    "discord.http:HTTPClient.start_thread_with_message": ("name", "auto_archive_duration"),
    "discord.http:HTTPClient.start_private_message": ("user_id",),
    "discord.http:HTTPClient.bulk_upsert_global_commands": ("application_id", "payload"),
    "discord.http:HTTPClient.bulk_upsert_guild_commands": ("application_id", "guild_id", "payload"),
    "discord.webhook.async_:async_context.get": (),
    "discord.webhook.async_:AsyncWebhookAdapter.execute_webhook": (
        "session", "payload", "multipart", "files", "wait", "with_components",
    ),
    "discord.webhook.async_:AsyncWebhookAdapter.edit_webhook_message": (
        "session", "payload", "multipart", "files", "with_components",
    ),
    "discord.webhook.async_:AsyncWebhookAdapter.delete_webhook_message": ("session",),
}  # fmt: skip
"""What each module must have, and which parameters it must take."""
CLIENT_ATTRIBUTES = (
    "_connection._intents",
    "_connection.parsers",
    "http._global_over",
    "http._HTTPClient__session",
    "http.proxy",
    "http.proxy_auth",
    "http.user_agent",
    "http.ws_connect",
    "ws",
)
"""What each client must have."""


MOST_BYTES = 8 << 20
"""Of one payload over the gateway, and of one answer: several times what the largest server takes. Nobody else is
served while it is read."""
MOST_IN_A_LIST = 5000
"""Guilds, channels or members that an event may name: Discord tells one connection of half as many guilds."""
SHORTEST_BEAT, LONGEST_BEAT = 0.02, 300.0
"""Seconds between two signs of life."""
STEADY_SECONDS = 5.0
"""A session that ends sooner is no reason to begin the next one at once."""
_END_OF_PACKED = b"\x00\x00\xff\xff"


class LibraryChanged(Exception):
    """The installed discord.py lacks something that we use; the text is one line with the mend in it."""

    def __init__(self, missing: str) -> None:
        super().__init__(CHANGED.format(version=discord.__version__, missing=missing, tested=TESTED))


class UnreadableEventListener(Protocol):
    """What is told of an event that the library could not read."""

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """The library stumbled over an event."""
        ...


def silence_logs() -> None:
    """Keep the library from logging: it tells of everything with tracebacks, and of what somebody wrote."""
    logging.getLogger("discord").setLevel(logging.CRITICAL)


def check_library() -> None:
    """Raise LibraryChanged if the installed library lacks something that this module uses."""
    silence_logs()  # it warns with each client of what voice would need
    for name, parameters in NAMES.items():
        found = _find_name(name)
        accepted = inspect.signature(found).parameters if parameters else {}
        takes_any = any(each.kind is each.VAR_KEYWORD for each in accepted.values())
        for parameter in parameters:
            if parameter not in accepted and not takes_any:
                raise LibraryChanged(f"parameter {parameter} of {name.replace(':', '.')}")
    if "_state" not in discord.Interaction.__slots__:
        raise LibraryChanged("discord.Interaction._state")
    client = discord.Client(intents=discord.Intents.none())
    for path in CLIENT_ATTRIBUTES:
        at: Any = client
        for part in path.split("."):
            if not hasattr(at, part):
                raise LibraryChanged(f"discord.Client.{path}")
            at = getattr(at, part)


def _find_name(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        at: Any = importlib.import_module(module)
        for part in path.split("."):
            at = getattr(at, part)
    except (ImportError, AttributeError) as error:
        raise LibraryChanged(name.replace(":", ".")) from error
    return at


# -- where it connects, and how soon again ------------------------------------------------------------------


def set_endpoints(api_base: str, gateway: str) -> None:
    """Have all clients of this process ask `api_base` and connect to `gateway`: the library asks nobody where."""
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    Route.BASE = api_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)


def limit_reconnects(
    client: discord.Client, openings: BackoffTimes, *, hello_within: float
) -> Callable[[], None]:
    """Open websockets at our own pace, instead of the library's, which waits for minutes after a few failures.

    One over which the gateway says nothing for `hello_within` seconds has failed: the library would wait for a
    minute. It connects at once to a gateway that has hung up before its first word, or before a session began,
    without end. Return what is to be called when a session begins or goes on.
    """
    import discord.client as single
    import discord.shard as sharded

    for module in (single, sharded):
        module.ExponentialBackoff = _NoDelay  # type: ignore[attr-defined]
    _bound_heartbeats()
    http: Any = client.http
    backoff, without_session = Backoff(openings), Backoff(openings)
    begun_at = inf

    def begun() -> None:
        nonlocal begun_at
        begun_at = min(begun_at, asyncio.get_running_loop().time())

    async def ws_connect(url: object, **options: Any) -> aiohttp.ClientWebSocketResponse:
        nonlocal begun_at
        if asyncio.get_running_loop().time() - begun_at >= STEADY_SECONDS:
            without_session.record_success()
        begun_at = inf
        if backoff.failures:
            await asyncio.sleep(add_jitter(backoff.delay))
        elif without_session.failures > 1:  # a first one is everyday life: a session that cannot go on
            await asyncio.sleep(add_jitter(without_session.delay))
        backoff.record_failure()  # until it is known better
        async with asyncio.timeout(hello_within):
            socket: Any = await _connect(http, str(url), **options)
        receive = receive_bounded(socket, is_packed="compress=zlib-stream" in str(url))

        async def receive_hello(timeout: float | None = None) -> aiohttp.WSMessage:  # noqa: ASYNC109
            socket.receive = receive
            message = await receive(min(hello_within, timeout or hello_within))
            if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                backoff.record_success()
                without_session.record_failure()  # until one has begun and lasted
            return message

        socket.receive = receive_hello
        return socket  # type: ignore[no-any-return]

    http.ws_connect = ws_connect
    return begun


async def _connect(http: Any, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
    """Open a websocket as the library does, but with a bound for what comes over it."""
    session: aiohttp.ClientSession = http._HTTPClient__session
    return await session.ws_connect(
        url,
        proxy=http.proxy,
        proxy_auth=http.proxy_auth,
        max_msg_size=MOST_BYTES,
        timeout=aiohttp.ClientWSTimeout(ws_close=30.0),
        autoclose=False,
        headers={"User-Agent": http.user_agent},
        compress=compress,
    )


Receive = Callable[..., Awaitable[aiohttp.WSMessage]]


def receive_bounded(socket: aiohttp.ClientWebSocketResponse, *, is_packed: bool) -> Receive:
    """Return what receives in place of a socket's own method: it unpacks as much as a payload may have, and ends there.

    Everybody else has a turn between two payloads: of those that have come already, the library reads one after the
    other.
    """
    receive = socket.receive
    unpacking = zlib.decompressobj()
    packed = bytearray()

    async def receive_next(timeout: float | None = None) -> aiohttp.WSMessage:  # noqa: ASYNC109
        while True:
            await asyncio.sleep(0)
            message: aiohttp.WSMessage = await receive(timeout)
            if message.type is not aiohttp.WSMsgType.BINARY or not is_packed:
                return message
            packed.extend(message.data)
            is_whole = packed.endswith(_END_OF_PACKED)
            try:
                text = unpacking.decompress(packed, MOST_BYTES) if is_whole else b""
                if len(packed) > MOST_BYTES or unpacking.unconsumed_tail:
                    break
                if is_whole:
                    packed.clear()
                    return aiohttp.WSMessage(aiohttp.WSMsgType.TEXT, text.decode(), "")
            except (zlib.error, UnicodeDecodeError):
                break
        await socket.close(code=aiohttp.WSCloseCode.MESSAGE_TOO_BIG)
        return aiohttp.WSMessage(aiohttp.WSMsgType.CLOSED, None, None)

    return receive_next


def _bound_heartbeats() -> None:
    """Have signs of life sent in measure, whatever the gateway asks for, and by one thread of each connection."""
    import discord.gateway as gateway

    if gateway.KeepAliveHandler.__module__ != gateway.__name__:
        return

    class BoundedHeartbeats(gateway.KeepAliveHandler):
        def __init__(self, *args: Any, ws: Any, interval: float | None = None, **options: Any) -> None:
            if before := ws._keep_alive:  # the gateway has said hello once more
                before.stop()
            # `max` and `min` in this order also turn NaN into a number.
            interval = max(SHORTEST_BEAT, min(LONGEST_BEAT, interval or 0.0))
            super().__init__(*args, ws=ws, interval=interval, **options)

    gateway.KeepAliveHandler = BoundedHeartbeats  # type: ignore[misc]


class _NoDelay:
    """In the place of the library's own waits."""

    def delay(self) -> float:
        return 0.0


def is_reconnect_request(error: BaseException | None) -> bool:
    """Whether an error is the library's own sign that it must connect once more."""
    from discord.gateway import ReconnectWebSocket

    return isinstance(error, ReconnectWebSocket)


def has_connected(client: discord.Client) -> bool:
    """Whether a websocket of the client was ever opened."""
    return client.ws is not None


def stop_heartbeats(client: discord.Client) -> None:
    """End the heartbeat threads of connections that ended before their session began: the library forgets those."""
    from discord.gateway import KeepAliveHandler

    for thread in threading.enumerate():
        if isinstance(thread, KeepAliveHandler) and thread.ws._connection is client._connection:
            thread.stop()


# -- what it is told, and what it tells ---------------------------------------------------------------------


def request_message_text(client: discord.Client) -> None:
    """Ask for the text of all messages; to be done before it connects."""
    client._connection._intents.message_content = True


def guard_events(client: discord.Client, listener: UnreadableEventListener) -> None:
    """Tell the listener of events that the library cannot read: each would end the connection, and come again."""
    parsers = client._connection.parsers
    for event, parse in parsers.items():
        if event not in ("READY", "RESUMED"):
            parsers[event] = _guard_parser(event, parse, listener)
        elif event == "READY":
            parsers[event] = _checked(parse)


def _checked(parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """Have a session that cannot begin fail as a connection does, so that the next one is paced."""

    def checked(raw: Any) -> None:
        if _has_too_many(raw):
            raise ConnectionError("the gateway has told of more servers than one connection has")
        try:
            parse(raw)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ConnectionError("the gateway has begun a session in a way that makes no sense") from error

    return checked


def _has_too_many(raw: object) -> bool:
    values = raw.values() if isinstance(raw, Mapping) else ()
    return any(isinstance(value, list) and len(value) > MOST_IN_A_LIST for value in values)


def _guard_parser(
    event: str, parse: Callable[[Any], None], listener: UnreadableEventListener
) -> Callable[[Any], None]:
    def guarded(raw: Any) -> None:
        try:
            if _has_too_many(raw):
                raise ValueError("a list without measure")
            parse(raw)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not stop those that come after it
            listener.unreadable(event, raw if isinstance(raw, Mapping) else {"data": raw}, error)

    return guarded


def parse_message(client: discord.Client, channel: Any, raw: Mapping[str, Any]) -> discord.Message:
    """A message as the library has it, of what the history holds. Raises whatever the library stumbles over."""
    return discord.Message(state=client._connection, channel=channel, data=raw)  # type: ignore[arg-type]


def parse_attachment(interaction: discord.Interaction, raw: Any) -> discord.Attachment:
    """A file as the library has it, of what came with a command."""
    return discord.Attachment(data=raw, state=interaction._state)


def note_as_read(answer: aiohttp.ClientResponse, body: bytes) -> None:
    """Have whoever asks for all of an answer be given this."""
    answer._body = body


# -- calls --------------------------------------------------------------------------------------------------


def http_client(client: discord.Client) -> "HTTPClient":
    """The library's calls to Discord, each of which is named in NAMES."""
    return client.http


def webhook_adapter() -> "AsyncWebhookAdapter":
    """The library's calls for the answer to a command or press."""
    from discord.webhook.async_ import async_context

    return async_context.get()


def parameters_class(**options: Any) -> "MultipartParameters":
    """A message as the library's calls take it."""
    from discord.http import handle_message_parameters

    return handle_message_parameters(**options)


def fix_cancelled_limits(client: discord.Client) -> None:
    """Mend a call that is cancelled while it waits for the end of a limit for all calls: all others would wait on.

    Who goes on too early by that is only told of the limit once more.
    """
    http: Any = client.http
    ask = http.request

    async def request(*args: Any, **options: Any) -> Any:
        try:
            return await ask(*args, **options)
        except asyncio.CancelledError:
            http._global_over.set()
            raise

    http.request = request
