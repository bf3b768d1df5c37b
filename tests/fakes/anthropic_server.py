"""Anthropic's Messages API on a real socket: its events, and its rules for rejecting requests."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiohttp import web

from tests.fakes.model_server import KEY, ModelAnswer, ModelServer, ReceivedRequest

VERSION = "2023-06-01"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
REQUEST_ID = "req_011CSHoEeqs5C35K2UUqR7Fy"

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
BUDGETED = ("claude-3-7-sonnet-20250219", "claude-haiku-4-5", "claude-sonnet-4-5")
ADAPTIVE = ("claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-opus-5-5", "claude-fable-5-1")
THOUGHTLESS = ("claude-3-haiku-20240307", "claude-3-5-sonnet-20241022")
TAKES_SAMPLING = (*THOUGHTLESS, *BUDGETED, "claude-opus-4-6")
BINDS_THOUGHTS = ("claude-opus-5-5", "claude-fable-5-1")
MODELS = (*BUDGETED, *ADAPTIVE, *THOUGHTLESS)
LONGEST = {"claude-3-haiku-20240307": 4096, "claude-3-5-sonnet-20241022": 8192}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THOUGHTS = ("thinking", "redacted_thinking")


class AnthropicServer(ModelServer):
    """Speaks the Messages API; several text pieces of one step become deltas of one block."""

    def __init__(self, *, key: str = KEY) -> None:
        super().__init__(key=key)
        self.signed: dict[str, tuple[str, str]] = {}
        """What each signature covers: the thought, and everything sent before it."""
        self.dropped = 0
        """Number of thoughts dropped, as the request allowed, because something before them had changed."""

    @property
    def base_url(self) -> str:
        return self.root

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages", self.handle)

    def error(
        self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> web.Response:
        """Return an error; `code` goes into `error.details`."""
        error: dict[str, Any] = {"type": TYPES.get(status, "api_error"), "message": message}
        if code:
            error["details"] = {"error_code": code}
        body = {"type": "error", "error": error, "request_id": REQUEST_ID}
        return web.json_response(body, status=status, headers={"request-id": REQUEST_ID, **(headers or {})})

    def not_found(self, request: web.Request) -> web.Response:
        return self.error(404, "Not Found")

    # -- what it refuses ----------------------------------------------------------------------------------

    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        if asked.headers.get("x-api-key") != self.key:
            return self.error(401, "invalid x-api-key")
        if asked.headers.get("anthropic-version") != VERSION:
            return self.error(400, "anthropic-version: header is required")
        model = asked.body.get("model")
        if model not in MODELS:
            return self.error(404, f"model: {model}")
        found = next(self._faults(asked), None)
        return self.error(400, found) if found else None

    def _faults(self, asked: ReceivedRequest) -> Iterator[str]:
        body = asked.body
        yield from _check_settings(body)
        if str(body).count("'cache_control'") > 4:
            yield "A maximum of 4 blocks with cache_control may be provided."
        for block in body.get("system", ()):
            if not block["text"].strip():
                yield "system: text content blocks must contain non-whitespace text"
        for tool in body.get("tools", ()):
            if not {"name", "input_schema"} <= set(tool):
                yield "tools.0.custom.input_schema: Field required"
        yield from _check_turns(body["messages"])
        yield from self._faults_of_thoughts(asked)

    def _faults_of_thoughts(self, asked: ReceivedRequest) -> Iterator[str]:
        body = asked.body
        thinking = body.get("thinking", {})
        binding = thinking.get("block_binding")
        if binding and BINDING_BETA not in asked.headers.get("anthropic-beta", ""):
            yield f"thinking.block_binding: requires the `{BINDING_BETA}` value in the `anthropic-beta` header."
        for place, turn in enumerate(body["messages"]):
            for number, block in enumerate(turn["content"]):
                if block["type"] != "thinking":
                    continue
                where = f"messages.{place}.content.{number}"
                thought, before = self.signed.get(block.get("signature", ""), ("", ""))
                if thought != block["thinking"] or set(block) != {"type", "thinking", "signature"}:
                    yield f"{where}: Invalid `signature` in `thinking` block"
                elif body["model"] in BINDS_THOUGHTS and before != _fingerprint(
                    body, body["messages"][:place]
                ):
                    if not binding or binding["prefix_mismatch_behavior"] != "drop_block":
                        yield (
                            f"{where}: Invalid `signature` in `thinking` block. The block is bound to a different"
                            " conversation. Remove the block, or set"
                            ' `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
                        )
                    self.dropped += 1
        if thinking.get("type") == "enabled":
            first = _cycle_start(body["messages"])
            if first and first["content"][0]["type"] not in THOUGHTS:
                yield (
                    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
                    " When `thinking` is enabled, a final `assistant` message must start with a thinking block."
                )

    # -- what it says -------------------------------------------------------------------------------------

    def events(self, asked: ReceivedRequest, says: ModelAnswer) -> list[bytes]:
        usage = {
            "input_tokens": says.input_tokens - says.cached_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": says.cached_tokens,
            "output_tokens": 1,
        }
        message = {
            "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message",
            "role": "assistant",
            "model": asked.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        stop = says.stop or ("tool_use" if says.calls else "end_turn")
        delta = {"stop_reason": stop, "stop_sequence": None}
        sent: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, (block, deltas) in enumerate(self._content(asked, says)):
            sent.append({"type": "content_block_start", "index": index, "content_block": block})
            if index == 0:
                sent.append({"type": "ping"})
            sent += [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
            sent.append({"type": "content_block_stop", "index": index})
        sent.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": says.output_tokens}})
        sent.append({"type": "message_stop"})
        return [event(each) for each in sent]

    def _content(
        self, asked: ReceivedRequest, says: ModelAnswer
    ) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        if says.thought:
            half = len(says.thought) // 2
            yield (
                {"type": "thinking", "thinking": "", "signature": ""},
                [
                    {"type": "thinking_delta", "thinking": says.thought[:half]},
                    {"type": "thinking_delta", "thinking": says.thought[half:]},
                    {"type": "signature_delta", "signature": self.sign(asked.body, says.thought)},
                ],
            )
        texts = [says.text] if isinstance(says.text, str) else list(says.text)
        if any(texts):
            yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
        for number, (name, arguments) in enumerate(says.calls):
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            written = "" if written == "{}" else written  # how it says that there are no arguments
            pieces = ["", written[:5], written[5:]]
            yield (
                {
                    "type": "tool_use",
                    "id": f"toolu_01T1x1fJ34qAmk2tNTrN7U{number:02}",
                    "name": name,
                    "input": {},
                },
                [{"type": "input_json_delta", "partial_json": piece} for piece in pieces],
            )

    def sign(self, body: Mapping[str, Any], thought: str) -> str:
        """Return a signature for a thought in the answer to this request."""
        before = _fingerprint(body, body["messages"])
        signature = hashlib.sha256(f"{before} {thought}".encode()).hexdigest()
        self.signed[signature] = (thought, before)
        return signature


def event(fields: Mapping[str, Any]) -> bytes:
    """Return one event of a stream."""
    return f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()


def _check_settings(body: Mapping[str, Any]) -> Iterator[str]:
    model = body["model"]
    thinking = body.get("thinking", {})
    if "max_tokens" not in body:
        yield "max_tokens: Field required"
    longest = LONGEST.get(model, 64_000)
    if body["max_tokens"] > longest:
        yield (
            f"max_tokens: {body['max_tokens']} > {longest}, which is the maximum allowed number of output tokens"
            f" for {model}"
        )
    if body.get("stream") is not True:
        yield "stream: this fake streams"
    if "temperature" in body and model not in TAKES_SAMPLING:
        yield "`temperature` is deprecated for this model."
    if "temperature" in body and thinking:
        yield "`temperature` may only be set to 1 when thinking is enabled."
    if thinking.get("type") == "enabled":
        if model not in BUDGETED:
            yield '"thinking.type.enabled" is not supported for this model.'
        if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    if thinking.get("type") == "adaptive" and model not in ADAPTIVE:
        yield "adaptive thinking is not supported on this model"
    if "output_config" in body and (
        model not in ADAPTIVE or body["output_config"].get("effort") not in EFFORTS
    ):
        yield "output_config.effort: This model does not support this effort."
    if thinking.get("block_binding") and model not in BINDS_THOUGHTS:
        yield "thinking.adaptive.block_binding: Extra inputs are not permitted"


def _check_turns(turns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not turns:
        yield "messages: at least one message is required"
    seen: set[str] = set()
    open_calls: list[str] = []
    for place, turn in enumerate(turns):
        where = f"messages.{place}"
        content = turn["content"]
        if turn["role"] != ("assistant" if place % 2 else "user"):
            yield 'messages: roles must alternate between "user" and "assistant"'
        if not content:
            yield f"{where}: all messages must have non-empty content"
        for number, block in enumerate(content):
            yield from _check_block(f"{where}.content.{number}", turn["role"], block)
        answered = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if open_calls and sorted(answered) != sorted(open_calls):
            yield f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after"
        if not open_calls and answered:
            yield f"{where}: unexpected `tool_use_id` found in `tool_result` blocks"
        if any(block["type"] != "tool_result" for block in content[: len(answered)]):
            yield f"{where}: tool_result blocks have to come first"
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if seen & set(open_calls) or len(set(open_calls)) < len(open_calls):
            yield f"{where}: `tool_use` ids must be unique"
        seen |= set(open_calls)
    if open_calls:
        yield "messages: `tool_use` ids were found without `tool_result` blocks immediately after"
    if turns[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _check_block(where: str, role: str, block: Mapping[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "text" if not block["text"].strip():
            yield f"{where}: text content blocks must contain non-whitespace text"
        case "tool_use":
            if not isinstance(block["input"], dict):
                yield f"{where}.tool_use.input: Input should be a valid dictionary"
            if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", block["name"]):
                yield f"{where}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
            if role != "assistant":
                yield f"{where}: `tool_use` blocks can only be in `assistant` messages"
        case "image" if block["source"]["media_type"] not in (
            "image/jpeg",
            "image/png",
            "image/gif",
            "image/webp",
        ):
            yield f"{where}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', …"
        case kind if kind in THOUGHTS and "cache_control" in block:
            yield f"{where}.{kind}.cache_control: Extra inputs are not permitted"


def _cycle_start(turns: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the answer that began the model's unfinished turn."""
    first = None
    for turn in reversed(turns):
        if turn["role"] == "assistant":
            first = turn
        elif not any(block["type"] == "tool_result" for block in turn["content"]):
            break
    return first


def _fingerprint(body: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]) -> str:
    """Return a fingerprint of everything before an answer, without cache marks."""
    before = json.dumps([body.get("system"), body.get("tools"), turns])
    before = before.replace(', "cache_control": {"type": "ephemeral"}', "")
    return hashlib.sha256(before.encode()).hexdigest()
