"""A server for OpenAI's chat completions, as strict as the strictest implementation."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.fakes.model_server import KEY, ModelAnswer, ModelServer, ReceivedRequest

MODEL = "gpt-test"
FIELDS = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "temperature",
    "reasoning_effort",
    "max_tokens",
    "max_completion_tokens",
}
ROLES = {"system", "user", "assistant", "tool"}
ASSISTANT_FIELDS = {"role", "content", "tool_calls", "reasoning_content", "reasoning", "reasoning_details"}


class OpenAIServer(ModelServer):
    """`refuses`: optional fields that this model rejects, each with the error code for it."""

    def __init__(
        self, *, key: str = KEY, model: str = MODEL, refuses: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(key=key)
        self.model = model
        self.refuses = refuses or {}

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self.handle)

    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        if self.key and asked.headers.get("Authorization") != f"Bearer {self.key}":
            return self.error(401, "Incorrect API key provided: wrong***key.", code="invalid_api_key")
        if asked.body.get("model") != self.model:
            return self.error(
                404, f"The model `{asked.body.get('model')}` does not exist.", code="model_not_found"
            )
        for name in asked.body:
            if name in self.refuses:
                code = self.refuses[name]
                return self.error(400, f"Unsupported parameter: '{name}'.", code=code, param=name)
            if name not in FIELDS:
                return self.error(400, f"Unknown parameter: '{name}'.", code="unknown_parameter", param=name)
        for problem in find_problems(asked.body):
            return self.error(400, problem, param="messages")
        return None

    def events(self, asked: ReceivedRequest, says: ModelAnswer) -> list[bytes]:
        chunks = [_chunk({"role": "assistant", "content": ""})]
        if says.thought:
            chunks.append(_chunk({"reasoning_content": says.thought}))
        texts = [says.text] if isinstance(says.text, str) else says.text
        chunks += [_chunk({"content": text}) for text in texts if text]
        for index, (name, arguments) in enumerate(says.calls):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            identity = {"id": f"call_{index:024}", "type": "function"}
            chunks.append(_calls({"index": index, **identity, "function": {"name": name, "arguments": ""}}))
            half = len(written) // 2
            chunks += [
                _calls({"index": index, "function": {"arguments": piece}})
                for piece in (written[:half], written[half:])
            ]
        chunks.append(_chunk({}, finish=says.stop or ("tool_calls" if says.calls else "stop")))
        if asked.body.get("stream_options") == {"include_usage": True}:
            chunks.append({"object": "chat.completion.chunk", "choices": [], "usage": _usage(says)})
        return [sse(chunk) for chunk in chunks] + [b"data: [DONE]\n\n"]

    def error(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> web.Response:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code or None}
        return web.json_response({"error": error}, status=status, headers=headers)

    def not_found(self, request: web.Request) -> web.Response:
        return not_found(request)


def not_found(request: web.Request) -> web.Response:
    """Return OpenAI's response to an unknown path."""
    message = f"Invalid URL ({request.method} {request.path})"
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=404)


def sse(chunk: Mapping[str, Any] | str) -> bytes:
    """Return one event."""
    data = chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)
    return f"data: {data}\n\n".encode()


def find_problems(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of a history: each call must be followed by its result, and all JSON must parse."""
    open_calls: set[str] = set()
    for at, message in enumerate(body["messages"]):
        role = message["role"]
        if role not in ROLES:
            yield f"messages[{at}]: unknown role"
        if role == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages[{at}]: a message with role 'tool' must answer a preceding 'tool_calls'"
            open_calls.discard(message["tool_call_id"])
            if not isinstance(message["content"], str) or set(message) > {"role", "tool_call_id", "content"}:
                yield f"messages[{at}]: malformed result"
            continue
        if open_calls:
            yield f"messages[{at}]: an assistant message with 'tool_calls' must be followed by tool messages"
        if role == "assistant":
            yield from _find_assistant_problems(message, at)
            open_calls = {call["id"] for call in message.get("tool_calls", ())}
    if open_calls:
        yield "an assistant message with 'tool_calls' must be followed by tool messages"
    if body.get("tools") == []:
        yield "[] is too short - 'tools'"


def _find_assistant_problems(message: Mapping[str, Any], at: int) -> Iterator[str]:
    if unknown := set(message) - ASSISTANT_FIELDS:  # Groq
        yield f"messages[{at}]: property '{unknown.pop()}' is unsupported"
    if not message["content"] and not message.get("tool_calls"):  # Moonshot
        yield f"messages[{at}]: the message must not be empty"
    for call in message.get("tool_calls", ()):
        if not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]):  # Mistral
            yield f"messages[{at}]: tool call id must be a-z, A-Z, 0-9, with a length of 9"
        try:  # vLLM, llama.cpp, Ollama
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                yield f"messages[{at}]: arguments are no object"
        except ValueError:
            yield f"messages[{at}]: arguments are no JSON"


def _chunk(delta: Mapping[str, Any], *, finish: str | None = None) -> Mapping[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-BwoiPTGRbKkY5rncfaM0s9KtWrq5N",
        "object": "chat.completion.chunk",
        "created": 1753357673,
        "model": MODEL,
        "system_fingerprint": "fp_51e1070cf2",
        "choices": [choice],
        "usage": None,
    }


def _calls(*calls: Mapping[str, Any]) -> Mapping[str, Any]:
    return _chunk({"tool_calls": list(calls)})


def _usage(says: ModelAnswer) -> Mapping[str, Any]:
    return {
        "prompt_tokens": says.input_tokens,
        "completion_tokens": says.output_tokens,
        "total_tokens": says.input_tokens + says.output_tokens,
        "prompt_tokens_details": {"cached_tokens": says.cached_tokens},
    }


async def _serve(arguments: Sequence[str]) -> None:
    async with OpenAIServer() as server:
        server.always(
            ModelAnswer([f"word{number} " for number in range(int(arguments[0]) if arguments else 10)])
        )
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if (
    __name__ == "__main__"
):  # a process of its own, so that the client's CPU time can be measured; argument: number of text pieces
    asyncio.run(_serve(sys.argv[1:]))
