"""All uses of discord.py's private API, which another version may lack; checked at each start.

Only this module uses private names of the library. Nothing of the library is imported before it is used, so that a
missing name is reported in one line.
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
from memory.installation import how_to_install
from memory.translatable import Translatable, TranslatableError

if TYPE_CHECKING:
    from discord.http import HTTPClient, MultipartParameters
    from discord.webhook.async_ import AsyncWebhookAdapter

TESTED = "2.7.1"
"""The version that was tested."""
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
"""Required names by module, and the parameters that they must accept."""
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
"""Required attributes of each client."""


MAX_BYTES = 8 << 20
"""Largest Gateway payload and API response: several times what the largest server needs. Reading it blocks everything
else."""
MAX_LIST_LENGTH = 5000
"""Most guilds, channels or members in one event; Discord reports half as many guilds to a connection."""
MIN_HEARTBEAT_SECONDS, MAX_HEARTBEAT_SECONDS = 0.02, 300.0
"""Bounds of the heartbeat interval in seconds."""
STEADY_SECONDS = 5.0
"""A session that ends sooner gives no reason to start the next one at once."""
_END_OF_PACKED = b"\x00\x00\xff\xff"


class LibraryChanged(TranslatableError):
    """The installed discord.py lacks a name that we use; the text is one line with the remedy."""

    def __init__(self, *, missing: str) -> None:
        super().__init__(
            Translatable(
                "discord.py {version} has no {missing}: install the version that Commonplace was tested with "
                "({command})",
                version=discord.__version__,
                missing=missing,
                command=how_to_install(f"discord.py=={TESTED}"),
            )
        )


class UnreadableEventListener(Protocol):
    """Receives events that the library could not parse."""

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """Record an event that the library could not parse."""
        ...


def silence_logs() -> None:
    """Silence the library's logs, which contain tracebacks and users' messages."""
    logging.getLogger("discord").setLevel(logging.CRITICAL)


def check_library() -> None:
    """Check the installed library for all private names. Raises LibraryChanged."""
    silence_logs()  # each client warns about missing voice libraries
    for name, parameters in NAMES.items():
        found = _find_name(name)
        accepted = inspect.signature(found).parameters if parameters else {}
        takes_any = any(each.kind is each.VAR_KEYWORD for each in accepted.values())
        for parameter in parameters:
            if parameter not in accepted and not takes_any:
                raise LibraryChanged(missing=f"parameter {parameter} of {name.replace(':', '.')}")
    if "_state" not in discord.Interaction.__slots__:
        raise LibraryChanged(missing="discord.Interaction._state")
    client = discord.Client(intents=discord.Intents.none())
    for path in CLIENT_ATTRIBUTES:
        at: Any = client
        for part in path.split("."):
            if not hasattr(at, part):
                raise LibraryChanged(missing=f"discord.Client.{path}")
            at = getattr(at, part)


def _find_name(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        at: Any = importlib.import_module(module)
        for part in path.split("."):
            at = getattr(at, part)
    except (ImportError, AttributeError) as error:
        raise LibraryChanged(missing=name.replace(":", ".")) from error
    return at


# -- endpoints and reconnecting -----------------------------------------------------------------------------


def set_endpoints(api_base: str, gateway: str) -> None:
    """Set the API and Gateway addresses of all clients in this process; the library has no option for them."""
    from discord.gateway import DiscordWebSocket
    from discord.http import Route

    Route.BASE = api_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway)


def limit_reconnects(
    client: discord.Client, openings: BackoffTimes, *, hello_within: float
) -> Callable[[], None]:
    """Open websockets with our own backoff; the library's waits minutes after a few failures.

    A connection without a message for `hello_within` seconds has failed; the library would wait a minute. The
    library also reconnects at once, without end, if the Gateway hangs up before its first message or before a
    session starts. Return a callback to be called when a session starts or resumes.
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
        elif without_session.failures > 1:  # a single one is common: a session that cannot be resumed
            await asyncio.sleep(add_jitter(without_session.delay))
        backoff.record_failure()  # until the first message arrives
        async with asyncio.timeout(hello_within):
            socket: Any = await _connect(http, str(url), **options)
        receive = receive_bounded(socket, is_packed="compress=zlib-stream" in str(url))

        async def receive_hello(timeout: float | None = None) -> aiohttp.WSMessage:  # noqa: ASYNC109
            socket.receive = receive
            message = await receive(min(hello_within, timeout or hello_within))
            if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                backoff.record_success()
                without_session.record_failure()  # until a session has started and lasted
            return message

        socket.receive = receive_hello
        return socket  # type: ignore[no-any-return]

    http.ws_connect = ws_connect
    return begun


async def _connect(http: Any, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
    """Open a websocket as the library does, but with a size limit."""
    session: aiohttp.ClientSession = http._HTTPClient__session
    return await session.ws_connect(
        url,
        proxy=http.proxy,
        proxy_auth=http.proxy_auth,
        max_msg_size=MAX_BYTES,
        timeout=aiohttp.ClientWSTimeout(ws_close=30.0),
        autoclose=False,
        headers={"User-Agent": http.user_agent},
        compress=compress,
    )


Receive = Callable[..., Awaitable[aiohttp.WSMessage]]


def receive_bounded(socket: aiohttp.ClientWebSocketResponse, *, is_packed: bool) -> Receive:
    """Return a replacement for a socket's `receive` that limits the decompressed size.

    It also yields to other tasks between payloads, as the library reads all waiting ones without a pause.
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
                text = unpacking.decompress(packed, MAX_BYTES) if is_whole else b""
                if len(packed) > MAX_BYTES or unpacking.unconsumed_tail:
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
    """Bound the interval of heartbeats, whatever the Gateway asks for, and keep one thread per connection."""
    import discord.gateway as gateway

    if gateway.KeepAliveHandler.__module__ != gateway.__name__:
        return

    class BoundedHeartbeats(gateway.KeepAliveHandler):
        def __init__(self, *args: Any, ws: Any, interval: float | None = None, **options: Any) -> None:
            if before := ws._keep_alive:  # the Gateway sent a second hello
                before.stop()
            # This order of `max` and `min` also replaces NaN.
            interval = max(MIN_HEARTBEAT_SECONDS, min(MAX_HEARTBEAT_SECONDS, interval or 0.0))
            super().__init__(*args, ws=ws, interval=interval, **options)

    gateway.KeepAliveHandler = BoundedHeartbeats  # type: ignore[misc]


class _NoDelay:
    """Replaces the library's backoff."""

    def delay(self) -> float:
        return 0.0


def is_reconnect_request(error: BaseException | None) -> bool:
    """Return whether an error is the library's signal to reconnect."""
    from discord.gateway import ReconnectWebSocket

    return isinstance(error, ReconnectWebSocket)


def has_connected(client: discord.Client) -> bool:
    """Return whether the client ever opened a websocket."""
    return client.ws is not None


def stop_heartbeats(client: discord.Client) -> None:
    """End heartbeat threads that the library forgets: those of connections lost before their session started."""
    from discord.gateway import KeepAliveHandler

    for thread in threading.enumerate():
        if isinstance(thread, KeepAliveHandler) and thread.ws._connection is client._connection:
            thread.stop()


# -- events -------------------------------------------------------------------------------------------------


def request_message_text(client: discord.Client) -> None:
    """Request the text of all messages; call it before connecting."""
    client._connection._intents.message_content = True


def guard_events(client: discord.Client, listener: UnreadableEventListener) -> None:
    """Report events that the library cannot parse; each would end the connection and be sent again."""
    parsers = client._connection.parsers
    for event, parse in parsers.items():
        if event not in ("READY", "RESUMED"):
            parsers[event] = _guard_parser(event, parse, listener)
        elif event == "READY":
            parsers[event] = _checked(parse)


def _checked(parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """Turn errors at a session's start into connection errors, so that the next attempt is delayed."""

    def checked(raw: Any) -> None:
        if _has_too_many(raw):
            raise ConnectionError("the gateway reported more servers than one connection can have")
        try:
            parse(raw)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ConnectionError("the gateway started a session with invalid data") from error

    return checked


def _has_too_many(raw: object) -> bool:
    values = raw.values() if isinstance(raw, Mapping) else ()
    return any(isinstance(value, list) and len(value) > MAX_LIST_LENGTH for value in values)


def _guard_parser(
    event: str, parse: Callable[[Any], None], listener: UnreadableEventListener
) -> Callable[[Any], None]:
    def guarded(raw: Any) -> None:
        try:
            if _has_too_many(raw):
                raise ValueError("a list that is too long")
            parse(raw)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad event must not stop later ones
            listener.unreadable(event, raw if isinstance(raw, Mapping) else {"data": raw}, error)

    return guarded


def parse_message(client: discord.Client, channel: Any, raw: Mapping[str, Any]) -> discord.Message:
    """Return the library's object for a raw message of a history. Raises what the library raises."""
    return discord.Message(state=client._connection, channel=channel, data=raw)  # type: ignore[arg-type]


def parse_attachment(interaction: discord.Interaction, raw: Any) -> discord.Attachment:
    """Return the library's object for a command's raw attachment."""
    return discord.Attachment(data=raw, state=interaction._state)


def note_as_read(answer: aiohttp.ClientResponse, body: bytes) -> None:
    """Store a response's body so that later reads return it."""
    answer._body = body


# -- calls --------------------------------------------------------------------------------------------------


def http_client(client: discord.Client) -> "HTTPClient":
    """Return the library's API calls; each one used is listed in NAMES."""
    return client.http


def webhook_adapter() -> "AsyncWebhookAdapter":
    """Return the library's calls for answering interactions."""
    from discord.webhook.async_ import async_context

    return async_context.get()


def parameters_class(**options: Any) -> "MultipartParameters":
    """Return a message in the form of the library's calls."""
    from discord.http import handle_message_parameters

    return handle_message_parameters(**options)


def fix_cancelled_limits(client: discord.Client) -> None:
    """Release the global rate limit when a call waiting for it is cancelled; all others would wait forever.

    A call that continues too early only meets the limit again.
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
