"""The interface to embedding providers: texts go in, vectors of unit length come out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol, runtime_checkable

Purpose = Literal["query", "document"]

VERSION_MARK = "@"
VERSION_LENGTH = 16
_VERSION = re.compile(rf"{VERSION_MARK}([0-9a-f]{{{VERSION_LENGTH}}})$")

Vector = bytes
"""Packed float32, little-endian, of length one: the form that is stored, compared and cached."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """Identifies comparable vectors: those of the same provider, model, version and length."""

    provider: str
    model: str
    dimensions: int
    version: str | None = ""
    """A short digest of what the vectors depend on besides the name: address, prefixes, file content.

    "" if there is nothing else, None while it is unknown.
    """

    @property
    def is_known(self) -> bool:
        """Return whether the version is known, so that stored vectors can be attributed."""
        return self.version is not None

    @property
    def stored_name(self) -> str:
        """The text that stands for model and version in an index."""
        return f"{self.model}{VERSION_MARK}{self.version}" if self.version else self.model

    def is_version_of(self, stored_name: str) -> bool:
        """Return whether `stored_name` is the same model, in this or another version."""
        return split_stored_name(stored_name)[0] == self.model


def split_stored_name(stored_name: str) -> tuple[str, str]:
    """Split a stored name into the model's name and its version."""
    found = _VERSION.search(stored_name)
    return (stored_name[: found.start()], found[1]) if found else (stored_name, "")


def digest_version(*parts: str) -> str:
    """Return a digest of what vectors depend on; "" if all parts are empty."""
    if not any(parts):
        return ""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:VERSION_LENGTH]


class EmbeddingProvider(Protocol):
    """One service or one local model. Callers handle batches, retries and fallback."""

    @property
    def provider(self) -> str:
        """The provider's name in `[memory.embedding] provider`."""
        ...

    @property
    def model(self) -> str:
        """The service's own name of the model."""
        ...

    @property
    def version(self) -> str | None:
        """See `ModelId.version`; known after the first response at the latest."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of its vectors; 0 until the first response."""
        ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Embed all texts (at least one, none blank) by one request; return a vector for each, in order.

        Raises `EmbeddingError`. Cancelling ends the request.
        """
        ...

    async def close(self) -> None:
        """Close connections and free memory."""
        ...


@runtime_checkable
class PingableProvider(Protocol):
    """An `EmbeddingProvider` whose server answers pings at once, even while it computes."""

    async def ping(self) -> None:
        """Send a ping. Raises `EmbeddingError`."""
        ...
