"""Pure: split a local model's output into thoughts, text for the person, and tool calls.

Reads calls as Hermes and Qwen write them (`<tool_call>{…}</tool_call>`, or `<function=…>` instead of the
JSON), Mistral (`[TOOL_CALLS][{…}]`, `[TOOL_CALLS]name[ARGS]{…}`) and Llama 3 (`<|python_tag|>{…}`, or the
bare object).
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bot.models.protocol import ToolCall, ToolSpec
from bot.models.tool_calls import new_call_id

_THOUGHTS = {"<think>": "</think>", "[THINK]": "[/THINK]"}
_TAG, _CLOSING_TAG = "<tool_call>", "</tool_call>"
_TOOL_CALLS = "[TOOL_CALLS]"
_OPENINGS = (_TAG, _TOOL_CALLS, "<|python_tag|>")
MARKS = frozenset({*_OPENINGS, _CLOSING_TAG, *_THOUGHTS, *_THOUGHTS.values(), "[CALL_ID]", "[ARGS]"})
"""Marks that the model may write as control tokens, and that we must still see."""

_BARE = ('{"name":"', '{"type":"function","name":"', '{"type":"function","function":"')
_BETWEEN_CALLS = " \t\r\n;,"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMED = re.compile(r"\s*([A-Za-z0-9_-]{1,64})\s*(?:\[CALL_ID\]\s*\w*\s*)?\[ARGS\]")
_MAYBE_NAMED = re.compile(r"\s*[A-Za-z0-9_-]{0,64}\s*(?:\[[\]\w]*)*")
_XML = re.compile(r"\s*<function=([A-Za-z0-9_-]{1,64})>(.*?)(?:</function>|\Z)", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([^>\s]{1,200})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_BROKEN = re.compile(
    r'"name"\s*:\s*"([A-Za-z0-9_-]{1,64})".*?(?:"(?:arguments|parameters)"\s*:\s*(.*))?\Z', re.DOTALL
)
_NOT_STRICT = json.JSONDecoder(strict=False)  # small models put raw line breaks into strings


class _ParsedCalls(NamedTuple):
    calls: tuple[ToolCall, ...]
    end: int
    """Index in the output at which the calls end."""


class OutputParser:
    """Reads the pieces as they come; holds back what may become a call until that is certain."""

    def __init__(self, tools: Sequence[ToolSpec] = (), *, in_thought: bool = False) -> None:
        """`in_thought`: the prompt ends inside an open thought."""
        self.calls: list[ToolCall] = []
        self.begun = False
        """Whether the answer itself has begun, after all thinking."""
        self._tools = {tool.name: tool.parameters for tool in tools}
        self._held = ""
        self._closing = _THOUGHTS["<think>"] if in_thought else ""
        self._blank = ""
        self._shown = False
        self._at_start = True

    def feed(self, piece: str) -> str:
        """Read a piece of output; return the text in it that is to be shown."""
        self._held += piece
        return self._advance(at_end=False)

    def end(self) -> str:
        """Finish after the model's last piece; return the remaining text."""
        return self._advance(at_end=True)

    def _advance(self, *, at_end: bool) -> str:
        shown = ""
        while self._held:
            before = len(self._held)
            shown += self._step(at_end=at_end)
            if len(self._held) == before:
                break
        return shown

    def _step(self, *, at_end: bool) -> str:
        """Consume part of the held text; return "" if more must come first."""
        if self._closing:
            self._skip_thinking()
            return ""
        if self._at_start:
            self._held = self._held.lstrip(_BETWEEN_CALLS if self.calls else None)
            if not self.begun and (mark := self._begins_with(_THOUGHTS)):
                self._closing, self._held = _THOUGHTS[mark], self._held[len(mark) :]
                return ""
            if not at_end and not self.begun and self._may_become(_THOUGHTS):
                return ""
            self.begun = self.begun or bool(self._held)
            if self._may_be_bare():
                return self._take_call("", at_end=at_end)
        if mark := self._begins_with(_OPENINGS):
            return self._take_call(mark, at_end=at_end)
        starts = [start for mark in _OPENINGS if (start := self._held.find(mark, 1)) > 0]
        return self._show(min(starts)) if starts else self._show(self._settled_length(at_end=at_end))

    def _begins_with(self, marks: Mapping[str, str] | Sequence[str]) -> str:
        return next((mark for mark in marks if self._held.startswith(mark)), "")

    def _may_become(self, marks: Mapping[str, str] | Sequence[str]) -> bool:
        return any(mark.startswith(self._held) for mark in marks)

    def _skip_thinking(self) -> None:
        _, closed, rest = self._held.partition(self._closing)
        if closed:
            self._closing, self._held = "", rest
        else:
            self._held = self._held[-len(self._closing) :]

    def _may_be_bare(self) -> bool:
        """Return whether the held text is, or may become, a call of one of our tools without any mark."""
        if not self._held.startswith("{"):
            return False
        compact = "".join(self._held.split())
        starts = (f'{start}{name}"' for start in _BARE for name in self._tools)
        return any(start.startswith(compact) or compact.startswith(start) for start in starts)

    def _settled_length(self, *, at_end: bool) -> int:
        """Return how much of the held text is certainly text."""
        if at_end:
            return len(self._held)
        longest = max(map(len, _OPENINGS)) - 1
        for start in range(max(0, len(self._held) - longest), len(self._held)):
            if any(mark.startswith(self._held[start:]) for mark in _OPENINGS):
                return start
        return len(self._held)

    def _show(self, length: int) -> str:
        """Consume text and return it; trailing blanks are held until more text follows, and dropped if none does."""
        text, self._held = self._held[:length], self._held[length:]
        bare = text.rstrip()
        if not bare:
            self._blank += text
            return ""
        shown = self._blank + bare
        self._blank = text[len(bare) :]
        self._shown, self._at_start = True, False
        return shown

    def _take_call(self, mark: str, *, at_end: bool) -> str:
        body = self._held[len(mark) :]
        found = _read_calls(mark, body, self._tools)
        if not found and (at_end or _is_no_call(mark, body)):
            found = _read_broken_call(body) if at_end else None
            if not found:  # then it is text, or at least its beginning is
                return self._show(len(mark) or 1)
        if found:
            rest = body[found.end :].lstrip()
            if mark == _TAG:
                if not at_end and len(rest) < len(_CLOSING_TAG) and _CLOSING_TAG.startswith(rest):
                    return ""
                rest = rest.removeprefix(_CLOSING_TAG)
            self._held = rest
            self._at_start = True
            self._blank = "\n\n" if self._shown else ""
            self.calls += found.calls
        return ""


def _read_calls(mark: str, body: str, tools: Mapping[str, Mapping[str, Any]]) -> _ParsedCalls | None:
    """Return the calls at the beginning of `body` once they are complete; else None."""
    if mark == _TAG and (xml := _XML.match(body)) and "</function>" in xml[0]:
        return _ParsedCalls((_call(xml[1], _xml_arguments(xml[2], tools.get(xml[1], {}))),), xml.end())
    named = _NAMED.match(body) if mark == _TOOL_CALLS else None
    start = named.end() if named else 0
    start += len(body[start:]) - len(body[start:].lstrip())
    try:
        value, end = _NOT_STRICT.raw_decode(body, start)
    except (ValueError, RecursionError):
        return None
    if named:
        return _ParsedCalls((_call(named[1], value),), end)
    calls = [_call_of(each) for each in (value if isinstance(value, list) else [value])]
    if not calls or None in calls:
        return None
    return _ParsedCalls(tuple(call for call in calls if call), end)


def _is_no_call(mark: str, body: str) -> bool:
    """Return whether no further text can complete a call."""
    start = body.lstrip()
    if not start:
        return False
    if mark == _TOOL_CALLS and start[0] not in "[{":
        return not (_NAMED.match(body) or _MAYBE_NAMED.fullmatch(body))
    if mark == _TAG and start[0] == "<":
        return not (start.startswith("<function=") or "<function=".startswith(start))
    if start[0] not in "[{":
        return True
    try:
        _NOT_STRICT.raw_decode(start)
    except (ValueError, RecursionError):
        return _CLOSING_TAG in body and '"name"' not in body
    return True  # JSON, but not a call


def _read_broken_call(body: str) -> _ParsedCalls | None:
    """Return a call with invalid JSON: the arguments are kept as they are, so that the model can be told."""
    block, closed, _ = body.partition(_CLOSING_TAG)
    if xml := _XML.match(block):
        return _ParsedCalls((_call(xml[1], _xml_arguments(xml[2], {})),), len(block) + len(closed))
    if (named := _NAMED.match(block)) and (written := block[named.end() :].strip()):
        return _ParsedCalls((_call(named[1], written),), len(block) + len(closed))
    if block.lstrip()[:1] in ("{", "[") and (broken := _BROKEN.search(block)):
        return _ParsedCalls((_call(broken[1], (broken[2] or "{").strip()),), len(block) + len(closed))
    return None


def _call_of(value: object) -> ToolCall | None:
    match value:
        case (
            {"function": {"name": str(name), **inner}}
            | {"name": str(name), **inner}
            | {
                "function": str(name),
                **inner,
            }
        ) if _NAME.fullmatch(name):
            return _call(name, inner.get("arguments", inner.get("parameters")))
    return None


def _call(name: str, arguments: object) -> ToolCall:
    """Return a call; a string as arguments is JSON as the model wrote it."""
    written = (
        arguments
        if isinstance(arguments, str)
        else json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    )
    return ToolCall(new_call_id(), name, written)


def _xml_arguments(body: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments between tags, typed by the tool's schema, since tags carry no types."""
    properties = schema.get("properties", {})
    return {
        name: _xml_value(value.removeprefix("\n").removesuffix("\n"), properties.get(name, {}))
        for name, value in _XML_PARAMETER.findall(body)
    }


def _xml_value(written: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type", "string") == "string":
        return written
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written
