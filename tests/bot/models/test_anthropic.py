import base64
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from bot.models.anthropic import max_answer_tokens, open_anthropic, parse_version, thinking_config
from bot.models.anthropic_reader import parse_input
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
from bot.models.http import HttpModel
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    Image,
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
from tests.fakes.anthropic_server import AnthropicServer, event
from tests.fakes.model_server import KEY, ModelAnswer, ReceivedRequest, answers, proxy_error, streams
from tests.fakes.table_test import table_test

SYSTEM = "You are an assistant.\n\nToday is Friday, 2026-11-20."
SEARCH = ToolSpec(
    "memory_search", "Find passages.", {"type": "object", "properties": {"query": {"type": "string"}}}
)
WRITE = ToolSpec("memory_write", "Keep a fact.", {"type": "object", "properties": {}})
CALL = ToolCall("abc123def", "memory_search", '{"query": "passport"}')
RESULT = ToolResult("abc123def", "memory_search", '{"results": []}')

Open = Callable[..., HttpModel]


@pytest.fixture
async def server() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer() as server:
        yield server


@pytest.fixture
async def opened(server: AnthropicServer) -> AsyncIterator[Open]:
    connection = ConnectionPool(server.base_url, connect_seconds=5)

    def open_it(model: str = "claude-opus-4-8", provider: str = "anthropic", **options: Any) -> HttpModel:
        defaults = ModelOptions(f"{provider}/{model}", server.base_url, KEY, needs_key=True)
        return open_anthropic(replace(defaults, **options), connection)

    yield open_it
    await connection.close()


def asked(
    *messages: Message | str, tools: Sequence[ToolSpec] = (SEARCH, WRITE), system: str = SYSTEM
) -> ModelRequest:
    spoken = tuple(UserMessage(each) if isinstance(each, str) else each for each in messages)
    return ModelRequest(system, spoken, tuple(tools))


async def ask(model: HttpModel, request: ModelRequest | str = "Hello?") -> tuple[list[str], Answer]:
    request = asked(request) if isinstance(request, str) else request
    events = [event async for event in model.stream(request)]
    *deltas, answer = events
    assert isinstance(answer, Answer)
    shown = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert "".join(shown) == answer.message.text
    return shown, answer


def blocks_of(answer: Answer) -> list[dict[str, Any]]:
    assert answer.message.raw
    assert answer.message.raw.kind == "anthropic"
    blocks: list[dict[str, Any]] = answer.message.raw.content["content"]
    return blocks


# -- what comes back ------------------------------------------------------------------------------------------


async def test_text_streams_and_ends_in_an_answer_with_all_tokens_counted(
    server: AnthropicServer, opened: Open
) -> None:
    server.enqueue(
        ModelAnswer(["Hel", "lo ", "Ánna."], input_tokens=1200, cached_tokens=1000, output_tokens=9)
    )
    shown, answer = await ask(opened())
    assert shown == ["Hel", "lo ", "Ánna."]
    assert answer.usage == Usage(1200, 9, 1000)
    assert not answer.cut_short
    assert answer.message.model == "anthropic/claude-opus-4-8"
    assert blocks_of(answer) == [{"type": "text", "text": "Hello Ánna."}]
    assert answer.first_token_seconds > 0


async def test_tokens_written_to_the_cache_are_read_ones_too(server: AnthropicServer, opened: Open) -> None:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 700,
        "cache_read_input_tokens": None,
        "output_tokens": 3,
    }
    server.enqueue(answers(json.dumps(whole([{"type": "text", "text": "Hi."}], usage=usage))))
    _, answer = await ask(opened())
    assert answer.usage == Usage(705, 3, 0)


async def test_calls_get_ids_of_ours_in_the_answer_and_in_the_raw_step(
    server: AnthropicServer, opened: Open
) -> None:
    server.enqueue(
        ModelAnswer("Let me look.", calls=[("memory_search", {"query": "passport"}), ("memory_write", {})])
    )
    _, answer = await ask(opened())
    search, write = answer.message.calls
    assert json.loads(search.arguments) == {"query": "passport"}
    assert write.arguments == "{}"
    assert all(re.fullmatch("[a-z0-9]{9}", call.id) for call in answer.message.calls)
    assert search.id != write.id
    assert blocks_of(answer)[1:] == [
        {"type": "tool_use", "id": search.id, "name": "memory_search", "input": {"query": "passport"}},
        {"type": "tool_use", "id": write.id, "name": "memory_write", "input": {}},
    ]


async def test_arguments_that_are_no_json_reach_the_agent_as_they_are_and_the_model_as_an_object(
    server: AnthropicServer, opened: Open
) -> None:
    model = opened()
    server.enqueue(
        ModelAnswer(calls=[("memory_search", '{"query": pass'), ("memory_search", '{"query": NaN}')])
    )
    _, answer = await ask(model)
    broken, not_a_number = answer.message.calls
    assert (broken.arguments, not_a_number.arguments) == ('{"query": pass', '{"query": NaN}')
    failed = [
        ToolResult(call.id, call.name, '{"error": "no JSON"}', failed=True) for call in answer.message.calls
    ]
    await ask(model, asked("Hello?", answer.message, *failed))
    _, turn, results = server.requests[-1].body["messages"]
    assert [block["input"] for block in turn["content"]] == [
        {"INVALID_JSON": '{"query": pass'},
        {"INVALID_JSON": '{"query": NaN}'},
    ]
    assert [block["is_error"] for block in results["content"]] == [True, True]


async def test_thoughts_are_kept_with_their_signatures_and_not_shown(
    server: AnthropicServer, opened: Open
) -> None:
    server.enqueue(ModelAnswer("Blue.", thought="The passport lies in the blue folder."))
    shown, answer = await ask(opened(reasoning_effort="high"))
    assert shown == ["Blue."]
    thought, text = blocks_of(answer)
    assert thought["thinking"] == "The passport lies in the blue folder."
    assert thought["signature"] in server.signed
    assert text == {"type": "text", "text": "Blue."}


@pytest.mark.thorough
async def test_a_thought_that_goes_on_for_long_is_not_taken_for_silence(
    server: AnthropicServer, opened: Open
) -> None:
    server.enqueue(ModelAnswer("Blue.", thought="Hm.", delay=0.15))
    limits = Timeouts(first_token=0.75, idle=0.75)
    _, answer = await ask(opened(limits=limits, reasoning_effort="low"))
    assert answer.first_token_seconds < 0.75


async def test_pings_alone_are_no_sign_of_an_answer(server: AnthropicServer, opened: Open) -> None:
    server.enqueue(streams(START, *[event({"type": "ping"})] * 200, delay=0.02))
    with pytest.raises(TimedOut):
        await ask(opened(limits=Timeouts(first_token=0.1)))


START = event({"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}})
STOP = event({"type": "message_stop"})


def block(index: int, began: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    return b"".join(
        [
            event({"type": "content_block_start", "index": index, "content_block": began}),
            *(event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas),
            event({"type": "content_block_stop", "index": index}),
        ]
    )


def ends(reason: str, **fields: Any) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None, **fields}
    return event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 4}}) + STOP


def whole(content: list[dict[str, Any]], *, reason: str = "end_turn", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason, **fields}


TEXT = block(
    0,
    {"type": "text", "text": ""},
    {"type": "text_delta", "text": "Grüße "},
    {"type": "text_delta", "text": "护照"},
)


async def test_what_is_unknown_is_passed_over_and_unknown_blocks_are_kept(
    server: AnthropicServer, opened: Open
) -> None:
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    server.enqueue(
        streams(
            START,
            event({"type": "input_transformations", "input_transformations": []}),
            block(0, hidden),
            block(1, found),
            block(2, {"type": "hologram", "at": 1}, {"type": "hologram_delta", "at": 2}),
            block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "\n\n"}),
            block(4, {"type": "text", "text": "Tea"}, {"type": "text_delta", "text": "."}, CITED),
            ends("end_turn"),
        )
    )
    _, answer = await ask(opened())
    assert answer.message.text == "\n\nTea."
    text = {"type": "text", "text": "Tea.", "citations": [CITED["citation"]]}
    assert blocks_of(answer) == [hidden, found, text], "no blank text and no half block"


CITED: dict[str, Any] = {
    "type": "citations_delta",
    "citation": {"type": "char_location", "cited_text": "Tea"},
}


@pytest.mark.parametrize("size", [1, 2, 7, 64])
async def test_events_may_be_cut_anywhere(server: AnthropicServer, opened: Open, size: int) -> None:
    sent = (
        START
        + TEXT
        + block(1, {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {}})
        + ends("tool_use")
    )
    server.enqueue(streams(*[sent[at : at + size] for at in range(0, len(sent), size)]))
    _, answer = await ask(opened())
    assert answer.message.text == "Grüße 护照"
    assert [call.arguments for call in answer.message.calls] == ["{}"]


async def test_an_answer_in_one_piece_is_read_too(server: AnthropicServer, opened: Open) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": {"query": "Öl"}}
    server.enqueue(
        answers(json.dumps(whole([{"type": "text", "text": "Let me look."}, call], reason="tool_use")))
    )
    shown, answer = await ask(opened())
    assert shown == ["Let me look."]
    assert answer.message.calls[0].arguments == '{"query": "Öl"}'
    assert blocks_of(answer)[1]["id"] == answer.message.calls[0].id != "toolu_1"


@pytest.mark.parametrize(
    ("reason", "cut_short"),
    [
        ("end_turn", False),
        ("stop_sequence", False),
        ("max_tokens", True),
        ("model_context_window_exceeded", True),
        ("pause_turn", True),
    ],
)
async def test_an_answer_that_had_to_end_says_so(
    server: AnthropicServer, opened: Open, reason: str, cut_short: bool
) -> None:
    server.enqueue(ModelAnswer("One upon a", stop=reason))
    _, answer = await ask(opened())
    assert answer.cut_short == cut_short


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (START + TEXT + ends("refusal", stop_details={"type": "refusal", "category": "bio"}), ContentRefused),
        (START + ends("refusal", stop_details=None), ContentRefused),
        (START + TEXT, CutOff),
        (START, CutOff),
        (b"", EmptyAnswer),
        (START + ends("end_turn"), EmptyAnswer),
        (START + block(0, {"type": "text", "text": " \n"}) + ends("end_turn"), EmptyAnswer),
        (
            START + block(0, {"type": "thinking", "thinking": "Hm.", "signature": "x"}) + ends("max_tokens"),
            EmptyAnswer,
        ),
        (START + ends("model_context_window_exceeded"), ContextTooLong),
        (b"data: nonsense\n\n", EmptyAnswer),
        (b"data: []\n\n", EmptyAnswer),
        (
            START
            + event(
                {"type": "content_block_delta", "index": 7, "delta": {"type": "text_delta", "text": "a"}}
            ),
            EmptyAnswer,
        ),
    ],
)
async def test_streams_that_hold_no_answer(
    server: AnthropicServer, opened: Open, sent: bytes, expected: type[ModelError]
) -> None:
    server.enqueue(streams(sent))
    with pytest.raises(expected) as caught:
        await ask(opened())
    assert type(caught.value) is expected


async def test_a_connection_lost_in_the_middle_is_told_from_a_whole_answer(
    server: AnthropicServer, opened: Open
) -> None:
    length = len(
        server.events(ReceivedRequest("", {}, {"model": "", "messages": []}), ModelAnswer("One. Two."))
    )
    for cut in range(1, length):
        server.enqueue(ModelAnswer("One. Two.", cut_after=cut))
        with pytest.raises(CutOff):
            await ask(opened())
    await ask(opened())


# -- errors ---------------------------------------------------------------------------------------------------


def error(kind: str, message: str, **fields: Any) -> str:
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": message, **fields}, "request_id": "req_011CSH"}
    )


RECORDED = [
    (400, error("invalid_request_error", "messages: text content blocks must be non-empty"), BadRequest),
    (
        400,
        error(
            "invalid_request_error",
            "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens for claude-3",
        ),
        BadRequest,
    ),
    (
        400,
        error("invalid_request_error", "prompt is too long: 213021 tokens > 200000 maximum"),
        ContextTooLong,
    ),
    # In these three only words tell what it is, and such words are not read.
    (
        400,
        error(
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
        ),
        BadRequest,
    ),
    (
        400,
        error(
            "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
        ),
        BadRequest,
    ),
    (
        400,
        error("invalid_request_error", "room 402: billing_error, overloaded, prompt is too long"),
        BadRequest,
    ),
    (401, error("authentication_error", "invalid x-api-key"), BadKey),
    (402, error("billing_error", "Please check your payment details."), OutOfCredit),
    (
        403,
        error("permission_error", "Your API key does not have permission to use the specified resource."),
        BadKey,
    ),
    (404, error("not_found_error", "model: claude-nonsense"), ModelNotFound),
    (413, error("request_too_large", "Request exceeds the maximum size"), ContextTooLong),
    (
        413,
        "<html><head><title>413 Request Entity Too Large</title></head><body>cloudflare</body></html>",
        ContextTooLong,
    ),
    (
        429,
        error(
            "rate_limit_error",
            "This request would exceed the rate limit for your organization of 50,000 input tokens per minute.",
        ),
        RateLimited,
    ),
    (
        429,
        error(
            "rate_limit_error",
            "You have reached your API usage limits: your organization has crossed its monthly API usage threshold.",
            details={"error_code": "enforced_spend_limit_reached"},
        ),
        OutOfCredit,
    ),
    (
        429,
        error("rate_limit_error", "Error", details={"error_code": ["enforced_spend_limit_reached"]}),
        RateLimited,
    ),
    (500, error("api_error", "Internal server error"), ServerFailed),
    (500, error("overloaded_error", "Overloaded", details=None), Overloaded),
    (503, "<html><body>503 Service Temporarily Unavailable</body></html>", ServerFailed),
    (504, error("timeout_error", "The request timed out."), TimedOut),
    (529, error("overloaded_error", "Overloaded"), Overloaded),
    (529, "", Overloaded),
    (
        402,
        '{"error": {"message": "Insufficient Balance", "type": "unknown_error", "code": "invalid_request_error"}}',
        OutOfCredit,
    ),
    (422, '{"error": {"type": ["api_error"]}}', BadRequest),
]


@pytest.mark.parametrize(("status", "body", "expected"), RECORDED)
async def test_errors_are_told_by_type_and_code_and_asked_once(
    server: AnthropicServer, opened: Open, status: int, body: str, expected: type[ModelError]
) -> None:
    server.enqueue(answers(body, status=status))
    with pytest.raises(ModelError) as caught:
        await ask(opened())
    assert type(caught.value) is expected
    assert caught.value.model == "anthropic/claude-opus-4-8"
    assert KEY not in caught.value.detail
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", ServerFailed),
        ("timeout_error", TimedOut),
        ("invalid_request_error", BadRequest),
        ("billing_error", OutOfCredit),
        ("authentication_error", BadKey),
        ("an_error_of_tomorrow", ServerFailed),
    ],
)
async def test_an_error_in_the_middle_of_an_answer_is_the_same_as_before_it(
    server: AnthropicServer, opened: Open, kind: str, expected: type[ModelError]
) -> None:
    failure = json.loads(error(kind, "Something."))
    for reply in (
        streams(START, TEXT, event(failure)),
        streams(START, event({**failure, "error": {**failure["error"], "details": None}})),
        answers(json.dumps(failure)),
    ):
        server.enqueue(reply)
        with pytest.raises(ModelError) as caught:
            await ask(opened())
        assert type(caught.value) is expected


async def test_a_wait_that_is_asked_for_is_passed_on(server: AnthropicServer, opened: Open) -> None:
    server.enqueue(server.fails(429, headers={"retry-after": "7"}), proxy_error(503))
    with pytest.raises(RateLimited) as caught:
        await ask(opened())
    assert caught.value.retry_after == 7
    with pytest.raises(ServerFailed):
        await ask(opened())


async def test_a_wrong_key_and_an_unknown_model_are_told_apart(server: AnthropicServer, opened: Open) -> None:
    with pytest.raises(BadKey):
        await ask(opened(key="another-key-123"))
    with pytest.raises(ModelNotFound):
        await ask(opened("claude-nonsense"))
    with pytest.raises(BadKey):
        await ask(opened(key=""))
    assert len(server.requests) == 2, "without a key nobody is asked"


# -- what is sent ---------------------------------------------------------------------------------------------


async def sent(server: AnthropicServer, model: HttpModel, request: ModelRequest) -> dict[str, Any]:
    """The body of a request that the server found nothing wrong with."""
    await ask(model, request)
    return dict(server.requests[-1].body)


def bare(turns: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Turns without the marks for the cache."""
    return [
        (
            turn["role"],
            [
                {name: value for name, value in block.items() if name != "cache_control"}
                for block in turn["content"]
            ],
        )
        for turn in turns
    ]


async def test_a_request_holds_everything(server: AnthropicServer, opened: Open) -> None:
    picture = Image("image/png", b"\x89PNG\x00")
    messages = (
        UserMessage("What is this?", (picture,)),
        AssistantMessage("Let me look.", (CALL,), "openai/gpt-4.1"),
        replace(RESULT, failed=True),
        UserMessage("And?"),
    )
    body = await sent(
        server,
        opened(max_tokens=300, temperature=0.3, provider="mine", model="claude-opus-4-6"),
        asked(*messages),
    )
    request = server.requests[-1]
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in request.headers
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("claude-opus-4-6", 300, 0.3)
    assert [block["text"] for block in body["system"]] == [SYSTEM]
    assert [(tool["name"], tool["input_schema"]) for tool in body["tools"]] == [
        (tool.name, tool.parameters) for tool in (SEARCH, WRITE)
    ]
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(picture.data).decode()}
    assert bare(body["messages"]) == [
        ("user", [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]),
        (
            "assistant",
            [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": CALL.id, "name": CALL.name, "input": {"query": "passport"}},
            ],
        ),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": CALL.id, "content": RESULT.content, "is_error": True},
                {"type": "text", "text": "And?"},
            ],
        ),
    ]


@pytest.mark.parametrize(
    ("messages", "roles"),
    [
        (["One.", "Two."], "u"),
        (["One.", AssistantMessage("A."), AssistantMessage("B."), "Two."], "uau"),
        ([AssistantMessage("Reminder: tea."), "Thanks."], "uau"),
        (["One.", AssistantMessage("To be contin \n")], "uau"),
        (["  "], "u"),
        ([""], "u"),
        (["One.", AssistantMessage(" \n", (CALL,)), RESULT], "uau"),
        (["One.", AssistantMessage("", (CALL,)), replace(RESULT, content=" ")], "uau"),
        (
            [
                "One.",
                AssistantMessage("", (CALL, replace(CALL, id="zzz999zzz"))),
                RESULT,
                replace(RESULT, call_id="zzz999zzz"),
                "Go on.",
            ],
            "uau",
        ),
        (["One.", AssistantMessage("", (replace(CALL, name="functions.memory search" * 4),)), RESULT], "uau"),
        (["One.", AssistantMessage("", (replace(CALL, arguments="[1]"),)), RESULT], "uau"),
        (["One.", AssistantMessage("", (replace(CALL, arguments="[" * 9999),)), RESULT], "uau"),
        (["One.", AssistantMessage("", (replace(CALL, arguments='{"a": 1e999}'),)), RESULT], "uau"),
        (
            [
                "Half a pair: \ud83d",
                AssistantMessage("", (replace(CALL, arguments='{"a": "\\ud83d"}'),)),
                RESULT,
            ],
            "uau",
        ),
        ([], "u"),
    ],
)
async def test_any_history_is_one_that_the_service_takes(
    server: AnthropicServer, opened: Open, messages: list[Message | str], roles: str
) -> None:
    for tools in ((SEARCH,), ()):
        body = await sent(server, opened(), asked(*messages, tools=tools))
        assert "".join(turn["role"][0] for turn in body["messages"]) == roles
        assert ("tools" in body) == bool(tools)


async def test_a_blank_system_prompt_is_left_out(server: AnthropicServer, opened: Open) -> None:
    assert "system" not in await sent(server, opened(), asked("Hello?", system=" "))


async def test_marks_for_the_cache_stand_where_the_last_request_ended(
    server: AnthropicServer, opened: Open
) -> None:
    history = asked("One.", AssistantMessage("A."), "Two.", AssistantMessage("", (CALL,)), RESULT)
    first = await sent(server, opened(), asked(*history.messages[:3]))
    second = await sent(server, opened(), history)
    for body in (first, second):
        assert "cache_control" in body["tools"][-1]
        assert "cache_control" in body["system"][-1]
    assert marks(first) == [0, 2]
    assert marks(second) == [2, 4], "the end, and what the first step of this turn ended with"
    third = await sent(server, opened(), asked(*history.messages, AssistantMessage("B."), "Three."))
    assert marks(third) == [2, 6], "the last turn was read up to 2 at its beginning"


def marks(body: dict[str, Any]) -> list[int]:
    return [
        place
        for place, turn in enumerate(body["messages"])
        if any("cache_control" in block for block in turn["content"])
    ]


# -- histories of its own -------------------------------------------------------------------------------------


async def thought_and_called(server: AnthropicServer, model: HttpModel) -> AssistantMessage:
    server.enqueue(
        ModelAnswer("Let me look.", thought="In the notes?", calls=[("memory_search", {"query": "passport"})])
    )
    _, answer = await ask(model, asked("Where is it?"))
    return answer.message


@pytest.mark.parametrize(
    "name", ["claude-opus-5-5", "claude-sonnet-5", "claude-opus-4-6", "claude-sonnet-4-5"]
)
async def test_its_own_thoughts_go_back_word_for_word(
    server: AnthropicServer, opened: Open, name: str
) -> None:
    model = opened(name, reasoning_effort="high")
    step = await thought_and_called(server, model)
    result = replace(RESULT, call_id=step.calls[0].id)
    stored = (
        replace(step, raw=RawStep("anthropic", json.loads(json.dumps(step.raw.content))))
        if step.raw
        else step
    )
    body = await sent(server, model, asked("Where is it?", stored, result))
    assert step.raw
    assert body["messages"][1]["content"] == step.raw.content["content"]
    assert server.dropped == 0
    assert body["thinking"]["type"] in ("adaptive", "enabled")


async def test_thoughts_that_no_longer_fit_what_came_before_break_no_request(
    server: AnthropicServer, opened: Open
) -> None:
    """At midnight the system prompt changes, and at a turn's last step the tools are gone."""
    model = opened("claude-opus-5-5")
    step = await thought_and_called(server, model)
    result = replace(RESULT, call_id=step.calls[0].id)
    tomorrow = SYSTEM.replace("Friday, 2026-11-20", "Saturday, 2026-11-21")
    await sent(server, model, asked("Where is it?", step, result, system=tomorrow))
    await sent(server, model, asked("Where is it?", step, result, tools=()))
    assert server.dropped == 2
    assert server.requests[-1].headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"


async def test_another_model_is_shown_text_and_calls_alone(server: AnthropicServer, opened: Open) -> None:
    step = await thought_and_called(server, opened("claude-opus-4-6", reasoning_effort="high"))
    result = replace(RESULT, call_id=step.calls[0].id)
    others = (opened("claude-opus-4-8"), opened("claude-opus-4-6", provider="other"))
    for model in others:
        body = await sent(server, model, asked("Where is it?", step, result))
        assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]
    foreign = replace(step, model="anthropic/claude-opus-4-8", raw=RawStep("openai", {"content": "?"}))
    body = await sent(server, others[0], asked("Where is it?", foreign, result))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]


async def test_a_step_whose_calls_were_changed_is_told_by_its_text_and_calls(
    server: AnthropicServer, opened: Open
) -> None:
    model = opened()
    step = await thought_and_called(server, model)
    for changed, after in (
        (replace(step, calls=()), "Go on."),
        (replace(step, calls=(replace(step.calls[0], id=CALL.id),)), RESULT),
    ):
        await sent(server, model, asked("Where is it?", changed, after))


async def test_a_budget_to_think_is_left_out_where_another_model_began_to_call(
    server: AnthropicServer, opened: Open
) -> None:
    model = opened("claude-sonnet-4-5", reasoning_effort="high", temperature=0.5)
    foreign = AssistantMessage("", (CALL,), "openai/gpt-4.1")
    body = await sent(server, model, asked("Where is it?", foreign, RESULT))
    assert "thinking" not in body
    assert body["temperature"] == 0.5
    body = await sent(
        server, model, asked("Where is it?", foreign, RESULT, AssistantMessage("Here."), "Thanks.")
    )
    assert "thinking" in body
    assert "temperature" not in body


@table_test(
    ("arguments", "expected"),
    [
        ("", {}),
        ('{"query": "Öl"}', {"query": "Öl"}),
        ('"{}"', {}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"a": -Infinity}', {"INVALID_JSON": '{"a": -Infinity}'}),
    ],
)
def test_arguments_of_any_history_are_an_object(arguments: str, expected: dict[str, Any]) -> None:
    assert parse_input(arguments) == expected


# -- what each generation takes -------------------------------------------------------------------------------

EFFORTS = (None, "none", "minimal", "low", "medium", "high", "xhigh", "max")


@pytest.mark.parametrize(
    "name",
    [
        "claude-3-haiku-20240307",
        "claude-3-5-sonnet-20241022",
        "claude-3-7-sonnet-20250219",
        "claude-haiku-4-5",
        "claude-opus-4-6",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-fable-5-1",
    ],
)
async def test_every_effort_and_temperature_is_asked_in_a_form_that_the_model_takes(
    server: AnthropicServer, opened: Open, name: str
) -> None:
    for effort in EFFORTS:
        await sent(server, opened(name, reasoning_effort=effort, temperature=0.5), asked("Hello?"))


ADAPTIVE = {"type": "adaptive", "display": "summarized"}
BOUND = {**ADAPTIVE, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


@table_test(
    ("model", "effort", "expected"),
    [
        ("claude-fable-5-1", None, {"thinking": BOUND}),
        ("claude-haiku-5-5", "none", {"thinking": BOUND, "output_config": {"effort": "low"}}),
        ("claude-sonnet-5", "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}}),
        ("claude-opus-4-8", None, {}),
        ("claude-opus-4-8", "none", {}),
        ("claude-opus-4-8", "minimal", {"thinking": ADAPTIVE, "output_config": {"effort": "low"}}),
        ("claude-sonnet-4-6", "xhigh", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        ("claude-opus-4-5", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
        ("claude-opus-4-5", "none", {}),
        ("claude-3-5-haiku-20241022", "high", {}),
        ("kimi-k2", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("kimi-k2", None, {}),
    ],
)
def test_effort_takes_the_form_of_the_models_generation(
    model: str, effort: str | None, expected: dict[str, Any]
) -> None:
    assert thinking_config(ModelOptions(f"anthropic/{model}", reasoning_effort=effort)) == expected


@table_test(("longest", "budget"), [(2047, None), (2048, 1024), (6000, 3000), (64_000, 16_384)])
def test_half_of_an_answer_is_left_to_be_said(longest: int, budget: int | None) -> None:
    options = ModelOptions("anthropic/claude-opus-4-5", reasoning_effort="high", max_tokens=longest)
    assert thinking_config(options).get("thinking", {}).get("budget_tokens") == budget


@table_test(
    ("model", "version", "longest"),
    [
        ("claude-3-haiku-20240307", (3, 0), 4096),
        ("claude-3-5-sonnet-20241022", (3, 5), 8192),
        ("claude-3-7-sonnet-20250219", (3, 7), 32_000),
        ("claude-opus-4-20250514", (4, 0), 32_000),
        ("claude-haiku-4-5@20251001", (4, 5), 32_000),
        ("anthropic.claude-opus-4-6-v1", (4, 6), 32_000),
        ("anthropic/claude-sonnet-4.5", (4, 5), 32_000),
        ("claude-opus-5-20260901", (5, 0), 32_000),
        ("claude-fable-5-1", (5, 1), 32_000),
        ("deepseek-chat", None, 8192),
    ],
)
def test_a_name_tells_the_generation(model: str, version: tuple[int, int] | None, longest: int) -> None:
    assert parse_version(model) == version
    assert max_answer_tokens(ModelOptions(f"anthropic/{model}")) == longest


async def test_a_stream_may_be_left_early_and_the_model_asked_again(
    server: AnthropicServer, opened: Open
) -> None:
    model = opened()
    async with aclosing(model.stream(asked("Hello?"))) as events:
        async for _ in events:
            break
    await ask(model)
