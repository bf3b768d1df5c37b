"""Assemble an answer that streams in OpenAI's format."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.models.answer_bounds import MAX_TOOL_CALLS
from bot.models.answer_bounds import tokens as _count
from bot.models.dialect import AnswerStage, ErrorEvent
from bot.models.errors import ContentRefused, CutOff, EmptyAnswer, ModelError, Overloaded, ServerFailed
from bot.models.protocol import Answer, AssistantMessage, RawStep, ToolCall, Usage
from bot.models.tool_calls import new_call_id
from memory.http_responses import HttpFailure

KIND = "openai"

_CUT_SHORT = ("length", "max_tokens", "model_length", "model_context_window_exceeded")
_ENDED_BADLY: Mapping[object, tuple[type[ModelError], str]] = {
    "content_filter": (ContentRefused, "will not answer this"),
    "sensitive": (ContentRefused, "will not answer this"),  # Zhipu
    "error": (ServerFailed, "failed in the middle of its answer"),  # OpenRouter, without further detail
    "network_error": (ServerFailed, "failed in the middle of its answer"),  # Zhipu
    "insufficient_system_resource": (Overloaded, "is too busy to finish its answer"),  # DeepSeek
    "abort": (CutOff, "was stopped in the middle of its answer"),  # vLLM, SGLang
}
_THOUGHTS = ("reasoning_content", "reasoning")
_DETAIL_TEXTS = ("text", "summary")
_ENDS = ("}", "]", '"')
"""Characters that end a call's arguments, encoded twice or not."""
MAX_SCANNED_CHARS = 1_000_000
"""Maximum characters of one call that are scanned to find its end."""


@dataclass(slots=True)
class _PartialCall:
    """A tool call that is still arriving."""

    theirs: str = ""
    """The provider's id, if any."""
    index: object = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    last_letter: str = ""
    """Last character of the arguments so far."""
    checked: int = 0
    """Characters parsed so far to check whether the arguments are complete; each check starts from the beginning."""
    extra: Mapping[str, Any] | None = None
    """`extra_content`: Gemini's signature."""

    @property
    def written(self) -> str:
        return "".join(self.arguments)

    def add(self, arguments: str) -> None:
        """Append to the arguments."""
        if arguments:
            self.arguments.append(arguments)
            self.last_letter = arguments.rstrip()[-1:] or self.last_letter

    def is_whole(self) -> bool:
        """Return whether the arguments are complete JSON, so that a piece with a name begins another call."""
        if self.last_letter not in _ENDS or self.checked > MAX_SCANNED_CHARS:
            return False
        written = self.written
        self.checked += len(written)
        return _is_json(written)


class OpenAIReader:
    """One answer; `stage` and `ended` as in `AnswerReader`."""

    def __init__(self) -> None:
        self.stage: AnswerStage = "waiting"
        self.ended = False
        self._began = False
        self._finish: str | None = None
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: dict[str, list[str]] = {}
        """By the field that they came in; "" for Mistral's, which are parts of the content."""
        self._details: list[dict[str, Any]] = []
        """OpenRouter's `reasoning_details`."""
        self._more: dict[str, list[str]] = {}
        """Text pieces of the last detail, joined late: joining each time would copy all of them."""
        self._calls: list[_PartialCall] = []
        self._usage: Mapping[str, Any] = {}

    def read(self, event: bytes) -> str:
        """Read one chunk and return its text."""
        if event == b"[DONE]":
            self.ended = self._began = True
            return ""
        return self._take(json.loads(event.decode()), "delta") if event else ""

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Read a whole answer and return its text."""
        self.ended = True
        return self._take(fields, "message")

    def answer(self) -> Answer:
        """Return the whole answer.

        Raises ContentRefused, CutOff, EmptyAnswer or the error that the finish reason means.
        """
        if self._refusal:
            raise ContentRefused(f"will not answer this: {''.join(self._refusal)}")
        if self._finish in _ENDED_BADLY:
            kind, words = _ENDED_BADLY[self._finish]
            raise kind(words)
        if not self._began:
            raise EmptyAnswer("sent nothing")
        if self._finish is None and not self.ended:
            raise CutOff("stopped in the middle of its answer")
        text = "".join(self._text)
        cut_short = self._finish in _CUT_SHORT
        calls = [call for call in self._calls if call.name]
        if not calls and not text.strip():
            raise EmptyAnswer(
                "reasoned until it reached its length limit" if cut_short else "sent an empty answer"
            )
        ours = tuple(ToolCall(new_call_id(), call.name, call.written or "{}") for call in calls)
        raw = RawStep(KIND, self._raw(text, ours, calls))
        return Answer(AssistantMessage(text, ours, raw=raw), _usage(self._usage), cut_short)

    # -- pieces -------------------------------------------------------------------------------------------

    def _take(self, chunk: Mapping[str, Any], key: str) -> str:
        if chunk.get("error") or chunk.get("object") == "error":
            raise ErrorEvent(HttpFailure(200, chunk))
        self._began = True
        usage = chunk.get("usage")
        if choices := chunk.get("choices"):
            choice = choices[0]
            usage = usage or choice.get("usage")  # Moonshot
            text = self._take_delta(choice.get(key) or {})
            if finish := choice.get("finish_reason"):
                if choice.get("error"):
                    raise ErrorEvent(HttpFailure(200, choice))
                self._finish = finish
        else:
            text = ""
        if groq := chunk.get("x_groq"):
            if groq.get("error"):
                raise ErrorEvent(HttpFailure(200, groq))
            usage = usage or groq.get("usage")
        if usage:
            self._usage = usage
        return text

    def _take_delta(self, delta: Mapping[str, Any]) -> str:
        text = delta.get("content") or ""
        if not isinstance(text, str):
            text = self._take_parts(text)
        if text:
            self._text.append(text)
            self.stage = "answering"
        if len(delta) > 1 or not text:
            self._take_rest(delta)
        return text

    def _take_rest(self, delta: Mapping[str, Any]) -> None:
        for name in _THOUGHTS:
            if thought := delta.get(name):
                self._think(name, thought)
        for detail in delta.get("reasoning_details") or ():
            self._take_detail(detail)
        if refusal := delta.get("refusal"):
            self._refusal.append(refusal)
        for place, call in enumerate(delta.get("tool_calls") or ()):
            self._take_call(call, place)

    def _think(self, name: str, thought: str) -> None:
        self._thoughts.setdefault(name, []).append(thought)
        if self.stage == "waiting":
            self.stage = "thinking"

    def _take_parts(self, parts: Any) -> str:
        """Read content that is a list, as Mistral sends it when thinking."""
        text = []
        for part in parts:
            if part["type"] == "thinking":
                for piece in part["thinking"]:
                    self._think("", piece.get("text") or "")
            elif part["type"] == "text":
                text.append(part["text"])
        return "".join(text)

    def _take_detail(self, detail: Mapping[str, Any]) -> None:
        """Merge pieces of one block, which share type and index: it is sent back as one."""
        if self.stage == "waiting":
            self.stage = "thinking"
        last = self._details[-1] if self._details else {}
        if "data" in detail or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._join_details()
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _DETAIL_TEXTS:
                self._more.setdefault(key, []).append(value or "")
            elif value is not None:
                last[key] = value

    def _join_details(self) -> None:
        for key, pieces in self._more.items():
            self._details[-1][key] = (self._details[-1].get(key) or "") + "".join(pieces)
        self._more.clear()

    def _take_call(self, delta: Mapping[str, Any], place: int) -> None:
        self.stage = "answering"
        function = delta.get("function") or {}
        arguments = function.get("arguments") or ""
        call = self._call_of(delta, function.get("name") or "", place, begun=bool(arguments))
        if extra := delta.get("extra_content"):
            call.extra = extra
        if isinstance(arguments, str):
            call.add(arguments)
        else:  # an object, from servers that parse arguments
            call.arguments.clear()
            call.add(json.dumps(arguments, ensure_ascii=False))

    def _call_of(self, delta: Mapping[str, Any], name: str, place: int, *, begun: bool) -> _PartialCall:
        """Return the call that a piece belongs to: servers omit ids or indices, or repeat them and the names."""
        theirs, index = delta.get("id") or "", delta.get("index")
        last = next((call for call in reversed(self._calls) if index is None or call.index == index), None)
        if last is None:
            another = True
        elif not name or not last.name:
            another = False
        elif theirs and last.theirs:
            another = theirs != last.theirs
        elif index is None:
            another = place > 0 or name != last.name or (begun and last.is_whole())
        else:
            another = name != last.name and last.is_whole()
        if last is None or another:
            if len(self._calls) == MAX_TOOL_CALLS:
                raise ValueError("endless tool calls")
            last = _PartialCall(theirs, index)
            self._calls.append(last)
        last.name = last.name or name
        last.theirs = last.theirs or theirs
        return last

    def _raw(self, text: str, ours: tuple[ToolCall, ...], calls: list[_PartialCall]) -> Mapping[str, Any]:
        """Return the message to send back, with its thoughts and our ids."""
        raw: dict[str, Any] = {"role": "assistant", "content": text or None}
        for name, pieces in self._thoughts.items():
            if name:
                raw[name] = "".join(pieces)
            else:
                thought = [{"type": "text", "text": "".join(pieces)}]
                text_parts = [{"type": "text", "text": text}] if text else []
                raw["content"] = [{"type": "thinking", "thinking": thought}, *text_parts]
        self._join_details()
        if self._details:
            raw["reasoning_details"] = self._details
            raw.pop("reasoning", None)  # a duplicate
        if ours:
            raw["tool_calls"] = [
                {
                    "id": our.id,
                    "type": "function",
                    "function": {"name": our.name, "arguments": our.arguments},
                    **({"extra_content": call.extra} if call.extra else {}),
                }
                for our, call in zip(ours, calls, strict=True)
            ]
        return raw


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = _count((usage.get("prompt_tokens_details") or {}).get("cached_tokens")) or max(
        _count(usage.get("prompt_cache_hit_tokens")),  # DeepSeek
        _count(usage.get("cached_tokens")),  # Moonshot
    )
    # xAI and Gemini count thoughts only in the total.
    return Usage(read, max(written, _count(usage.get("total_tokens")) - read), min(cached, read))
