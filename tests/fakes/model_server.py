"""Base of the providers' fake servers, on a real socket; each subclass adds its own protocol."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from aiohttp import web

KEY = "test-key-1234567890"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


Reply = Callable[[web.Request, ReceivedRequest], Awaitable[web.StreamResponse]]
"""How to handle a request."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer, independent of the provider."""

    text: str | Sequence[str] = ""
    """Several texts: one event each."""
    calls: Sequence[tuple[str, Mapping[str, Any] | str]] = ()
    """(name, arguments); a string is sent unchanged, JSON or not."""
    thought: str = ""
    input_tokens: int = 12
    output_tokens: int = 7
    cached_tokens: int = 0
    stop: str = ""
    """The provider's own finish reason, if not the usual one."""
    delay: float = 0
    """Seconds before each event."""
    hang_after: int | None = None
    """After this many events, send nothing more."""
    cut_after: int | None = None
    """After this many events, drop the connection."""


class ModelServer(ABC):
    """Start with `async with`. `enqueue` scripts the next requests, `always` all others."""

    def __init__(self, *, key: str = KEY) -> None:
        self.key = key
        self.requests: list[ReceivedRequest] = []
        self.strays: list[str] = []
        """Requests for paths that the real service lacks: method and path."""
        self._next: deque[Reply | ModelAnswer] = deque()
        self._always: Reply | ModelAnswer = ModelAnswer("Hello.")
        self._runner: web.AppRunner | None = None
        self.root = ""
        """`http://127.0.0.1:port`."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        app = web.Application(client_max_size=64 << 20)
        self.add_routes(app)
        app.router.add_route("*", "/{path:.*}", self._stray)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        host, bound = self._runner.addresses[0][:2]
        self.root = f"http://{host}:{bound}"

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    def enqueue(self, *replies: "Reply | ModelAnswer") -> None:
        self._next.extend(replies)

    def always(self, reply: "Reply | ModelAnswer") -> None:
        self._always = reply

    @property
    def left(self) -> int:
        """Number of enqueued replies that were not used yet."""
        return len(self._next)

    async def wait_for_requests(self, times: int = 1) -> None:
        """Wait until this many requests have arrived."""
        async with asyncio.timeout(20):
            while len(self.requests) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    # -- implemented per provider ---------------------------------------------------------------------------

    @property
    @abstractmethod
    def base_url(self) -> str:
        """As configured in the settings."""

    @abstractmethod
    def add_routes(self, app: web.Application) -> None:
        """Add the provider's paths, each with `self.handle`."""

    @abstractmethod
    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        """Return the error for what the real service rejects: a wrong key, an unknown model, a malformed history."""

    @abstractmethod
    def events(self, asked: ReceivedRequest, says: ModelAnswer) -> list[bytes]:
        """Return an answer as the events of a stream, each with its closing blank line."""

    @abstractmethod
    def error(
        self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> web.Response:
        """Return an error in the provider's format."""

    @abstractmethod
    def not_found(self, request: web.Request) -> web.Response:
        """Return the 404 that the real service sends for an unknown path."""

    # ----------------------------------------------------------------------------------------------------

    async def _stray(self, request: web.Request) -> web.Response:
        self.strays.append(f"{request.method} {request.path}")
        return self.not_found(request)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked = ReceivedRequest(request.path_qs, request.headers.copy(), json.loads(await request.read()))
        self.requests.append(asked)
        reply = self._next.popleft() if self._next else self._always
        if not isinstance(reply, ModelAnswer):
            return await reply(request, asked)
        return self.objection(asked) or await self.stream(request, asked, reply)

    async def stream(
        self, request: web.Request, asked: ReceivedRequest, says: ModelAnswer
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for count, event in enumerate(self.events(asked, says)):
            if count == says.cut_after:
                assert request.transport
                request.transport.close()
                return response
            if count == says.hang_after:
                await asyncio.sleep(3600)
            await asyncio.sleep(says.delay)
            await response.write(event)
        return response

    def fails(
        self, status: int, message: str = "", *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Reply with an error in the provider's own format."""

        async def reply(_: web.Request, __: ReceivedRequest) -> web.StreamResponse:
            return self.error(status, message or f"status {status}", code=code, headers=headers)

        return reply


def answers(
    content: bytes | str,
    *,
    status: int = 200,
    kind: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Reply with the given content, such as a recorded error body."""

    async def reply(_: web.Request, __: ReceivedRequest) -> web.StreamResponse:
        data = content.encode() if isinstance(content, str) else content
        return web.Response(status=status, body=data, content_type=kind, headers=headers)

    return reply


def proxy_error(status: int = 503) -> Reply:
    """Reply as a proxy in between does: with HTML."""
    page = "<html><head><title>503 Service Temporarily Unavailable</title></head><body>nginx</body></html>"
    return answers(page, status=status, kind="text/html")


def hangs() -> Reply:
    """Never reply."""

    async def reply(_: web.Request, __: ReceivedRequest) -> web.StreamResponse:
        await asyncio.sleep(3600)
        raise AssertionError

    return reply


def drops() -> Reply:
    """Close the connection without a reply."""

    async def reply(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        return web.Response()

    return reply


def streams(
    *pieces: bytes,
    delay: float = 0,
    ends: bool = True,
    cut: bool = False,
    kind: str = "text/event-stream",
) -> Reply:
    """Send these bytes piece by piece; then, without `ends`, silence; with `cut`, drop the connection."""

    async def reply(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for piece in pieces:
            await asyncio.sleep(delay)
            await response.write(piece)
        if cut:
            assert request.transport
            request.transport.close()
        elif not ends:
            await asyncio.sleep(3600)
        return response

    return reply


def drips(piece: bytes, seconds: float) -> Reply:
    """Send the same piece forever."""

    async def reply(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(piece)
            await asyncio.sleep(seconds)

    return reply
