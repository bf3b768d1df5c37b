"""What a broken or hostile Discord may send, and how little of the process's time and memory it gets for it."""

import asyncio
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import WSMsgType, web
from discord import GatewayNotFound, RateLimited

from adapters.backoff import BackoffTimes
from adapters.discord.client import GatewayListener, open_client
from adapters.discord.connection_health import ConnectionHealth, ReconnectTimes, TooManySessions
from adapters.discord.gateway import MAX_SHARDS, fetch_gateway
from adapters.discord.private_api import MAX_BYTES, Receive, guard_events, receive_bounded
from adapters.discord.response_timeouts import install_response_limits
from tests.fakes.table_test import table_test

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def answers(body: str, status: int = 200, **headers: str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, status=status, headers=headers)

    return answer


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:
            await response.write(bytes(1 << 16))
    return response


# -- the gateway --------------------------------------------------------------------------------------------


@asynccontextmanager
async def received(*frames: bytes, is_packed: bool = True) -> AsyncIterator[Receive]:
    async def send(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        with suppress(ConnectionError):
            for frame in frames:
                await socket.send_bytes(frame)
            await socket.receive()
        return socket

    async with (
        server(send) as base,
        aiohttp.ClientSession() as session,
        session.ws_connect(base, autoclose=False, max_msg_size=MAX_BYTES) as socket,
    ):
        yield receive_bounded(socket, is_packed=is_packed)


def packed(*texts: bytes) -> Iterator[bytes]:
    packing = zlib.compressobj()
    for text in texts:
        yield packing.compress(text) + packing.flush(zlib.Z_SYNC_FLUSH)


async def test_packed_payloads_are_read_one_by_one_though_they_come_in_parts() -> None:
    first, second = packed(b'{"op": 1}', '{"op": "é"}'.encode())
    async with received(first, second[:5], second[5:]) as receive:
        assert [(await receive(5.0)).data for _ in range(2)] == ['{"op": 1}', '{"op": "é"}']


@pytest.mark.thorough
async def test_a_payload_packed_like_a_bomb_ends_the_connection() -> None:
    async with received(*packed(bytes(16 * MAX_BYTES))) as receive:
        tracemalloc.start()
        try:
            assert (await receive(5.0)).type is WSMsgType.CLOSED
            assert tracemalloc.get_traced_memory()[1] < 4 * MAX_BYTES
        finally:
            tracemalloc.stop()


@table_test(
    "frames",
    [[b"no zlib\x00\x00\xff\xff"], [b"x" * (1 << 20)] * (2 + (MAX_BYTES >> 20)), [*packed(b"\xff\xff")]],
)
async def test_what_is_no_payload_ends_the_connection(frames: list[bytes]) -> None:
    async with received(*frames) as receive:
        assert (await receive(5.0)).type is WSMsgType.CLOSED


async def test_payloads_that_have_come_already_let_others_have_their_turn() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with received(*packed(*[b"{}"] * 500)) as receive:
        await receive(5.0)
        task = asyncio.create_task(others())
        for _ in range(499):
            await receive(5.0)
        task.cancel()
    assert turns >= 499


class Ears:
    """What a listener is told of events that cannot be read."""

    def __init__(self) -> None:
        self.unread: list[str] = []

    def unreadable(self, event: str, raw: Any, error: Exception) -> None:
        del raw, error
        self.unread.append(event)


def a_client() -> Any:
    return open_client(
        cast("GatewayListener", None),
        shards=1,
        guilds_within=1,
        heartbeat_within=1,
        openings=BackoffTimes(),
        hello_within=1,
    )


@pytest.mark.thorough
async def test_a_server_with_members_without_end_is_not_read_and_others_are() -> None:
    client, ears = a_client(), Ears()
    guard_events(client, ears)
    parsers = client._connection.parsers
    members = [{"user": {"id": str(each)}} for each in range(100_000)]
    began = time.thread_time()
    parsers["GUILD_CREATE"]({"id": "1", "members": members})
    assert time.thread_time() - began < 0.1
    assert ears.unread == ["GUILD_CREATE"]
    with pytest.raises(ConnectionError, match="more servers"):
        parsers["READY"]({"guilds": [{"id": str(each), "unavailable": True} for each in range(100_000)]})
    with pytest.raises(ConnectionError, match="invalid data"):
        parsers["READY"]({"guilds": None})


class Socket:
    """As much of a connection as a thread of signs of life looks at."""

    def __init__(self) -> None:
        self._keep_alive: Any = None
        self._max_heartbeat_timeout = 60.0
        self.thread_id = threading.get_ident()


@table_test("wanted", [0.0, -1.0, 1e-9, float("nan"), 1e300])
async def test_signs_of_life_are_sent_in_measure_whatever_is_asked_for(wanted: float) -> None:
    import discord.gateway

    a_client()
    interval = discord.gateway.KeepAliveHandler(ws=cast("Any", Socket()), interval=wanted).interval
    assert interval is not None
    assert 0.02 <= interval <= 300


async def test_a_gateway_that_says_hello_again_has_no_second_thread() -> None:
    import discord.gateway

    a_client()
    socket = Socket()
    first = socket._keep_alive = discord.gateway.KeepAliveHandler(ws=cast("Any", socket), interval=60.0)
    first.start()
    discord.gateway.KeepAliveHandler(ws=cast("Any", socket), interval=60.0)
    await asyncio.to_thread(first.join, 5)
    assert not first.is_alive()


# -- answers ------------------------------------------------------------------------------------------------


async def test_an_answer_without_end_is_not_read() -> None:
    trace = aiohttp.TraceConfig()
    install_response_limits(trace)
    async with server(endless) as base, aiohttp.ClientSession(trace_configs=[trace]) as session:
        with pytest.raises(aiohttp.ClientPayloadError, match="more than 8192 kB"):
            async with session.get(base) as answer:
                await answer.text()


async def test_what_is_read_with_the_answer_is_told_as_always() -> None:
    trace = aiohttp.TraceConfig()
    install_response_limits(trace)
    async with (
        server(answers('{"a": "é"}')) as base,
        aiohttp.ClientSession(trace_configs=[trace]) as session,
    ):
        for _ in range(2):
            async with session.get(base) as answer:
                assert await answer.text() == '{"a": "é"}'


async def test_a_gateways_address_without_end_is_not_read() -> None:
    async with server(endless) as base:
        with pytest.raises(aiohttp.ClientPayloadError):
            await fetch_gateway(base, "token")


@table_test("shards", [10**9, 10**400, -1, True, "7", None, 1e300])
async def test_a_number_of_connections_beyond_all_measure_is_none(shards: object) -> None:
    limit = {"remaining": 10**12, "reset_after": 10**400}
    told = {"url": "ws://127.0.0.1:1", "shards": shards, "session_start_limit": limit}
    async with server(answers(json.dumps(told))) as base:
        gateway = await fetch_gateway(base, "token")
    assert (gateway.shards, gateway.sessions, gateway.reset_after) == (1, 1000, 0.0)
    assert MAX_SHARDS > 1


@table_test("body", ["[" * 30_000, "{", "[]", "5"])
async def test_json_that_is_no_address_is_told_as_none(body: str) -> None:
    async with server(answers(body)) as base:
        with pytest.raises(GatewayNotFound):
            await fetch_gateway(base, "token")


@table_test("wait", ["nan", "-1", "1e300", "inf", "soon"])
async def test_whatever_is_named_as_a_wait_the_gateway_is_asked_again_within_a_day(wait: str) -> None:
    async with server(answers("", 429, **{"Retry-After": wait})) as base:
        with pytest.raises(RateLimited) as limited:
            await fetch_gateway(base, "token")
    assert 0.0 <= limited.value.retry_after <= 86_400.0


@table_test("seconds", [1e300, float("inf"), float("nan")])
def test_no_refusal_is_waited_out_for_more_than_a_day(seconds: float) -> None:
    condition = ConnectionHealth(lambda _: None, ReconnectTimes(), token="token")
    for error in (RateLimited(seconds), TooManySessions(seconds)):
        assert 0.0 < condition.record_failure(error) <= 1.25 * 86_400.0
