"""The interface between `HttpModel` and the providers."""

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
    """Return the error type for an HTTP status."""
    return _STATUS.get(status) or (ServerFailed if status >= 500 else BadRequest)


class ErrorEvent(Exception):
    """An error that arrived as an event in the middle of an answer; the status in `failure` may be a guess."""

    def __init__(self, failure: HttpFailure) -> None:
        super().__init__(failure.status)
        self.failure = failure


class AnswerReader(Protocol):
    """Assembles one answer. May raise `ErrorEvent`, `ModelError`, LookupError, TypeError and ValueError anywhere."""

    @property
    def stage(self) -> AnswerStage:
        """`thinking` after the first token of any kind, `answering` after the first of text or a call."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the provider has marked the end; anything after it is ignored."""
        ...

    def read(self, event: bytes) -> str:
        """Read one event's data and return the text in it that is to be shown."""
        ...

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        """Read an answer that came in one piece, from a server that does not stream; return its text."""
        ...

    def answer(self) -> Answer:
        """Return the whole answer.

        Raises CutOff if the provider has not marked its end, EmptyAnswer if nothing came.
        """
        ...


class ChatDialect(Protocol):
    """What differs between providers: URLs, headers, requests, answers and errors."""

    @property
    def url(self) -> str:
        """URL that requests are posted to."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of each request; they hold the key, which is never in the URL."""
        ...

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        """Return the request as the provider takes it."""
        ...

    def reader(self) -> AnswerReader:
        """Return a reader for one answer."""
        ...

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        """Return what the provider's own error type or code means; None leaves it to the status."""
        ...

    def adapt(self, failure: HttpFailure) -> bool:
        """Learn from a rejected request; return whether to repeat it in another form, now and in future."""
        ...
