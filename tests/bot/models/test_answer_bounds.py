"""What a broken or hostile model server may send, and how little of the process's time it gets for it."""

import asyncio
import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from bot.models.anthropic import AnthropicChatDialect
from bot.models.anthropic_reader import AnthropicReader
from bot.models.connection_pool import ConnectionPool
from bot.models.dialect import AnswerReader
from bot.models.errors import EmptyAnswer
from bot.models.gemini_reader import GeminiReader
from bot.models.openai import open_openai
from bot.models.openai_reader import OpenAIReader
from bot.models.options import ModelOptions
from bot.models.protocol import AssistantMessage, ModelRequest, ToolCall, ToolResult, UserMessage
from bot.models.tool_calls import parse_arguments
from tests.fakes.model_server import KEY, Reply, answers, streams
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.table_test import table_test

ENOUGH = 2.0
"""Seconds of CPU; all of these once took from a minute to hours."""


def event(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def openai_calls(*calls: dict[str, Any]) -> bytes:
    return event(choices=[{"delta": {"tool_calls": calls}}])


def block(index: int, **fields: Any) -> bytes:
    return event(type="content_block_start", index=index, content_block=fields)


def read_all(reader: AnswerReader, one: bytes, times: int) -> None:
    for _ in range(times):
        reader.read(one)


def many_calls_of_openai() -> None:
    reader = OpenAIReader()
    with pytest.raises(ValueError, match="endless"):
        reader.read(openai_calls(*({"index": at, "function": {"name": "f"}} for at in range(40_000))))


def many_calls_of_gemini() -> None:
    part = {"functionCall": {"name": "f", "args": {}}}
    with pytest.raises(ValueError, match="endless"):
        GeminiReader().read(event(candidates=[{"content": {"parts": [part] * 40_000}}]))


def many_blocks_of_anthropic() -> None:
    reader = AnthropicReader()
    calls = [{"type": "tool_use", "name": "f", "input": {}}] * 40_000
    with pytest.raises(ValueError, match="endless"):
        reader.read_whole({"type": "message", "content": calls})


def many_citations() -> None:
    reader = AnthropicReader()
    reader.read(block(0, type="text", text=""))
    cited = {"type": "citations_delta", "citation": {}}
    read_all(reader, event(type="content_block_delta", index=0, delta=cited), 40_000)


def a_name_with_each_piece_of_what_is_no_json() -> None:
    reader = OpenAIReader()
    read_all(reader, openai_calls({"function": {"name": "f", "arguments": "{1}" * 10}}), 20_000)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "read",
    [
        many_calls_of_openai,
        many_calls_of_gemini,
        many_blocks_of_anthropic,
        many_citations,
        a_name_with_each_piece_of_what_is_no_json,
    ],
)
def test_no_answer_costs_more_the_longer_it_is(read: Callable[[], None]) -> None:
    began = time.process_time()
    read()
    assert time.process_time() - began < ENOUGH


def test_citations_that_stream_go_back_behind_those_of_the_beginning() -> None:
    reader = AnthropicReader()
    reader.read(block(0, type="text", text="It is so.", citations=[{"n": 1}]))
    for number in (2, 3):
        cited = {"type": "citations_delta", "citation": {"n": number}}
        reader.read(event(type="content_block_delta", index=0, delta=cited))
    reader.read(event(type="message_stop"))
    raw = reader.answer().message.raw
    assert raw
    assert raw.content["content"][0]["citations"] == [{"n": 1}, {"n": 2}, {"n": 3}]


@table_test("count", [-1, 10**30, True, 1e300, "12", None, [3]])
def test_a_count_of_tokens_that_is_none_is_not_kept(count: object) -> None:
    openai, anthropic, gemini = OpenAIReader(), AnthropicReader(), GeminiReader()
    openai.read(event(choices=[{"delta": {"content": "a"}, "finish_reason": "stop"}]))
    openai.read(event(usage={"prompt_tokens": count, "completion_tokens": count, "cached_tokens": count}))
    openai.read(b"[DONE]")
    usage = {"input_tokens": count, "output_tokens": count, "cache_read_input_tokens": count}
    anthropic.read(event(type="message_start", message={"usage": usage}))
    anthropic.read(block(0, type="text", text="a"))
    anthropic.read(event(type="message_stop"))
    counts = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    said = {"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}
    gemini.read(event(candidates=[said], usageMetadata=dict.fromkeys(counts, count)))
    for reader in (openai, anthropic, gemini):
        told = reader.answer().usage
        assert (told.input_tokens, told.output_tokens, told.cached_tokens) == (0, 0, 0)


def test_arguments_nested_deeply_are_a_broken_call() -> None:
    deep = '{"a":' * 500 + "1" + "}" * 500
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_arguments(deep)
    # It is in the conversation, and goes back with each later request, wherever in the program that is written.
    options = ModelOptions("anthropic/claude", "https://example.org", "key")
    body = AnthropicChatDialect(options).body(
        ModelRequest(
            "",
            (
                UserMessage("Do it."),
                AssistantMessage("", (ToolCall("abcdefghi", "f", deep),)),
                ToolResult("abcdefghi", "f", "{}"),
            ),
        )
    )
    assert deep in json.dumps(body).replace('\\"', '"').replace(" ", "")


async def ask(reply: Reply) -> float:
    """Have a model answer so, which is no answer; return the longest time for which nobody else had a turn."""
    longest, last = 0.0, time.thread_time()

    async def watch() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest, last = max(longest, now - last), now

    async with OpenAIServer() as server:
        server.enqueue(reply)
        connection = ConnectionPool(server.base_url, connect_seconds=5.0)
        model = open_openai(ModelOptions(f"openai/{MODEL}", server.base_url, KEY), connection)
        watching = asyncio.create_task(watch())
        try:
            with pytest.raises(EmptyAnswer):
                async for _ in model.stream(ModelRequest("", (UserMessage("Hello"),))):
                    pass
        finally:
            watching.cancel()
            await connection.close()
    return longest


async def test_what_is_nested_deeply_is_no_answer() -> None:
    detail = '{"type":"a","b":' + "[" * 200 + "]" * 200 + "}"
    said = (
        '{"choices":[{"delta":{"content":"a","reasoning_details":[' + detail + ']},"finish_reason":"stop"}]}'
    )
    await ask(streams(f"data: {said}\n\ndata: [DONE]\n\n".encode()))


@pytest.mark.thorough
async def test_a_million_events_in_a_few_packed_bytes_stop_nobody() -> None:
    packed = gzip.compress(b"data: {}\n\n" * 1_200_000)
    assert await ask(answers(packed, kind="text/event-stream", headers={"Content-Encoding": "gzip"})) < 0.5


@pytest.mark.thorough
async def test_json_without_measure_in_one_piece_is_not_read() -> None:
    assert await ask(answers("[" + "[]," * 5_000_000 + "[]]", kind="application/json")) < 0.5
