"""Pure: how long a request is, in tokens, near enough to tell whether it fits."""

import json

from bot.models.protocol import AssistantMessage, Message, ModelRequest, ToolResult, UserMessage

BYTES_A_TOKEN = 3.5
"""UTF-8. English has 4 to 4.5, Russian about 5, Chinese 3 to 4, JSON about 3 in OpenAI's o200k: rather too many."""
MESSAGE_TOKENS = 4
"""What stands around a message: its role, its beginning and end."""
IMAGE_TOKENS = 1000
"""Between OpenAI's 85 to 1,500 and Anthropic's width × height / 750 of a photo as it is sent."""


def tokens_of_text(text: str) -> int:
    """Estimate a text's tokens."""
    return round(len(text.encode("utf-8", "replace")) / BYTES_A_TOKEN)


def tokens_of_message(message: Message) -> int:
    """Estimate what one message of a history costs."""
    match message:
        case UserMessage(text, images):
            tokens = tokens_of_text(text) + IMAGE_TOKENS * len(images)
        case AssistantMessage(text, calls):
            tokens = tokens_of_text(text) + sum(
                tokens_of_text(call.name + call.arguments) + MESSAGE_TOKENS for call in calls
            )
        case ToolResult(content=content):
            tokens = tokens_of_text(content)
    return tokens + MESSAGE_TOKENS


def tokens_of_request(request: ModelRequest) -> int:
    """Estimate all that a model is shown for a step."""
    tools = sum(
        tokens_of_text(tool.name + tool.description + json.dumps(dict(tool.parameters)))
        for tool in request.tools
    )
    return tokens_of_text(request.system) + tools + sum(map(tokens_of_message, request.messages))
