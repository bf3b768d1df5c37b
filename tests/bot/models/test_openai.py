import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from bot.models.connection_pool import ConnectionPool
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContentRefused,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from bot.models.openai import OpenAIChatDialect, open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    RawStep,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from bot.models.timeouts import Timeouts
from memory.http_responses import HttpFailure
from tests.fakes.model_server import KEY, ModelAnswer, answers, streams
from tests.fakes.openai_server import MODEL, OpenAIServer, find_problems, sse
from tests.fakes.table_test import table_test

TOOLS = (
    ToolSpec(
        "memory_search", "Find passages.", {"type": "object", "properties": {"query": {"type": "string"}}}
    ),
    ToolSpec("memory_get", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
)
NAME = f"openai/{MODEL}"


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


class Client:
    """A model of the server's, and the connection to close."""

    def __init__(self, server: OpenAIServer, *, key: str = KEY, **options: Any) -> None:
        self.connection = ConnectionPool(server.base_url, connect_seconds=5.0)
        self.model: LanguageModel = open_openai(
            ModelOptions(NAME, server.base_url, key, **options), self.connection
        )

    async def ask(
        self, *messages: Message | str, tools: Sequence[ToolSpec] = TOOLS
    ) -> tuple[list[str], Answer]:
        deltas = []
        answer = None
        async for event in self.model.stream(asked(*messages, tools=tools)):
            match event:
                case TextDelta(text):
                    deltas.append(text)
                case Answer():
                    answer = event
        assert answer
        assert "".join(deltas) == answer.message.text
        return deltas, answer


@pytest.fixture
async def client(server: OpenAIServer) -> AsyncIterator[Client]:
    client = Client(server)
    yield client
    await client.connection.close()


def asked(*messages: Message | str, tools: Sequence[ToolSpec] = TOOLS) -> ModelRequest:
    spoken = tuple(UserMessage(each) if isinstance(each, str) else each for each in messages)
    return ModelRequest("You are an assistant.", spoken or (UserMessage("hello"),), tuple(tools))


def dialect(base_url: str = "https://api.example.com/v1", **options: Any) -> OpenAIChatDialect:
    return OpenAIChatDialect(ModelOptions(NAME, base_url, KEY, **options))


def chunk(
    delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any
) -> Mapping[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


STOP = chunk(finish="stop")
DONE = "[DONE]"


def stream_of(*chunks: Mapping[str, Any] | str) -> bytes:
    return b"".join(sse(each) for each in chunks)


# -- what is sent -----------------------------------------------------------------------------------------------


async def test_what_is_sent(server: OpenAIServer, client: Client) -> None:
    await client.ask("Where is Anna's passport?")
    [asked] = server.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": MODEL,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You are an assistant."},
            {"role": "user", "content": "Where is Anna's passport?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in TOOLS
        ],
    }


async def test_no_key_no_header(server: OpenAIServer) -> None:
    server.key = ""
    client = Client(server, key="")
    await client.ask("hello")
    assert "Authorization" not in server.requests[0].headers
    await client.connection.close()


def test_nothing_is_said_of_what_is_not_there() -> None:
    body = dialect().body(ModelRequest("", (UserMessage("hello"),)))
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert not {"tools", "temperature", "max_tokens", "reasoning_effort"} & set(body)


@table_test(
    ("base_url", "limit"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://api.mistral.ai/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
    ],
)
def test_settings_of_the_model(base_url: str, limit: str) -> None:
    options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 500, "reasoning_effort": "low"}
    body = dialect(base_url, **options).body(asked())
    assert (body["temperature"], body[limit], body["reasoning_effort"]) == (0.0, 500, "low")
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


@table_test("text", ["What is this?", ""])
def test_images_are_data_urls(text: str) -> None:
    images = (Image("image/png", b"\x89PNG"), Image("image/jpeg", b"\xff\xd8"))
    parts = dialect().body(asked(UserMessage(text, images)))["messages"][-1]["content"]
    urls = ["data:image/png;base64,iVBORw==", "data:image/jpeg;base64,/9g="]
    said = [{"type": "text", "text": text}] if text else []
    assert parts == [*said, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]


CALL = ToolCall("abc123def", "memory_search", '{"query": "Anna"}')
OTHER_CALL = ToolCall("ghi456jkl", "memory_get", '{"path": "a.md"}')


async def test_a_history_with_calls_and_results_is_taken(server: OpenAIServer, client: Client) -> None:
    step = AssistantMessage("Let me look.", (CALL, OTHER_CALL), "other/model")
    results = (
        ToolResult(CALL.id, CALL.name, '{"results": []}'),
        ToolResult(OTHER_CALL.id, OTHER_CALL.name, '{"error": "no such file"}', failed=True),
    )
    await client.ask("hello", step, *results, AssistantMessage("Nothing.", (), "other/model"), "Sure?")
    _, _, written, *told, _, _ = server.requests[0].body["messages"]
    assert written["content"] == "Let me look."
    assert [call["id"] for call in written["tool_calls"]] == [CALL.id, OTHER_CALL.id]
    assert [result["content"] for result in told] == ['{"results": []}', '{"error": "no such file"}']
    # Without tools, the history stays.
    await client.ask("hello", step, *results, tools=())


async def test_an_answer_that_was_stopped_before_its_first_word_is_left_out(
    server: OpenAIServer, client: Client
) -> None:
    await client.ask("hello", AssistantMessage("", (), "other/model"), "hello?")
    assert [message["role"] for message in server.requests[0].body["messages"]] == ["system", "user", "user"]


@pytest.mark.parametrize("broken", ['{"query": "Ann', "", "null", "[1]", '{"a": NaN}', "[" * 100_000])
@pytest.mark.parametrize("own", [True, False])
async def test_broken_arguments_do_not_break_every_later_request(
    server: OpenAIServer, client: Client, broken: str, own: bool
) -> None:
    call = ToolCall(CALL.id, CALL.name, broken)
    function = {"name": call.name, "arguments": broken}
    written = {"id": call.id, "type": "function", "function": function}
    raw = RawStep("openai", {"role": "assistant", "content": None, "tool_calls": [written]}) if own else None
    step = AssistantMessage("", (call,), NAME, raw)
    await client.ask("hello", step, ToolResult(call.id, call.name, '{"error": "not JSON"}', failed=True))
    [sent] = server.requests[0].body["messages"][2]["tool_calls"]
    assert sent["function"]["arguments"] == "{}"
    assert function["arguments"] == broken  # the record is as it was


# -- what went before, sent back --------------------------------------------------------------------------------


@table_test("host", ["https://api.deepseek.com/v1", "https://api.moonshot.ai/v1"])
def test_servers_that_ask_for_thoughts_are_given_some_even_for_steps_of_others(host: str) -> None:
    own = RawStep("openai", {"role": "assistant", "content": "b", "reasoning_content": "hm"})
    history = (AssistantMessage("a", (), "other/model"), AssistantMessage("b", (), NAME, own))
    _, other, mine = dialect(host).body(asked(*history))["messages"]
    assert other["reasoning_content"].isspace()
    assert mine["reasoning_content"] == "hm"


async def test_a_step_goes_back_as_it_came_to_its_own_model_alone(
    server: OpenAIServer, client: Client
) -> None:
    server.enqueue(
        ModelAnswer("Let me look.", calls=[("memory_search", {"query": "Anna"})], thought="Where, oh where?")
    )
    _, answer = await client.ask("hello")
    step = answer.message
    result = ToolResult(step.calls[0].id, "memory_search", "{}")
    await client.ask("hello", step, result)
    sent = server.requests[1].body["messages"][2]
    assert step.raw
    assert sent == step.raw.content
    assert sent["reasoning_content"] == "Where, oh where?"
    assert sent["tool_calls"][0]["id"] == step.calls[0].id

    for other in (
        AssistantMessage(step.text, step.calls, "openai/other", step.raw),
        AssistantMessage(step.text, step.calls, step.model, RawStep("anthropic", {"content": []})),
        AssistantMessage(step.text, step.calls, step.model),
    ):
        [_, rebuilt, _] = dialect().body(asked("hello", other, result))["messages"][1:]
        assert "reasoning_content" not in rebuilt
        assert (rebuilt["content"], rebuilt["tool_calls"]) == (sent["content"], sent["tool_calls"])


@pytest.mark.parametrize(
    ("deltas", "kept"),
    [
        pytest.param(
            [{"reasoning_content": "a"}, {"reasoning_content": "b", "content": None}, {"content": "Hi."}],
            {"reasoning_content": "ab"},
            id="DeepSeek",
        ),
        pytest.param(
            [
                {"channel": "analysis", "reasoning": "a"},
                {"channel": "analysis", "reasoning": "b"},
                {"content": "Hi."},
            ],
            {"reasoning": "ab"},
            id="Groq",
        ),
        pytest.param(
            [
                {
                    "content": "",
                    "reasoning": "a",
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "a", "format": "anthropic-claude-v1", "index": 0}
                    ],
                },
                {
                    "reasoning": "b",
                    "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}],
                },
                {
                    "reasoning_details": [
                        {"type": "reasoning.text", "signature": "s", "text": None, "index": 0}
                    ]
                },
                {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]},
                {"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 1}]},
                {"content": "Hi."},
            ],
            {
                "reasoning_details": [
                    {
                        "type": "reasoning.text",
                        "text": "ab",
                        "format": "anthropic-claude-v1",
                        "index": 0,
                        "signature": "s",
                    },
                    {"type": "reasoning.encrypted", "data": "x", "index": 1},
                    {"type": "reasoning.encrypted", "data": "y", "index": 1},
                ]
            },
            id="OpenRouter",
        ),
        pytest.param(
            [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]},
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]},
                {"content": [{"type": "text", "text": "H"}]},
                {"content": "i."},
            ],
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
                    {"type": "text", "text": "Hi."},
                ]
            },
            id="Mistral",
        ),
        pytest.param([{"content": "<think>hm</think>Hi."}], {"content": "<think>hm</think>Hi."}, id="inline"),
    ],
)
async def test_thoughts_are_kept_in_the_form_that_their_server_takes_back(
    server: OpenAIServer, client: Client, deltas: list[Mapping[str, Any]], kept: Mapping[str, Any]
) -> None:
    server.enqueue(streams(stream_of(*map(chunk, deltas), STOP, DONE)))
    _, answer = await client.ask()
    assert answer.message.text.endswith("Hi.")
    assert answer.message.raw == RawStep("openai", {"role": "assistant", "content": "Hi.", **kept})


@pytest.mark.thorough
async def test_a_thought_is_a_sign_of_life_before_the_answer_begins(server: OpenAIServer) -> None:
    """The first token has come; what is late is the answer."""
    client = Client(server, limits=Timeouts(first_token=0.5, idle=5.0, begin=1.0))
    server.enqueue(streams(stream_of(chunk({"reasoning_content": "hm"})), ends=False))
    with pytest.raises(TimedOut, match="had not begun to answer"):
        await client.ask()
    server.enqueue(streams(stream_of(chunk({"role": "assistant", "content": ""})), ends=False))
    with pytest.raises(TimedOut, match="did not respond"):
        await client.ask()
    await client.connection.close()


# -- what is read -----------------------------------------------------------------------------------------------


async def test_text_comes_as_it_is_written_with_its_usage(server: OpenAIServer, client: Client) -> None:
    server.enqueue(
        ModelAnswer(["Hel", "lo, ", "Åsa. 护照"], input_tokens=30, output_tokens=9, cached_tokens=20)
    )
    deltas, answer = await client.ask()
    assert deltas == ["Hel", "lo, ", "Åsa. 护照"]
    assert answer.usage == Usage(30, 9, 20)
    assert answer.message.model == NAME
    assert not answer.cut_short
    assert answer.first_token_seconds > 0


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 7, 64])
async def test_a_stream_may_be_cut_anywhere(
    server: OpenAIServer, client: Client, ending: bytes, size: int
) -> None:
    arguments = '{"query": "Åsa\\n"}'
    whole = b": OPENROUTER PROCESSING\n\n" + stream_of(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Let me look, Åsa."}),
        chunk(
            {
                "tool_calls": [
                    {"index": 0, "id": "x", "function": {"name": "memory_search", "arguments": arguments}}
                ]
            }
        ),
        chunk(finish="tool_calls"),
        DONE,
    ).replace(b"\\u00c5", "Å".encode())
    whole = whole.replace(b"\n", ending)
    server.enqueue(streams(*(whole[at : at + size] for at in range(0, len(whole), size))))
    _, answer = await client.ask()
    assert answer.message.text == "Let me look, Åsa."
    assert [(call.name, call.arguments) for call in answer.message.calls] == [("memory_search", arguments)]


def piece(name: str = "", arguments: object = None, **more: Any) -> Mapping[str, Any]:
    function: dict[str, object] = {"name": name} if name else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {**more, "function": function}


SEARCH_AND_GET = [("memory_search", '{"query": "a"}'), ("memory_get", '{"path": "b"}')]
TWO_SEARCHES = [("memory_search", '{"query": "a"}'), ("memory_search", '{"query": "b"}')]
A, B, P = '{"query": "a"}', '{"query": "b"}', '{"path": "b"}'


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        pytest.param(
            [
                [piece("memory_search", "", index=0, id="x")],
                [piece(arguments='{"query"', index=0)],
                [piece(arguments=': "a"}', index=0)],
                [piece("memory_get", "", index=1, id="y")],
                [piece(arguments=P, index=1)],
            ],
            SEARCH_AND_GET,
            id="OpenAI",
        ),
        pytest.param(
            [[piece("memory_search", A, index=0, id="x"), piece("memory_get", P, index=1, id="y")]],
            SEARCH_AND_GET,
            id="both whole in one chunk",
        ),
        pytest.param(
            [
                [piece("memory_search", "", index=0), piece("memory_get", "", index=1)],
                [piece(arguments='{"path"', index=1), piece(arguments='{"query"', index=0)],
                [piece(arguments=': "b"}', index=1), piece(arguments=': "a"}', index=0)],
            ],
            SEARCH_AND_GET,
            id="woven",
        ),
        pytest.param(
            [[piece("memory_search", A, index=0, id="x")], [piece("memory_search", B, index=0, id="y")]],
            TWO_SEARCHES,
            id="one index for all",
        ),
        pytest.param(
            [[piece("memory_search", A, index=0)], [piece("memory_get", P, index=0)]],
            SEARCH_AND_GET,
            id="one index for all, no ids",
        ),
        pytest.param(
            [[piece("memory_search", A), piece("memory_search", B)]], TWO_SEARCHES, id="neither id nor index"
        ),
        pytest.param(
            [[piece("memory_search", A)], [piece("memory_search", B)]],
            TWO_SEARCHES,
            id="neither id nor index, one after the other",
        ),
        pytest.param(
            [
                [piece("memory_search", '{"query": ', index=0, id="x")],
                [piece("memory_search", '"a"}', index=0, id="x")],
                [piece("memory_search", "", index=0, id="x")],
            ],
            SEARCH_AND_GET[:1],
            id="id and name repeated",
        ),
        pytest.param(
            [
                [piece("memory_search", '{"query": ')],
                [piece("memory_search", '"a"}')],
                [piece("memory_search", "")],
            ],
            SEARCH_AND_GET[:1],
            id="name alone repeated",
        ),
        pytest.param(
            [[piece("memory_search", {"query": "a"})]], SEARCH_AND_GET[:1], id="arguments are an object"
        ),
        pytest.param([[piece("memory_search", index=0)]], [("memory_search", "{}")], id="no arguments"),
        pytest.param(
            [[piece("memory_search", '{"query": "a', index=0)]],
            [("memory_search", '{"query": "a')],
            id="broken arguments stay as they are",
        ),
        pytest.param(
            [[piece("", A, index=0, id="x")], [piece("memory_get", P, index=1, id="y")]],
            SEARCH_AND_GET[1:],
            id="a call without a name is none",
        ),
    ],
)
async def test_tool_calls_are_put_together(
    server: OpenAIServer,
    client: Client,
    deltas: list[list[Mapping[str, Any]]],
    expected: list[tuple[str, str]],
) -> None:
    chunks = [chunk({"content": None, "tool_calls": calls}) for calls in deltas]
    server.enqueue(streams(stream_of(*chunks, chunk(finish="tool_calls"), DONE)))
    _, answer = await client.ask()
    calls = answer.message.calls
    assert [(call.name, call.arguments) for call in calls] == expected
    assert all(re.fullmatch("[a-z0-9]{9}", call.id) for call in calls)
    assert len({call.id for call in calls}) == len(calls)
    assert answer.message.raw
    assert [call["id"] for call in answer.message.raw.content["tool_calls"]] == [call.id for call in calls]


async def test_what_a_server_hangs_on_a_call_goes_back_with_it(server: OpenAIServer, client: Client) -> None:
    signature = {"google": {"thought_signature": "s"}}
    call = piece("memory_search", A, index=0, id="x", extra_content=signature)
    server.enqueue(streams(stream_of(chunk({"tool_calls": [call]}, "tool_calls"), DONE)))
    _, answer = await client.ask()
    assert answer.message.raw
    assert answer.message.raw.content["tool_calls"][0]["extra_content"] == signature


async def test_an_answer_in_one_piece_is_read_too(server: OpenAIServer, client: Client) -> None:
    calls = [
        {"id": "x", "type": "function", "function": {"name": "memory_search", "arguments": A}},
        {"id": "y", "type": "function", "function": {"name": "memory_search", "arguments": B}},
    ]
    message = {"role": "assistant", "content": "Let me look.", "reasoning_content": "hm", "tool_calls": calls}
    whole = {
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }
    server.enqueue(answers(json.dumps(whole)))
    deltas, answer = await client.ask()
    assert deltas == ["Let me look."]
    assert [(call.name, call.arguments) for call in answer.message.calls] == TWO_SEARCHES
    assert answer.usage == Usage(5, 3)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param(
            {
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "total_tokens": 14,
                    "prompt_tokens_details": {"cached_tokens": 6},
                }
            },
            Usage(10, 4, 6),
            id="OpenAI",
        ),
        pytest.param(
            {
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "prompt_cache_hit_tokens": 6,
                    "prompt_cache_miss_tokens": 4,
                }
            },
            Usage(10, 4, 6),
            id="DeepSeek",
        ),
        pytest.param(
            {"x_groq": {"id": "req", "usage": {"prompt_tokens": 10, "completion_tokens": 4}}},
            Usage(10, 4),
            id="Groq",
        ),
        pytest.param(
            {
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 4,
                    "total_tokens": 44,
                    "completion_tokens_details": {"reasoning_tokens": 30},
                }
            },
            Usage(10, 34),
            id="xAI",
        ),
        pytest.param({"usage": {"prompt_tokens": None, "completion_tokens": "4"}}, Usage(), id="nonsense"),
        pytest.param({"usage": None}, Usage(), id="none"),
    ],
)
async def test_usage(server: OpenAIServer, client: Client, more: Mapping[str, Any], expected: Usage) -> None:
    last = {"choices": [], **more}
    server.enqueue(streams(stream_of(chunk({"content": "Hi."}), STOP, last, DONE)))
    assert (await client.ask())[1].usage == expected


async def test_moonshot_counts_within_the_choice(server: OpenAIServer, client: Client) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "cached_tokens": 3}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]}
    server.enqueue(streams(stream_of(chunk({"content": "Hi."}), last, DONE)))
    assert (await client.ask())[1].usage == Usage(10, 4, 3)


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([chunk({"content": "Hi."}), STOP], id="no [DONE]"),
        pytest.param([chunk({"content": "Hi."}), DONE], id="no finish_reason"),
        pytest.param([chunk({"content": "Hi."}, "stop"), DONE, "{"], id="more after [DONE]"),
        pytest.param(
            [
                {"choices": [], "prompt_filter_results": []},
                chunk({"content": None}),
                chunk({"content": "Hi."}),
                STOP,
            ],
            id="Azure's empty choices",
        ),
        pytest.param([chunk({"content": "Hi."}), {"choices": [{"finish_reason": "stop"}]}], id="no delta"),
    ],
)
async def test_endings(server: OpenAIServer, client: Client, chunks: list[Mapping[str, Any] | str]) -> None:
    server.enqueue(streams(stream_of(*chunks)))
    assert (await client.ask())[1].message.text == "Hi."


@pytest.mark.parametrize("reason", ["length", "model_length"])
async def test_an_answer_at_its_longest_is_cut_short(
    server: OpenAIServer, client: Client, reason: str
) -> None:
    server.enqueue(ModelAnswer("Once upon a", stop=reason))
    _, answer = await client.ask()
    assert answer.cut_short


HI = chunk({"content": "Hi."})
BROKE = {"code": "server_error", "message": "Provider disconnected"}
BAD_STREAMS: list[Any] = [
    pytest.param([HI], CutOff, id="neither finish_reason nor [DONE]"),
    pytest.param([], EmptyAnswer, id="nothing"),
    pytest.param([STOP, DONE], EmptyAnswer, id="no text"),
    pytest.param([chunk({"content": " \n"}), STOP, DONE], EmptyAnswer, id="white space"),
    pytest.param(
        [chunk({"reasoning_content": "hm"}), chunk(finish="length"), DONE], EmptyAnswer, id="thoughts alone"
    ),
    pytest.param([HI, "{oops", STOP], EmptyAnswer, id="no JSON"),
    pytest.param([HI, "[1]", STOP], EmptyAnswer, id="no object"),
    pytest.param([{"choices": "x"}, STOP], EmptyAnswer, id="no choices"),
    pytest.param([HI, chunk(finish="content_filter"), DONE], ContentRefused, id="content_filter"),
    pytest.param(
        [chunk({"refusal": "I'm "}), chunk({"refusal": "sorry."}), STOP, DONE], ContentRefused, id="refusal"
    ),
    pytest.param([HI, chunk(finish="insufficient_system_resource")], Overloaded, id="DeepSeek has no room"),
    pytest.param([HI, chunk(finish="error"), DONE], ServerFailed, id="error without words"),
    pytest.param(
        [HI, {"error": BROKE, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}],
        ServerFailed,
        id="OpenRouter",
    ),
    pytest.param(
        [HI, {"choices": [{"error": BROKE, "finish_reason": "error"}]}], ServerFailed, id="in the choice"
    ),
    pytest.param([{"error": {"code": 502, "message": "room 402"}}], ServerFailed, id="OpenRouter 502"),
    pytest.param([{"error": {"code": 429, "message": "slow"}}], RateLimited, id="OpenRouter 429"),
    pytest.param([{"error": {"code": 402, "message": "no"}}], OutOfCredit, id="OpenRouter 402"),
    pytest.param(
        [HI, {"error": {"message": "The server had an error", "type": "server_error"}}],
        ServerFailed,
        id="OpenAI",
    ),
    pytest.param(
        [{"error": {"type": "service_unavailable_error", "code": "server_is_overloaded", "message": "busy"}}],
        Overloaded,
        id="OpenAI overloaded",
    ),
    pytest.param(
        [{"object": "error", "message": "bad", "type": "BadRequestError", "code": None}],
        BadRequest,
        id="vLLM",
    ),
    pytest.param([HI, {"choices": [], "x_groq": {"error": "over capacity"}}], ServerFailed, id="Groq"),
]


@pytest.mark.parametrize(("chunks", "kind"), BAD_STREAMS)
async def test_streams_that_are_no_answer(
    server: OpenAIServer, client: Client, chunks: list[Any], kind: type[ModelError]
) -> None:
    server.enqueue(streams(stream_of(*chunks)))
    with pytest.raises(ModelError) as caught:
        await client.ask()
    assert type(caught.value) is kind
    assert caught.value.model == NAME
    assert len(server.requests) == 1


async def test_an_error_in_one_piece_is_one_though_the_status_says_all_is_well(
    server: OpenAIServer, client: Client
) -> None:
    server.enqueue(answers('{"error": {"code": 429, "message": "Rate limited", "metadata": {}}}'))
    with pytest.raises(RateLimited, match="Rate limited"):
        await client.ask()
    for nothing in ("{}", '{"choices": []}', "<html>", '{"choices": [{"message": null}]}'):
        server.enqueue(answers(nothing))
        with pytest.raises(EmptyAnswer):
            await client.ask()


# -- errors -----------------------------------------------------------------------------------------------------


def recorded(kind: type[ModelError], status: int, origin: str, **error: Any) -> Any:
    return pytest.param(
        status, {"error": {"message": "room 402, quota, key, context", **error}}, kind, id=origin
    )


def bare(kind: type[ModelError], status: int, origin: str, **fields: Any) -> Any:
    return pytest.param(status, fields, kind, id=origin)


WRONG = "invalid_request_error"
UPSTREAM = (
    '{"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}'
)
ERRORS = [
    recorded(BadKey, 401, "OpenAI key", type=WRONG, param=None, code="invalid_api_key"),
    recorded(ModelNotFound, 404, "OpenAI model", type=WRONG, param=None, code="model_not_found"),
    recorded(ModelNotFound, 403, "OpenAI model of others", type=WRONG, param=None, code="model_not_found"),
    recorded(
        OutOfCredit, 429, "OpenAI quota", type="insufficient_quota", param=None, code="insufficient_quota"
    ),
    recorded(OutOfCredit, 400, "OpenAI limit", type=WRONG, param=None, code="billing_hard_limit_reached"),
    recorded(RateLimited, 429, "OpenAI rate", type="tokens", param=None, code="rate_limit_exceeded"),
    recorded(
        ContextTooLong, 400, "OpenAI context", type=WRONG, param="messages", code="context_length_exceeded"
    ),
    recorded(ContentRefused, 400, "OpenAI policy", type=WRONG, param=None, code="content_policy_violation"),
    recorded(ContentRefused, 400, "OpenAI flagged", type=WRONG, param=None, code="invalid_prompt"),
    recorded(BadRequest, 400, "OpenAI plain", type=WRONG, param=None, code=None),
    recorded(
        BadRequest, 400, "OpenAI value", type=WRONG, param="temperature", code="decimal_above_max_value"
    ),
    recorded(ServerFailed, 500, "OpenAI 500", type="server_error", param=None, code=None),
    recorded(ServerFailed, 503, "OpenAI 503", type="server_error", param=None, code=None),
    recorded(Overloaded, 503, "OpenAI slow down", type="service_unavailable_error", code="slow_down"),
    recorded(ContentRefused, 400, "Azure filter", type=None, param="prompt", code="content_filter"),
    recorded(
        ContentRefused,
        400,
        "Azure inner",
        type=None,
        code="bad",
        innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
    ),
    recorded(ModelNotFound, 404, "Azure deployment", code="DeploymentNotFound"),
    recorded(BadKey, 401, "Azure key", code="401"),
    recorded(RateLimited, 429, "Azure rate", code="429"),
    recorded(BadKey, 401, "DeepSeek key", type="authentication_error", param=None, code=WRONG),
    recorded(OutOfCredit, 402, "DeepSeek balance", type="unknown_error", param=None, code=WRONG),
    recorded(BadRequest, 400, "DeepSeek thoughts", type=WRONG, param=None, code=WRONG),
    recorded(ServerFailed, 500, "DeepSeek 500", type="internal_error", code="internal_error"),
    recorded(BadKey, 401, "OpenRouter key", code=401),
    recorded(OutOfCredit, 402, "OpenRouter credit", code=402, metadata={"provider_name": None}),
    recorded(
        RateLimited,
        402,
        "OpenRouter in flight",
        code=402,
        metadata={"limit_source": "openrouter_in_flight_budget"},
    ),
    recorded(
        ContentRefused,
        403,
        "OpenRouter moderation",
        code=403,
        metadata={"reasons": ["violence"], "flagged_input": "…", "provider_name": "OpenAI"},
    ),
    recorded(ServerFailed, 502, "OpenRouter down", code=502, metadata={"error_type": "provider_unavailable"}),
    recorded(Overloaded, 503, "OpenRouter busy", code=503, metadata={"error_type": "provider_overloaded"}),
    recorded(Overloaded, 529, "OpenRouter 529", code=529),
    recorded(BadRequest, 400, "OpenRouter prompt", code=400, metadata={"error_type": "invalid_prompt"}),
    recorded(
        ContextTooLong, 400, "OpenRouter long", code=400, metadata={"error_type": "context_length_exceeded"}
    ),
    recorded(
        ContextTooLong, 400, "OpenRouter upstream", code=400, metadata={"raw": UPSTREAM, "provider_name": "X"}
    ),
    recorded(
        RateLimited,
        429,
        "OpenRouter upstream's account",
        code=429,
        metadata={"raw": '{"error": {"code": "insufficient_quota"}}', "provider_name": "X"},
    ),
    recorded(BadKey, 401, "Groq key", type=WRONG, code="invalid_api_key"),
    recorded(RateLimited, 429, "Groq rate", type="tokens", code="rate_limit_exceeded"),
    recorded(ContextTooLong, 413, "Groq too large", type="tokens", code="rate_limit_exceeded"),
    recorded(
        ContextTooLong, 400, "Groq context", type=WRONG, param="messages", code="context_length_exceeded"
    ),
    recorded(ModelNotFound, 400, "Groq model", type=WRONG, code="model_decommissioned"),
    recorded(BadRequest, 400, "Groq property", type=WRONG),
    recorded(Overloaded, 498, "Groq flex", type="server_error", code="capacity_exceeded"),
    bare(
        RateLimited,
        429,
        "Mistral rate",
        object="error",
        message="slow",
        type="rate_limited",
        param=None,
        code="1300",
    ),
    bare(RateLimited, 429, "Mistral proxy", message="Requests rate limit exceeded"),
    bare(
        Overloaded,
        429,
        "Mistral capacity",
        object="error",
        message="Service tier capacity exceeded for this model.",
        type="service_tier_capacity_exceeded",
        code="3505",
    ),
    bare(ModelNotFound, 400, "Mistral model", object="error", message="?", type="invalid_model", code="1500"),
    bare(
        BadRequest,
        422,
        "Mistral 1000",
        object="error",
        message="{}",
        type="internal_error_proxy",
        code="1000",
    ),
    bare(BadKey, 401, "Mistral key", message="Unauthorized", request_id="x"),
    bare(BadRequest, 400, "xAI", code="Client specified an invalid argument", error="room 402"),
    bare(BadKey, 403, "xAI permission", code="The caller does not have permission", error="room 402"),
    recorded(ModelNotFound, 400, "Together model", type=WRONG, param=None, code="model_not_available"),
    recorded(BadKey, 401, "Together key", type=WRONG, param=None, code="invalid_api_key"),
    recorded(
        ContextTooLong,
        400,
        "llama.cpp context",
        code=400,
        type="exceed_context_size_error",
        n_prompt_tokens=14429,
        n_ctx=8192,
    ),
    recorded(Overloaded, 503, "llama.cpp loading", code=503, type="unavailable_error"),
    recorded(BadKey, 401, "llama.cpp key", code=401, type="authentication_error"),
    recorded(ServerFailed, 500, "llama.cpp 500", code=500, type="server_error"),
    recorded(ContextTooLong, 400, "vLLM context", type="BadRequestError", param="input_tokens", code=400),
    recorded(BadRequest, 400, "vLLM", type="BadRequestError", param=None, code=400),
    bare(
        ModelNotFound, 404, "vLLM model of old", object="error", message="?", type="NotFoundError", code=404
    ),
    recorded(ModelNotFound, 404, "Ollama model", type="not_found_error", param=None, code=None),
    recorded(OutOfCredit, 429, "Moonshot quota", type="exceeded_current_quota_error"),
    recorded(Overloaded, 429, "Moonshot engine", type="engine_overloaded_error"),
    recorded(RateLimited, 429, "Moonshot rate", type="rate_limit_reached_error"),
    recorded(ContentRefused, 400, "Moonshot filter", type="content_filter"),
    recorded(OutOfCredit, 429, "Zhipu arrears", code="1113"),
    recorded(RateLimited, 429, "Zhipu rate", code="1302"),
    recorded(Overloaded, 429, "Zhipu busy", code="1312"),
    recorded(ContentRefused, 400, "Zhipu content", code="1301"),
    recorded(ContextTooLong, 400, "Zhipu long", code="1261"),
    recorded(BadKey, 401, "Zhipu key", code="1002"),
    recorded(ModelNotFound, 400, "Zhipu model", code="1211"),
    recorded(OutOfCredit, 400, "Alibaba arrears", type="Arrearage", param=None, code="Arrearage"),
    recorded(
        ContentRefused, 400, "Alibaba content", type="data_inspection_failed", code="data_inspection_failed"
    ),
    bare(BadRequest, 400, "a list in place of an error", error=["x"], code=["y"]),
]


@pytest.mark.parametrize(("status", "body", "kind"), ERRORS)
async def test_recorded_errors(
    server: OpenAIServer, client: Client, status: int, body: Mapping[str, Any], kind: type[ModelError]
) -> None:
    server.enqueue(answers(json.dumps(body), status=status))
    with pytest.raises(ModelError) as caught:
        await client.ask()
    assert type(caught.value) is kind
    assert len(server.requests) == 1


@table_test(("key", "model", "kind"), [("wrong", MODEL, BadKey), (KEY, "other", ModelNotFound)])
async def test_what_the_server_itself_refuses(key: str, model: str, kind: type[ModelError]) -> None:
    async with OpenAIServer(model=model) as server:
        client = Client(server, key=key)
        with pytest.raises(kind):
            await client.ask()
        await client.connection.close()


# -- fields that a server does not know -----------------------------------------------------------------------

ALL: dict[str, Any] = {"temperature": 0.5, "max_tokens": 9, "reasoning_effort": "low"}


def forbids(*names: str) -> list[Mapping[str, Any]]:
    return [
        {"type": "extra_forbidden", "loc": ["body", *name.split(".")], "msg": "Extra inputs"}
        for name in names
    ]


@pytest.mark.parametrize(
    ("status", "refusal", "gone", "new"),
    [
        pytest.param(
            400,
            {"error": {"type": WRONG, "param": "max_tokens", "code": "unsupported_parameter"}},
            "max_tokens",
            {"max_completion_tokens"},
            id="OpenAI max_tokens",
        ),
        pytest.param(
            400,
            {"error": {"type": WRONG, "param": "temperature", "code": "unsupported_value"}},
            "temperature",
            set(),
            id="OpenAI temperature",
        ),
        pytest.param(
            400,
            {"error": {"type": WRONG, "param": "temperature", "code": None}},
            "temperature",
            set(),
            id="OpenAI without a code",
        ),
        pytest.param(
            400,
            {"error": {"type": WRONG, "param": "reasoning_effort", "code": "unknown_parameter"}},
            "reasoning_effort",
            set(),
            id="OpenAI reasoning_effort",
        ),
        pytest.param(
            422,
            {"object": "error", "message": {"detail": forbids("stream_options.include_usage")}, "code": None},
            "stream_options",
            set(),
            id="Mistral",
        ),
        pytest.param(422, {"detail": forbids("reasoning_effort")}, "reasoning_effort", set(), id="FastAPI"),
    ],
)
async def test_a_field_that_is_refused_is_left_out_from_then_on(
    server: OpenAIServer, status: int, refusal: Mapping[str, Any], gone: str, new: set[str]
) -> None:
    client = Client(server, **ALL)
    server.enqueue(answers(json.dumps(refusal), status=status))
    await client.ask()
    await client.ask()
    first, second, third = (set(asked.body) for asked in server.requests)
    assert second == third == first - {gone} | new
    await client.connection.close()


async def test_a_server_that_takes_hardly_anything_is_asked_as_often_as_it_has_to_be() -> None:
    refuses = dict.fromkeys(
        ["stream_options", "max_tokens", "max_completion_tokens", "temperature", "reasoning_effort"],
        "unsupported_parameter",
    )
    async with OpenAIServer(refuses=refuses) as server:
        client = Client(server, **ALL)
        await client.ask()
        assert len(server.requests) == 6
        assert set(server.requests[-1].body) == {"model", "stream", "messages", "tools"}
        await client.ask()
        assert len(server.requests) == 7
        await client.connection.close()


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        pytest.param(
            400, {"error": {"message": "Unsupported parameter: 'temperature'", "type": WRONG}}, id="prose"
        ),
        pytest.param(400, {"error": {"param": "messages", "code": None}}, id="a field that has to be"),
        pytest.param(
            400, {"error": {"param": "top_p", "code": "unknown_parameter"}}, id="a field that was not sent"
        ),
        pytest.param(
            400, {"error": {"param": "temperature", "code": "decimal_above_max_value"}}, id="a wrong value"
        ),
        pytest.param(400, {"error": {"param": "temperature", "code": 400}}, id="vLLM"),
        pytest.param(
            422, {"detail": [{"type": "missing", "loc": ["body", "temperature"]}]}, id="another complaint"
        ),
        pytest.param(422, {"detail": [{"type": "extra_forbidden", "loc": ["body"]}, "x"]}, id="no name"),
        pytest.param(
            404, {"error": {"param": "temperature", "code": "unknown_parameter"}}, id="another status"
        ),
    ],
)
async def test_other_refusals_are_one_request(
    server: OpenAIServer, status: int, refusal: Mapping[str, Any]
) -> None:
    client = Client(server, **ALL)
    server.enqueue(answers(json.dumps(refusal), status=status))
    with pytest.raises(ModelError):
        await client.ask()
    assert len(server.requests) == 1
    await client.connection.close()


def test_a_field_is_learnt_once() -> None:
    model = dialect(**ALL)
    failure = HttpFailure(400, {"error": {"param": "temperature", "code": "unsupported_value"}})
    assert model.adapt(failure)
    assert not model.adapt(failure)


# -- the fake, and the client as a whole ------------------------------------------------------------------------


def assistant(*ids: str) -> Mapping[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(of: str) -> Mapping[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "{}"}


@table_test(
    ("messages", "right"),
    [
        ([assistant("abcdefghi"), result("abcdefghi")], True),
        ([assistant("abcdefghi", "jklmnopqr"), result("jklmnopqr"), result("abcdefghi")], True),
        ([assistant("abcdefghi")], False),
        ([assistant("abcdefghi"), {"role": "user", "content": "x"}], False),
        ([assistant("abcdefghi"), result("jklmnopqr")], False),
        ([result("abcdefghi")], False),
        ([assistant("call_abc"), result("call_abc")], False),
        ([{"role": "assistant", "content": ""}], False),
        ([{"role": "assistant", "content": "x", "channel": "final"}], False),
    ],
)
def test_the_fake_is_strict(messages: list[Mapping[str, Any]], right: bool) -> None:
    assert (not list(find_problems({"messages": messages}))) is right


async def test_many_at_once_do_not_mix(server: OpenAIServer, client: Client) -> None:
    server.enqueue(*(ModelAnswer([f"{number} ", "is ", f"{number}"]) for number in range(10)))
    answered = await asyncio.gather(*(client.ask() for _ in range(10)))
    assert sorted(answer.message.text for _, answer in answered) == [
        f"{number} is {number}" for number in range(10)
    ]


async def test_a_tool_whose_name_is_no_text_is_no_answer(server: OpenAIServer, client: Client) -> None:
    call = {"index": 0, "id": "x", "function": {"name": 7, "arguments": "{}"}}
    server.enqueue(streams(stream_of(chunk({"tool_calls": [call]}, "tool_calls"), DONE)))
    with pytest.raises(EmptyAnswer, match="cannot be read"):
        await client.ask("Hi")
