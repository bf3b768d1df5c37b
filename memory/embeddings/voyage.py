"""Voyage AI's embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.embeddings.errors import EmbeddingError
from memory.embeddings.http import HttpProvider
from memory.embeddings.openai import OpenAIEmbeddingDialect, open_dialect
from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import Purpose
from memory.http_responses import HttpFailure

DIMENSIONS = {
    "voyage-4-large": 1024,
    "voyage-4": 1024,
    "voyage-4-lite": 1024,
    "voyage-3-large": 1024,
    "voyage-3.5": 1024,
    "voyage-3.5-lite": 1024,
    "voyage-code-3": 1024,
}
"""Length of the vectors of known models; for others the first response shows it."""


@dataclass(frozen=True, slots=True)
class VoyageEmbeddingDialect(OpenAIEmbeddingDialect):
    """OpenAI's API with `input_type`, another name for the dimensions, and errors without codes."""

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the body; `input_type` has the same two values as `Purpose`."""
        body: dict[str, object] = {"model": self.model, "input": list(texts), "input_type": purpose}
        if self.dimensions:
            body["output_dimension"] = self.dimensions
        if base64:
            body["encoding_format"] = "base64"
        return body

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return None: errors have no code, only `detail` for people.

        A batch that is too large is a plain 400.
        """
        return None


def open_voyage(options: ProviderOptions) -> HttpProvider:
    """Open Voyage."""
    return open_dialect(
        VoyageEmbeddingDialect,
        options,
        request=options.dimensions,
        known=DIMENSIONS.get(options.model, 0),
    )
