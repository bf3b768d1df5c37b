"""Pure: convert a request to the form of chat templates, rephrased if a template lacks a feature."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from bot.models.protocol import (
    AssistantMessage,
    Message,
    ModelRequest,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from bot.models.tool_calls import parse_arguments
from bot.models.user_text import user_text

ChatMessage = dict[str, Any]
"""`role`, `content`, and `tool_calls` or `tool_call_id`: the form that templates expect."""

EARLIER_PICTURE = "[a picture, which you cannot see]"

_HOW_TO_CALL = """You can call tools. Here they are, one per line, each with the JSON Schema of its arguments:
{tools}

To call one, write:
<tool_call>
{{"name": "the tool's name", "arguments": {{"argument": "value"}}}}
</tool_call>
and stop there; to call several, write several. Their results come between <tool_response> and </tool_response>.
If no tool is useful, just answer."""


def chat_of(request: ModelRequest) -> list[ChatMessage]:
    """Return the messages as a template takes them, the system prompt first.

    Raises ValueError for an image: local models here see none.
    """
    user_messages = [message for message in request.messages if isinstance(message, UserMessage)]
    if user_messages and user_messages[-1].images:
        raise ValueError("cannot see pictures")
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *_merge_consecutive(map(_chat_message, request.messages))]


def tools_of(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools as a template takes them."""
    return [{"type": "function", "function": _function(tool)} for tool in tools]


def one_call_each(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with one call per step, each followed by its result, for templates that allow only one."""
    results = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
    single: list[ChatMessage] = []
    for message in messages:
        for number, call in enumerate(message.get("tool_calls", ())):
            content = message["content"] if number == 0 else ""
            single.append({**message, "content": content, "tool_calls": [call]})
            if call["id"] in results:
                single.append(results[call["id"]])
        if message["role"] != "tool" and "tool_calls" not in message:
            single.append(message)
    return single


def as_plain_text(messages: Sequence[ChatMessage], tools: Sequence[dict[str, Any]]) -> list[ChatMessage]:
    """Return the messages as text, for templates without tools or with calls that we cannot parse."""
    told = [_as_plain_message(message) for message in messages]
    if tools:
        lines = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
        told.insert(0, {"role": "system", "content": _HOW_TO_CALL.format(tools=lines)})
        if told[1:] and told[1]["role"] == "system":
            first, second = told[:2]
            told[:2] = [{"role": "system", "content": f"{second['content']}\n\n{first['content']}"}]
    return _merge_consecutive(told)


def without_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with the system prompt inside the first user message, for templates without a system role."""
    if not messages or messages[0]["role"] != "system":
        return [*messages]
    return _merge_consecutive([{**messages[0], "role": "user"}, *messages[1:]])


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _chat_message(message: Message) -> ChatMessage:
    match message:
        case UserMessage(images=images):
            lines = [user_text(message), *[EARLIER_PICTURE] * len(images)]
            said = "\n".join(lines).strip("\n")
            return {"role": "user", "content": "\n\n".join(filter(None, (said, message.recalled)))}
        case AssistantMessage(text, ()):
            return {"role": "assistant", "content": text}
        case AssistantMessage(text, calls):
            return {"role": "assistant", "content": text, "tool_calls": [*map(_tool_call, calls)]}
        case ToolResult(call_id, name, content):
            return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


def _tool_call(call: ToolCall) -> dict[str, Any]:
    arguments: object
    try:
        arguments = parse_arguments(call.arguments)
    except ValueError:
        arguments = call.arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _as_plain_message(message: ChatMessage) -> ChatMessage:
    """Return a step or a result as an assistant or user would write it."""
    if message["role"] == "tool":
        result = json.dumps({"name": message["name"], "content": message["content"]}, ensure_ascii=False)
        return {"role": "user", "content": f"<tool_response>\n{result}\n</tool_response>"}
    calls = [
        f"<tool_call>\n{json.dumps(call['function'], ensure_ascii=False)}\n</tool_call>"
        for call in message.get("tool_calls", ())
    ]
    content = "\n".join(([message["content"]] if message["content"] else []) + calls)
    return {"role": message["role"], "content": content}


def _merge_consecutive(messages: Sequence[ChatMessage] | Iterator[ChatMessage]) -> list[ChatMessage]:
    """Merge consecutive messages of one role: many templates insist that user and assistant alternate."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and _are_plain(joined[-1], message):
            text = "\n\n".join(filter(None, (joined[-1]["content"], message["content"])))
            joined[-1] = {**message, "content": text}
        else:
            joined.append(message)
    return joined


def _are_plain(one: ChatMessage, other: ChatMessage) -> bool:
    return one["role"] == other["role"] != "tool" and "tool_calls" not in one and "tool_calls" not in other
