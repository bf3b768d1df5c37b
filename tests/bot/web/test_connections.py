"""How many connections there may be, and which of them are closed for others."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from bot.web.app import make_http_logger, web_runner
from bot.web.connections import (
    GRACE_SECONDS,
    MAX_CONNECTIONS,
    MAX_PER_ADDRESS,
    HttpConnection,
    HttpConnections,
    track_request,
)
from bot.web.listener import OPTIONS, HttpListener
from tests.fakes.http_service import HttpService, serve_http
from tests.fakes.many_clients import HALF_BODY, HALF_HEAD, is_still_open, open_clients, wait_closed
from tests.fakes.table_test import first_at_once, table_test

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


async def seconds_of_health(served: HttpService) -> float:
    """How long an answer takes: 10 s at most. On a busy machine only the quickest of several tells of the service."""
    began = time.monotonic()
    assert status(await served.say(HEALTHZ, ends=False)) == 200
    return time.monotonic() - began


# -- how many ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", first_at_once([HALF_HEAD, HALF_BODY, b""]), ids=["half a head", "half a body", "nothing"]
)
async def test_three_times_as_many_half_requests_as_may_be_do_not_keep_others_out(
    said: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        serve_http(tmp_path) as (served, _),
        open_clients(served.port, 3 * MAX_CONNECTIONS, said) as clients,
    ):
        assert min([await seconds_of_health(served) for _ in range(5)]) < 2
        assert sum(map(is_still_open, clients)) < MAX_CONNECTIONS
        assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) <= 2


async def test_connections_that_the_library_refuses_by_itself_do_not_keep_others_out(tmp_path: Path) -> None:
    refused = b"GET / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n"
    async with serve_http(tmp_path) as (served, _), open_clients(served.port, 3 * MAX_CONNECTIONS, refused):
        assert min([await seconds_of_health(served) for _ in range(5)]) < 2


@asynccontextmanager
async def opened(
    connections: HttpConnections, *addresses: str
) -> AsyncIterator[dict[str, list[HttpConnection]]]:
    """Open a connection from each of these addresses, in this order; everybody says half a request."""
    server = await _server(web.Application(middlewares=[track_request]))
    loop, ends = asyncio.get_running_loop(), []
    by_address: dict[str, list[HttpConnection]] = {}
    for address in addresses:
        ours, theirs = socket.socketpair()
        theirs.sendall(HALF_HEAD)
        connection = connections.accept(server, address, dict(OPTIONS))
        await loop.connect_accepted_socket(lambda: connection, ours)  # noqa: B023
        by_address.setdefault(address, []).append(connection)
        ends.append(theirs)
    try:
        yield by_address
    finally:
        connections.abort_all()
        for each in ends:
            each.close()
        await server.shutdown(1)


async def _server(app: web.Application) -> web.Server:
    runner = web_runner(app)
    await runner.setup()
    assert runner.server
    return runner.server


async def test_who_opens_many_connections_closes_the_oldest_of_his_own() -> None:
    greedy, other = "203.0.113.9", "203.0.113.10"
    connections = HttpConnections()
    async with opened(connections, other, *[greedy] * MAX_PER_ADDRESS) as by_address:
        assert connections.make_room(address="203.0.113.11")
        assert len(connections) == MAX_PER_ADDRESS + 1
        assert connections.make_room(address=greedy)
        await asyncio.sleep(0)
        oldest, *others = by_address[greedy]
        assert oldest.transport is None
        assert all(each.transport for each in (*others, *by_address[other]))


@table_test("address", ["127.0.0.1", "::1", "10.0.0.7", "::ffff:10.0.0.7"])
async def test_this_machine_and_trusted_proxies_have_the_share_of_all(address: str) -> None:
    from ipaddress import ip_network

    connections = HttpConnections(proxies=[ip_network("10.0.0.0/24")])
    async with opened(connections, *[address] * (MAX_PER_ADDRESS + 1)):
        assert connections.make_room(address=address)
        assert len(connections) == MAX_PER_ADDRESS + 1


async def test_an_ipv6_network_counts_as_one_address() -> None:
    connections = HttpConnections()
    async with opened(connections, *(f"2001:db8::{number:x}" for number in range(MAX_PER_ADDRESS))):
        assert connections.make_room(address="2001:db8::ffff")
        assert len(connections) == MAX_PER_ADDRESS - 1


async def test_room_is_made_by_the_address_that_has_most() -> None:
    connections = HttpConnections(max_connections=4)
    async with opened(
        connections, "198.51.100.1", "203.0.113.9", "203.0.113.9", "198.51.100.2"
    ) as by_address:
        assert not connections.make_room(), "they are all too new"
        await asyncio.sleep(GRACE_SECONDS)
        assert connections.make_room()
        await asyncio.sleep(0)
        assert [each.transport is None for each in by_address["203.0.113.9"]] == [True, False]
        assert by_address["198.51.100.1"][0].transport


async def test_what_is_being_answered_is_never_closed_for_others() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work(request: web.Request) -> web.Response:
        begun.set()
        await may_end.wait()
        return web.Response(text="done")

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application(middlewares=[track_request])
    app.router.add_get("/work", work)
    app.router.add_get("/healthz", answer)
    async with _listening(app, HttpConnections(max_connections=3)) as served:
        working = [
            asyncio.create_task(
                served.say(b"GET /work HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", ends=False)
            )
            for _ in range(3)
        ]
        await begun.wait()
        waits = asyncio.create_task(served.say(HEALTHZ, ends=False))
        await asyncio.wait([waits], timeout=0.3)
        assert not waits.done(), "all are at work: a new one waits"
        may_end.set()
        assert [(await each).endswith(b"done") for each in working] == [True] * 3
        assert (await waits).endswith(b"here")


@pytest.mark.thorough
async def test_a_connection_that_brings_its_request_is_never_closed_for_others_before_that_is_read() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="here")

    async def be_busy() -> None:
        while True:
            time.sleep(GRACE_SECONDS * 1.2)  # noqa: ASYNC251 - each step of the event loop takes long
            await asyncio.sleep(0)

    app = web.Application(middlewares=[track_request])
    app.router.add_get("/healthz", answer)
    async with _listening(app, HttpConnections(max_connections=2)) as served:
        with contextlib.ExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(6)
            ]
            for each in clients:
                each.sendall(HEALTHZ)
                each.setblocking(False)
            busy = asyncio.create_task(be_busy())
            try:
                answers = await asyncio.gather(*map(_all_that_comes, clients))
            finally:
                busy.cancel()
            assert [each.endswith(b"here") for each in answers] == [True] * 6


async def _all_that_comes(client: socket.socket) -> bytes:
    loop, answer = asyncio.get_running_loop(), b""
    with contextlib.suppress(ConnectionError):
        while piece := await loop.sock_recv(client, 1 << 16):
            answer += piece
    return answer


@asynccontextmanager
async def _listening(app: web.Application, connections: HttpConnections) -> AsyncIterator[HttpService]:
    runner = web_runner(app)
    await runner.setup()
    assert runner.server
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        listener = HttpListener(runner.server, [listening], connections, logger=make_http_logger())
        listener.start()
        try:
            yield HttpService(listening.getsockname()[1])
        finally:
            await listener.close()
            await runner.cleanup()
            connections.abort_all()


# -- who does not read ------------------------------------------------------------------------------------------


def large_app(size: int) -> web.Application:
    async def large(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * size)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application(middlewares=[track_request])
    app.router.add_get("/large", large)
    app.router.add_get("/healthz", answer)
    return app


LARGE = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n"


async def _until_unsent(connections: HttpConnections, count: int) -> None:
    async with asyncio.timeout(10):
        while sum(1 for each in connections._open if each.unsent) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_who_takes_too_long_to_read_a_response_is_cut_off() -> None:
    connections = HttpConnections(send_seconds=0)
    async with (
        _listening(large_app(16_000_000), connections) as served,
        open_clients(served.port, 2, LARGE) as (slow, slower),
    ):
        await _until_unsent(connections, 2)
        connections.close_slow_readers()
        assert len(connections) == 2, "each has been seen for the first time"
        await asyncio.sleep(0.01)
        connections.close_slow_readers()
        assert len(connections) == 0
        assert await wait_closed(slow)
        assert await wait_closed(slower)
        assert (await served.say(HEALTHZ, ends=False)).endswith(b"here")


@pytest.mark.thorough
async def test_what_waits_to_be_read_is_bounded_in_all() -> None:
    connections = HttpConnections(unsent_bytes=50_000_000)
    async with (
        _listening(large_app(16_000_000), connections) as served,
        open_clients(served.port, 8, LARGE),
    ):
        async with asyncio.timeout(10):
            while len(connections) > 4:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert sum(each.unsent for each in connections._open) <= 50_000_000
        assert (await served.say(HEALTHZ, ends=False)).endswith(b"here")


async def test_requests_sent_ahead_are_answered_in_order_without_being_read_ahead(tmp_path: Path) -> None:
    ahead = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 4000 + b"\r\n\r\n"
    async with serve_http(tmp_path) as (served, _):
        answer = await served.say(ahead * 60 + HEALTHZ, ends=False)
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 61


@pytest.mark.thorough
async def test_a_crowd_of_requests_does_not_hold_up_the_health_check(tmp_path: Path) -> None:
    ahead = b"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    async with serve_http(tmp_path) as (served, _), open_clients(served.port, 2 * MAX_CONNECTIONS, ahead):
        assert min([await seconds_of_health(served) for _ in range(3)]) < 2
