"""What of a request is read, when, and for how much work."""

import asyncio
import gzip
import time
import zlib
from pathlib import Path

import pytest
from aiohttp import web

from bot.web.connections import track_request
from bot.web.request_body import MAX_BODY_BYTES, defer_expect, read_body
from tests.fakes.http_service import serve_app, serve_http
from tests.fakes.many_clients import open_clients

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

TOKEN = "correct horse battery staple"
ALLOWED = b"Authorization: Bearer " + TOKEN.encode()
JSON = b"Content-Type: application/json"
CALL = b'{"jsonrpc":"2.0","method":"memory.status","id":1}'


def post(path: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: 127.0.0.1", *headers]
    lines += [b"Content-Length: %d" % len(body), b"Connection: close", b"", body]
    return b"\r\n".join(lines)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def bomb() -> bytes:
    """Return almost as much as a body may have, which unpacks to a thousand times that."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b"\0" * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * 900


async def test_nothing_is_unpacked_whoever_sends_it(tmp_path: Path) -> None:
    packed = bomb()
    assert len(packed) < MAX_BODY_BYTES
    assert len(zlib.decompressobj(31).decompress(packed, 50_000_000)) == 50_000_000
    gzipped = b"Content-Encoding: gzip"
    async with serve_http(tmp_path, token=TOKEN) as (served, _):
        began = time.process_time()
        assert status(await served.say(post(b"/rpc", JSON, gzipped, body=packed), ends=False)) == 401
        answer = await served.say(post(b"/rpc", JSON, gzipped, ALLOWED, body=packed), ends=False)
        spent = time.process_time() - began
        assert status(answer) == 415
        assert b"without Content-Encoding" in answer
        assert spent < 1.0, "unpacking takes several seconds"
        identity = post(b"/rpc", JSON, b"Content-Encoding: identity", ALLOWED, body=CALL)
        assert status(await served.say(identity, ends=False)) == 200


async def test_a_compressed_form_or_update_is_refused_with_what_is_wanted() -> None:
    async def receive(request: web.Request) -> web.Response:
        return web.Response(body=await read_body(request))

    app = web.Application(middlewares=[track_request])
    app.router.add_post("/hook", receive)
    async with serve_app(app) as served:
        answer = await served.say(
            post(b"/hook", b"Content-Encoding: gzip", body=gzip.compress(b"{}")), ends=False
        )
        assert status(answer) == 415
        assert b"\r\nAccept-Encoding: identity\r\n" in answer


@pytest.mark.thorough
async def test_a_body_that_is_said_to_be_too_large_is_refused_before_it_comes(tmp_path: Path) -> None:
    head = b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n"
    async with serve_http(tmp_path) as (served, _), open_clients(served.port, 1, head) as (client,):
        async with asyncio.timeout(5):
            answer = await asyncio.get_running_loop().sock_recv(client, 1 << 16)
        assert status(answer) == 413


@pytest.mark.thorough
async def test_a_body_is_asked_for_only_once_it_is_known_who_sends_it(tmp_path: Path) -> None:
    head = [b"POST /rpc HTTP/1.1", b"Host: 127.0.0.1", JSON, b"Content-Length: %d" % len(CALL)]
    head += [b"Expect: 100-continue", b"Connection: close"]
    async with serve_http(tmp_path, token=TOKEN) as (served, _):
        answer = await served.say(b"\r\n".join([*head, b"", b""]), ends=False)
        assert status(answer) == 401
        answer = await served.say(b"\r\n".join([*head, ALLOWED, b"", b""]), CALL, pause=0.1, ends=False)
        asked, _, answer = answer.partition(b"\r\n\r\n")
        assert status(asked) == 100
        assert status(answer) == 200
        strange = b"\r\n".join([*head[:-2], b"Expect: a miracle", ALLOWED, b"Connection: close", b"", CALL])
        assert status(await served.say(strange, ends=False)) == 417


@pytest.mark.parametrize(
    "kind",
    [b'a/b;a="' + b'"' * 7900, b"a/b;" + b"(" * 7900, b"a/b" + b';a="' * 1900],
    ids=["quotes", "brackets", "parameters"],
)
async def test_a_content_type_made_to_take_long_takes_no_time(
    kind: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_http(tmp_path, token=TOKEN) as (served, _):
        began = time.process_time()
        request = post(b"/sign-in", b"Content-Type: " + kind, body=b"token=a")
        assert status(await served.say(request, ends=False)) == 401
        request = post(b"/rpc", b"Content-Type: " + kind, ALLOWED, body=CALL)
        assert status(await served.say(request, ends=False)) == 415
        assert time.process_time() - began < 0.2
        assert [each for each in caplog.records if each.exc_info] == []


async def test_expecting_nothing_strange_is_no_matter_for_a_request_without_a_body() -> None:
    async def receive(request: web.Request) -> web.Response:
        return web.Response(text=str(len(await read_body(request))))

    app = web.Application(middlewares=[track_request])
    app.router.add_post("/hook", receive, expect_handler=defer_expect)
    async with serve_app(app) as served:
        answer = await served.say(post(b"/hook", b"Expect: 100-Continue", body=b"abc"), ends=False)
        assert answer.endswith(b"\r\n\r\n3")


@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["at once", "piece by piece"])
async def test_a_body_that_is_no_chunk_is_refused_at_once(pause: float, tmp_path: Path) -> None:
    head = post(b"/rpc", JSON, b"Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    async with serve_http(tmp_path) as (served, _):
        for body in (b"zz\r\n", b"5\r\nhelloXX\r\n"):
            async with asyncio.timeout(5):
                answer = await served.say(head, body, pause=pause, ends=False)
            assert status(answer) == 400
