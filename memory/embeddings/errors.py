"""Why there is no vector, as types: whoever reacts asks for the type and never reads the words.

EmbeddingError
├── KeyRejected      401, 403: missing, wrong, or not allowed to use this model
├── OutOfCredit      402, or a quota that waiting does not renew
├── ModelUnknown     404: the service has no such model
│   └── NoModelInstalled  or none at all yet
├── LimitReached     429; may carry `retry_after`
├── RequestTooLarge  413, or too many texts: fewer at a time may pass
├── RequestRefused   other 4xx: a text, or a setting, that the service does not take
├── ServiceFailed    5xx
├── Unreachable      refused, reset, no such host, cut in the middle
├── TimedOut         no answer within the limit
├── AnswerUnusable   not what was asked for: count, length, NaN, no JSON
└── ModelUnusable    the local model cannot be loaded or run
"""


class EmbeddingError(Exception):
    """The text is one line with no secret in it, fit for status and log."""


class KeyRejected(EmbeddingError):
    """The key is missing or wrong, or may not use this model."""


class EmbeddingOutOfCredit(EmbeddingError):
    """The account has nothing left."""


class ModelUnknown(EmbeddingError):
    """The service has no model of this name."""


class NoModelInstalled(ModelUnknown):
    """The server has no embedding model yet; one that is installed later is found."""


class LimitReached(EmbeddingError):
    """Too many requests or tokens; `retry_after` in seconds where the service said so."""

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class RequestTooLarge(EmbeddingError):
    """Too many texts, or too much text, for one request."""


class RequestRefused(EmbeddingError):
    """The service does not take the request as it is."""


class ServiceFailed(EmbeddingError):
    """The service broke; may carry `retry_after` in seconds."""

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class EmbeddingUnreachable(EmbeddingError):
    """No connection, or one that was cut."""


class EmbeddingTimedOut(EmbeddingError):
    """No answer within the limit."""


class ResponseUnusable(EmbeddingError):
    """The answer is not what was asked for."""


class ModelUnusable(EmbeddingError):
    """The local model cannot be loaded or run; says what to mend."""
