"""Pure: read the arguments of tool calls as models write them."""

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
"""Maximum characters of one call's JSON: parsing it blocks everything else."""


def new_call_id() -> str:
    """Return a new id in Mistral's form, the narrowest, which every provider accepts."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))


def parse_arguments(arguments: str) -> dict[str, Any]:
    """Return the JSON object in `arguments`; an empty string counts as `{}`. Raises ValueError or NotAnObject."""
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
    """The arguments are JSON, but not an object."""

    def __init__(self, value: object) -> None:
        super().__init__("not a JSON object")
        self.value = value


def are_readable(calls: Iterable[ToolCall]) -> bool:
    """Return whether the arguments of all calls are JSON objects."""
    for call in calls:
        try:
            parse_arguments(call.arguments)
        except ValueError:
            return False
    return True


def count_broken_steps(messages: Iterable[Message], *, model: str) -> int:
    """Return how many of this model's latest steps in a row, since the person spoke, had unreadable calls."""
    count = 0
    for message in messages:
        match message:
            case UserMessage():
                count = 0
            case AssistantMessage(calls=calls):
                count = count + 1 if message.model == model and not are_readable(calls) else 0
    return count
