"""Tools for models: a tool is an async function; its signature and docstring describe it to the model."""

import inspect
import json
import logging
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import accumulate
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from bot.foreign_text import TurnReading
from bot.language.codes import ENGLISH
from bot.language.current import speaking
from bot.messages import ChatId, PersonId
from bot.models.protocol import ToolCall, ToolResult, ToolSpec
from bot.models.tool_calls import NotAnObject, parse_arguments
from bot.sanitize import cut
from bot.state.changes import ChangeOrigin
from bot.state.database import StateFault
from memory.errors import MemoryFault
from memory.surrogates import replace_surrogates

log = logging.getLogger(__name__)

RESULT_CHARS = 30_000
"""The longest result, in characters of JSON."""

TOOL_FAILED = "The tool failed, and your call is not the reason. Tell the person, and don't repeat the call."

MAX_NAME_CHARS = 60
"""The longest unknown name for which a similar one is looked up."""
MAX_FAULTS_SHOWN = 5
"""The most faults of one call that are reported."""

TOO_LONG = "The result is too long; this is only its beginning. Ask for less."
TOO_LONG_LIST = "The result is too long: only the first {} of {} are shown."

ToolFunction = Callable[..., Awaitable[Mapping[str, Any]]]


class BadCall(Exception):
    """A call with wrong arguments; the text tells the model how to fix it."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Where a call comes from; a tool may have a parameter of this type, which models do not see."""

    key: str
    """Identifies the call: the same when it runs again after a crash."""
    chat: ChatId
    person: PersonId
    groups: tuple[str, ...] = ()
    """What counts for the person in this chat, as in IncomingMessage."""
    conversation: int | None = None
    """The conversation that the call is part of; None if it is part of none."""
    asked_at: int = 0
    """Seq of the first message that the turn answers."""
    model: str = ""
    """The model that made the call, as `provider/model`; "" if none did."""
    client: str = ""
    """Name of the program that made the call over MCP; "" if none did."""
    reading: TurnReading = field(default=TurnReading(), repr=False, compare=False)
    """What the model had read when it made the call."""

    @property
    def origin(self) -> ChangeOrigin:
        """The origin to record with changes to notes."""
        if self.client:
            return ChangeOrigin("mcp", client=self.client)
        return ChangeOrigin(
            "tool",
            person=str(self.person),
            chat=str(self.chat),
            conversation=self.conversation or 0,
            asked_at=self.asked_at,
            model=self.model,
        )


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call; made by `tool`."""

    spec: ToolSpec
    arguments: type[BaseModel]
    function: ToolFunction
    wants_use: str = ""
    """The name of the parameter for the ToolUse; "" for none."""

    async def run(self, arguments: str, use: ToolUse) -> Mapping[str, Any]:
        """Run with arguments as JSON text. Raises BadCall if they are invalid."""
        values = self.validate(_parse_arguments(arguments))
        return await self.function(**values, **({self.wants_use: use} if self.wants_use else {}))

    def validate(self, values: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
        """Return the arguments as the function takes them; None counts as absent. Raises BadCall.

        `strict`: accept exact types only, as programs send them; models often write "5" for 5.
        """
        known = self.spec.parameters["properties"]
        given = {
            name: replace_surrogates(value) if isinstance(value, str) else value
            for name, value in values.items()
            if value is not None or (strict and name not in known)
        }
        try:
            return dict(self.arguments.model_validate(given, strict=strict))
        except ValidationError as error:
            raise BadCall(self._describe_errors(error)) from error

    def _describe_errors(self, error: ValidationError) -> str:
        known: Mapping[str, Any] = self.spec.parameters["properties"]
        faults = []
        for fault in error.errors(include_url=False)[:MAX_FAULTS_SHOWN]:
            name = _shorten(".".join(str(part) for part in fault["loc"]))
            if fault["type"] == "missing":
                faults.append(f"{name} is missing")
            elif fault["type"] == "extra_forbidden":
                faults.append(f"{name} is not a parameter{did_you_mean(str(fault['loc'][0]), known)}")
            else:
                reason = fault["msg"].replace("Input should", "should")
                faults.append(f"{name} {reason}, not {_shorten(fault['input'])}")
        return f"{'; '.join(faults)}. {self.usage}"

    @property
    def usage(self) -> str:
        """A sentence that lists its parameters."""
        required = self.spec.parameters.get("required", ())
        told = [
            f"{name} ({_type_name(schema)}{'' if name in required else ', optional'})"
            for name, schema in self.spec.parameters["properties"].items()
        ]
        return f"{self.spec.name} takes {', '.join(told) or 'no arguments'}."


class Toolbox:
    """The tools of a turn."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            if each.spec.name in self._tools:
                raise ValueError(f"two tools are called {each.spec.name}")
            self._tools[each.spec.name] = each
        self.specs = tuple(each.spec for each in self._tools.values())

    async def run(self, call: ToolCall, use: ToolUse) -> ToolResult:
        """Run one call; report any failure in the result, as JSON with an "error".

        Results are for the model and stay in the conversation, so they are in English whoever asks.
        """
        with speaking(ENGLISH):
            return await self._run(call, use)

    async def _run(self, call: ToolCall, use: ToolUse) -> ToolResult:
        try:
            content = _encode_result(await self._tool(call.name).run(call.arguments, use))
        except (BadCall, MemoryFault, StateFault) as error:
            return ToolResult(call.id, call.name, _json({"error": str(error)}), failed=True)
        except Exception:
            log.exception("the tool %s failed", call.name)
            return ToolResult(call.id, call.name, _json({"error": TOOL_FAILED}), failed=True)
        return ToolResult(call.id, call.name, content)

    def _tool(self, name: str) -> Tool:
        if name in self._tools:
            return self._tools[name]
        raise BadCall(
            f"There is no tool {_shorten(name)}{did_you_mean(name, self._tools) or '.'} "
            f"The tools are: {', '.join(self._tools) or 'none'}."
        )


def without_parameter(known: Tool, name: str, *, description: str) -> Tool:
    """Return a tool that has no such parameter, which its function does not need."""
    parameters = known.spec.parameters
    kept = {each: schema for each, schema in parameters["properties"].items() if each != name}
    fields: dict[str, Any] = {
        each: (field.annotation, field)
        for each, field in known.arguments.model_fields.items()
        if each != name
    }
    spec = replace(known.spec, description=description, parameters={**parameters, "properties": kept})
    return replace(known, spec=spec, arguments=create_model(known.spec.name, __config__=_CONFIG, **fields))


def tool(function: ToolFunction) -> Tool:
    """Make a tool from the name, docstring and annotated parameters of an async function."""
    told = (function.__module__, function.__qualname__, function.__doc__, str(inspect.signature(function)))
    if told not in _declared:
        _declared[told] = _declare(function)
    return replace(_declared[told], function=function)


_declared: dict[tuple[str | None, ...], Tool] = {}
"""Cached by description: pydantic takes 5 ms per tool, and every assistant has the same tools."""


def _declare(function: ToolFunction) -> Tool:
    parameters = inspect.signature(function, eval_str=True).parameters
    wants_use = next((name for name, each in parameters.items() if each.annotation is ToolUse), "")
    fields: dict[str, Any] = {
        name: (each.annotation, ... if each.default is each.empty else each.default)
        for name, each in parameters.items()
        if name != wants_use
    }
    name = function.__name__
    arguments = create_model(name, __config__=_CONFIG, **fields)
    description = " ".join((function.__doc__ or "").split())
    return Tool(ToolSpec(name, description, _schema(arguments)), arguments, function, wants_use)


# Lenient where models often err ("5" for 5, 5 for "5"), but unknown parameters are errors.
_CONFIG = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema in its simplest form, which every provider accepts and costs few tokens."""
    whole = arguments.model_json_schema()
    if "$defs" in whole:
        raise TypeError(
            f"{arguments.__name__}: a parameter has a type of its own name; use Literal for a closed set"
        )
    properties = {name: _plain(schema) for name, schema in whole.get("properties", {}).items()}
    return {"type": "object", "properties": properties, "required": whole.get("required", [])}


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    plain = {
        key: value for key, value in schema.items() if key != "title" and (key, value) != ("default", None)
    }
    kinds = [kind for kind in plain.pop("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) > 1:
        raise TypeError(f"a parameter of several types: {kinds}")
    return {**kinds[0], **plain} if kinds else plain


def _parse_arguments(arguments: str) -> dict[str, Any]:
    try:
        return parse_arguments(arguments)
    except NotAnObject as error:
        raise BadCall(f"The arguments must be one JSON object, not {_shorten(error.value)}.") from error
    except ValueError as error:
        raise BadCall(f"The arguments are not valid JSON ({error}); send one JSON object.") from error


def _encode_result(result: Mapping[str, Any]) -> str:
    """Return a result as JSON of at most RESULT_CHARS; drop items of its first list, or cut its end."""
    text = _json(result)
    if len(text) <= RESULT_CHARS:
        return text
    for name, items in result.items():
        if isinstance(items, list | tuple) and (count := _count_fitting(result, name, items)):
            return _json({**result, name: items[:count], "note": TOO_LONG_LIST.format(count, len(items))})
    length = RESULT_CHARS
    while len(shorter := _json({"note": TOO_LONG, "beginning": text[:length]})) > RESULT_CHARS:
        length -= len(shorter) - RESULT_CHARS  # may cut too much: an escaped quote takes two characters
    return shorter


def _count_fitting(result: Mapping[str, Any], name: str, items: Sequence[Any]) -> int:
    """Return how many of the first items fit into a result of RESULT_CHARS."""
    empty = {**result, name: [], "note": TOO_LONG_LIST.format(len(items), len(items))}
    room = RESULT_CHARS - len(_json(empty))
    return bisect_right(list(accumulate(len(_json(item)) + 2 for item in items)), room)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to append to an unknown name; "" if no known name is similar."""
    near = get_close_matches(name[:MAX_NAME_CHARS], known, n=1, cutoff=0.5)
    return f'; did you mean "{near[0]}"?' if near else ""


def _type_name(schema: Mapping[str, Any]) -> str:
    return (
        " or ".join(json.dumps(value) for value in schema["enum"])
        if "enum" in schema
        else str(schema.get("type", "any"))
    )


def _shorten(value: object) -> str:
    text = replace_surrogates(json.dumps(value, ensure_ascii=False, default=str))
    return cut(text, 60)
