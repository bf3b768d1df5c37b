"""A model's own chat template: find out how it supports tools, and turn requests into prompts.

Templates are programs written by strangers, so they run in llama-cpp-python's jinja sandbox.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from bot.models.llama_cpp.chat import ChatMessage, as_plain_text, one_call_each, tools_of, without_system
from bot.models.llama_cpp.output_parser import OutputParser
from bot.models.protocol import ToolSpec
from memory.http_responses import one_line

_SYSTEM, _USER, _RESULT, _ANSWER, _NEXT = "sysword", "userword", "resultword", "answerword", "nextword"
_TOOL = ToolSpec(
    "toolword",
    "descword",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "a word"}},
        "required": ["query"],
    },
)


class Prompt(NamedTuple):
    """The text that the model is given to read."""

    text: str
    in_thought: bool
    """Whether it ends inside an open thought, which the model continues."""


class UnusableTemplate(Exception):
    """The template cannot take the request; the message says why."""


class ChatTemplate:
    """Probes by trial which messages its template supports, since templates do not declare it."""

    def __init__(self, template: str, *, tool_template: str = "", bos: str, eos: str) -> None:
        """`tool_template`: a second template that some models have for requests with tools. Raises UnusableTemplate."""
        make = import_module("llama_cpp.llama_chat_format").Jinja2ChatFormatter
        try:
            self._formatters = {
                (with_tools, to_answer): make(
                    template=(tool_template if with_tools else "") or template,
                    bos_token=bos,
                    eos_token=eos,
                    add_generation_prompt=to_answer,
                )
                for with_tools in (False, True)
                for to_answer in (False, True)
            }
        except Exception as error:
            raise UnusableTemplate(f"its chat template fails: {one_line(str(error))}") from error
        self._has_two = bool(tool_template)
        self.knows_tools = True
        self._native: Callable[[Sequence[ChatMessage]], list[ChatMessage]] = list
        if not self._takes(two_calls=True):
            self._native = one_call_each
            self.knows_tools = self._takes(two_calls=False)

    def prompt(
        self, messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]], settings: Mapping[str, Any]
    ) -> Prompt:
        """Return the request as the model was trained to read it; `settings` are variables for the template.

        Raises UnusableTemplate.
        """
        ways: list[tuple[list[ChatMessage], Sequence[dict[str, Any]]]] = []
        if self.knows_tools and (tools or not self._has_two):
            ways.append((self._native(messages), tools))
        words = as_plain_text(messages, tools)
        ways += [(words, ()), (without_system(words), ())]
        why = ""
        for way, natively in ways:
            try:
                text = self._render(way, natively, **settings)
            except UnusableTemplate as error:
                why = why or str(error)
            else:
                return Prompt(text, text.rstrip().endswith("<think>"))
        raise UnusableTemplate(why)

    def _render(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[dict[str, Any]],
        *,
        to_answer: bool = True,
        **more: Any,
    ) -> str:
        try:
            text: str = self._formatters[bool(tools), to_answer](
                messages=[*messages], tools=[*tools] or None, **more
            ).prompt
        except Exception as error:
            reason = one_line(str(error)) or type(error).__name__
            raise UnusableTemplate(f"its chat template fails: {reason}") from error
        return text

    def _takes(self, *, two_calls: bool) -> bool:
        """Return whether the template renders a step with tools completely, with calls that can be parsed back."""
        words = ("firstword", "secondword")[: 1 + two_calls]
        calls = [
            {
                "id": f"abcdefgh{number}",
                "type": "function",
                "function": {"name": _TOOL.name, "arguments": {"query": word}},
            }
            for number, word in enumerate(words)
        ]
        asked: list[ChatMessage] = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": _USER},
        ]
        step: ChatMessage = {"role": "assistant", "content": "", "tool_calls": calls}
        results: list[ChatMessage] = [
            {"role": "tool", "tool_call_id": call["id"], "name": _TOOL.name, "content": f"{_RESULT}{number}"}
            for number, call in enumerate(calls)
        ]
        rest: list[ChatMessage] = [
            {"role": "assistant", "content": _ANSWER},
            {"role": "user", "content": _NEXT},
        ]
        tools = tools_of([_TOOL])
        try:
            before = self._render(asked, tools)
            called = self._render([*asked, step], tools, to_answer=False)
            whole = self._render([*asked, step, *results, *rest], tools)
        except UnusableTemplate:
            return False
        expected = [_SYSTEM, _USER, _TOOL.description, _ANSWER, _NEXT]
        expected += [result["content"] for result in results]
        if not all(word in whole for word in expected):
            return False
        written = called.removeprefix(before) if called.startswith(before) else called.partition(_USER)[2]
        return _calls_in(written) == [{"query": word} for word in words]


def _calls_in(written: str) -> list[object]:
    """Return the arguments of the calls that are parsed from a model's output."""
    reader = OutputParser([_TOOL])
    reader.feed(written)
    reader.end()
    try:
        return [json.loads(call.arguments) for call in reader.calls if call.name == _TOOL.name]
    except ValueError:
        return []
