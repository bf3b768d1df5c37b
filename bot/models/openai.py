"""Chat completions of OpenAI and of every compatible server."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from bot.models.base_url import BaseUrl
from bot.models.connection_pool import ConnectionPool
from bot.models.errors import ModelError
from bot.models.http import HttpModel
from bot.models.openai_errors import kind_of, refused_field
from bot.models.openai_reader import KIND, OpenAIReader
from bot.models.options import ModelOptions
from bot.models.protocol import (
    AssistantMessage,
    LanguageModel,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.models.user_text import shown_text, user_text
from memory.http_responses import HttpFailure

NEW_LIMIT = "max_completion_tokens"
OLD_LIMIT = "max_tokens"
COMPLETION_LIMIT_HOSTS = ("api.openai.com", ".openai.azure.com")
"""Hosts, or their suffixes, whose newer models reject `max_tokens`; most others know nothing else."""

REASONING_HOSTS = ("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn")
"""Hosts that reject a history in which any assistant message lacks `reasoning_content`."""
EMPTY_REASONING = " "
"""DeepSeek treats an empty one as missing."""


class OpenAIChatDialect:
    """`POST {base_url}/chat/completions`; remembers which optional fields this model's server rejected."""

    def __init__(self, options: ModelOptions, address: BaseUrl | None = None) -> None:
        """`address` is shared by the provider's models; None creates one for this model."""
        host = urlsplit(options.base_url).hostname or ""
        self._address = address or BaseUrl(options.base_url)
        self._headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
        self._name = options.name
        self._wants_thoughts = host in REASONING_HOSTS
        self._limits = (
            [NEW_LIMIT, OLD_LIMIT] if host.endswith(COMPLETION_LIMIT_HOSTS) else [OLD_LIMIT, NEW_LIMIT]
        )
        """Names of the length limit that were not rejected, the likeliest first."""
        self._max_tokens = options.max_tokens
        self._fixed: dict[str, Any] = {"model": options.model, "stream": True}
        self._optional: dict[str, Any] = {"stream_options": {"include_usage": True}}
        if options.temperature is not None:
            self._optional["temperature"] = options.temperature
        if options.reasoning_effort is not None:
            self._optional["reasoning_effort"] = options.reasoning_effort

    @property
    def url(self) -> str:
        """URL of the endpoint; the version is part of `base_url`."""
        return f"{self._address.base_url}/chat/completions"

    @property
    def headers(self) -> Mapping[str, str]:
        """Request headers; local servers need no key."""
        return self._headers

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """Return the request without the fields that the server rejected."""
        messages = [self._message(message) for message in request.messages if not _is_empty(message)]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body = {**self._fixed, "messages": messages, **self._optional}
        if self._max_tokens is not None and self._limits:
            body[self._limits[0]] = self._max_tokens
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        return body

    def reader(self) -> OpenAIReader:
        """Return a reader for one answer."""
        return OpenAIReader()

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        """Return the error type by code, then by type."""
        return kind_of(failure)

    def adapt(self, failure: HttpFailure) -> bool:
        """Drop or rename an optional field that the server rejects by name; once per field.

        After a 404 that concerns the URL, try it with its version.
        """
        if failure.status == 404:
            return self._address.adapt(failure)
        name = refused_field(failure)
        if name in self._optional:
            del self._optional[name]
            return True
        if self._max_tokens is not None and self._limits and name == self._limits[0]:
            del self._limits[0]
            return True
        return False

    # -- messages -----------------------------------------------------------------------------------------

    def _message(self, message: Message) -> dict[str, Any]:
        match message:
            case UserMessage(images=images):
                return {"role": "user", "content": _parts(message) if images else shown_text(message)}
            case ToolResult(call_id, content=content):
                return {"role": "tool", "tool_call_id": call_id, "content": content}
            case AssistantMessage():
                written = self._encode_assistant(message)
        if self._wants_thoughts:
            written.setdefault("reasoning_content", EMPTY_REASONING)
        return written

    def _encode_assistant(self, message: AssistantMessage) -> dict[str, Any]:
        """Return the message as this server wrote it, or in standard form if another wrote it."""
        if message.raw and message.raw.kind == KIND and message.model == self._name:
            written = dict(message.raw.content)
            calls = written.get("tool_calls") or ()
        else:
            written = {"role": "assistant", "content": message.text or None}
            calls = [_call(call) for call in message.calls]
        if calls:
            written["tool_calls"] = [_with_json_arguments(call) for call in calls]
        return written


def open_openai(options: ModelOptions, connection: ConnectionPool) -> LanguageModel:
    """Open OpenAI, or the server at `base_url`, which may need no key."""
    return HttpModel(OpenAIChatDialect(options, connection.address), connection, options)


def _is_empty(message: Message) -> bool:
    """Return whether an answer was stopped before its first word; several servers reject such a message."""
    return isinstance(message, AssistantMessage) and not message.text and not message.calls


def _parts(message: UserMessage) -> Sequence[Mapping[str, Any]]:
    text = user_text(message)
    parts: list[Mapping[str, Any]] = [{"type": "text", "text": text}] if text else []
    for image in message.images:
        url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    if message.recalled:
        parts.append({"type": "text", "text": message.recalled})
    return parts


def _tool(tool: ToolSpec) -> Mapping[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _call(call: ToolCall) -> Mapping[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _with_json_arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace arguments that are not objects with `{}`, and leave it to the call's result to explain the mistake.

    vLLM, llama.cpp and Ollama would reject the whole history.
    """
    function = call["function"]
    try:
        if isinstance(json.loads(function["arguments"], parse_constant=_refuse), dict):
            return call
    except (ValueError, RecursionError):
        pass
    return {**call, "function": {**function, "arguments": "{}"}}


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity are Python, not JSON
