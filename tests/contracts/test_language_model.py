"""What the agent relies on in every language model."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.models.anthropic import open_anthropic
from bot.models.connection_pool import ConnectionPool
from bot.models.gemini import open_gemini
from bot.models.notebook.model import Notebook
from bot.models.openai import open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    LanguageModel,
    Message,
    ModelRequest,
    StartedOver,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_server import KEY, ModelAnswer, ModelServer
from tests.fakes.openai_server import MODEL as OPENAI_MODEL
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.scripted_model import ScriptedModel, alone

TEXT = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
NOTE = {
    "type": "object",
    "properties": {"content": {"type": "string"}, "target": {"type": "string", "enum": ["core", "daily"]}},
    "required": ["content", "target"],
}
TOOLS = (ToolSpec("memory_search", "Find passages.", TEXT), ToolSpec("memory_write", "Keep a fact.", NOTE))


LOOKS = ModelAnswer(["Let me ", "look."], calls=[("memory_search", {"query": "Anna's passport"})])


@asynccontextmanager
async def scripted() -> AsyncIterator[LanguageModel]:
    yield answering()


def answering() -> ScriptedModel:
    model = ScriptedModel()
    for _ in range(8):
        model.enqueue(LOOKS.text, calls=[("memory_search", {"query": "Anna's passport"})])
    return model


@asynccontextmanager
async def notebook() -> AsyncIterator[LanguageModel]:
    yield Notebook()


@asynccontextmanager
async def fallback() -> AsyncIterator[LanguageModel]:
    yield alone(answering())


@asynccontextmanager
async def openai() -> AsyncIterator[LanguageModel]:
    async with over_http(OpenAIServer(), f"openai/{OPENAI_MODEL}", open_openai) as model:
        yield model


@asynccontextmanager
async def anthropic() -> AsyncIterator[LanguageModel]:
    async with over_http(AnthropicServer(), "anthropic/claude-sonnet-4-5", open_anthropic) as model:
        yield model


@asynccontextmanager
async def gemini() -> AsyncIterator[LanguageModel]:
    async with over_http(GeminiServer(), "gemini/gemini-2.5-flash", open_gemini) as model:
        yield model


@asynccontextmanager
async def llama_cpp() -> AsyncIterator[LanguageModel]:
    if not (find_spec("llama_cpp") and find_spec("gguf")):
        pytest.skip("llama-cpp-python or gguf is not installed")
    from bot.models.llama_cpp.model import open_llama_cpp
    from tests.fakes.tiny_chat_gguf import write_tiny_chat_gguf

    call = '<tool_call>\n{"name": "memory_search", "arguments": {"query": "passport"}}\n</tool_call>'
    with TemporaryDirectory() as folder:
        file = write_tiny_chat_gguf(Path(folder) / "tiny.gguf", ["Let me ", "look.\n", call])
        opened = open_llama_cpp(ModelOptions("llama_cpp/tiny"), file)
        try:
            yield opened
        finally:
            await opened.close()


@asynccontextmanager
async def over_http(
    server: ModelServer, name: str, opener: Callable[[ModelOptions, ConnectionPool], LanguageModel]
) -> AsyncIterator[LanguageModel]:
    async with server:
        server.always(LOOKS)
        connection = ConnectionPool(server.base_url, connect_seconds=5)
        try:
            yield opener(ModelOptions(name, server.base_url, KEY), connection)
        finally:
            await connection.close()


@pytest.fixture(
    params=[
        scripted,
        notebook,
        fallback,
        openai,
        anthropic,
        gemini,
        pytest.param(llama_cpp, marks=pytest.mark.thorough),
    ]
)
async def model(request: pytest.FixtureRequest) -> AsyncIterator[LanguageModel]:
    async with request.param() as opened:
        yield opened


def asked(*messages: Message | str, tools: tuple[ToolSpec, ...] = TOOLS) -> ModelRequest:
    spoken = tuple(UserMessage(each) if isinstance(each, str) else each for each in messages)
    return ModelRequest("You are an assistant.", spoken, tools)


async def ask(model: LanguageModel, request: ModelRequest) -> tuple[list[str], Answer]:
    deltas: list[str] = []
    answers: list[Answer] = []
    async for event in model.stream(request):
        assert not answers, "nothing comes after the answer"
        match event:
            case TextDelta(text):
                deltas.append(text)
            case StartedOver():
                deltas.clear()
            case Answer():
                answers.append(event)
    (answer,) = answers
    return deltas, answer


def test_name_is_provider_and_model(model: LanguageModel) -> None:
    provider, slash, name = model.name.partition("/")
    assert provider
    assert slash
    assert name


@pytest.mark.parametrize(
    "text", ["Where is Anna's passport?", "Remember that I like tea", "护照在哪里?", "hm", "  ", "\x00"]
)
async def test_a_stream_ends_with_one_answer_that_its_deltas_make_up(model: LanguageModel, text: str) -> None:
    deltas, answer = await ask(model, asked(text))
    assert "".join(deltas) == answer.message.text
    assert answer.message.text.strip() or answer.message.calls
    assert answer.message.model == model.name


async def test_calls_are_of_tools_that_were_offered_with_ids_that_every_provider_takes(
    model: LanguageModel,
) -> None:
    _, answer = await ask(model, asked("Where is Anna's passport?"))
    assert answer.message.calls
    for call in answer.message.calls:
        assert re.fullmatch("[a-z0-9]{9}", call.id)
        assert call.name in {tool.name for tool in TOOLS}
        assert isinstance(json.loads(call.arguments), dict)
    assert len({call.id for call in answer.message.calls}) == len(answer.message.calls)


async def test_a_history_with_calls_and_their_results_goes_on(model: LanguageModel) -> None:
    """Interrupted and failed results, and a request without tools, are part of any history."""
    call = ToolCall("abc123def", "memory_search", json.dumps({"query": "Anna's passport"}))
    results = [
        json.dumps({"results": []}),
        json.dumps({"error": "Interrupted before it reported back."}),
        json.dumps({"results": [HIT], "notice": "Searched the files one by one."}),
    ]
    for content in results:
        for tools in (TOOLS, ()):
            result = ToolResult(call.id, call.name, content, failed="error" in content)
            step = AssistantMessage("", (call,), "other/model")
            _, answer = await ask(model, asked("Where is Anna's passport?", step, result, tools=tools))
            assert answer.message.text.strip() or answer.message.calls


HIT = {
    "path": "2026-11-21.md",
    "line_start": 3,
    "line_end": 3,
    "snippet": "- Anna's passport is in the blue folder",
    "score": 0.9,
    "source": "fts",
}


async def test_the_same_request_can_be_asked_twice_at_once(model: LanguageModel) -> None:
    request = asked("Where is Anna's passport?")
    one, other = await asyncio.gather(ask(model, request), ask(model, request))
    assert one[1].message.text == other[1].message.text
    assert request == asked("Where is Anna's passport?")


async def test_a_stream_may_be_closed_early_and_the_model_asked_again(model: LanguageModel) -> None:
    stream = model.stream(asked("Where is Anna's passport?"))
    async with aclosing(stream) as events:
        async for _ in events:
            break
    await ask(model, asked("Where is Anna's passport?"))


async def test_a_stream_that_nobody_reads_costs_nothing(model: LanguageModel) -> None:
    stream = model.stream(asked("Where is Anna's passport?"))
    await stream.aclose()
