"""Types for why a model gave no answer: callers check the type and never read the words.

Only `overflow` reads words, and turns them into a type.

ModelError
├── RateLimited        rate_limit        429, or a quota that renews by waiting; may carry `retry_after`
├── Overloaded         overloaded        529, or 503 from a provider that says so
├── ServerFailed       server            other 5xx, and any other failure on their side
├── TimedOut           timeout           no first token, or silence, for too long; 408
├── Unreachable        network           refused, reset, no such host
│   └── CutOff         network           the connection ended in the middle of the answer
├── BadKey             auth              401, 403: missing, wrong, or not allowed to use this model
├── OutOfCredit        billing           402, or a quota that does not renew by waiting
├── ContextTooLong     context_length    the request does not fit the model's window
│   └── PerhapsTooLong bad_request       a long request was rejected without a reason; retried once, shortened
├── ModelNotFound      not_found         404, or an error code that says so
├── BadRequest         bad_request       other 4xx: our own mistake, or a feature that the model lacks
├── ContentRefused     refused           the provider will not answer this
├── EmptyAnswer        empty             nothing, or nothing readable, came back
├── BrokenToolCall     broken_tool_call  arguments that are not JSON, several times in a row
└── NoModelAnswered    -                 all of them failed; carries every attempt
"""

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar


class ModelError(Exception):
    """A model did not answer; `kind` is the class's name in `[models.on_error]`.

    `detail` is one line for the owner's log, without secrets. `fix` says what to do about it, in our own
    words that anybody may see; "" if there is no advice.
    """

    kind: ClassVar[str] = ""
    fix: str = ""

    def __init__(self, detail: str, *, model: str = "", retry_after: float | None = None) -> None:
        """`retry_after`: seconds after which the provider asked to be called again; None if it named none."""
        super().__init__(detail)
        self.detail = detail
        self.model = model
        self.retry_after = retry_after


class RateLimited(ModelError):
    """Too many requests or tokens in a period."""

    kind = "rate_limit"


class Overloaded(ModelError):
    """The provider is too busy to serve anyone."""

    kind = "overloaded"


class ServerFailed(ModelError):
    """The provider failed."""

    kind = "server"


class TimedOut(ModelError):
    """No first token, or no further token, within the limit."""

    kind = "timeout"


class Unreachable(ModelError):
    """The provider could not be reached."""

    kind = "network"


class CutOff(Unreachable):
    """The connection ended in the middle of the answer."""


class BadKey(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    kind = "auth"


class OutOfCredit(ModelError):
    """The account has no credit left."""

    kind = "billing"


class ContextTooLong(ModelError):
    """The request is larger than the model's window; `window` in tokens if the provider named it."""

    kind = "context_length"

    def __init__(
        self, detail: str, *, model: str = "", retry_after: float | None = None, window: int | None = None
    ) -> None:
        super().__init__(detail, model=model, retry_after=retry_after)
        self.window = window


class PerhapsTooLong(ContextTooLong):
    """The provider rejected a long request without a reason; its length may be the reason."""

    kind = "bad_request"


class ModelNotFound(ModelError):
    """The provider has no model of this name."""

    kind = "not_found"


class BadRequest(ModelError):
    """The provider found the request itself at fault; `unexplained` if it named no reason."""

    kind = "bad_request"

    def __init__(
        self, detail: str, *, model: str = "", retry_after: float | None = None, unexplained: bool = False
    ) -> None:
        super().__init__(detail, model=model, retry_after=retry_after)
        self.unexplained = unexplained


class ContentRefused(ModelError):
    """The provider will not answer this content."""

    kind = "refused"


class EmptyAnswer(ModelError):
    """The stream ended with neither text nor a tool call, or with nothing that can be read."""

    kind = "empty"


class BrokenToolCall(ModelError):
    """The model kept calling tools with arguments that are not JSON."""

    kind = "broken_tool_call"


class NoModelAnswered(ModelError):
    """Every model was tried; `tries` holds each failure in order."""

    def __init__(self, tries: Sequence[ModelError]) -> None:
        alike = [(line, len(list(group))) for line, group in groupby(map(_line, tries))]
        told = (line if times == 1 else f"{line} ({times} times)" for line, times in alike)
        super().__init__("; ".join(told) or "no model is configured")
        self.tries = tuple(tries)


def _line(error: ModelError) -> str:
    return f"{error.model}: {error.detail}"


_KINDS = {
    error.kind: error
    for error in (
        RateLimited,
        Overloaded,
        ServerFailed,
        TimedOut,
        Unreachable,
        BadKey,
        OutOfCredit,
        ContextTooLong,
        ModelNotFound,
        BadRequest,
        ContentRefused,
        EmptyAnswer,
        BrokenToolCall,
    )
}


def error_of_kind(kind: str) -> type[ModelError]:
    """Return the class of a stored `kind`; ModelError for one that no longer exists."""
    return _KINDS.get(kind, ModelError)
