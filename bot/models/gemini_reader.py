"""Assemble an answer that streams in Gemini's format."""

import json
from collections.abc import Mapping
from typing import Any, Final

from bot.models.answer_bounds import MAX_TOOL_CALLS, tokens
from bot.models.dialect import AnswerStage, ErrorEvent
from bot.models.errors import BadRequest, ContentRefused, CutOff, EmptyAnswer, ModelError
from bot.models.protocol import Answer, AssistantMessage, RawStep, ToolCall, Usage
from bot.models.tool_calls import new_call_id
from memory.http_responses import HttpFailure, parse_google_retry_delay

KIND = "gemini"

_REFUSED = (ContentRefused, "will not answer this")
_BROKEN_CALL = (EmptyAnswer, "sent a tool call that cannot be read")
_ENDED_BADLY: Mapping[object, tuple[type[ModelError], str]] = {
    "SAFETY": _REFUSED,
    "RECITATION": _REFUSED,
    "LANGUAGE": _REFUSED,
    "BLOCKLIST": _REFUSED,
    "PROHIBITED_CONTENT": _REFUSED,
    "SPII": _REFUSED,
    "MODEL_ARMOR": _REFUSED,
    "IMAGE_SAFETY": _REFUSED,
    "IMAGE_PROHIBITED_CONTENT": _REFUSED,
    "IMAGE_RECITATION": _REFUSED,
    # A retry usually succeeds; text beside such a call is debris of it.
    "MALFORMED_FUNCTION_CALL": _BROKEN_CALL,
    "UNEXPECTED_TOOL_CALL": _BROKEN_CALL,
    "TOO_MANY_TOOL_CALLS": _BROKEN_CALL,
    "MALFORMED_RESPONSE": (EmptyAnswer, "sent an answer that cannot be read"),
    "MISSING_THOUGHT_SIGNATURE": (BadRequest, "is missing the signature of a thought"),
}
_PLAIN = frozenset({"text", "thought"})


class GeminiReader:
    """One answer; `stage` and `ended` as in `AnswerReader`."""

    ended: Final = False
    """Always False: old models and gateways send STOP with every piece, or before the first."""

    def __init__(self) -> None:
        self.stage: AnswerStage = "waiting"
        self._finish: str | None = None
        self._text: list[str] = []
        self._calls: list[ToolCall] = []
        self._parts: list[dict[str, Any]] = []
        self._more: list[str] = []
        """Text pieces of the last part, joined late: joining each time would copy all of them."""
        self._usage: Mapping[str, object] = {}

    def read(self, event: bytes) -> str:
        """Read one piece, or a list of them, and return its text."""
        found = json.loads(event.decode())
        return "".join(map(self.read_whole, found)) if isinstance(found, list) else self.read_whole(found)

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Read one piece, which may be the whole answer, and return its text.

        Raises ContentRefused or ErrorEvent.
        """
        if "error" in fields:
            raise ErrorEvent(_parse_failure(fields))
        if usage := fields.get("usageMetadata"):
            self._usage = usage
        if reason := (fields.get("promptFeedback") or {}).get("blockReason"):
            raise ContentRefused(f"will not answer this: {reason}")
        candidates = fields.get("candidates")
        if not candidates:
            return ""
        candidate = candidates[0]
        self._finish = candidate.get("finishReason") or self._finish
        parts = (candidate.get("content") or {}).get("parts")
        return "".join(map(self._add_part, parts)) if parts else ""

    def answer(self) -> Answer:
        """Return the whole answer.

        Raises ContentRefused, CutOff, EmptyAnswer or the error that the finish reason means.
        """
        if self._finish in _ENDED_BADLY:
            kind, words = _ENDED_BADLY[self._finish]
            raise kind(f"{words}: {self._finish}")
        if self._finish is None:
            raise (
                CutOff("stopped in the middle of its answer") if self._parts else EmptyAnswer("sent nothing")
            )
        text = "".join(self._text)
        if not self._calls and not text.strip():
            raise EmptyAnswer(f"sent an empty answer: {self._finish}")
        self._join()
        raw = RawStep(KIND, {"parts": self._parts})
        message = AssistantMessage(text, tuple(self._calls), raw=raw)
        # An answer with an unknown finish reason is not complete either.
        return Answer(message, self._total_usage(), cut_short=self._finish != "STOP")

    # -- pieces -------------------------------------------------------------------------------------------

    def _add_part(self, part: dict[str, Any]) -> str:
        if "functionCall" in part:
            self._add_call(part)
            return ""
        self._store_part(part)
        text: str = part.get("text") or ""
        if not text or part.get("thought"):
            if self.stage == "waiting":
                self.stage = "thinking"
            return ""
        self.stage = "answering"
        self._text.append(text)
        return text

    def _add_call(self, part: Mapping[str, Any]) -> None:
        if len(self._calls) == MAX_TOOL_CALLS:
            raise ValueError("endless tool calls")
        call = part["functionCall"]
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        ours = ToolCall(new_call_id(), call["name"], arguments)
        self._calls.append(ours)
        self._join()
        self._parts.append({**part, "functionCall": {**call, "id": ours.id}})
        self.stage = "answering"

    def _store_part(self, part: dict[str, Any]) -> None:
        """Append pieces of one text to one part; a part with a signature stays separate, in its place."""
        if part.keys() <= _PLAIN:
            if not part.get("text"):  # Gemini sends empty text but rejects it
                return
            last = self._parts[-1] if self._parts else {}
            if last.keys() == part.keys() and last.get("thought") == part.get("thought"):
                self._more.append(part["text"])
                return
        self._join()
        self._parts.append(part)

    def _join(self) -> None:
        if self._more:
            self._parts[-1]["text"] += "".join(self._more)
            self._more.clear()

    def _total_usage(self) -> Usage:
        read, written, thought, cached = (
            tokens(self._usage.get(name))
            for name in (
                "promptTokenCount",
                "candidatesTokenCount",
                "thoughtsTokenCount",
                "cachedContentTokenCount",
            )
        )
        return Usage(read, written + thought, min(cached, read))


def _parse_failure(fields: Mapping[str, Any]) -> HttpFailure:
    error = fields["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    return HttpFailure(code if isinstance(code, int) else 500, fields, parse_google_retry_delay(fields))
