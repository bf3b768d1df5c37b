"""The bridge from aiohttp to ASGI, with applications that need nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.web.connections import HttpConnection, track_request
from bot.web.mcp.asgi_bridge import AsgiApp, answer_with_asgi
from tests.fakes.http_service import HttpService, serve_app

GET = b"GET /a%20b?x=1&y HTTP/1.1\r\nHost: localhost\r\nX-Two: 1\r\nX-Two: 2\r\n\r\n"


@asynccontextmanager
async def serve(app: AsgiApp, *, body: bytes = b"") -> AsyncIterator[HttpService]:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert isinstance(request.protocol, HttpConnection)
        return await answer_with_asgi(request, app, body=body, lost=request.protocol.lost)

    site = web.Application(middlewares=[track_request])
    site.router.add_route("*", "/{rest:.*}", answer)
    async with serve_app(site) as served:
        yield served


async def respond(send: Any, *pieces: bytes, status: int = 200, length: bool = True) -> None:
    headers = [(b"content-type", b"text/plain"), (b"connection", b"keep-alive"), (b"x-own", b"\xe9")]
    if length:
        headers.append((b"content-length", str(sum(map(len, pieces))).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for piece in pieces[:-1]:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": pieces[-1]})


async def test_an_application_sees_the_request_and_its_answer_arrives() -> None:
    seen = list[Any]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([scope, await receive()])
        await respond(send, b"hello")

    async with serve(app, body=b"abc") as served:
        came = await served.say(GET)
    head, _, body = came.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Transfer-Encoding" not in head
    assert body == b"hello"
    scope, message = seen
    assert (scope["type"], scope["method"], scope["http_version"]) == ("http", "GET", "1.1")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/a b", b"/a%20b", b"x=1&y")
    assert [value for name, value in scope["headers"] if name == b"x-two"] == [b"1", b"2"]
    assert scope["client"][0] == "127.0.0.1"
    assert message == {"type": "http.request", "body": b"abc", "more_body": False}


async def test_pieces_arrive_one_by_one() -> None:
    go_on = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await go_on.wait()
        await send({"type": "http.response.body", "body": b"two", "more_body": False})

    async with serve(app) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET)
        async with asyncio.timeout(10):
            assert (await reader.readuntil(b"one")).endswith(b"\r\n\r\n3\r\none")
            go_on.set()
            assert await reader.readuntil(b"0\r\n\r\n") == b"\r\n3\r\ntwo\r\n0\r\n\r\n"
        writer.close()


async def test_the_head_arrives_before_the_first_piece() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
        await receive()

    async with serve(app) as served, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET)
        assert b"x-own: 1\r\n" in await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()


async def test_who_does_not_read_holds_the_application_up() -> None:
    sent = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": bytes(64 * 1024), "more_body": True})
            sent += 1

    async with serve(app) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=1024)
        writer.write(GET)
        await reader.read(1)
        count = -1
        while count != sent:  # until nothing more is taken
            count = sent
            await asyncio.sleep(0.2)
        assert 0 < sent < 1000
        writer.transport.abort()


async def test_the_application_hears_when_its_client_is_gone() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        heard.put_nowait((await receive())["type"])
        await send({"type": "http.response.body", "body": b"y", "more_body": True})
        heard.put_nowait("gone")

    async with serve(app) as served, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET)
        await reader.readuntil(b"x")
        writer.transport.abort()
        assert [await heard.get(), await heard.get()] == ["http.disconnect", "gone"]


async def test_a_client_that_leaves_before_the_end_is_no_error() -> None:
    asked: asyncio.Event = asyncio.Event()
    sent: asyncio.Queue[BaseException | None] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"answer", "more_body": True})
        await asked.wait()
        try:
            connection.close()  # as it looks between the client's end and our hearing of it
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except ConnectionError as error:
            sent.put_nowait(error)
        else:
            sent.put_nowait(None)

    connection: asyncio.Transport

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal connection
        assert isinstance(request.transport, asyncio.Transport)
        connection = request.transport
        return await answer_with_asgi(request, app, body=b"", lost=asyncio.Event())

    site = web.Application()
    site.router.add_route("*", "/{rest:.*}", answer)
    async with serve_app(site) as served, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(GET)
        await reader.readuntil(b"answer")
        asked.set()
        assert await sent.get() is None
        writer.close()


async def test_after_the_answer_there_is_nothing_more_to_receive() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        listening = asyncio.create_task(receive())
        await respond(send, b"done")
        heard.put_nowait((await listening)["type"])

    async with serve(app) as served, asyncio.timeout(10):
        assert (await served.say(GET)).endswith(b"done")
        assert await heard.get() == "http.disconnect"


async def no_answer(scope: Any, receive: Any, send: Any) -> None:
    return


async def two_starts(scope: Any, receive: Any, send: Any) -> None:
    for _ in range(2):
        await send({"type": "http.response.start", "status": 200, "headers": []})


async def body_first(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.body", "body": b"x"})


@pytest.mark.parametrize("app", [no_answer, body_first])
async def test_an_application_that_breaks_the_rules_is_an_error_of_the_server(app: AsgiApp) -> None:
    async with serve(app) as served:
        assert (await served.say(GET)).startswith(b"HTTP/1.1 500 ")


async def test_what_comes_twice_ends_the_connection() -> None:
    async with serve(two_starts) as served:
        assert not (await served.say(GET, ends=False)).endswith(b"0\r\n\r\n")


async def test_a_stream_that_is_cut_off_closes_the_connection() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})

    async with serve(app) as served:
        came = await served.say(GET, ends=False)
        assert b"half" in came
        assert not came.endswith(b"0\r\n\r\n")
