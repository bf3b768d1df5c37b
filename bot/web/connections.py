"""The open connections of the HTTP server: their limits, and which one is closed to make room for another.

aiohttp limits a request's head and the time for it. It limits neither the number of connections, in all or per address,
nor the time that a client takes to read a response.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from ipaddress import ip_address
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import PayloadEncodingError
from aiohttp.typedefs import Handler

from bot.log.throttle import Throttle
from bot.web.auth import Network, is_in_networks, rate_limit_key
from bot.web.health import HEALTH

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 128
"""A new connection closes the oldest idle one; if all are busy, it waits."""
MAX_PER_ADDRESS = 32
"""Limit per address (IPv6: per /64), except for this machine and trusted proxies, which have many clients."""
GRACE_SECONDS = 0.1
"""Time in which a new connection can send its request before it may be closed for another one."""
SEND_SECONDS = 60.0
"""Time for a client to read a response."""
MAX_UNSENT_BYTES = 32 * 1024 * 1024
"""Limit for all unread responses together; beyond it, the clients with most unread data are cut off."""
READ_BYTES = 64 * 1024
"""Maximum read from a connection at once, so that a flood on one does not delay the others."""
CHECK_SECONDS = 2.0
"""Interval between two checks for clients that do not read."""


class ConnectionStage(IntEnum):
    """What a connection waits for, in the order in which connections are closed; WORK is never closed."""

    REQUEST = 0
    """A request, or the rest of its head."""
    BODY = 1
    """The rest of a body."""
    READER = 2
    """The client, to read the response."""
    TURN = 3
    """Its turn: the request is complete, but others come first."""
    WORK = 4
    """Our response."""


class HttpConnection(web.RequestHandler):
    """A connection that knows what it waits for, and since when."""

    __slots__ = (
        "address",
        "answered",
        "client",
        "connections",
        "is_queued",
        "lost",
        "request",
        "since",
        "unsent_since",
    )

    def __init__(
        self, connections: "HttpConnections", server: web.Server, address: str, options: dict[str, Any]
    ) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(server, loop=loop, **options)
        self.connections = connections
        self.address = address
        """The client's key for counting, see `rate_limit_key`."""
        self.client: asyncio.Transport | None = None
        """The transport, kept until the connection is lost; aiohttp drops its own when it starts to close."""
        self.request: web.BaseRequest | None = None
        """The request that is being answered."""
        self.is_queued = False
        """Whether that request waits for its turn."""
        self.lost = asyncio.Event()
        """Set when the connection is lost."""
        self.answered = 0
        """Number of answered requests."""
        self.since = math.inf
        """When the current wait began; infinite until the first read."""
        self.unsent_since: float | None = None
        """When unread data was first noticed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.client = cast(asyncio.Transport, transport)
        if hasattr(transport, "max_size"):  # only asyncio's own transports have it
            transport.max_size = READ_BYTES
        super().connection_made(transport)
        # Data that was already sent is read in the next step of the event loop; this runs in the one after.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self.begin_to_wait)

    async def _handle_request(self, *args: Any) -> tuple[web.StreamResponse, bool]:
        # Here and not in `track_request`: what the library refuses by itself never gets there.
        try:
            return await super()._handle_request(*args)
        finally:
            self.answered += 1

    def begin_to_wait(self) -> None:
        """Start the current wait."""
        self.since = asyncio.get_running_loop().time()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.connections.remove(self)
        self.client = None
        self.lost.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.fail_body_reader()

    def begin(self, request: web.BaseRequest) -> None:
        """Start answering a request."""
        self.request = request
        self.fail_body_reader()

    def fail_body_reader(self) -> None:
        """Raise an error in the handler that reads a body with an invalid chunk.

        aiohttp's parser queues an error after the request and forgets its body, so the reader would wait for its
        timeout. Nothing else is ever queued after an incomplete body.
        """
        if self.request is not None and self._messages and not self.request.content.is_eof():
            self.request.content.set_exception(PayloadEncodingError("not what its Transfer-Encoding says"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connections.limit_unsent()

    @property
    def unsent(self) -> int:
        """Bytes of responses in our buffer that neither the client nor the system has taken."""
        return self.client.get_write_buffer_size() if self.client else 0

    @property
    def stage(self) -> ConnectionStage:
        """What it waits for now."""
        if self.request is not None:
            if not self.request.content.is_eof():
                return ConnectionStage.BODY
            return ConnectionStage.TURN if self.is_queued else ConnectionStage.WORK
        if self.unsent:
            return ConnectionStage.READER
        # A complete request starts in one of the next steps of the event loop.
        return ConnectionStage.WORK if self._request_count > self.answered else ConnectionStage.REQUEST

    def abort(self) -> None:
        """Close the connection at once, dropping unsent data."""
        if self.client:
            self.client.abort()


class HttpConnections:
    """All open connections."""

    def __init__(
        self,
        *,
        proxies: Sequence[Network] = (),
        max_connections: int = MAX_CONNECTIONS,
        send_seconds: float = SEND_SECONDS,
        unsent_bytes: int = MAX_UNSENT_BYTES,
    ) -> None:
        """`proxies`: networks of trusted proxies. The others are limits."""
        self._proxies = proxies
        self._max_connections = max_connections
        self._send_seconds = send_seconds
        self._unsent_bytes = unsent_bytes
        self._open: set[HttpConnection] = set()
        self._waiting: dict[HttpConnection, None] = {}
        """Connections without a current request, oldest first; kept apart, since a flood makes this search frequent."""
        self._of_address: Counter[str] = Counter()
        self._repeats = Throttle()
        self.turnstile = asyncio.Lock()
        """Lets one request start in each step of the event loop: many at once would delay everybody."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return len(self._open) >= self._max_connections

    def make_room(self, *, address: str = "") -> bool:
        """Close a connection if the limit is reached; return False if all are busy or too new.

        With an `address`, only its connections count and are closed; this machine and proxies have no such limit.
        """
        if address and self._has_many(address):
            return True
        is_full = self._of_address[rate_limit_key(address)] >= MAX_PER_ADDRESS if address else self.is_full
        return not is_full or self.close_one(address=address, grace=0.0 if address else GRACE_SECONDS)

    def close_one(self, *, address: str = "", grace: float = 0.0) -> bool:
        """Close the least useful connection; return False if all are busy.

        It is the longest waiting one of the address with most connections, and has waited at least `grace` seconds.
        """
        count, counted = self._of_address, rate_limit_key(address) if address else ""
        before = asyncio.get_running_loop().time() - grace

        def may_be_closed(connection: HttpConnection) -> bool:
            is_asked_for = counted in ("", connection.address)
            return is_asked_for and connection.client is not None and connection.since <= before

        # max returns the first of equals, which is the oldest.
        waiting = (
            each for each in self._waiting if may_be_closed(each) and each.stage is ConnectionStage.REQUEST
        )
        closed = max(waiting, key=lambda each: count[each.address], default=None)
        if closed is None:
            idle = [
                each for each in self._open if may_be_closed(each) and each.stage is not ConnectionStage.WORK
            ]
            if not idle:
                return False
            closed = min(idle, key=lambda each: (each.stage, -count[each.address], each.since))
        self._warn("too many HTTP connections: closing unfinished and idle ones")
        self._abort(closed)
        return True

    def accept(self, server: web.Server, address: str, options: dict[str, Any]) -> HttpConnection:
        """Create a connection and count it."""
        connection = HttpConnection(self, server, rate_limit_key(address), options)
        self._open.add(connection)
        self._waiting[connection] = None
        self._of_address[connection.address] += 1
        return connection

    def remove(self, connection: HttpConnection) -> None:
        """Stop counting a connection."""
        if connection in self._open:
            self._open.remove(connection)
            self._waiting.pop(connection, None)
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    def abort_all(self) -> None:
        """Close all connections at once."""
        for each in list(self._open):
            self._abort(each)

    def request_began(self, connection: HttpConnection, request: web.BaseRequest) -> None:
        """Note that a connection starts to answer a request."""
        connection.begin(request)
        self._waiting.pop(connection, None)

    def request_ended(self, connection: HttpConnection) -> None:
        """Note that a connection has answered its request."""
        connection.request = None
        connection.begin_to_wait()
        if connection in self._open:
            self._waiting[connection] = None

    def limit_unsent(self) -> None:
        """Cut off the clients with most unread data while there is too much of it in all."""
        unsent = {each: each.unsent for each in self._open}
        too_much = sum(unsent.values()) - self._unsent_bytes
        for each, size in sorted(unsent.items(), key=lambda item: -item[1]):
            if too_much <= 0:
                return
            self._warn("too much unread HTTP data: cutting off clients that do not read")
            too_much -= size
            self._abort(each)

    def close_slow_readers(self) -> None:
        """Cut off clients that take too long to read a response."""
        now = asyncio.get_running_loop().time()
        for each in list(self._open):
            if not each.unsent:
                each.unsent_since = None
            elif each.unsent_since is None:
                each.unsent_since = now
            elif now - each.unsent_since > self._send_seconds:
                self._abort(each)

    def _abort(self, connection: HttpConnection) -> None:
        connection.abort()
        self.remove(connection)

    def _has_many(self, address: str) -> bool:
        try:
            return ip_address(address.partition("%")[0]).is_loopback or is_in_networks(address, self._proxies)
        except ValueError:
            return True  # not an IP address

    def _warn(self, text: str) -> None:
        if (before := self._repeats.check(text)) is not None:
            log.warning("%s%s", text, before)


@web.middleware
async def track_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection when one of its requests starts and ends."""
    connection = request.protocol
    if not isinstance(connection, HttpConnection):  # another aiohttp server
        return await handler(request)
    connection.connections.request_began(connection, request)
    try:
        if request.path != HEALTH:
            connection.is_queued = True
            async with connection.connections.turnstile:
                await asyncio.sleep(0)
            connection.is_queued = False
        response = await handler(request)
        if connection.connections.is_full:  # let others have a turn; the client repeats pipelined requests
            response.force_close()
        return response
    finally:
        connection.connections.request_ended(connection)
