"""The tests' servers for chat and speech know the paths of the real ones and no other, and refuse as these do."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_list import ModelList
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.transcription_server import TranscriptionServer

OPENAI = {
    "error": {
        "message": "Invalid URL (POST {path})",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
}
ANTHROPIC = {"type": "not_found_error", "message": "Not Found"}
STRAYS = (
    "/",
    "/chat/completions",
    "/v1",
    "/v1/",
    "/v1/v1/chat/completions",
    "/v2/chat/completions",
    "/v1/chat/completions/",
    "/messages",
    "/v1/v1/messages",
    "/audio/transcriptions",
    "/api/chat",
    "/v1beta/v1beta/models/gemini-2.5-flash:streamGenerateContent",
    "/models/gemini-2.5-flash:streamGenerateContent",
    "/v1beta/models/gemini-2.5-flash:chat",
)


def _openai(answer: httpx.Response, path: str) -> bool:
    return bool(answer.json()["error"] == {**OPENAI["error"], "message": f"Invalid URL (POST {path})"})


def _anthropic(answer: httpx.Response, path: str) -> bool:
    del path
    return bool(answer.json()["type"] == "error" and answer.json()["error"] == ANTHROPIC)


def _gemini(answer: httpx.Response, path: str) -> bool:
    del path
    return answer.content == b""


def _ollama(answer: httpx.Response, path: str) -> bool:
    del path
    return answer.text == "404 page not found"


Judge = Callable[[httpx.Response, str], bool]


@pytest.mark.parametrize(
    ("server", "headers", "has_its_shape"),
    [
        pytest.param(OpenAIServer(), {}, _openai, id="OpenAI"),
        pytest.param(OllamaServer(), {}, _ollama, id="Ollama"),
        pytest.param(AnthropicServer(), {}, _anthropic, id="Anthropic"),
        pytest.param(GeminiServer(), {}, _gemini, id="Gemini"),
        pytest.param(TranscriptionServer(), {}, _openai, id="speech"),
        pytest.param(ModelList("m"), {}, _openai, id="a list of models"),
        pytest.param(ModelList("m"), {"anthropic-version": "x"}, _anthropic, id="Anthropic's list of models"),
        pytest.param(ModelList("m"), {"x-goog-api-key": "x"}, _gemini, id="Gemini's list of models"),
    ],
)
async def test_a_path_that_the_real_service_does_not_have_is_not_found(
    server: Any, headers: dict[str, str], has_its_shape: Judge
) -> None:
    async with server, httpx.AsyncClient(trust_env=False) as client:
        root = getattr(server, "root", "") or server.base_url.removesuffix("/v1")
        for path in STRAYS:
            answer = await client.post(f"{root}{path}", json={"model": "m"}, headers=headers)
            assert answer.status_code == 404, path
            assert has_its_shape(answer, path), path
        assert not getattr(server, "requests", [])
