"""Assemble an answer of Anthropic's Messages API from its events."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.models.answer_bounds import MAX_TOOL_CALLS, tokens
from bot.models.dialect import AnswerStage, ErrorEvent
from bot.models.errors import ContentRefused, ContextTooLong, CutOff, EmptyAnswer
from bot.models.protocol import Answer, AssistantMessage, RawStep, ToolCall, Usage
from bot.models.tool_calls import new_call_id, parse_arguments
from memory.http_responses import HttpFailure

KIND = "anthropic"

_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status that an error would have had before the stream began; 500 for any other."""

_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
MAX_BLOCKS = 10 * MAX_TOOL_CALLS
"""Maximum content blocks: each call may come with some thoughts and text."""

_DELTAS: Mapping[object, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""Delta types whose text is joined, with the field that holds it."""


def parse_input(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as `input`, which must be an object whatever the model wrote.

    Broken arguments are wrapped the way Anthropic recommends, so that the model can see its mistake.
    """
    try:
        found = parse_arguments(arguments)
        json.dumps(found, allow_nan=False)  # NaN and 1e999 parse, but would break the whole request
    except ValueError:
        return {"INVALID_JSON": arguments}
    return found


@dataclass(slots=True)
class _ContentBlock:
    """One content block: its start and the deltas after it."""

    began: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Any] = field(default_factory=list)
    readable: bool = True
    """False after an unknown delta: sending the incomplete block back would be rejected."""

    @property
    def kind(self) -> object:
        return self.began.get("type")

    def join(self, name: str) -> str:
        began = self.began.get(name)
        return "".join([began if isinstance(began, str) else "", *self.pieces.get(name, ())])

    @property
    def arguments(self) -> str:
        """Return the arguments as JSON, exactly as the model wrote them."""
        return self.join("partial_json").strip() or json.dumps(
            self.began.get("input") or {}, ensure_ascii=False
        )

    def raw(self) -> dict[str, Any]:
        """Return the block as it is sent back."""
        whole = {**self.began, **{name: self.join(name) for name in self.pieces}}
        if self.citations:
            whole["citations"] = [*(whole.get("citations") or ()), *self.citations]
        if whole.pop("partial_json", None) is not None or "input" in self.began:
            whole["input"] = parse_input(self.arguments)
        return whole


class AnthropicReader:
    """An `AnswerReader`. Each tool call gets one of our ids at once, in the raw step too."""

    def __init__(self) -> None:
        self.stage: AnswerStage = "waiting"
        self.ended = False
        self._blocks: dict[int, _ContentBlock] = {}
        self._usage: dict[str, int] = {}
        self._stop: object = None
        self._stop_details: object = None
        self._any = False

    def read(self, event: bytes) -> str:
        """Read one event's data and return its text; unknown events are skipped, as Anthropic asks.

        Raises ErrorEvent.
        """
        fields = json.loads(event.decode())
        self._any = True
        match fields["type"]:
            case "content_block_delta":
                return self._add(self._blocks[fields["index"]], fields["delta"])
            case "content_block_start":
                return self._begin(fields["index"], fields["content_block"])
            case "message_start":
                self._count(fields["message"].get("usage"))
            case "message_delta":
                self._finish(fields["delta"])
                self._count(fields.get("usage"))
            case "message_stop":
                self.ended = True
            case "error":
                raise read_error_event(fields)
        return ""

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Read a message that came in one piece and return its text. Raises ErrorEvent."""
        if fields["type"] == "error":
            raise read_error_event(fields)
        self._any = self.ended = True
        self._count(fields.get("usage"))
        self._finish(fields)
        return "".join(self._begin(index, block) for index, block in enumerate(fields["content"]))

    def answer(self) -> Answer:
        """Return the whole answer. Raises ContentRefused, ContextTooLong, CutOff or EmptyAnswer."""
        if not self._any:
            raise EmptyAnswer("sent nothing")
        if not self.ended:
            raise CutOff("stopped in the middle of its answer")
        if self._stop == "refusal":
            raise ContentRefused(f"will not answer this{self._category()}")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        text = "".join(block.join("text") for block in blocks if block.kind == "text")
        calls = tuple(
            ToolCall(block.began["id"], block.began["name"], block.arguments)
            for block in blocks
            if block.kind == "tool_use"
        )
        if not (text.strip() or calls):
            if self._stop == "model_context_window_exceeded":
                raise ContextTooLong("had no room left for an answer")
            raise EmptyAnswer(f"sent neither text nor a tool call (stop_reason {self._stop})")
        raw = RawStep(KIND, {"content": [block.raw() for block in blocks if _can_be_resent(block)]})
        return Answer(
            AssistantMessage(text, calls, raw=raw),
            self._total_usage(),
            cut_short=self._stop in ("max_tokens", "model_context_window_exceeded", "pause_turn"),
        )

    # ----------------------------------------------------------------------------------------------------

    def _begin(self, index: int, fields: Mapping[str, Any]) -> str:
        if len(self._blocks) >= MAX_BLOCKS:
            raise ValueError("endless blocks")
        block = self._blocks[index] = _ContentBlock(dict(fields))
        match block.kind:
            case "tool_use":
                block.began["id"] = new_call_id()
                self.stage = "answering"
            case "text":
                return self._emit(block.join("text"))
            case "thinking" | "redacted_thinking" if self.stage == "waiting":
                self.stage = "thinking"
        return ""

    def _add(self, block: _ContentBlock, delta: Mapping[str, Any]) -> str:
        name = _DELTAS.get(delta["type"])
        if name:
            block.pieces.setdefault(name, []).append(delta[name])
        elif delta["type"] == "citations_delta":
            block.citations.append(delta["citation"])
        else:
            block.readable = False
        return self._emit(delta["text"]) if name == "text" and block.kind == "text" else ""

    def _emit(self, text: str) -> str:
        if text:
            self.stage = "answering"
        return text

    def _finish(self, fields: Mapping[str, Any]) -> None:
        self._stop = fields.get("stop_reason") or self._stop
        self._stop_details = fields.get("stop_details") or self._stop_details

    def _category(self) -> str:
        match self._stop_details:
            case {"category": str(category)}:
                return f" ({category})"
        return ""

    def _count(self, usage: object) -> None:
        """Update the usage; each event reports totals so far, but not every field."""
        if isinstance(usage, Mapping):
            self._usage |= {name: tokens(usage[name]) for name in _COUNTS if isinstance(usage.get(name), int)}

    def _total_usage(self) -> Usage:
        count = self._usage.get
        cached = count("cache_read_input_tokens", 0)
        return Usage(
            input_tokens=count("input_tokens", 0) + cached + count("cache_creation_input_tokens", 0),
            output_tokens=count("output_tokens", 0),
            cached_tokens=cached,
        )


def read_error_event(fields: Mapping[str, Any]) -> ErrorEvent:
    """Return the error that was sent in place of an answer."""
    match fields:
        case {"error": {"type": str(kind)}}:
            return ErrorEvent(HttpFailure(_STATUS.get(kind, 500), fields))
    return ErrorEvent(HttpFailure(500, fields))


def _can_be_resent(block: _ContentBlock) -> bool:
    """Return whether a block may be sent back: Anthropic sends blank text but rejects it."""
    return block.readable and not (block.kind == "text" and not block.join("text").strip())
