"""The reasons why there is no vector, as types; callers check the type and never parse the message.

EmbeddingError
├── KeyRejected             401, 403: missing, wrong, or not allowed to use this model
├── EmbeddingOutOfCredit    402, or a quota that waiting does not renew
├── ModelUnknown            404: the service has no such model
│   └── NoModelInstalled    the server has no embedding model yet
├── LimitReached            429; may carry `retry_after`
├── RequestTooLarge         413, or too many texts: fewer at a time may pass
├── RequestRefused          other 4xx: a text or a setting that the service does not accept
├── ServiceFailed           5xx
├── EmbeddingUnreachable    connection refused, reset or cut off, or no such host
├── EmbeddingTimedOut       no response within the limit
├── ResponseUnusable        not what was requested: count, length, NaN, no JSON
└── ModelUnusable           the local model cannot be loaded or run
"""

from memory.translatable import Translatable, TranslatableError


class EmbeddingError(TranslatableError):
    """Base class. The message is one line without secrets, fit for status and log."""


class KeyRejected(EmbeddingError):
    """The key is missing or wrong, or may not use this model."""


class EmbeddingOutOfCredit(EmbeddingError):
    """The account has no credit left."""


class ModelUnknown(EmbeddingError):
    """The service has no model of this name."""


class NoModelInstalled(ModelUnknown):
    """The server has no embedding model yet; one that is installed later will be found."""


class LimitReached(EmbeddingError):
    """Too many requests or tokens; `retry_after` in seconds if the service sent it."""

    def __init__(self, text: str, /, *, retry_after: float | None = None, **fields: object) -> None:
        super().__init__(text, **fields)
        self.retry_after = retry_after


class RequestTooLarge(EmbeddingError):
    """Too many texts, or too much text, for one request."""


class RequestRefused(EmbeddingError):
    """The service does not accept the request as it is."""


class ServiceFailed(EmbeddingError):
    """The service failed; may carry `retry_after` in seconds."""

    def __init__(self, text: str, /, *, retry_after: float | None = None, **fields: object) -> None:
        super().__init__(text, **fields)
        self.retry_after = retry_after


class EmbeddingUnreachable(EmbeddingError):
    """The connection failed or was cut off."""


class EmbeddingTimedOut(EmbeddingError):
    """No response within the limit."""


class ResponseUnusable(EmbeddingError):
    """The response is not what was requested."""


class ModelUnusable(EmbeddingError):
    """The local model cannot be loaded or run; the message says how to fix it."""


def join_fallback(*failures: str) -> str:
    """Return the failures of the provider and of its fallback as one text; "" for none."""
    if len(failures) < 2:
        return "".join(failures)
    return Translatable("{failure}; fallback: {fallback}", failure=failures[0], fallback=failures[1])
