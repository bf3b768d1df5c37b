"""Over HTTP/2 calls share a connection: what that must not do to a call that is left, or to those after a dead one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.models.connection_pool import ConnectionPool
from bot.models.errors import TimedOut
from bot.models.openai import open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import Answer, LanguageModel, ModelRequest, UserMessage
from bot.models.timeouts import Timeouts
from memory import http_responses
from tests.fakes.http2_server import Http2Server, write_certificate
from tests.fakes.model_server import KEY

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="the program openssl is not installed")

ASKED = ModelRequest("", (UserMessage("Hi"),))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
async def server(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Http2Server]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    http_responses._default_ssl_context.cache_clear()
    async with Http2Server(*certificate) as server:
        yield server
    http_responses._default_ssl_context.cache_clear()


@pytest.fixture
async def model(server: Http2Server) -> AsyncIterator[LanguageModel]:
    connection = ConnectionPool(server.base_url, connect_seconds=5)
    options = ModelOptions("openai/x", server.base_url, KEY, limits=Timeouts(first_token=1.0, idle=5))
    yield open_openai(options, connection)
    await connection.close()


async def ask(model: LanguageModel) -> str:
    *_, answer = [event async for event in model.stream(ASKED)]
    assert isinstance(answer, Answer)
    return answer.message.text


async def test_calls_at_once_share_a_connection(server: Http2Server, model: LanguageModel) -> None:
    await ask(model)
    assert await asyncio.gather(*(ask(model) for _ in range(10))) == ["Hello."] * 10
    assert server.requests == [0] * 11


async def test_a_call_that_is_left_ends_on_the_server_too(server: Http2Server, model: LanguageModel) -> None:
    server.behaves = lambda connection: "goes on for ever"
    async with aclosing(model.stream(ASKED)) as events:
        async for _ in events:
            break
    await server.wait_closed(0)
    server.behaves = lambda connection: "answers"
    assert await ask(model) == "Hello."


async def test_a_call_that_is_left_does_not_end_another(server: Http2Server, model: LanguageModel) -> None:
    await ask(model)
    server.behaves = lambda connection: "goes on for ever"
    async with aclosing(model.stream(ASKED)) as kept:
        await anext(kept)
        async with aclosing(model.stream(ASKED)) as left:
            await anext(left)
        for _ in range(3):
            await anext(kept)
        assert server.open == {0}
    await server.wait_closed(0)


@pytest.mark.thorough
async def test_a_dead_connection_is_waited_for_once(server: Http2Server, model: LanguageModel) -> None:
    await ask(model)
    server.behaves = lambda connection: "is dead" if connection == 0 else "answers"
    with pytest.raises(TimedOut):
        await ask(model)
    assert await ask(model) == "Hello."
    assert server.requests[-1] == 1
