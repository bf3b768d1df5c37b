"""What a language model is to the rest of the bot: a request goes in, text and tool calls stream out."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bot.models.errors import ModelError


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
class Image:
    """A picture that a person sent."""

    media_type: str
    """`image/jpeg`, `image/png` or `image/webp`, which every provider takes, or `image/gif`, which Gemini does not."""
    data: bytes


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person said."""

    text: str
    images: tuple[Image, ...] = ()
    speaker: str = ""
    """Whose name, with a colon, `text` begins with, where several people talk; blank elsewhere."""
    earlier: bool = False
    """Whether it stands for what was said before, as a summary does, and nobody says it now."""


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step exactly as its provider wrote it, with what no other understands: thoughts, signatures, reasoning.

    Its tool calls carry our ids. It is shown to the model that wrote it alone; every other is shown the text and
    the calls of the `AssistantMessage` that it belongs to.
    """

    kind: str
    """The protocol that it is written in, such as "anthropic"."""
    content: Mapping[str, Any]
    """JSON."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What a model answered in one step."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    """`provider/model` that wrote it."""
    raw: RawStep | None = None


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
    """All that the model read, from a cache or not."""
    output_tokens: int = 0
    """All that it wrote, thoughts included."""
    cached_tokens: int = 0
    """Part of `input_tokens` that came from the provider's cache, and cost little."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Everything that a model sees for one step."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    prefer: str = ""
    """`provider/model` to be asked first, where there is a choice."""
    begun: bool = False
    """Whether it is preferred for having begun this turn, and not because a person chose it."""
    may_shorten: bool = True
    """Where it fits no window: whether something of it may be left out; else ContextTooLong is raised."""
    told_no_model: bool = False
    """Whether the chat was told before that no language model answers."""
    language_model_only: bool = False
    """Whether only a language model may answer, and not what stands in where none does."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer that is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class StartedOver:
    """Another model answers from the beginning: the text that came before is void, and is to be replaced."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a stream that came to its end: the whole step."""

    message: AssistantMessage
    usage: Usage = Usage()
    cut_short: bool = False
    """True where the model had to end because its answer had reached the longest that it may have."""
    first_token_seconds: float = 0.0
    """From the asking to the first sign of the answer, be it a thought or a tool call."""
    tries: tuple[ModelError, ...] = ()
    """What was tried in vain before, or passed over because it had failed before; in order."""
    stands_in: bool = False
    """True where it is of what is no language model, since none of those answered."""


ModelEvent = TextDelta | StartedOver | Answer


class LanguageModel(Protocol):
    """Anything that answers a request, alone or made of others."""

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield text as it comes, then exactly one `Answer`; raise `ModelError` where there is none.

        The deltas since the last `StartedOver`, joined, are the answer's text. Closing the generator early ends
        the call.
        """
        ...
