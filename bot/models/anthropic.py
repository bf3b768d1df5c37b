"""Claude over Anthropic's Messages API, and every server that speaks it.

Follows https://platform.claude.com/docs/en/api/messages and the pages on thinking, effort, prompt caching,
preserved thinking and errors, as of November 2026.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.models.anthropic_reader import KIND, AnthropicReader, parse_input
from bot.models.connection_pool import ConnectionPool
from bot.models.dialect import AnswerReader
from bot.models.errors import (
    BadKey,
    ContextTooLong,
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
from bot.models.protocol import AssistantMessage, Message, ModelRequest, ToolResult, UserMessage
from bot.models.user_text import user_text
from memory.http_responses import HttpFailure

VERSION = "2023-06-01"
BINDING_BETA = "thinking-binding-controls-2026-08-01"

SILENCE = "…"
"""Text of a person's empty message: Anthropic rejects blank text, and a history without the message."""

_ERRORS: Mapping[str, type[ModelError]] = {
    "authentication_error": BadKey,
    "billing_error": OutOfCredit,
    "permission_error": BadKey,
    "not_found_error": ModelNotFound,
    "request_too_large": ContextTooLong,
    "rate_limit_error": RateLimited,
    "timeout_error": TimedOut,
    "api_error": ServerFailed,
    "overloaded_error": Overloaded,
    "enforced_spend_limit_reached": OutOfCredit,
}
"""Error types by `error.details.error_code`, else by `error.type`."""

_EFFORTS = {"none": "low", "minimal": "low"}
"""Effort names that other providers have and Anthropic lacks."""

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 24_576}
"""Thinking budgets in tokens, for models without an effort setting."""
MIN_BUDGET = 1024

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[-.](\d{1,2}))?(?!\d)")
_ALWAYS_THINKING = (5, 0)
_BOUND_THINKING = (5, 1)
_ADAPTIVE_THINKING = (4, 6)
_NO_SAMPLING = (4, 7)
_FIRST_THINKING = (3, 7)

_CACHE_BREAKPOINT = {"cache_control": {"type": "ephemeral"}}


def open_anthropic(options: ModelOptions, connection: ConnectionPool) -> HttpModel:
    """Open one model with one key; `base_url` is the host without a path."""
    return HttpModel(AnthropicChatDialect(options), connection, options)


class AnthropicChatDialect:
    """`POST {base_url}/v1/messages`."""

    def __init__(self, options: ModelOptions) -> None:
        version = parse_version(options.model)
        self._name = options.name
        self.url = f"{options.base_url}/v1/messages"
        self.headers: Mapping[str, str] = {
            "anthropic-version": VERSION,
            **({"x-api-key": options.key} if options.key else {}),
            **({"anthropic-beta": BINDING_BETA} if version and version >= _BOUND_THINKING else {}),
        }
        self._settings: Mapping[str, Any] = {
            "model": options.model,
            "max_tokens": max_answer_tokens(options),
            "stream": True,
            **thinking_config(options),
        }
        self._temperature: Mapping[str, Any] = {}
        if options.temperature is not None and (version is None or version < _NO_SAMPLING):
            self._temperature = {"temperature": options.temperature}

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """Return the request body, with cache marks on the tools, the system prompt and two places in the history."""
        messages = self._messages(request.messages)
        body = {**self._settings, "messages": messages}
        if body.get("thinking", {}).get("type") == "enabled" and _continues_without_thinking(messages):
            del body["thinking"]
        if "thinking" not in body:
            body |= self._temperature
        if request.system.strip():
            body["system"] = [{"type": "text", "text": request.system, **_CACHE_BREAKPOINT}]
        if request.tools:
            body["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
            body["tools"][-1] |= _CACHE_BREAKPOINT
        return body

    def reader(self) -> AnswerReader:
        """Return a reader for one answer."""
        return AnthropicReader()

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        """Return the error type by code if there is one, else by type.

        `invalid_request_error` adds nothing to the status.
        """
        match failure.fields.get("error"):
            case {"details": {"error_code": str(code)}} if code in _ERRORS:
                return _ERRORS[code]
            case {"type": str(kind)}:
                return _ERRORS.get(kind)
        return None

    def adapt(self, failure: HttpFailure) -> bool:
        """Return False: Anthropic explains bad requests in prose only, so there is nothing to adapt."""
        return False

    # -- messages -----------------------------------------------------------------------------------------

    def _messages(self, history: Sequence[Message]) -> list[dict[str, Any]]:
        """Return the messages with alternating roles, the user's first and last."""
        turns: list[dict[str, Any]] = []
        user_turns: list[int] = []  # indices of the turns in which the person spoke
        recalling: set[int] = (
            set()
        )  # of those that end in what was recalled, which the next request does not have
        if not history or isinstance(history[0], AssistantMessage):
            _append_blocks(turns, "user", [_text_block(SILENCE)])
        for message in history:
            role = "assistant" if isinstance(message, AssistantMessage) else "user"
            if blocks := self._blocks(message):
                _append_blocks(turns, role, blocks)
                recalling.discard(len(turns) - 1)
            if isinstance(message, UserMessage):
                user_turns.append(len(turns) - 1)
                if message.recalled:
                    recalling.add(len(turns) - 1)
        # A final assistant turn is a prefill, which may not end in whitespace.
        if turns[-1]["role"] != "user":
            _append_blocks(turns, "user", [_text_block(SILENCE)])
        # Mark the end, for the next step, and the person's previous message, where the first step of the last
        # turn ended: the cache looks back at most 20 blocks from a mark.
        last = len(turns) - 1
        for place in {last, *[place for place in user_turns if place < last][-1:]}:
            turns[place]["content"][-2 if place in recalling else -1] |= _CACHE_BREAKPOINT
        return turns

    def _blocks(self, message: Message) -> list[dict[str, Any]]:
        match message:
            case UserMessage(images=images):
                text = user_text(message)
                pictures = [_image_block(image.media_type, image.data) for image in images]
                spoken = [_text_block(text)] if text.strip() else []
                recalled = [_text_block(message.recalled)] if message.recalled else []
                return (pictures + spoken or [_text_block(SILENCE)]) + recalled
            case ToolResult(call_id, _, content, failed):
                return [
                    {
                        "type": "tool_result",
                        "tool_use_id": call_id,
                        **({"content": content} if content.strip() else {}),
                        **({"is_error": True} if failed else {}),
                    }
                ]
            case AssistantMessage(text, calls):
                return self._raw(message) or [
                    *([_text_block(text)] if text.strip() else []),
                    *(
                        {
                            "type": "tool_use",
                            "id": call.id,
                            "name": _tool_name(call.name),
                            "input": parse_input(call.arguments),
                        }
                        for call in calls
                    ),
                ]

    def _raw(self, message: AssistantMessage) -> list[dict[str, Any]]:
        """Return the blocks as this model wrote them; empty if another model wrote them or the calls were changed."""
        if message.raw is None or message.raw.kind != KIND or message.model != self._name:
            return []
        blocks = [dict(block) for block in message.raw.content["content"]]
        ids = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        return blocks if ids == [call.id for call in message.calls] else []


def parse_version(model: str) -> tuple[int, int] | None:
    """Return a model's version: `claude-opus-4-6` is (4, 6), `claude-3-haiku-20240307` is (3, 0).

    None for other models and for names without a number.
    """
    found = _CLAUDE.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else None


def max_answer_tokens(options: ModelOptions) -> int:
    """Return `max_tokens`, which is required, includes thinking and may not exceed the model's limit."""
    if options.max_tokens is not None:
        return options.max_tokens
    version = parse_version(options.model)
    if version and version < (3, 5):
        return 4096
    return 32_000 if version and version >= _FIRST_THINKING else 8192


def thinking_config(options: ModelOptions) -> Mapping[str, Any]:
    """Return the thinking fields for the model's generation; Anthropic rejects those of another generation."""
    version = parse_version(options.model)
    effort = options.reasoning_effort
    if version and version >= _ADAPTIVE_THINKING:
        thinks = version >= _ALWAYS_THINKING or effort not in (None, "none")
        if not thinks:
            return {}
        # Summaries show that the model is alive: without them it sends nothing until it has finished
        # thinking.
        thinking: dict[str, Any] = {"type": "adaptive", "display": "summarized"}
        if version >= _BOUND_THINKING:
            # A thought is bound to everything sent before it, and the system prompt contains today's date.
            thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        if effort is None:
            return {"thinking": thinking}
        if effort == "xhigh" and version < _NO_SAMPLING:
            effort = "high"
        return {"thinking": thinking, "output_config": {"effort": _EFFORTS.get(effort, effort)}}
    budget = min(_BUDGETS.get(effort or "none", 0), max_answer_tokens(options) // 2)
    if budget < MIN_BUDGET or (version and version < _FIRST_THINKING):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _continues_without_thinking(turns: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the last turn's tool calls began without a thought, for example another model's.

    With a thinking budget Anthropic rejects such a history.
    """
    first: Mapping[str, Any] | None = None
    for turn in reversed(turns):
        if turn["role"] == "assistant":
            first = turn
        elif not any(block["type"] == "tool_result" for block in turn["content"]):
            break
    return first is not None and first["content"][0]["type"] not in ("thinking", "redacted_thinking")


def _append_blocks(turns: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image_block(media_type: str, data: bytes) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}
    return {"type": "image", "source": source}


def _tool_name(name: str) -> str:
    """Return a valid tool name: another model may have invented one that Anthropic would reject in the history."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "_"
