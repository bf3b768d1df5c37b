"""Compressed responses are read as they arrive, and never beyond the limit."""

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from aiohttp import web

from memory.http_responses import read_bounded
from tests.fakes.table_test import table_test

MOST = 1 << 20
BOMB = gzip.compress(bytes(40 << 20))
"""40 kB that expand to 40 MB."""


@asynccontextmanager
async def answer(body: bytes, packing: str) -> AsyncIterator[httpx.Response]:
    """The response of a server that compresses without being asked to."""

    async def send(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Encoding": packing} if packing else {})

    app = web.Application()
    app.router.add_get("/", send)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        async with (
            httpx.AsyncClient(headers={"Accept-Encoding": "identity"}, trust_env=False) as client,
            client.stream("GET", f"http://{host}:{port}/") as response,
        ):
            yield response
    finally:
        await runner.cleanup()


@table_test(
    ("packing", "body"),
    [
        ("", b"alpha"),
        ("identity", b"alpha"),
        ("gzip", gzip.compress(b"alpha")),
        (" GZip ", gzip.compress(b"alpha")),
        ("deflate", zlib.compress(b"alpha")),
    ],  # gzip data contain the time
)
async def test_a_response_compressed_once_is_read(packing: str, body: bytes) -> None:
    async with answer(body, packing) as response:
        assert await read_bounded(response, MOST) == b"alpha"


async def test_a_compressed_response_is_read_completely() -> None:
    text = b"".join(b"%d\n" % number for number in range(100_000))
    async with answer(gzip.compress(text), "gzip") as response:
        assert await read_bounded(response, MOST) == text


async def test_reading_a_decompression_bomb_stops_at_the_limit() -> None:
    async with answer(BOMB, "gzip") as response:
        tracemalloc.start()
        try:
            assert MOST < len(await read_bounded(response, MOST)) <= MOST + (1 << 16)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.thorough
@table_test(
    ("packing", "body"),
    [
        ("gzip, gzip", gzip.compress(BOMB)),
        ("br", b"alpha"),
        ("zstd", b"alpha"),
        ("gzip", b"no gzip"),
    ],
)
async def test_a_response_compressed_twice_or_otherwise_is_refused(packing: str, body: bytes) -> None:
    async with answer(body, packing) as response:
        with pytest.raises(httpx.DecodingError):
            await read_bounded(response, MOST)
