"""The open connections of the HTTP server: how many there may be, and which one is closed to make room for another.

aiohttp bounds a head (its lines and fields) and the time for it. It bounds neither the number of connections, nor how
much of them one address has, nor how long a client takes to read a response.
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
"""In all. A new one closes the oldest that has nothing to do; where all are at work, it waits."""
MAX_PER_ADDRESS = 32
"""Of one address, of IPv6 one /64; not for this machine and trusted proxies, behind which there are many clients."""
GRACE_SECONDS = 0.1
"""For a new connection to bring its request once it was read, before it may be closed for another one."""
SEND_SECONDS = 60.0
"""For a client to read a response."""
MAX_UNSENT_BYTES = 32 * 1024 * 1024
"""Of all responses together that clients have not read yet; beyond it those who have read least are cut off."""
READ_BYTES = 64 * 1024
"""Read of a connection at once, so that no flood on one of them holds up the others."""
CHECK_SECONDS = 2.0
"""Between two looks for clients that do not read."""


class ConnectionStage(IntEnum):
    """What a connection waits for. In this order connections are closed to make room; the last is never closed."""

    REQUEST = 0
    """The client to send a request, or the rest of its head."""
    BODY = 1
    """The client to send the rest of a body."""
    READER = 2
    """The client to read the response."""
    TURN = 3
    """Its turn: the request has come, and others are before it."""
    WORK = 4
    """Us."""


class HttpConnection(web.RequestHandler):
    """One connection; it knows what it waits for, and since when."""

    __slots__ = (
        "address",
        "answered",
        "client",
        "connections",
        "is_queued",
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
        """The client's, as it is counted."""
        self.client: asyncio.Transport | None = None
        """Kept until the connection is lost; the library forgets its own when it begins to close."""
        self.request: web.BaseRequest | None = None
        """The one that is being answered."""
        self.is_queued = False
        """Whether that one waits for its turn."""
        self.answered = 0
        """How many of its requests."""
        self.since = math.inf
        """When it began to wait for what it waits for; infinite until it was read for the first time."""
        self.unsent_since: float | None = None
        """When it was first seen that not all of a response had been read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.client = cast(asyncio.Transport, transport)
        if hasattr(transport, "max_size"):  # asyncio's own transports; those of others choose for themselves
            transport.max_size = READ_BYTES
        super().connection_made(transport)
        # What has been sent already is read in the next step of the event loop; this comes in the one behind that.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self.begin_to_wait)

    async def _handle_request(self, *args: Any) -> tuple[web.StreamResponse, bool]:
        # Here and not in `track_request`: what the library refuses by itself never gets there.
        try:
            return await super()._handle_request(*args)
        finally:
            self.answered += 1

    def begin_to_wait(self) -> None:
        """Note that it waits from now on."""
        self.since = asyncio.get_running_loop().time()

    def connection_lost(self, exc: BaseException | None) -> None:
        self.connections.remove(self)
        self.client = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.fail_body_reader()

    def begin(self, request: web.BaseRequest) -> None:
        """Note that this request is being answered from now on."""
        self.request = request
        self.fail_body_reader()

    def fail_body_reader(self) -> None:
        """Raise in who reads a body that will not come whole.

        Where something is no chunk, aiohttp's parser queues an error behind the request and forgets its body: who
        reads that would wait until the time for it is over. Nothing else is ever queued behind half a body.
        """
        if self.request is not None and self._messages and not self.request.content.is_eof():
            self.request.content.set_exception(PayloadEncodingError("not what its Transfer-Encoding says"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connections.limit_unsent()

    @property
    def unsent(self) -> int:
        """Bytes of responses that the client has not read, nor the system taken over."""
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
        # One that has come whole is begun in one of the next steps of the event loop.
        return ConnectionStage.WORK if self._request_count > self.answered else ConnectionStage.REQUEST

    def abort(self) -> None:
        """Close it at once, whatever is on its way."""
        if self.client:
            self.client.abort()


class HttpConnections:
    """All that are open."""

    def __init__(
        self,
        *,
        proxies: Sequence[Network] = (),
        most: int = MAX_CONNECTIONS,
        send_seconds: float = SEND_SECONDS,
        unsent_bytes: int = MAX_UNSENT_BYTES,
    ) -> None:
        """`proxies`: networks of trusted proxies. The others are bounds."""
        self._proxies = proxies
        self._most = most
        self._send_seconds = send_seconds
        self._unsent_bytes = unsent_bytes
        self._open: set[HttpConnection] = set()
        self._waiting: dict[HttpConnection, None] = {}
        """Those without a request that is being answered, in the order since when; a flood has to be looked through
        often."""
        self._of_address: Counter[str] = Counter()
        self._repeats = Throttle()
        self.turnstile = asyncio.Lock()
        """One request begins in each step of the event loop: many at once would make a step long for everybody."""

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether there are as many as there may be."""
        return len(self._open) >= self._most

    def make_room(self, *, address: str = "") -> bool:
        """Close a connection if there may not be one more; return False where all are at work, or too new.

        With an `address` only its own ones count and are closed, and those of this machine and of proxies do not.
        """
        if address and self._has_many(address):
            return True
        is_full = self._of_address[rate_limit_key(address)] >= MAX_PER_ADDRESS if address else self.is_full
        return not is_full or self.close_one(address=address, grace=0.0 if address else GRACE_SECONDS)

    def close_one(self, *, address: str = "", grace: float = 0.0) -> bool:
        """Close the connection that is missed least; return False where all are at work.

        It is one that waits longest of the address that has most: who opens many closes his own. It has waited
        for at least `grace` seconds.
        """
        count, counted = self._of_address, rate_limit_key(address) if address else ""
        before = asyncio.get_running_loop().time() - grace

        def may_be_closed(connection: HttpConnection) -> bool:
            is_asked_for = counted in ("", connection.address)
            return is_asked_for and connection.client is not None and connection.since <= before

        # Of equals the first is taken, which is the oldest.
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
        self._warn("too many connections to the HTTP server: unfinished and idle ones are closed")
        closed.abort()
        self.remove(closed)
        return True

    def accept(self, server: web.Server, address: str, options: dict[str, Any]) -> HttpConnection:
        """Make a connection that counts from now on; raises nothing."""
        connection = HttpConnection(self, server, rate_limit_key(address), options)
        self._open.add(connection)
        self._waiting[connection] = None
        self._of_address[connection.address] += 1
        return connection

    def remove(self, connection: HttpConnection) -> None:
        """Count it no more."""
        if connection in self._open:
            self._open.remove(connection)
            self._waiting.pop(connection, None)
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    def abort_all(self) -> None:
        """Close all at once."""
        for each in list(self._open):
            self._abort(each)

    def request_began(self, connection: HttpConnection, request: web.BaseRequest) -> None:
        """Note that a request is being answered from now on."""
        connection.begin(request)
        self._waiting.pop(connection, None)

    def request_ended(self, connection: HttpConnection) -> None:
        """Note that nothing is being answered any more."""
        connection.request = None
        connection.begin_to_wait()
        if connection in self._open:
            self._waiting[connection] = None

    def limit_unsent(self) -> None:
        """Cut off those who read least while too much waits to be read."""
        unsent = {each: each.unsent for each in self._open}
        too_much = sum(unsent.values()) - self._unsent_bytes
        for each, size in sorted(unsent.items(), key=lambda item: -item[1]):
            if too_much <= 0:
                return
            self._warn("too much waits to be read of the HTTP server: clients that do not read are cut off")
            too_much -= size
            self._abort(each)

    def close_slow_readers(self) -> None:
        """Cut off those who take too long to read a response."""
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
            return True  # no address of a network

    def _warn(self, text: str) -> None:
        if (before := self._repeats.check(text)) is not None:
            log.warning("%s%s", text, before)


@web.middleware
async def track_request(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Have the connection know that a request of it is being answered."""
    connection = request.protocol
    if not isinstance(connection, HttpConnection):  # another server of the library
        return await handler(request)
    connection.connections.request_began(connection, request)
    try:
        if request.path != HEALTH:
            connection.is_queued = True
            async with connection.connections.turnstile:
                await asyncio.sleep(0)
            connection.is_queued = False
        response = await handler(request)
        if connection.connections.is_full:  # somebody else's turn: what it sent ahead is asked again
            response.force_close()
        return response
    finally:
        connection.connections.request_ended(connection)
