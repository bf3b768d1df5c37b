"""Pure: the arguments of a tool call, as models write them."""

import json
import secrets
import string
from collections.abc import Iterable
from typing import Any

from bot.models.answer_bounds import is_nested_deeply
from bot.models.protocol import AssistantMessage, Message, ToolCall, UserMessage

ID_LETTERS = string.ascii_lowercase + string.digits
ID_LENGTH = 9
MAX_ARGUMENTS_CHARS = 4_000_000
"""Of one call, in characters of JSON: nobody else is served while it is read."""


def new_call_id() -> str:
    """An id that every provider takes; Mistral's form is the narrowest."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))


def parse_arguments(arguments: str) -> dict[str, Any]:
    """The JSON object that they are; raise ValueError where they are none. Nothing at all stands for none."""
    if len(arguments) > MAX_ARGUMENTS_CHARS:
        raise ValueError(f"{len(arguments):,} characters long, and {MAX_ARGUMENTS_CHARS:,} are read at most")
    try:
        values = json.loads(arguments) if arguments.strip() else {}
        if isinstance(values, str):  # encoded twice, as some models do
            values = json.loads(values)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if is_nested_deeply(values):
        raise ValueError("nested too deeply")
    if not isinstance(values, dict):
        raise NotAnObject(values)
    return values


class NotAnObject(ValueError):
    """JSON, but no object."""

    def __init__(self, value: object) -> None:
        super().__init__("no JSON object")
        self.value = value


def are_readable(calls: Iterable[ToolCall]) -> bool:
    """Whether the arguments of all of them are JSON objects."""
    for call in calls:
        try:
            parse_arguments(call.arguments)
        except ValueError:
            return False
    return True


def count_broken_steps(messages: Iterable[Message], *, model: str) -> int:
    """How many of the latest steps in a row, since the person spoke, were unreadable calls of this model."""
    count = 0
    for message in messages:
        match message:
            case UserMessage():
                count = 0
            case AssistantMessage(calls=calls):
                count = count + 1 if message.model == model and not are_readable(calls) else 0
    return count
