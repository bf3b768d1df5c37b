"""Addresses that lack their version, and Ollama's with or without it, by real requests."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.config.settings import Settings
from bot.model_error_text import explain_no_answer
from bot.models.errors import ModelNotFound, NoModelAnswered
from bot.models.factory import open_model
from bot.models.fallback import FallbackModel
from bot.models.known_providers import resolve_provider
from bot.models.protocol import Answer, ModelRequest, UserMessage
from tests.fakes.commonplace import CommonplaceHere
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.threaded_server import run_in_thread

ASKED = ModelRequest("Be brief.", (UserMessage("Hello"),))
AT_ROOT = "POST /chat/completions"


def settings_of(tmp_path: Path, base_url: str, *models: str, name: str = "mine", **table: Any) -> Settings:
    provider = {"kind": "openai", "base_url": base_url, "api_key": KEY, **table}
    chain = [f"{name}/{model}" for model in models or (MODEL,)]
    tables: Mapping[str, Any] = {
        "workspace": tmp_path,
        "models": {"chain": chain},
        "providers": {name: provider},
    }
    return Settings.model_validate(tables)


async def ask(model: FallbackModel) -> str:
    *_, answer = [event async for event in model.stream(ASKED)]
    assert isinstance(answer, Answer)
    return answer.message.text


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


@pytest.mark.parametrize("end", ["", "/"])
async def test_a_missing_version_is_tried_once_and_remembered(
    server: OpenAIServer, tmp_path: Path, end: str
) -> None:
    async with open_model(settings_of(tmp_path, server.root + end), None, {}) as model:
        for _ in range(3):
            assert await ask(model) == "Hello."
    assert server.strays == [AT_ROOT]
    assert len(server.requests) == 3


async def test_all_models_and_keys_of_a_provider_share_what_was_learnt(
    server: OpenAIServer, tmp_path: Path
) -> None:
    settings = settings_of(
        tmp_path, server.root, "gpt-other", MODEL, api_keys=["a-wrong-key-12345", KEY], api_key=""
    )
    async with open_model(settings, None, {}) as model:
        assert await ask(model) == "Hello."
    assert server.strays == [AT_ROOT]


async def test_calls_at_the_same_time_all_find_it(server: OpenAIServer, tmp_path: Path) -> None:
    async with open_model(settings_of(tmp_path, server.root), None, {}) as model:
        assert await asyncio.gather(*(ask(model) for _ in range(5))) == ["Hello."] * 5
        before = len(server.strays)
        assert await ask(model) == "Hello."
        assert len(server.strays) == before


@pytest.mark.parametrize("path", ["/v2", "/api", "/v1/v1", "/openai"])
async def test_an_address_with_a_path_is_asked_as_it_is(
    server: OpenAIServer, tmp_path: Path, path: str
) -> None:
    async with open_model(settings_of(tmp_path, server.root + path), None, {}) as model:
        with pytest.raises(NoModelAnswered):
            await ask(model)
    assert server.strays == [f"POST {path}/chat/completions"]
    assert server.requests == []


class Elsewhere(OpenAIServer):
    """A server that has nothing to do with models."""

    def add_routes(self, app: web.Application) -> None:
        del app

    def not_found(self, request: web.Request) -> web.Response:
        return web.Response(status=404, text="<html>nothing here</html>", content_type="text/html")


async def test_where_there_is_no_version_either_the_address_stays_and_is_told(tmp_path: Path) -> None:
    async with Elsewhere() as server:
        async with open_model(settings_of(tmp_path, server.root), None, {}) as model:
            for _ in range(2):
                with pytest.raises(NoModelAnswered) as caught:
                    await ask(model)
                (error,) = caught.value.tries
                assert isinstance(error, ModelNotFound)
                assert "there is nothing at /chat/completions: check the provider's base_url" in error.detail
        assert server.strays == [AT_ROOT, "POST /v1/chat/completions", AT_ROOT]


class AtRoot(OpenAIServer):
    """llama.cpp's server answers without the version too."""

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/chat/completions", self.handle)


async def test_a_model_that_is_missing_is_no_address_that_is_wrong(tmp_path: Path) -> None:
    async with AtRoot() as server:
        async with open_model(settings_of(tmp_path, server.root, "gpt-other"), None, {}) as model:
            with pytest.raises(NoModelAnswered):
                await ask(model)
        assert len(server.requests) == 1
        assert server.strays == []


async def test_a_missing_model_behind_the_version_keeps_the_version(
    server: OpenAIServer, tmp_path: Path
) -> None:
    server.enqueue(server.fails(404, "model 'x' not found, try pulling it first"))
    async with open_model(settings_of(tmp_path, server.root), None, {}) as model:
        with pytest.raises(NoModelAnswered):
            await ask(model)
        assert await ask(model) == "Hello."
    assert server.strays == [AT_ROOT]


# -- Ollama ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/api", "/api/"])
async def test_ollama_chats_by_its_address_with_or_without_a_path(tmp_path: Path, end: str) -> None:
    async with OllamaServer() as server:
        server.always(ModelAnswer("From Ollama."))
        settings = settings_of(tmp_path, server.root + end, "qwen3", name="ollama")
        async with open_model(settings, None, {}) as model:
            assert await ask(model) == "From Ollama."
        assert server.strays == []


async def test_a_model_that_ollama_lacks_is_told_with_the_command_that_gets_it(tmp_path: Path) -> None:
    async with OllamaServer() as server:
        settings = settings_of(tmp_path, server.root, "other:7b", name="ollama")
        async with open_model(settings, None, {}) as model:
            with pytest.raises(NoModelAnswered) as caught:
                await ask(model)
    assert str(caught.value).endswith("(model 'other:7b' not found): run `ollama pull other:7b`")
    assert (
        "it was not found at its address (run `ollama pull other:7b`). I've kept your message"
        in explain_no_answer(caught.value)
    )


async def test_where_ollama_is_not_at_all_nothing_is_to_be_pulled(tmp_path: Path) -> None:
    async with (
        Elsewhere() as server,
        open_model(settings_of(tmp_path, server.root, "qwen3", name="ollama"), None, {}) as model,
    ):
        with pytest.raises(NoModelAnswered, match="check the provider's base_url") as caught:
            await ask(model)
    assert "pull" not in str(caught.value)


def test_ollama_needs_no_kind_and_no_key(tmp_path: Path) -> None:
    with run_in_thread(OllamaServer()) as server:
        (tmp_path / "config.toml").write_text(
            f'[models]\nchain = ["ollama/qwen3"]\n[providers.ollama]\nbase_url = "{server.root}"\n'
        )
        assert CommonplaceHere(tmp_path).output_of("chat", "-m", "Hello") == "Hello.\n"
        assert server.strays == []


def test_the_usual_address_of_ollama_is_as_it_was() -> None:
    assert resolve_provider("ollama", {}, {}).base_url == "http://localhost:11434/v1"
