"""MCP over HTTP: a server for each program with a token, started by its first request."""

import asyncio
import logging
from collections import Counter
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING

from aiohttp import web

from bot.mcp.client import McpClient
from bot.mcp.library import LibraryMissing, check_library
from bot.web.connections import HttpConnection
from bot.web.mcp.asgi_bridge import Message, answer_with_asgi
from bot.web.mcp.session_use import SessionUse
from bot.web.request_body import MAX_BODY_BYTES

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from bot.config.settings import McpTokenSettings, Settings
    from bot.mcp.note_subscriptions import NoteSubscriptions
    from bot.services import Services

log = logging.getLogger(__name__)

MAX_SESSIONS = 32
"""Open sessions of all programs; each may have an equal share, between one and `MAX_SESSIONS_EACH`."""
MAX_SESSIONS_EACH = 16
SESSION_SECONDS = 600.0
"""A session without a request or an open stream for this long has ended; its program begins another one."""
MAX_REQUESTS = 80
"""Requests of all programs at once, open streams included; other connections stay free for everything else."""
MAX_REQUESTS_EACH = 40
START_SECONDS = 20.0
"""Time to load the library, for a request that comes first."""
SESSION_HEADER = "Mcp-Session-Id"
NOT_OFFERED = (b"last-event-id",)
"""Headers about what we do not have: notifications that were missed are not sent again, and the library, without an
event store, answers nothing to such a request. The stream simply begins."""
CLOSE_SECONDS = 0.5
"""Time for sessions to end when the service stops."""


class CannotServe(Exception):
    """A request cannot be answered now; the text says why."""


class ClientServers:
    """The servers of all programs with a token. Nothing is loaded before the first request."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._servers: dict[str, _ClientServer] = {}
        self._requests = Counter[str]()
        self._subscriptions: NoteSubscriptions | None = None
        self._notifying: asyncio.Task[None] | None = None
        self._loading = asyncio.Lock()

    async def answer(self, name: str, request: web.Request, body: bytes) -> web.StreamResponse:
        """Answer a request of a program. Raises `CannotServe`, and `LibraryMissing`."""
        if self._requests[name] >= MAX_REQUESTS_EACH or self._requests.total() >= MAX_REQUESTS:
            raise CannotServe("too many requests and open streams at once; end some, or try again later")
        self._requests[name] += 1
        try:
            server = await self._find(name)
            connection = request.protocol
            lost = connection.lost if isinstance(connection, HttpConnection) else asyncio.Event()
            return await server.answer(request, body, lost)
        finally:
            self._requests[name] -= 1

    def follow(self, settings: "Settings") -> None:
        """End the servers of programs whose token or rights have changed."""
        tokens = settings.mcp.tokens
        for name, server in list(self._servers.items()):
            if tokens.get(name) != server.settings:
                server.stop()
                del self._servers[name]
        for server in self._servers.values():
            server.set_max_sessions(_share_of_sessions(len(tokens)))

    async def close(self) -> None:
        """End all sessions and streams."""
        servers = list(self._servers.values())
        for server in servers:
            server.stop()
        tasks = [server.task for server in servers]
        if self._notifying:
            self._notifying.cancel()
            tasks.append(self._notifying)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._servers.clear()

    async def _find(self, name: str) -> "_ClientServer":
        """Return the server of the program with this name; start it if it is not running."""
        async with self._loading:
            if self._subscriptions is None:
                check_library()
                # In a thread: it takes a second, and chats must not wait for it.
                module = await asyncio.to_thread(import_module, "bot.mcp.server")
                await asyncio.to_thread(import_module, "mcp.server.streamable_http_manager")
                self._subscriptions = subscriptions = module.NoteSubscriptions(self._services.memory)
                self._notifying = self._services.supervisor.start("MCP notifications", subscriptions.run)
            tokens = self._services.settings.mcp.tokens
            if name not in tokens:
                raise CannotServe("the token has just been removed")
            if name not in self._servers:
                self._servers[name] = _ClientServer(
                    self._services,
                    name,
                    tokens[name],
                    self._subscriptions,
                    max_sessions=_share_of_sessions(len(tokens)),
                )
            return self._servers[name]


class _ClientServer:
    """The server of one program, with its sessions, in a task of its own."""

    def __init__(
        self,
        services: "Services",
        name: str,
        settings: "McpTokenSettings",
        subscriptions: "NoteSubscriptions",
        *,
        max_sessions: int,
    ) -> None:
        self.settings = settings
        self._services = services
        self._client = McpClient(
            settings.rights,
            settings.conversations,
            name,
            how_to_change=f"the owner can set {{setting}} under [mcp.tokens.{name}]",
        )
        self._subscriptions = subscriptions
        self._max_sessions = max_sessions
        self._sessions = SessionUse()
        self._opening = 0
        self._manager: StreamableHTTPSessionManager | None = None
        self._ready, self._leaving = asyncio.Event(), asyncio.Event()
        self.task = services.supervisor.start(f"MCP sessions of {name}", self._serve)

    async def answer(self, request: web.Request, body: bytes, lost: asyncio.Event) -> web.StreamResponse:
        """Answer a request. A new session ends the longest idle one if there is no room. Raises `CannotServe`."""
        manager = await self._wait_for_manager()
        session = request.headers.get(SESSION_HEADER, "")
        is_opening = not session and b'"initialize"' in body
        self._opening += is_opening
        try:
            if is_opening:
                await self._make_room(manager)
            with self._sessions.request(session):
                response = await answer_with_asgi(
                    request, manager.asgi_app, body=body, lost=lost, without_headers=NOT_OFFERED
                )
        finally:
            self._opening -= is_opening
        if response.status == HTTPStatus.NOT_FOUND or request.method == "DELETE":
            self._sessions.discard(session)
        elif opened := response.headers.get(SESSION_HEADER, ""):
            self._sessions.add(opened)
        return response

    async def _make_room(self, manager: "StreamableHTTPSessionManager") -> None:
        """End idle sessions for a new one: programs that are closed or restarted seldom end theirs."""
        while len(self._sessions) + self._opening > self._max_sessions:
            if not (session := self._sessions.pop_longest_idle()):
                return
            await _end_session(manager, session)

    async def _wait_for_manager(self) -> "StreamableHTTPSessionManager":
        """Return the server's sessions once it runs. Raises `CannotServe`."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            raise CannotServe(
                "the MCP server does not start; the log of Commonplace has the details"
            ) from None
        if self._manager is None:
            raise CannotServe("the sessions have just ended")
        return self._manager

    def set_max_sessions(self, count: int) -> None:
        """Set the limit for sessions that begin from now on."""
        self._max_sessions = count
        if self._manager:
            self._manager.max_sessions = count

    def stop(self) -> None:
        """End all sessions and streams soon."""
        self._leaving.set()

    async def _serve(self) -> None:
        """Run the sessions until `stop`; they are opened and closed in this task."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from bot.mcp.server import build_server

        server = build_server(self._services, self._client, self._subscriptions)
        manager = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=SESSION_SECONDS,
            max_sessions=self._max_sessions,
            max_request_body_size=MAX_BODY_BYTES,
        )
        try:
            async with manager.run():
                self._manager = manager
                self._ready.set()
                await self._leaving.wait()
                server.close_streams()
        finally:
            self._manager = None


async def _end_session(manager: "StreamableHTTPSessionManager", session: str) -> None:
    """End a session as its program would, by DELETE; one that has ended already is no error."""
    scope = {
        "type": "http",
        "method": "DELETE",
        "path": "/",
        "query_string": b"",
        "headers": [(SESSION_HEADER.lower().encode(), session.encode("latin-1", "replace"))],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        del message

    await manager.asgi_app(scope, receive, send)


def _share_of_sessions(programs: int) -> int:
    return max(1, min(MAX_SESSIONS_EACH, MAX_SESSIONS // max(programs, 1)))


def warn_without_library() -> None:
    """Log that the library is missing, if it is."""
    try:
        check_library()
    except LibraryMissing as missing:
        log.warning("cannot serve the programs under [mcp.tokens]: %s", missing)
