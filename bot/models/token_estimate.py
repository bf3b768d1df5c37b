"""Pure: estimate a request's length in tokens, accurately enough to tell whether it fits."""

from bot.models.protocol import Message, ModelRequest, ToolResult, UserMessage
from bot.models.user_text import user_text

BYTES_A_TOKEN = 3.5
"""UTF-8 bytes per token. In OpenAI's o200k English has 4 to 4.5, Russian about 5, Chinese 3 to 4, JSON about
3: this errs towards too many tokens."""
MESSAGE_TOKENS = 4
"""Overhead of one message: its role and delimiters."""
IMAGE_TOKENS = 1000
"""Between OpenAI's 85 to 1,500 and Anthropic's width × height / 750 of a photo as it is sent."""


def estimate_text_tokens(text: str) -> int:
    """Return the estimated tokens of a text."""
    return round(_count_bytes(text) / BYTES_A_TOKEN)


def estimate_message_tokens(message: Message) -> int:
    """Return the estimated tokens of one message of a history."""
    return round(_count_message_bytes(message) / BYTES_A_TOKEN)


def estimate_request_tokens(request: ModelRequest) -> int:
    """Return the estimated tokens of everything a model is sent for a step."""
    tools = (f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools)
    told = _count_bytes(request.system) + sum(map(_count_bytes, tools))
    return round((told + sum(map(_count_message_bytes, request.messages))) / BYTES_A_TOKEN)


# Runs over the whole conversation in every call: no `match`, which takes three times as long, and one
# division at the end.
def _count_message_bytes(message: Message) -> float:
    if isinstance(message, ToolResult):
        return _count_bytes(message.content) + _MESSAGE_BYTES
    if isinstance(message, UserMessage):
        length = _count_bytes(user_text(message)) + _count_bytes(message.recalled) + _MESSAGE_BYTES
        return length + len(message.images) * _IMAGE_BYTES if message.images else length
    length = _count_bytes(message.text) + _MESSAGE_BYTES
    for call in message.calls:
        length += _count_bytes(call.name) + _count_bytes(call.arguments) + _MESSAGE_BYTES
    return length


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_MESSAGE_BYTES = MESSAGE_TOKENS * BYTES_A_TOKEN
_IMAGE_BYTES = IMAGE_TOKENS * BYTES_A_TOKEN
