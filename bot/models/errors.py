"""Why a model gave no answer, as types: whoever reacts asks for the type and never reads the words.

One place reads words, `overflow`, and makes them a type.

ModelError
├── RateLimited        rate_limit        429, or an exhausted quota that comes back by waiting; may carry `retry_after`
├── Overloaded         overloaded        529, 503 of a provider that says so
├── ServerFailed       server            other 5xx, and whatever else broke on their side
├── TimedOut           timeout           no first token, or silence, for too long; 408
├── Unreachable        network           refused, reset, no such host
│   └── CutOff         network           the connection ended in the middle of the answer
├── BadKey             auth              401, 403: missing, wrong, or not allowed to use this model
├── OutOfCredit        billing           402, or a quota that waiting does not renew
├── ContextTooLong     context_length    the request does not fit the model's window
│   └── PerhapsTooLong bad_request       a long request was refused without a reason: it is tried once with less
├── ModelNotFound      not_found         404, or an error code that says so
├── BadRequest         bad_request       other 4xx: our own mistake, or a feature that the model lacks
├── ContentRefused     refused           the provider will not answer this
├── EmptyAnswer        empty             nothing, or nothing readable, came back
├── BrokenToolCall     broken_tool_call  arguments that are no JSON, time after time
└── NoModelAnswered    -                 all of them failed; carries every try
"""

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar


class ModelError(Exception):
    """A model did not answer; `kind` is the class's name in `[models.on_error]`.

    `detail` is one line for the owner's log, with no secret in it. `mend` is what to do about it, in words of ours that
    anybody may see; "" where nothing can be said.
    """

    kind: ClassVar[str] = ""
    mend: str = ""

    def __init__(self, detail: str, *, model: str = "", retry_after: float | None = None) -> None:
        """`retry_after`: seconds after which the provider wants to be asked again, where it said so."""
        super().__init__(detail)
        self.detail = detail
        self.model = model
        self.retry_after = retry_after


class RateLimited(ModelError):
    """Too many requests, or tokens, in a time."""

    kind = "rate_limit"


class Overloaded(ModelError):
    """The provider is too busy for anybody."""

    kind = "overloaded"


class ServerFailed(ModelError):
    """The provider broke."""

    kind = "server"


class TimedOut(ModelError):
    """No first token, or no further one, within the limit."""

    kind = "timeout"


class Unreachable(ModelError):
    """No connection."""

    kind = "network"


class CutOff(Unreachable):
    """A connection that ended in the middle of the answer."""


class BadKey(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    kind = "auth"


class OutOfCredit(ModelError):
    """The account has nothing left."""

    kind = "billing"


class ContextTooLong(ModelError):
    """The request is larger than the model's window; `window` in tokens where the provider has named it."""

    kind = "context_length"

    def __init__(
        self, detail: str, *, model: str = "", retry_after: float | None = None, window: int | None = None
    ) -> None:
        super().__init__(detail, model=model, retry_after=retry_after)
        self.window = window


class PerhapsTooLong(ContextTooLong):
    """The provider refused a long request and gave no reason; its length may be the reason."""

    kind = "bad_request"


class ModelNotFound(ModelError):
    """The provider has no model of this name."""

    kind = "not_found"


class BadRequest(ModelError):
    """The provider found the request itself at fault; `unexplained` where it blames nothing in particular."""

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
    """The model went on calling tools with arguments that are no JSON."""

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
    """The class of a `kind` that was stored; ModelError itself for one that there is no more."""
    return _KINDS.get(kind, ModelError)
