"""Accepts connections of the HTTP server, up to the limits and a few at a time.

asyncio's own server accepts all that come and, without file descriptors left, logs 128 tracebacks for each attempt.
"""

import asyncio
import logging
import resource
import socket
import sys
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from aiohttp import web

from bot.log.throttle import Throttle
from bot.web.connections import CHECK_SECONDS, HttpConnection, HttpConnections

log = logging.getLogger(__name__)

ACCEPTS_AT_ONCE = 8
"""Per step of the event loop. With more, a flood would close a new connection before its request is read."""
PAUSE_SECONDS = 0.02
"""Pause in accepting when all connections are busy or too new to be closed, or no descriptor is left."""
SPARE_DESCRIPTORS = 96
"""Descriptors reserved for notes, state.db and calls to models and platforms."""
KEEP_ALIVE_SECONDS = 15.0
"""Time for a request's head, from the start of the connection or the last response."""
LINGER_SECONDS = 2.0
"""Time for the rest of a rejected body; many clients read the response only after sending all of it."""
MAX_LINE_BYTES = 8190
"""Limit for a request's first line, and for each header."""
MAX_FIELDS = 64
"""Limit for the headers of a request."""
BUFFERED_BYTES = 32 * 1024
"""Buffered bytes of a body before the client has to wait."""

OPTIONS = MappingProxyType(
    {
        "access_log": None,
        "keepalive_timeout": KEEP_ALIVE_SECONDS,
        "lingering_time": LINGER_SECONDS,
        "max_line_size": MAX_LINE_BYTES,
        "max_field_size": MAX_LINE_BYTES,
        "max_headers": MAX_FIELDS,
        "read_bufsize": BUFFERED_BYTES,
        # Decompressing would happen before authentication.
        "auto_decompress": False,
    }
)
"""Options of aiohttp's RequestHandler."""


class HttpListener:
    """Accepts connections on listening sockets, which it does not close."""

    def __init__(
        self,
        server: web.Server,
        sockets: Sequence[socket.socket],
        connections: HttpConnections,
        *,
        logger: logging.Logger,
    ) -> None:
        """`logger`: for errors in handlers."""
        self._server = server
        self._sockets = sockets
        self._connections = connections
        self._options: dict[str, Any] = {**OPTIONS, "logger": logger}
        self._loop = asyncio.get_running_loop()
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._highest = max(limit - SPARE_DESCRIPTORS, limit // 2) if limit > 0 else sys.maxsize
        self._beginning: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._repeats = Throttle()

    def start(self) -> None:
        """Start accepting."""
        self._listen()
        self._check()

    async def close(self) -> None:
        """Stop accepting; open connections stay."""
        for timer in self._timers.values():
            timer.cancel()
        self._stop_listening()
        if self._beginning:
            await asyncio.wait(self._beginning)

    def _listen(self) -> None:
        for each in self._sockets:
            self._loop.add_reader(each.fileno(), self._accept, each)

    def _stop_listening(self) -> None:
        for each in self._sockets:
            self._loop.remove_reader(each.fileno())

    def _pause(self) -> None:
        self._stop_listening()
        self._timers["pause"] = self._loop.call_later(PAUSE_SECONDS, self._listen)

    def _check(self) -> None:
        self._connections.close_slow_readers()
        self._timers["look"] = self._loop.call_later(CHECK_SECONDS, self._check)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_AT_ONCE):
            if not self._connections.make_room():
                self._pause()
                return
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # no descriptor or memory left
                self._warn(f"cannot accept an HTTP connection: {error.strerror}")
                self._connections.close_one()
                self._pause()
                return
            accepted.setblocking(False)
            if self._is_admitted(accepted, address[0]):
                self._start_connection(accepted, address[0])
            else:
                accepted.close()

    def _is_admitted(self, accepted: socket.socket, address: str) -> bool:
        # The system assigns the lowest free number, so all lower ones are in use.
        if accepted.fileno() >= self._highest and not self._connections.close_one():
            self._warn("rejecting HTTP connections: too few file descriptors left")
            return False
        return self._connections.make_room(address=address)

    def _start_connection(self, accepted: socket.socket, address: str) -> None:
        connection = self._connections.accept(self._server, address, self._options)
        task = self._loop.create_task(self._connect(connection, accepted))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _connect(self, connection: HttpConnection, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, accepted)
        except OSError:  # already gone
            self._connections.remove(connection)
            accepted.close()

    def _warn(self, text: str) -> None:
        if (before := self._repeats.check(text)) is not None:
            log.warning("%s%s", text, before)
