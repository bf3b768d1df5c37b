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
    length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return round(length / BYTES_A_TOKEN)


def tokens_of_message(message: Message) -> int:
    """Estimate what one message of a history costs."""
    # No `match`: it takes three times as long, and every message is counted in every call.
    if isinstance(message, ToolResult):
        return tokens_of_text(message.content) + MESSAGE_TOKENS
    tokens = tokens_of_text(message.text) + MESSAGE_TOKENS
    if isinstance(message, UserMessage):
        return tokens + IMAGE_TOKENS * len(message.images)
    for call in message.calls:
        tokens += tokens_of_text(call.name + call.arguments) + MESSAGE_TOKENS
    return tokens


def tokens_of_request(request: ModelRequest) -> int:
    """Estimate all that a model is shown for a step."""
    tools = sum(tokens_of_text(f"{tool.name}{tool.description}{tool.parameters}") for tool in request.tools)
    return tokens_of_text(request.system) + tools + sum(map(tokens_of_message, request.messages))
