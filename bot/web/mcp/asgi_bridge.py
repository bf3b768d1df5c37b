"""Answers a request of aiohttp with an ASGI application (https://asgi.readthedocs.io/en/latest/specs/www.html)."""

import asyncio
from collections.abc import Awaitable, Callable, Container, MutableMapping
from typing import Any

from aiohttp import web

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HOP_BY_HOP = frozenset((b"connection", b"keep-alive", b"transfer-encoding"))
"""Headers about the connection, which is ours."""


class NotAnswered(Exception):
    """The application has returned without a response, or has not kept to ASGI."""


async def answer_with_asgi(
    request: web.Request,
    app: AsgiApp,
    *,
    body: bytes,
    lost: asyncio.Event,
    without_headers: Container[bytes] = (),
) -> web.StreamResponse:
    """Run the application for one request, and return the response that it has sent.

    `body`: the whole body. `lost` is set when the connection is lost; the application then receives
    `http.disconnect`, and what it sends is dropped. `without_headers`: in lower case, headers of the request that it
    does not get. Raises NotAnswered if there is no response.
    """
    exchange = _AsgiExchange(request, body, lost)
    await app(make_scope(request, without_headers=without_headers), exchange.receive, exchange.send)
    return await exchange.finish()


def make_scope(request: web.Request, *, without_headers: Container[bytes] = ()) -> MutableMapping[str, Any]:
    """Return the request's line and headers as ASGI has them."""
    peer = request.transport.get_extra_info("peername") if request.transport else None
    here = request.transport.get_extra_info("sockname") if request.transport else None
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode("latin-1", "replace"),
        "query_string": request.rel_url.raw_query_string.encode("latin-1", "replace"),
        "root_path": "",
        "headers": [
            (name, value)
            for name, value in ((name.lower(), value) for name, value in request.raw_headers)
            if name not in without_headers
        ],
        "client": tuple(peer[:2]) if isinstance(peer, tuple) else None,
        "server": tuple(here[:2]) if isinstance(here, tuple) else None,
    }


class _AsgiExchange:
    """The state of one request and its response."""

    def __init__(self, request: web.Request, body: bytes, lost: asyncio.Event) -> None:
        self._request = request
        self._body: bytes | None = body
        self._lost = lost
        self._response: web.StreamResponse | None = None
        self._is_whole = False
        self._ended = asyncio.Event()

    async def receive(self) -> Message:
        """Return the body, then wait until the client is gone or the response is complete."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        waits = [asyncio.ensure_future(each.wait()) for each in (self._lost, self._ended)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the response; waits while the client does not read.

        Does nothing once the client is gone, as this version of ASGI has it. Most programs close the connection as
        soon as they have read their answer, before the end of the stream, and applications log an error as a bug.
        """
        if self._lost.is_set():
            if message["type"] == "http.response.start" and self._response is None:
                self._response = _make_response(message)
            await asyncio.sleep(0)  # who sends in a loop must not keep others from running
            return
        try:
            await self._send(message)
        except ConnectionError:
            self._lost.set()

    async def _send(self, message: Message) -> None:
        response = self._response
        if message["type"] == "http.response.start" and response is None:
            self._response = response = _make_response(message)
            await response.prepare(
                self._request
            )  # at once: the first event of a stream may be long in coming
        elif message["type"] == "http.response.body" and response is not None and not self._is_whole:
            self._is_whole = not message.get("more_body", False)
            if piece := bytes(message.get("body", b"")):
                await response.write(piece)
            if self._is_whole:
                await response.write_eof()
                self._ended.set()
        else:
            raise NotAnswered(f"the application sent {message['type']} at the wrong time")

    async def finish(self) -> web.StreamResponse:
        """Return the response; close the connection of a stream that was cut off, so that it does not seem complete."""
        self._ended.set()
        if self._response is None:
            if self._lost.is_set():
                return web.Response(status=499)  # nobody reads it
            raise NotAnswered("the application sent no response")
        if not self._is_whole and self._request.transport:
            self._request.transport.close()
        return self._response


def _make_response(message: Message) -> web.StreamResponse:
    response = web.StreamResponse(status=message["status"])
    for name, value in message.get("headers", ()):
        if name.lower() not in HOP_BY_HOP:
            response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    return response
