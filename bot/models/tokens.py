"""Pure: how long a request is, in tokens, near enough to tell whether it fits."""

from bot.models.protocol import Message, ModelRequest, ToolResult, UserMessage

BYTES_A_TOKEN = 3.5
"""UTF-8. English has 4 to 4.5, Russian about 5, Chinese 3 to 4, JSON about 3 in OpenAI's o200k: rather too many."""
MESSAGE_TOKENS = 4
"""What stands around a message: its role, its beginning and end."""
IMAGE_TOKENS = 1000
"""Between OpenAI's 85 to 1,500 and Anthropic's width × height / 750 of a photo as it is sent."""


def tokens_of_text(text: str) -> int:
    """Estimate a text's tokens."""
    return round(_bytes_of(text) / BYTES_A_TOKEN)


def tokens_of_message(message: Message) -> int:
    """Estimate what one message of a history costs."""
    return round(_bytes_of_message(message) / BYTES_A_TOKEN)


def tokens_of_request(request: ModelRequest) -> int:
    """Estimate all that a model is shown for a step."""
    tools = (f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools)
    told = _bytes_of(request.system) + sum(map(_bytes_of, tools))
    return round((told + sum(map(_bytes_of_message, request.messages))) / BYTES_A_TOKEN)


# All of a conversation is counted in every call: no `match`, which takes three times as long, and no division before
# the end.
def _bytes_of_message(message: Message) -> float:
    if isinstance(message, ToolResult):
        return _bytes_of(message.content) + _AROUND
    length = _bytes_of(message.text) + _AROUND
    if isinstance(message, UserMessage):
        return length + len(message.images) * _IMAGE if message.images else length
    for call in message.calls:
        length += _bytes_of(call.name) + _bytes_of(call.arguments) + _AROUND
    return length


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_AROUND = MESSAGE_TOKENS * BYTES_A_TOKEN
_IMAGE = IMAGE_TOKENS * BYTES_A_TOKEN
