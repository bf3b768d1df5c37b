"""What an embedding provider is to the memory: texts go in, vectors of unit length come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Purpose = Literal["query", "document"]

Vector = bytes
"""float32, little-endian, of length 1: as it is stored, compared and cached."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """Which vectors may be compared: only those of the same provider, model and length."""

    provider: str
    model: str
    dimensions: int


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
