"""The seam between `HttpModel` and the providers: what each says for itself."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
)
from bot.models.protocol import Answer, ModelRequest
from memory.http_responses import HttpFailure

_STATUS: Mapping[int, type[ModelError]] = {
    401: BadKey,
    402: OutOfCredit,
    403: BadKey,
    404: ModelNotFound,
    408: TimedOut,
    413: ContextTooLong,
    429: RateLimited,
    499: ServerFailed,
    529: Overloaded,
}

AnswerStage = Literal["waiting", "thinking", "answering"]


def kind_of_status(status: int) -> type[ModelError]:
    """What an HTTP status alone says."""
    return _STATUS.get(status) or (ServerFailed if status >= 500 else BadRequest)


class ErrorEvent(Exception):
    """An error that came as an event, in the middle of an answer; its failure's status may be a guess."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(failure.status)
        self.failure = failure


class AnswerReader(Protocol):
    """Puts one answer together. May raise `ErrorEvent`, `ModelError`, LookupError, TypeError and ValueError at will."""

    @property
    def stage(self) -> AnswerStage:
        """`thinking` after the first token of any kind, `answering` after the first of text or of a call."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the provider has said that nothing more comes; what follows is not read."""
        ...

    def read(self, event: bytes) -> str:
        """Take in the data of one event; give the text in it that is to be shown."""
        ...

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Take in an answer that came in one piece, from a server that does not stream."""
        ...

    def answer(self) -> Answer:
        """Give all of it; raise CutOff where the provider has not said that it is whole, EmptyAnswer for nothing."""
        ...


class ChatDialect(Protocol):
    """What is a provider's own: where it is asked, how, and what its answers and errors look like."""

    @property
    def url(self) -> str:
        """Where requests are posted to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What goes with each request; the key is here, never in the URL."""
        ...

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """The request as the provider takes it."""
        ...

    def reader(self) -> AnswerReader:
        """Begin to read an answer."""
        ...

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        """What the provider's own error type or code means; None leaves it to the status."""
        ...

    def adapt(self, failure: HttpFailure) -> bool:
        """Learn from a refusal: whether the same request is worth asking again in another form, now and in future."""
        ...
