"""The client of Gemini, against a server that has Google's rules."""

import base64
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
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
    Unreachable,
)
from bot.models.gemini import open_gemini
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Image,
    LanguageModel,
    Message,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from bot.models.timeouts import Timeouts
from bot.note_writes import OnceWriter
from bot.state.database import State
from bot.tools.memory import memory_tools
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.gemini_server import NO_SIGNATURE, GeminiServer, sse
from tests.fakes.model_server import KEY, ModelAnswer, answers, drops, hangs, proxy_error, streams

NEWEST = "gemini-3.8-flash"
SEARCH = ToolSpec(
    "memory_search",
    "Find passages.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
ASK = UserMessage("Where is Anna's passport?")
FOUND = '{"results": ["in the blue folder"]}'

Opener = Callable[..., LanguageModel]


@asynccontextmanager
async def serving(server: GeminiServer) -> AsyncIterator[tuple[GeminiServer, Opener]]:
    async with server:
        connection = ConnectionPool(server.base_url, connect_seconds=1)

        def open_model(model: str = NEWEST, **options: Any) -> LanguageModel:
            options = {"key": KEY, "needs_key": True, **options}
            return open_gemini(ModelOptions(f"google/{model}", server.base_url, **options), connection)

        try:
            yield server, open_model
        finally:
            await connection.close()


@pytest.fixture
async def gemini() -> AsyncIterator[tuple[GeminiServer, Opener]]:
    async with serving(GeminiServer()) as both:
        yield both


def asked(*messages: Message, tools: tuple[ToolSpec, ...] = (SEARCH,)) -> ModelRequest:
    return ModelRequest("You are an assistant.", messages or (ASK,), tools)


async def ask(model: LanguageModel, request: ModelRequest | None = None) -> Answer:
    deltas = []
    answer = None
    async for event in model.stream(request or asked()):
        assert answer is None
        if isinstance(event, TextDelta):
            deltas.append(event.text)
        else:
            assert isinstance(event, Answer)
            answer = event
    assert answer
    assert "".join(deltas) == answer.message.text
    return answer


def results_of(answer: Answer, content: str = FOUND) -> tuple[ToolResult, ...]:
    return tuple(ToolResult(call.id, call.name, content) for call in answer.message.calls)


def chunk(*parts: Mapping[str, object], finish: str = "", **more: object) -> bytes:
    candidate = {"content": {"parts": parts, "role": "model"}, **({"finishReason": finish} if finish else {})}
    return sse({"candidates": [candidate], **more})


# -- what is asked --------------------------------------------------------------------------------------------


async def test_the_request_has_the_key_in_a_header_and_everything_in_its_place(
    gemini: tuple[GeminiServer, Opener],
) -> None:
    server, open_model = gemini
    picture = Image("image/png", b"\x89PNG")
    model = open_model("models/gemini-2.5-flash", temperature=0.5, max_tokens=99)
    await ask(model, asked(UserMessage("What is this?", (picture,))))
    (request,) = server.requests
    assert request.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    data = base64.b64encode(picture.data).decode()
    assert request.body == {
        "systemInstruction": {"parts": [{"text": "You are an assistant."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": data}},
                    {"text": "What is this?"},
                ],
            }
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "memory_search",
                        "description": "Find passages.",
                        "parametersJsonSchema": SEARCH.parameters,
                    }
                ]
            }
        ],
        "generationConfig": {"temperature": 0.5, "maxOutputTokens": 99},
    }


async def test_a_request_of_one_word_has_nothing_else(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    await ask(open_model("gemma-4-31b-it"), ModelRequest("", (UserMessage("Hi"),)))
    assert server.requests[0].body == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        (NEWEST, None, {"includeThoughts": True}),
        (NEWEST, "none", {"includeThoughts": True, "thinkingLevel": "low"}),
        (NEWEST, "minimal", {"includeThoughts": True, "thinkingLevel": "low"}),
        (NEWEST, "medium", {"includeThoughts": True, "thinkingLevel": "medium"}),
        (NEWEST, "xhigh", {"includeThoughts": True, "thinkingLevel": "high"}),
        ("gemma-4-31b-it", "high", {"thinkingLevel": "high"}),
        ("gemini-2.5-flash", None, None),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1024, "includeThoughts": True}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128, "includeThoughts": True}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24576, "includeThoughts": True}),
    ],
)
async def test_effort_is_a_level_from_gemini_3_on_and_a_budget_before(
    gemini: tuple[GeminiServer, Opener], model: str, effort: str | None, thinking: Mapping[str, object] | None
) -> None:
    server, open_model = gemini
    await ask(open_model(model, reasoning_effort=effort))
    assert server.requests[0].body.get("generationConfig", {}).get("thinkingConfig") == thinking


async def test_tools_are_taken_whatever_their_schemas_hold(
    gemini: tuple[GeminiServer, Opener], tmp_path: Path
) -> None:
    _, open_model = gemini
    whole = {"type": "object", "properties": {"n": {"exclusiveMinimum": 0}}, "additionalProperties": False}
    nothing = {"type": "object", "properties": {}}
    async with (
        State(tmp_path / "state.db") as state,
        Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC)) as memory,
    ):
        ours = tuple(tool.spec for tool in memory_tools(memory, OnceWriter(memory, state)))
    tools = (*ours, ToolSpec("odd", "Any.", whole), ToolSpec("none", "No parameters.", nothing))
    assert (await ask(open_model(), asked(tools=tools))).message.text


async def test_a_picture_that_gemini_cannot_see_is_named_instead(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    await ask(open_model(), asked(UserMessage("", (Image("image/gif", b"GIF89a"),))))
    (part,) = server.requests[0].body["contents"][0]["parts"]
    assert "image/gif" in part["text"]


@pytest.mark.parametrize("text", ["", " ", "\x00", "\ud83d", "naïve 護照 🛂"])
async def test_any_text_can_be_asked(gemini: tuple[GeminiServer, Opener], text: str) -> None:
    _, open_model = gemini
    assert (await ask(open_model(), asked(UserMessage(text)))).message.text == "Hello."


# -- steps in turn --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [NEWEST, "gemini-2.5-flash"])
async def test_a_turn_of_several_steps_goes_back_as_it_was_written(
    gemini: tuple[GeminiServer, Opener], model: str
) -> None:
    server, open_model = gemini
    asker = open_model(model)
    search = ("memory_search", {"query": "passport"})
    server.enqueue(
        ModelAnswer("Let me look.", [search, search], thought="Hm."),
        ModelAnswer(calls=[search]),
        ModelAnswer("Blue."),
    )
    first = await ask(asker)
    second = await ask(asker, asked(ASK, first.message, *results_of(first)))
    history: list[Message] = [ASK, first.message, *results_of(first), second.message, *results_of(second)]
    third = await ask(asker, asked(*history))
    assert third.message.text == "Blue."
    again = [*history, third.message, UserMessage("Thanks"), first.message, *results_of(first)]
    assert (await ask(asker, asked(*again))).message.text
    one, other = first.message.calls
    for call in (one, other):
        assert re.fullmatch("[a-z0-9]{9}", call.id)
        assert json.loads(call.arguments) == {"query": "passport"}
    assert one.id != other.id
    contents = server.requests[1].body["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert [part.get("functionCall", {}).get("id") for part in contents[1]["parts"][2:]] == [one.id, other.id]
    assert [part["functionResponse"] for part in contents[2]["parts"]] == [
        {"id": call.id, "name": call.name, "response": json.loads(FOUND)} for call in (one, other)
    ]


async def test_signatures_stay_on_their_very_part_and_pieces_of_text_become_one(
    gemini: tuple[GeminiServer, Opener],
) -> None:
    server, open_model = gemini
    server.enqueue(
        streams(
            chunk({"text": "Thin", "thought": True}),
            chunk({"text": "king.", "thought": True}, {"text": "Let "}),
            chunk({"text": "me"}),
            chunk({"text": " see", "thoughtSignature": "c2ln"}),
            chunk({"text": ". "}, {"functionCall": {"name": "a"}, "thoughtSignature": "c2lo"}),
            chunk({"functionCall": {"name": "b", "args": {"n": 1}}}, {"text": ""}),
            chunk({"text": "", "thoughtSignature": "c2lp"}, finish="STOP"),
        )
    )
    answer = await ask(open_model())
    assert answer.message.text == "Let me see. "
    a, b = answer.message.calls
    assert (a.name, a.arguments, b.name, b.arguments) == ("a", "{}", "b", '{"n": 1}')
    assert answer.message.raw
    assert answer.message.raw.kind == "gemini"
    assert answer.message.raw.content == {
        "parts": [
            {"text": "Thinking.", "thought": True},
            {"text": "Let me"},
            {"text": " see", "thoughtSignature": "c2ln"},
            {"text": ". "},
            {"functionCall": {"name": "a", "id": a.id}, "thoughtSignature": "c2lo"},
            {"functionCall": {"name": "b", "args": {"n": 1}, "id": b.id}},
            {"text": "", "thoughtSignature": "c2lp"},
        ]
    }


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ('{"query": "x"}', {"query": "x"}),
        ('{"query": "x', {}),
        ("", {}),
        ("[1]", {}),
        ('"text"', {}),
        ('{"limit": NaN}', {}),
        ("[" * 100_000, {}),
    ],
)
async def test_calls_of_other_models_are_taken_whatever_their_arguments(
    gemini: tuple[GeminiServer, Opener], arguments: str, args: Mapping[str, object]
) -> None:
    server, open_model = gemini
    calls = (ToolCall("abc123def", "memory search", arguments), ToolCall("abc123deg", "b", arguments))
    step = AssistantMessage("I look.", calls, "other/model")
    results = (ToolResult("abc123def", "memory search", FOUND), ToolResult("abc123deg", "b", FOUND))
    await ask(open_model(), asked(ASK, step, *results))
    assert server.requests[0].body["contents"][1]["parts"] == [
        {"text": "I look."},
        {
            "functionCall": {"id": "abc123def", "name": "memory_search", "args": args},
            "thoughtSignature": NO_SIGNATURE,
        },
        {"functionCall": {"id": "abc123deg", "name": "b", "args": args}},
    ]


async def test_a_step_of_another_gemini_is_rebuilt_without_thoughts_and_signatures(
    gemini: tuple[GeminiServer, Opener],
) -> None:
    server, open_model = gemini
    server.enqueue(ModelAnswer("I look.", [("memory_search", {"query": "x"})], thought="Hm."))
    step = await ask(open_model("gemini-3-pro-preview"))
    await ask(open_model(), asked(ASK, step.message, *results_of(step)))
    said, call = server.requests[1].body["contents"][1]["parts"]
    assert said == {"text": "I look."}
    assert call["thoughtSignature"] == NO_SIGNATURE


async def test_a_call_that_the_model_left_unsigned_is_taken_back(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    server.enqueue(streams(chunk({"functionCall": {"name": "memory_search", "args": {}}}, finish="STOP")))
    step = await ask(open_model())
    assert (await ask(open_model(), asked(ASK, step.message, *results_of(step)))).message.text
    assert step.message.raw
    assert "thoughtSignature" not in step.message.raw.content["parts"][0]


@pytest.mark.parametrize(
    ("content", "failed", "response"),
    [
        (FOUND, False, {"results": ["in the blue folder"]}),
        ('{"error": "Interrupted."}', True, {"error": "Interrupted."}),
        ('{"path": "x.md"}', True, {"error": '{"path": "x.md"}'}),
        ("[1, 2]", False, {"output": "[1, 2]"}),
        ("no JSON", False, {"output": "no JSON"}),
        ("no JSON", True, {"error": "no JSON"}),
    ],
)
async def test_results_are_objects(
    gemini: tuple[GeminiServer, Opener], content: str, failed: bool, response: Mapping[str, object]
) -> None:
    server, open_model = gemini
    step = AssistantMessage("", (ToolCall("abc123def", "memory_search", "{}"),), "other/model")
    result = ToolResult("abc123def", "memory_search", content, failed)
    await ask(open_model(), asked(ASK, step, result, tools=()))
    (part,) = server.requests[0].body["contents"][2]["parts"]
    assert part["functionResponse"]["response"] == response


async def test_two_answers_in_a_row_are_one_turn(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    step = AssistantMessage("", (ToolCall("abc123def", "memory_search", "{}"),), "other/model")
    result = ToolResult("abc123def", "memory_search", FOUND)
    await ask(open_model(), asked(ASK, AssistantMessage("[interrupted]"), step, result))
    assert [content["role"] for content in server.requests[0].body["contents"]] == ["user", "model", "user"]


async def test_ids_are_left_out_where_they_are_not_known_and_ever_after() -> None:
    async with serving(GeminiServer(takes_ids=False)) as (server, open_model):
        model = open_model()
        server.enqueue(ModelAnswer(calls=[("memory_search", {"query": "x"})]))
        step = await ask(model)
        for requests in (3, 4):
            await ask(model, asked(ASK, step.message, *results_of(step)))
            assert len(server.requests) == requests


# -- what comes back ------------------------------------------------------------------------------------------

LIVE = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "**Na\xc3\xafve**","thought": true}],"role": "model"},'
    b'"index": 0}],"usageMetadata": {"promptTokenCount": 12,"totalTokenCount": 12}}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "\xe8\xad\xb7\xe7\x85\xa7"}],"role": "model"},"index": 0}],'
    b'"usageMetadata": {"trafficType": "ON_DEMAND"},"modelVersion": "gemini-3.1-flash-lite"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": " \xf0\x9f\x9b\x82"}],"role": "model"}}]}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "AY89a18i"}],"role": "model"},'
    b'"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 12,"candidatesTokenCount": 9,'
    b'"thoughtsTokenCount": 30,"cachedContentTokenCount": 4,"totalTokenCount": 51},"responseId": "tTCw"}\r\n\r\n'
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 4096])
async def test_an_answer_is_the_same_however_it_is_cut(
    gemini: tuple[GeminiServer, Opener], size: int
) -> None:
    server, open_model = gemini
    server.enqueue(streams(*(LIVE[at : at + size] for at in range(0, len(LIVE), size))))
    answer = await ask(open_model())
    assert answer.message.text == "護照 🛂"
    assert answer.message.model == f"google/{NEWEST}"
    assert answer.usage == Usage(input_tokens=12, output_tokens=39, cached_tokens=4)
    assert not answer.cut_short
    assert answer.first_token_seconds > 0


async def test_tokens_are_those_of_the_whole_step(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    server.enqueue(
        ModelAnswer(["Hel", "lo."], thought="Hm.", input_tokens=100, output_tokens=21, cached_tokens=64)
    )
    assert (await ask(open_model())).usage == Usage(100, 21, 64)


async def test_an_answer_at_its_limit_is_cut_short(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    server.enqueue(
        ModelAnswer("Once upon", stop="MAX_TOKENS"), ModelAnswer("Once", stop="A_REASON_OF_NEXT_YEAR")
    )
    assert (await ask(open_model())).cut_short
    assert (await ask(open_model())).cut_short


@pytest.mark.parametrize("before", [b"", chunk({"text": "Hello"})])
async def test_stop_before_the_end_ends_nothing(gemini: tuple[GeminiServer, Opener], before: bytes) -> None:
    """Old models say it with every piece, gateways before the first."""
    server, open_model = gemini
    server.enqueue(streams(chunk(finish="STOP"), before, chunk({"text": " world"}, finish="STOP")))
    assert (await ask(open_model())).message.text.endswith(" world")


@pytest.mark.parametrize("wrap", [lambda whole: whole, lambda whole: [whole]])
async def test_an_answer_in_one_piece_is_read(
    gemini: tuple[GeminiServer, Opener], wrap: Callable[[object], object]
) -> None:
    server, open_model = gemini
    content = {"parts": [{"text": "Hello."}], "role": "model"}
    whole = {
        "candidates": [{"content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3},
    }
    server.enqueue(answers(json.dumps(wrap(whole))))
    answer = await ask(open_model())
    assert (answer.message.text, answer.usage.input_tokens) == ("Hello.", 3)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_as_a_list_is_read(gemini: tuple[GeminiServer, Opener], kind: str) -> None:
    """What comes where `alt=sse` was lost on the way."""
    server, open_model = gemini
    pieces = [json.loads(event[6:]) for event in LIVE.split(b"\r\n\r\n") if event]
    server.enqueue(answers(json.dumps(pieces, indent=1), kind=kind))
    assert (await ask(open_model())).message.text == "護照 🛂"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([], EmptyAnswer),
        ([sse({"usageMetadata": {"promptTokenCount": 3}})], EmptyAnswer),
        ([chunk({"text": "Hel"})], CutOff),
        ([chunk({"text": "Hm.", "thought": True})], CutOff),
        ([chunk(finish="STOP")], EmptyAnswer),
        ([chunk({"text": " \n"}, finish="STOP")], EmptyAnswer),
        ([chunk({"text": "Hm.", "thought": True}, finish="MAX_TOKENS")], EmptyAnswer),
        ([sse({"candidates": [{"finishReason": "OTHER"}]})], EmptyAnswer),
        ([chunk({"text": "debris})"}, finish="MALFORMED_FUNCTION_CALL")], EmptyAnswer),
        ([chunk({"functionCall": {"name": "x"}}, finish="UNEXPECTED_TOOL_CALL")], EmptyAnswer),
        ([chunk({"text": "Well"}), chunk(finish="SAFETY")], ContentRefused),
        ([chunk(finish="RECITATION")], ContentRefused),
        ([chunk(finish="BLOCKLIST")], ContentRefused),
        ([chunk(finish="PROHIBITED_CONTENT")], ContentRefused),
        ([chunk(finish="SPII")], ContentRefused),
        ([chunk(finish="IMAGE_SAFETY")], ContentRefused),
        ([sse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})], ContentRefused),
        ([b"data: {\r\n\r\n"], EmptyAnswer),
        ([b"data: 17\r\n\r\n"], EmptyAnswer),
        ([b'data: {"candidates": "none"}\r\n\r\n'], EmptyAnswer),
    ],
)
async def test_an_answer_that_is_none_says_why(
    gemini: tuple[GeminiServer, Opener], pieces: list[bytes], expected: type[ModelError]
) -> None:
    server, open_model = gemini
    server.enqueue(streams(*pieces))
    with pytest.raises(ModelError) as caught:
        await ask(open_model())
    assert type(caught.value) is expected
    assert caught.value.model == f"google/{NEWEST}"


async def test_arguments_that_are_no_json_never_arrive(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    server.enqueue(ModelAnswer("I look.", [("memory_search", '{"query": ')]))
    with pytest.raises(EmptyAnswer, match="MALFORMED_FUNCTION_CALL"):
        await ask(open_model())


# -- errors ---------------------------------------------------------------------------------------------------

INFO = "type.googleapis.com/google.rpc.ErrorInfo"
QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
METRIC = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
HIGH_DEMAND = (
    "This model is currently experiencing high demand. Spikes in demand are usually temporary. "
    "Please try again later."
)
EXCEEDED = "You exceeded your current quota, please check your plan and billing details."
DENIED = "PERMISSION_DENIED"
EXHAUSTED = "RESOURCE_EXHAUSTED"
INVALID = "INVALID_ARGUMENT"


def error(code: int, status: str, message: str, *details: Mapping[str, object]) -> Mapping[str, Any]:
    more = {"details": details} if details else {}
    return {"error": {"code": code, "message": message, "status": status, **more}}


def info(reason: str) -> Mapping[str, object]:
    metadata = {"service": "generativelanguage.googleapis.com", "consumer": "projects/895908428397"}
    return {"@type": INFO, "reason": reason, "domain": "googleapis.com", "metadata": metadata}


def quota(name: str, value: str | None) -> Mapping[str, object]:
    violation: dict[str, object] = {
        "quotaMetric": METRIC,
        "quotaId": f"{name}-FreeTier",
        "quotaDimensions": {"location": "global", "model": "gemini-3.1-pro"},
    }
    return {"@type": QUOTA, "violations": [{**violation, **({"quotaValue": value} if value else {})}]}


def retry(delay: str) -> Mapping[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


ERRORS: list[tuple[Mapping[str, Any], type[ModelError]]] = [
    (error(400, INVALID, "API key not valid. Please pass a valid API key.", info("API_KEY_INVALID")), BadKey),
    (error(400, INVALID, "API key expired. Please renew the API key.", info("API_KEY_INVALID")), BadKey),
    (error(401, "UNAUTHENTICATED", "Bad credentials.", info("ACCESS_TOKEN_TYPE_UNSUPPORTED")), BadKey),
    (error(403, DENIED, "Method doesn't allow unregistered callers."), BadKey),
    (
        error(403, DENIED, "Permission denied: Consumer has been suspended.", info("CONSUMER_SUSPENDED")),
        BadKey,
    ),
    (
        error(403, DENIED, "Generative Language API has not been used before.", info("SERVICE_DISABLED")),
        BadKey,
    ),
    (error(403, DENIED, "Requests to this API are blocked.", info("API_KEY_SERVICE_BLOCKED")), BadKey),
    (error(403, DENIED, "This API method requires billing.", info("BILLING_DISABLED")), OutOfCredit),
    (
        error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
        OutOfCredit,
    ),
    (error(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta."), ModelNotFound),
    (error(429, EXHAUSTED, "Resource has been exhausted (e.g. check quota)."), RateLimited),
    (
        error(
            429, EXHAUSTED, EXCEEDED, quota("GenerateRequestsPerMinutePerProjectPerModel", "5"), retry("26s")
        ),
        RateLimited,
    ),
    (
        error(
            429, EXHAUSTED, EXCEEDED, quota("GenerateRequestsPerDayPerProjectPerModel", "20"), retry("38s")
        ),
        OutOfCredit,
    ),
    (
        error(
            429, EXHAUSTED, EXCEEDED, quota("GenerateRequestsPerMinutePerProjectPerModel", None), retry("38s")
        ),
        OutOfCredit,
    ),
    (
        error(429, EXHAUSTED, "No capacity available for model.", info("MODEL_CAPACITY_EXHAUSTED")),
        Overloaded,
    ),
    (error(400, INVALID, "The input token count (1200293) exceeds the maximum (1048576)."), ContextTooLong),
    (error(400, INVALID, "Thinking level MINIMAL is not supported for this model."), BadRequest),
    (error(400, INVALID, "Please check billing in room 402, quota exceeded, API key."), BadRequest),
    (error(499, "CANCELLED", "The operation was cancelled."), ServerFailed),
    (error(500, "INTERNAL", "An internal error has occurred. Please retry."), ServerFailed),
    (error(503, "UNAVAILABLE", HIGH_DEMAND), Overloaded),
    (error(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."), TimedOut),
]


@pytest.mark.parametrize(("body", "expected"), ERRORS)
async def test_errors_are_told_by_their_fields(
    gemini: tuple[GeminiServer, Opener], body: Mapping[str, Any], expected: type[ModelError]
) -> None:
    """The same as an answer, in a list, in the middle of a stream, and as plain JSON that breaks it off."""
    server, open_model = gemini
    code: int = body["error"]["code"]
    said, text = chunk({"text": "Well, "}), json.dumps(body, indent=2)
    server.enqueue(answers(text, status=code), answers(f"[{text}]", status=code))
    server.enqueue(streams(said, sse(body)), streams(said, text.encode()))
    model = open_model()
    delays = [detail["retryDelay"] for detail in body["error"].get("details", ()) if "retryDelay" in detail]
    for requests in range(1, 5):
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert type(caught.value) is expected
        assert str(code) in caught.value.detail
        assert caught.value.retry_after == (float(delays[0][:-1]) if delays else None)
        assert len(server.requests) == requests


@pytest.mark.parametrize(
    ("status", "fields", "expected"),
    [
        (400, {"error": "no object"}, BadRequest),
        (400, {"error": {"status": ["odd"], "details": [1, {"reason": {}, "violations": "x"}]}}, BadRequest),
        (400, {"error": {"details": {"fieldViolations": []}}}, BadRequest),
        (429, {"error": {"details": [{"violations": [{"subject": "x", "description": "y"}]}]}}, RateLimited),
        (503, {}, ServerFailed),
    ],
)
async def test_errors_of_odd_shapes_leave_it_to_the_status(
    gemini: tuple[GeminiServer, Opener], status: int, fields: object, expected: type[ModelError]
) -> None:
    server, open_model = gemini
    server.enqueue(answers(json.dumps(fields), status=status))
    with pytest.raises(ModelError) as caught:
        await ask(open_model())
    assert type(caught.value) is expected


async def test_a_key_that_is_wrong_or_missing_is_never_repeated(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    for key in ("AIzaSyWrongWrongWrongWrong", ""):
        with pytest.raises(BadKey) as caught:
            await ask(open_model(key=key, needs_key=False))
        assert "AIza" not in caught.value.detail
    with pytest.raises(BadKey):
        await ask(open_model(key=""))
    assert len(server.requests) == 2


async def test_a_model_that_there_is_not(gemini: tuple[GeminiServer, Opener]) -> None:
    _, open_model = gemini
    with pytest.raises(ModelNotFound):
        await ask(open_model("gemini-1.0-pro"))


async def test_a_fault_that_is_not_about_ids_is_not_asked_twice(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    violation = {"field": "tools[0].function_declarations[0]", "description": 'Unknown name "id"'}
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
    server.always(answers(json.dumps(error(400, INVALID, "Invalid JSON payload.", detail)), status=400))
    with pytest.raises(BadRequest):
        await ask(open_model())
    assert len(server.requests) == 1


async def test_ids_are_left_out_once_even_where_that_helps_nothing(
    gemini: tuple[GeminiServer, Opener],
) -> None:
    server, open_model = gemini
    violation = {"field": "contents[1].parts[0].function_call", "description": "Cannot find field."}
    detail = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}
    server.always(answers(json.dumps(error(400, INVALID, "Invalid JSON payload.", detail)), status=400))
    with pytest.raises(BadRequest):
        await ask(open_model())
    assert len(server.requests) == 2


async def test_a_connection_that_fails_is_told_as_such(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    server.enqueue(drops(), ModelAnswer(["Hel", "lo."], cut_after=1), proxy_error(), hangs())
    for expected in (Unreachable, CutOff, ServerFailed):
        with pytest.raises(ModelError) as caught:
            await ask(open_model())
        assert type(caught.value) is expected
    with pytest.raises(TimedOut, match="did not respond"):
        await ask(open_model(limits=Timeouts(first_token=0.05)))


async def test_a_thought_is_a_sign_of_life_but_no_text(gemini: tuple[GeminiServer, Opener]) -> None:
    server, open_model = gemini
    limits = Timeouts(first_token=10, idle=0.4)
    server.enqueue(
        ModelAnswer("Hello.", thought="Hm.", hang_after=1), ModelAnswer("Hello.", thought="Hm.", hang_after=2)
    )
    with pytest.raises(TimedOut, match="sent nothing"):
        await ask(open_model(limits=limits))
    async with aclosing(open_model(limits=limits).stream(asked())) as events:
        assert await anext(events) == TextDelta("Hello.")
        with pytest.raises(TimedOut, match="sent nothing"):
            await anext(events)


# -- the rules of the server that the tests above rest on -----------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"thoughtSignature": ""}, "missing a thought_signature"),
        ({"thoughtSignature": "Zm9yZWlnbg=="}, "not valid"),
    ],
)
async def test_a_signature_that_was_lost_or_changed_is_refused(
    gemini: tuple[GeminiServer, Opener], change: Mapping[str, str], words: str
) -> None:
    server, open_model = gemini
    server.enqueue(ModelAnswer(calls=[("memory_search", {"query": "x"})]))
    step = await ask(open_model())
    await ask(open_model(), asked(ASK, step.message, *results_of(step)))
    kept = server.requests[1]
    first = kept.body["contents"][1]["parts"][0]
    assert server.objection(kept) is None
    first.update(change)
    refused = server.objection(kept)
    assert refused is not None
    assert words in (refused.text or "")
