import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.web.app import build_web_app
from bot.web.request_body import MAX_BODY_BYTES
from bot.web.webhooks import WebhookRoute
from memory.memory import Memory
from memory.settings import MemorySettings

Client = TestClient[web.Request, web.Application]

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


class Platform:
    """What was handed over."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        self.status = 200

    def admits(self, headers: Mapping[str, str]) -> bool:
        return headers.get("x-secret", "") != "wrong"

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        self.received.append((headers.get("x-secret", ""), body))
        return self.status


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
async def client(tmp_path: Path, platform: Platform) -> AsyncIterator[Client]:
    hooks = [WebhookRoute("/hook/one", platform.receive, platform.admits)]
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory:
        app = build_web_app(channels=dict, memory=memory, hooks=hooks)
        async with TestClient(TestServer(app)) as client:
            yield client


@pytest.mark.parametrize("status", [200, 404, 503])
async def test_a_hook_is_given_headers_and_body_and_says_the_status(
    status: int, client: Client, platform: Platform
) -> None:
    platform.status = status
    answer = await client.post("/hook/one", data=b"{}", headers={"X-Secret": "s"})
    assert (answer.status, await answer.read()) == (status, b"")
    assert platform.received == [("s", b"{}")]


async def test_other_paths_and_methods_are_not_heard(client: Client, platform: Platform) -> None:
    assert (await client.post("/hook/two", data=b"{}")).status == 404
    assert (await client.get("/hook/one")).status == 405
    assert platform.received == []


@pytest.mark.parametrize("told", [True, False], ids=["with its length", "in chunks"])
async def test_a_body_that_is_too_large_is_refused(told: bool, client: Client, platform: Platform) -> None:
    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1024):
            yield b"x" * 1024

    async def post(size: int) -> int:
        answer = await client.post("/hook/one", data=io.BytesIO(b"x" * size) if told else chunks(size))
        return answer.status

    assert await post(MAX_BODY_BYTES) == 200
    assert await post(MAX_BODY_BYTES + 1024) == 413
    assert [len(body) for _, body in platform.received] == [MAX_BODY_BYTES]


async def test_a_body_that_is_cut_is_not_handed_over(client: Client, platform: Platform) -> None:
    _, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(b'POST /hook/one HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"update_id"')
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    await client.post("/hook/one", data=b"whole")
    assert platform.received == [("", b"whole")]


async def test_a_body_is_not_read_where_the_headers_say_that_nobody_wants_it(
    client: Client, platform: Platform
) -> None:
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(b"POST /hook/one HTTP/1.1\r\nHost: x\r\nX-Secret: wrong\r\nContent-Length: 1000000\r\n\r\n")
    async with asyncio.timeout(5):
        assert b" 404 " in await reader.readline()
    writer.close()
    await writer.wait_closed()
    assert platform.received == []
