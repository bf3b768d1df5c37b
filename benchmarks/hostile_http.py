"""Attacks on the service over HTTP, without its token unless stated."""

import asyncio
import itertools
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

from under_attack import TOKEN, AttackTarget, Scenario
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.fakes.many_clients import HALF_BODY, HALF_HEAD, open_clients, raise_descriptor_limit

HALF_REQUESTS = 1100
PACKED_SENDERS = 8
SLOW_CLIENTS = 300
LARGE_NOTE_BYTES = 900_000
JSON = "Content-Type: application/json"


def gzip_bomb() -> bytes:
    """Return 0.9 MB that decompress to 900 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    return head + 900 * (packer.compress(b"\0" * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH))


def post(path: str, *headers: str, length: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {length}", *headers, "", ""]
    return "\r\n".join(lines).encode()


async def send_gzip_bombs(target: AttackTarget) -> None:
    """Send bodies that decompress to a thousand times their size, with and without authentication required."""
    body = gzip_bomb()
    forms = "Content-Type: application/x-www-form-urlencoded"

    async def send(path: str, kind: str) -> None:
        head = post(path, kind, "Content-Encoding: gzip", "Connection: close", length=len(body))
        writer, close = await _connect(target)
        writer.write(head + body)
        await writer.drain()
        await close(read=True)

    await _repeat(target, PACKED_SENDERS, lambda _: send("/rpc", JSON))
    await _repeat(target, PACKED_SENDERS, lambda _: send("/sign-in", forms))


async def send_costly_headers(target: AttackTarget) -> None:
    """Send request heads whose fields take long to parse."""
    quotes = 'a/b;a="' + '"' * 7900
    cookies = "; ".join(f"c{number}=1" for number in range(1000))[:8000]
    hops = [f"X-Forwarded-For: {','.join(['127.0.0.1'] * 700)}"] * 50
    said = [
        post("/sign-in", f"Content-Type: {quotes}", "Connection: close", length=1) + b"a",
        post("/rpc", f"Cookie: {cookies}", "Connection: close", length=1) + b"a",
        post("/rpc", *hops, "Authorization: Bearer guess", "Connection: close", length=1) + b"a",
    ]

    async def send(number: int) -> None:
        writer, close = await _connect(target)
        writer.write(said[number % len(said)])
        await writer.drain()
        await close(read=True)

    await _repeat(target, PACKED_SENDERS, send)


async def send_half_requests(target: AttackTarget) -> None:
    """Open 1,100 connections at once without finishing a request; again after those were closed."""
    until = time.monotonic() + target.seconds
    for said in itertools.cycle((HALF_HEAD, HALF_BODY, b"")):
        async with open_clients(target.port, HALF_REQUESTS, said):
            await asyncio.sleep(min(3.0, max(0.0, until - time.monotonic())))
        if time.monotonic() > until:
            return


async def write_slowly(target: AttackTarget) -> None:
    """Send heads byte by byte, and bodies in chunks of one byte, both fast and slowly."""
    until = time.monotonic() + target.seconds
    head = post("/sign-in", "Connection: close", length=60_000)
    chunked = b"POST /sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def drip(_: int) -> None:
        writer, close = await _connect(target)
        for byte in head + b"a" * 1000:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.2)
            if time.monotonic() > until:
                break
        await close()

    async def flood(_: int) -> None:
        writer, close = await _connect(target)
        writer.write(chunked)
        while time.monotonic() < until:
            writer.write(b"1\r\na\r\n" * 5000)
            await writer.drain()
        await close()

    with raise_descriptor_limit(SLOW_CLIENTS):
        await asyncio.gather(_repeat(target, SLOW_CLIENTS, drip), _repeat(target, PACKED_SENDERS, flood))


def write_large_note(folder: Path) -> None:
    """Write a note of 0.9 MB."""
    line = "The boat lies at the second pier, and its name is on the stern in white letters.\n"
    (folder / "memory" / "large.md").write_text(line * (LARGE_NOTE_BYTES // len(line)), "utf-8")


async def read_slowly(target: AttackTarget) -> None:
    """Request the sign-in page repeatedly and, with the token, a large note; read nothing."""
    pages = b"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200
    call = b'{"jsonrpc":"2.0","id":1,"method":"memory.get","params":{"path":"large.md"}}'
    note = post("/rpc", JSON, f"Authorization: Bearer {TOKEN}", length=len(call)) + call

    async def ask(number: int) -> None:
        writer, close = await _connect(target)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(20):
            writer.write(note * 5 if number % 3 == 0 else pages)
            await writer.drain()
            await asyncio.sleep(target.seconds / 20)
        await close()

    with raise_descriptor_limit(SLOW_CLIENTS):
        await _repeat(target, SLOW_CLIENTS, ask)


async def do_nothing(target: AttackTarget) -> None:
    """Do nothing, as a baseline for this machine."""
    await asyncio.sleep(target.seconds)


async def _connect(
    target: AttackTarget,
) -> tuple[asyncio.StreamWriter, Callable[..., Awaitable[None]]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)

    async def close(*, read: bool = False) -> None:
        if read:
            async with asyncio.timeout(60):
                while await reader.read(65_536):
                    pass
        writer.transport.abort()

    return writer, close


async def _repeat(
    target: AttackTarget, clients: int, act: Callable[[int], Awaitable[None]], pause: float = 0.01
) -> None:
    """Have this many clients do the same, each again as soon as it is done or cut off, for part of the time."""
    until = time.monotonic() + target.seconds

    async def client(number: int) -> None:
        while time.monotonic() < until:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(max(1.0, until - time.monotonic())):
                    await act(number)
            await asyncio.sleep(pause)

    await asyncio.gather(*map(client, range(clients)))


def scenarios() -> Iterator[Scenario]:
    """Yield all scenarios, including doing nothing as a baseline."""
    yield Scenario("nothing", do_nothing)
    yield Scenario("packed bodies", send_gzip_bombs)
    yield Scenario("costly heads", send_costly_headers)
    yield Scenario("1,100 half requests", send_half_requests)
    yield Scenario("slow writers", write_slowly)
    yield Scenario("slow readers", read_slowly, prepare=write_large_note)
