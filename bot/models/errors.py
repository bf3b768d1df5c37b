"""Why a model gave no answer, as types: whoever reacts asks for the type and never reads the words.

ModelError
├── RateLimited        rate_limit      429; may carry `retry_after`
├── Overloaded         overloaded      529, 503
├── ServerFailed       server          other 5xx
├── TimedOut           timeout         no first token, or silence, for too long
├── Unreachable        network         refused, reset, no such host
├── BadKey             auth            401, 403
├── OutOfCredit        billing         402, insufficient quota
├── ContextTooLong     context_length  the request does not fit the model's window
├── ModelNotFound      not_found       404
├── BadRequest         bad_request     400: our own mistake, or a feature that the model lacks
├── ContentRefused     refused         the provider will not answer this
├── EmptyAnswer        empty           nothing, or nothing readable, came back
├── BrokenToolCall     broken_tool_call  arguments that are no JSON, time after time
└── NoModelAnswered    -               all of them failed; carries every try
"""

from collections.abc import Sequence
from typing import ClassVar


class ModelError(Exception):
    """A model did not answer; `kind` is the class's name in `[models.on_error]`."""

    kind: ClassVar[str] = ""

    def __init__(self, detail: str, *, model: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.model = model


class RateLimited(ModelError):
    """Too many requests; `retry_after` in seconds where the server said so."""

    kind = "rate_limit"

    def __init__(self, detail: str, *, model: str = "", retry_after: float | None = None) -> None:
        super().__init__(detail, model=model)
        self.retry_after = retry_after


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
    """No connection, or one that was cut."""

    kind = "network"


class BadKey(ModelError):
    """The key is missing, wrong, or not allowed to use this model."""

    kind = "auth"


class OutOfCredit(ModelError):
    """The account has nothing left."""

    kind = "billing"


class ContextTooLong(ModelError):
    """The request is larger than the model's window."""

    kind = "context_length"


class ModelNotFound(ModelError):
    """The provider has no model of this name."""

    kind = "not_found"


class BadRequest(ModelError):
    """The provider found the request itself at fault."""

    kind = "bad_request"


class ContentRefused(ModelError):
    """The provider will not answer this content."""

    kind = "refused"


class EmptyAnswer(ModelError):
    """The stream ended with neither text nor a tool call."""

    kind = "empty"


class BrokenToolCall(ModelError):
    """The model went on calling tools with arguments that are no JSON."""

    kind = "broken_tool_call"


class NoModelAnswered(ModelError):
    """Every model was tried; `tries` holds each failure in order."""

    def __init__(self, tries: Sequence[ModelError]) -> None:
        super().__init__(
            "; ".join(f"{error.model}: {error.detail}" for error in tries) or "no model is configured"
        )
        self.tries = tuple(tries)
