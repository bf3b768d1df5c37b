"""What a language model is to the rest of the bot: a request goes in, text and tool calls stream out."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from bot.messages import Quoted
from bot.models.errors import ModelError


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as described to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of an object."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool."""

    id: str
    """Nine characters of `[a-z0-9]`: the one form that every provider accepts (Mistral's is the narrowest)."""
    name: str
    arguments: str
    """JSON, exactly as the model wrote it; it may be malformed."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a person sent."""

    media_type: str
    """`image/jpeg`, `image/png` or `image/webp`, which every provider accepts, or `image/gif`, which Gemini rejects."""
    data: bytes


@dataclass(frozen=True, slots=True)
class AttachedText:
    """An attachment as text: what it says, or why that is not shown."""

    heading: str
    """What it is, in one line without brackets: `document 12: report.pdf (PDF, 1.2 MB). …`."""
    content: str = ""
    mark: str = ""
    """Random letters around the content, which does not contain them; "" if no content is shown or it is spoken."""
    number: int | None = None
    """Number by which the document can be filed in the memory."""
    spoken: bool = False
    """Whether it is the person's own voice message, so that the content is their own words."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person said. Providers get it as the text that `user_text` makes of all fields, and `recalled` below."""

    text: str
    """The person's own words; with `forwarded_from`, somebody else's."""
    images: tuple[Image, ...] = ()
    speaker: str = ""
    """Who said it, if several people talk; else blank."""
    earlier: bool = False
    """Whether it stands for earlier conversation, such as a summary."""
    quoted: Quoted | None = None
    """What it replies to."""
    forwarded_from: str = ""
    """Author of forwarded words."""
    documents: tuple[AttachedText, ...] = ()
    """What came with it, apart from images, in the order in which it was sent."""
    said_on: date | None = None
    """The day, if a model should see it."""
    recalled: str = ""
    """Passages of the notes, as long as the turn runs that this begins: below everything else, and never stored with
    it. They stand behind the last cache mark, since the next turn does not show them any more."""


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step exactly as its provider wrote it, with content that only the provider understands.

    Such content is thoughts, signatures and reasoning. Its tool calls carry our ids. It is sent only to the
    model that wrote it; others get the text and the calls of its `AssistantMessage`.
    """

    kind: str
    """Protocol of the content, such as "anthropic"."""
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
    says: tuple[str, ...] = ()
    """Whose words the text repeats, of what the turn has read: documents, authors of forwarded messages."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of one tool call."""

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
    """Everything the model read, cached or not."""
    output_tokens: int = 0
    """Everything it wrote, thoughts included."""
    cached_tokens: int = 0
    """Part of `input_tokens` that came from the provider's cache at a lower price."""

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
    """`provider/model` to ask first, if there is a choice."""
    begun: bool = False
    """Whether it is preferred because it began this turn, not because a person chose it."""
    may_shorten: bool = True
    """Whether parts may be left out if the request fits no window; else ContextTooLong is raised."""
    told_no_model: bool = False
    """Whether the chat has already been told that no language model answers."""
    language_model_only: bool = False
    """Whether only a language model may answer, and not the last resort."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the running answer."""

    text: str


@dataclass(frozen=True, slots=True)
class StartedOver:
    """Another model starts over: discard the text received so far."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a complete stream: the whole step."""

    message: AssistantMessage
    usage: Usage = Usage()
    cut_short: bool = False
    """Whether the model stopped because it reached its maximum answer length."""
    first_token_seconds: float = 0.0
    """From the request to the first sign of an answer, including a thought or a tool call."""
    tries: tuple[ModelError, ...] = ()
    """Failed attempts before the answer, and models skipped for earlier failures; in order."""
    stands_in: bool = False
    """Whether the last resort answered because no language model did."""


ModelEvent = TextDelta | StartedOver | Answer


class LanguageModel(Protocol):
    """Anything that answers a request, alone or by asking other models."""

    @property
    def name(self) -> str:
        """`provider/model`, as in the chain."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield text as it comes, then exactly one `Answer`. Raises `ModelError` if there is none.

        The deltas since the last `StartedOver`, joined, are the answer's text. Closing the generator early
        ends the call.
        """
        ...
