"""What an embedding provider is to the memory: texts go in, vectors of unit length come out."""

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
"""float32, little-endian, of length 1: as it is stored, compared and cached."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """Which vectors may be compared: only those of the same provider, model, version and length."""

    provider: str
    model: str
    dimensions: int
    version: str | None = ""
    """What its vectors depend on beside the name: an address, prefixes, a file's content, as a short digest.

    "" where there is nothing else, None while it is not known.
    """

    @property
    def is_known(self) -> bool:
        """Whether it can be told which vectors are its own."""
        return self.version is not None

    @property
    def stored_name(self) -> str:
        """What stands for model and version in an index."""
        return f"{self.model}{VERSION_MARK}{self.version}" if self.version else self.model

    def is_version_of(self, stored_name: str) -> bool:
        """Return whether this is the name of the same model, in this version or in another one."""
        return split_stored_name(stored_name)[0] == self.model


def split_stored_name(stored_name: str) -> tuple[str, str]:
    """Return the model's name and its version, of what stands for both in an index."""
    found = _VERSION.search(stored_name)
    return (stored_name[: found.start()], found[1]) if found else (stored_name, "")


def digest_version(*parts: str) -> str:
    """Return a digest of what vectors depend on; "" where that is nothing."""
    if not any(parts):
        return ""
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:VERSION_LENGTH]


class EmbeddingProvider(Protocol):
    """One service or one local model. Whoever calls sees to batches, retries and fallback."""

    @property
    def provider(self) -> str:
        """Its name in `[memory.embedding] provider`."""
        ...

    @property
    def model(self) -> str:
        """The service's own name of the model."""
        ...

    @property
    def version(self) -> str | None:
        """See `ModelId.version`; known with the first answer at the latest."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of its vectors; 0 while it is not known, which ends with the first answer."""
        ...

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Ask once for all texts (at least one, none blank): one vector each, in their order.

        Raises `EmbeddingError`. Cancelling ends the request.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


@runtime_checkable
class PingableProvider(Protocol):
    """An `EmbeddingProvider` whose server says at once whether it is there, whatever it computes."""

    async def ping(self) -> None:
        """Ask; raises `EmbeddingError`."""
        ...
