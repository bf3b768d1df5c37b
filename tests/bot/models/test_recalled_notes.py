"""What was recalled for a message stands behind everything that a provider may cache."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bot.models.anthropic import AnthropicChatDialect
from bot.models.gemini import GeminiChatDialect
from bot.models.image_fallback import without_pictures
from bot.models.llama_cpp.chat import chat_of
from bot.models.openai import OpenAIChatDialect
from bot.models.options import ModelOptions
from bot.models.protocol import (
    AssistantMessage,
    Image,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.models.token_estimate import estimate_message_tokens, estimate_request_tokens
from bot.models.truncation import truncate

NOTES = "<notes>\nhome.md:3\nThe code is 4471.\n</notes>"
PICTURE = Image("image/png", b"\x89PNG")
TOOL = ToolSpec("memory_search", "Find passages.", {"type": "object", "properties": {}})
QUESTIONS = ("What's the code?", "And who told me?", "Is it the right one?", "Thanks. When was that?")


def requests(*, with_tools: bool, picture: bool = False) -> list[ModelRequest]:
    """Return the requests of four turns: each turn's first step, and a second one after a tool."""
    asked: list[ModelRequest] = []
    history: list[Message] = []
    for number, text in enumerate(QUESTIONS):
        message = UserMessage(text, (PICTURE,) if picture and number == 0 else ())
        running: list[Message] = [replace(message, recalled=f"{NOTES} {number}")]
        asked.append(ModelRequest("The prompt.", (*history, *running), (TOOL,)))
        if with_tools:
            call = ToolCall(f"call{number:05}", "memory_search", '{"query": "code"}')
            running += [
                AssistantMessage("", (call,)),
                ToolResult(call.id, call.name, f'{{"results": [{number}]}}'),
            ]
            asked.append(ModelRequest("The prompt.", (*history, *running), (TOOL,)))
        history += [message, *running[1:], AssistantMessage(f"Answer {number}.")]
    return asked


def anthropic_blocks(request: ModelRequest) -> list[tuple[str, Mapping[str, Any]]]:
    """Return everything in the order in which Anthropic caches it, with the role."""
    body = AnthropicChatDialect(ModelOptions("anthropic/claude-opus-4-8")).body(request)
    blocks = [("tools", block) for block in body["tools"]] + [("system", block) for block in body["system"]]
    return blocks + [(turn["role"], block) for turn in body["messages"] for block in turn["content"]]


def without_marks(blocks: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    return [
        json.dumps([role, {key: value for key, value in block.items() if key != "cache_control"}])
        for role, block in blocks
    ]


def marks(blocks: Sequence[tuple[str, Mapping[str, Any]]]) -> list[int]:
    return [at for at, (_, block) in enumerate(blocks) if "cache_control" in block]


@pytest.mark.parametrize("with_tools", [False, True])
@pytest.mark.parametrize("picture", [False, True])
def test_anthropics_marks_end_prefixes_that_the_next_turn_has_byte_for_byte(
    with_tools: bool, picture: bool
) -> None:
    steps = 2 if with_tools else 1
    sent = [anthropic_blocks(each) for each in requests(with_tools=with_tools, picture=picture)]
    for first, later in zip(sent[::steps], sent[steps::steps], strict=False):
        *_, mark = marks(first)
        assert NOTES in json.dumps(first[mark + 1], ensure_ascii=False).replace("\\n", "\n")
        assert len(first) == mark + 2, "the notes are last, and behind the mark"
        assert without_marks(later)[: mark + 1] == without_marks(first)[: mark + 1]
        assert mark in marks(later), "the next turn asks for the same prefix"


def test_within_a_turn_the_notes_keep_their_place_and_stay_cached() -> None:
    sent = [anthropic_blocks(each) for each in requests(with_tools=True)]
    for first, second in zip(sent[::2], sent[1::2], strict=True):
        assert without_marks(second)[: len(first)] == without_marks(first)
        assert marks(first)[-1] in marks(second)
        assert all("4471" not in str(second[mark][1]) for mark in marks(second))


def text_before_notes(request: ModelRequest, provider: str) -> str:
    dialect = {"openai": OpenAIChatDialect, "gemini": GeminiChatDialect}[provider]
    body = dialect(ModelOptions(f"{provider}/a-model", base_url="https://example.org/v1")).body(request)  # type: ignore[arg-type]
    history = body["messages"] if provider == "openai" else body["contents"]
    before, found, _ = json.dumps(history, ensure_ascii=False).partition("<notes>")
    assert found
    return before.removesuffix("\\n\\n").removesuffix('"}, {"text": "')


@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("with_tools", [False, True])
def test_everything_before_the_notes_stays_equal_for_prefix_caches(provider: str, with_tools: bool) -> None:
    steps = 2 if with_tools else 1
    asked = requests(with_tools=with_tools)[::steps]
    for first, later in pairwise(asked):
        before = text_before_notes(first, provider)
        assert QUESTIONS[asked.index(first)] in before
        assert text_before_notes(later, provider).startswith(before)


def test_a_local_model_sees_them_below_the_message() -> None:
    *_, last = chat_of(ModelRequest("The prompt.", (UserMessage("Hello?", recalled=NOTES),)))
    assert last == {"role": "user", "content": f"Hello?\n\n{NOTES}"}


def test_they_survive_where_pictures_become_words() -> None:
    [message] = without_pictures([UserMessage("Look", (PICTURE,), recalled=NOTES)])
    assert isinstance(message, UserMessage)
    assert message.recalled == NOTES


def test_they_count_for_the_window_and_are_left_out_first() -> None:
    history = (UserMessage("one " * 50), AssistantMessage("two"), UserMessage("three", recalled=NOTES * 20))
    request = ModelRequest("The prompt.", history)
    plain = replace(request, messages=(*history[:2], UserMessage("three")))
    assert estimate_message_tokens(history[2]) > estimate_message_tokens(plain.messages[2])
    assert truncate(request, estimate_request_tokens(request)) is None
    assert truncate(request, estimate_request_tokens(plain)) == plain
    shorter = truncate(request, estimate_request_tokens(plain) - 20)
    assert shorter is not None
    assert shorter.messages == (UserMessage("three"),)
