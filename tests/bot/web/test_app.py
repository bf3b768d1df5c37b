import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.messages import ChannelHealth
from bot.web.app import build_web_app
from memory.embeddings.embedder import Embedder
from memory.embeddings.errors import KeyRejected
from memory.embeddings.factory import Embedding, open_embedding
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.http_service import serve_app

Client = TestClient[web.Request, web.Application]

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")


@pytest.fixture
def states() -> dict[str, ChannelHealth]:
    return {"terminal": ChannelHealth("up")}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory:
        yield memory


@pytest.fixture
async def client(states: dict[str, ChannelHealth], memory: Memory) -> AsyncIterator[Client]:
    async with TestClient(TestServer(build_web_app(channels=lambda: states, memory=memory))) as client:
        yield client


async def test_healthz_is_ok_once_every_channel_is_up(client: Client, memory: Memory) -> None:
    await memory.write("One note")
    answer = await client.get("/healthz")
    assert answer.status == 200
    assert await answer.json() == {
        "status": "ok",
        "channels": {"terminal": "up"},
        "memory": {"status": "ok", "files": 1, "total_chunks": 1, "vectors": "off"},
    }


async def test_healthz_tells_how_the_vectors_fare_and_no_more(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        table = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": "s3cret"}
        settings = MemorySettings.model_validate({"embedding": table})
        embedding = open_embedding(settings.embedding, sections={}, environment={})
        memory = Memory(
            settings, workspace=tmp_path, now=lambda: datetime.now(UTC), embedding=embedding, lasting=True
        )
        app = build_web_app(channels=dict, memory=memory, timeout_seconds=5)
        async with memory, TestClient(TestServer(app)) as client:

            async def vectors() -> object:
                answer = await client.get("/healthz")
                assert answer.status == 200
                assert "s3cret" not in (text := await answer.text())
                assert "401" not in text
                return (await answer.json())["memory"]["vectors"]

            assert await vectors() == "ok"
            await memory.write("One note")
            assert await vectors() == "filling"
            with pytest.raises(KeyRejected):
                await memory.fill_vectors()
            assert await vectors() == "failing"


async def test_healthz_does_not_call_it_failing_while_a_fallback_gives_vectors(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        table = {"provider": "openai", "base_url": server.base_url("openai")}
        settings = MemorySettings.model_validate({"embedding": {**table, "api_key": "s3cret"}})
        well = MemorySettings.model_validate({"embedding": {**table, "api_key": KEY}})
        first, second = (
            open_embedding(each.embedding, sections={}, environment={}) for each in (settings, well)
        )
        assert first.primary
        assert second.primary
        embedding = Embedding(
            first.choice, second.choice, first.primary, Embedder(first.primary, second.primary)
        )
        memory = Memory(settings, workspace=tmp_path, now=lambda: datetime.now(UTC), embedding=embedding)
        app = build_web_app(channels=dict, memory=memory, timeout_seconds=5)
        async with memory, TestClient(TestServer(app)) as client:

            async def vectors() -> object:
                return (await (await client.get("/healthz")).json())["memory"]["vectors"]

            await memory.write("One note")
            await memory.fill_vectors()
            assert (await memory.status()).embedding_problem
            assert await vectors() == "ok"
            await memory.write("Another note")
            assert await vectors() == "filling"


async def test_healthz_without_any_channel_is_ok(client: Client, states: dict[str, ChannelHealth]) -> None:
    states.clear()
    assert (await client.get("/healthz")).status == 200


@pytest.mark.parametrize("state", ["starting", "down"])
async def test_healthz_names_what_is_missing(
    client: Client, states: dict[str, ChannelHealth], state: Literal["starting", "down"]
) -> None:
    states["telegram"] = ChannelHealth(state, "the token was refused")
    answer = await client.get("/healthz")
    assert answer.status == 503
    document = await answer.json()
    assert document["status"] == "unavailable"
    assert document["channels"] == {"terminal": "up", "telegram": state}
    assert document["missing"] == ["channel telegram"]
    assert set(document) > {"memory"}
    assert "refused" not in await answer.text(), "why it is so is not for everybody"


async def test_healthz_is_ok_while_a_channel_is_up_but_hampered(
    client: Client, states: dict[str, ChannelHealth]
) -> None:
    states["telegram"] = ChannelHealth("up", "it cannot reach chat 5")
    answer = await client.get("/healthz")
    assert answer.status == 200
    assert "chat 5" not in await answer.text()


async def test_healthz_answers_while_the_memory_is_busy(memory: Memory) -> None:
    app = build_web_app(channels=dict, memory=memory, timeout_seconds=0.02)
    done = threading.Event()
    async with TestClient(TestServer(app)) as client:
        busy = asyncio.get_running_loop().run_in_executor(memory._index._index_thread, done.wait, 30)
        answer = await client.get("/healthz")
        assert answer.status == 200
        assert (await answer.json())["memory"] == {"status": "busy"}
        done.set()
        await busy


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/healthz/../etc/passwd", 404),
        ("POST", "/healthz", 405),
        ("HEAD", "/healthz", 200),
    ],
)
async def test_there_is_nothing_else(client: Client, method: str, path: str, status: int) -> None:
    assert (await client.request(method, path)).status == status


async def test_no_answer_tells_what_it_was_made_with(
    states: dict[str, ChannelHealth], memory: Memory
) -> None:
    async with serve_app(build_web_app(channels=lambda: states, memory=memory)) as served:
        for request in (
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
            b"GARBAGE\r\n\r\n",
        ):
            answer = await served.say(request, ends=False)
            assert b"Server: commonplace\r\n" in answer
            assert b"aiohttp" not in answer
            assert b"Python" not in answer
            assert b"nosniff" in answer or b" 400 " in answer


async def test_a_broken_request_is_not_our_bug(
    states: dict[str, ChannelHealth], memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_app(build_web_app(channels=lambda: states, memory=memory)) as served:
        caplog.clear()
        answer = await served.say(
            b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", ends=False
        )
        assert b" 400 " in answer.partition(b"\r\n")[0]
        assert caplog.records == []
