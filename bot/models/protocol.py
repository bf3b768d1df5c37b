"""What a language model is to the rest of the bot: a request goes in, text and tool calls stream out."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool run."""

    id: str
    """Nine characters of `[a-z0-9]`: the one form that every provider takes back (Mistral's is the narrowest)."""
    name: str
    arguments: str
    """JSON, exactly as the model wrote it; it may be malformed."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person said."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What a model answered in one step."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    """`provider/model` that wrote it."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back for one call."""

    call_id: str
    name: str
    content: str
    """JSON text."""
    failed: bool = False


Message = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the provider counted for one step."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that a model sees for one step."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer that is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a stream that came to its end: the whole step."""

    message: AssistantMessage
    usage: Usage = Usage()


class LanguageModel(Protocol):
    """Anything that answers a request, alone or made of others."""

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        """Yield text as it comes, then exactly one `Answer`; raise `ModelError` where there is none.

        The deltas, joined, are the answer's text. Closing the generator early ends the call.
        """
        ...
