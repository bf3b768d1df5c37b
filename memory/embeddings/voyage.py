"""Voyage AI's embeddings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError
from memory.embeddings.http import HttpProvider
from memory.embeddings.openai import parse_data_items
from memory.embeddings.options import ProviderOptions, vector_source_address
from memory.embeddings.protocol import Purpose, digest_version
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
class VoyageEmbeddingDialect:
    """`POST {base_url}/embeddings` with `input_type`; `output_dimension` is sent unless it is 0."""

    base_url: str
    model: str
    key: str = field(repr=False)
    dimensions: int
    fixes: Mapping[type[EmbeddingError], str]
    provider: str = "voyage"
    offers_base64: bool = True

    @property
    def url(self) -> str:
        """The URL; the API's version is part of `base_url`."""
        return f"{self.base_url}/embeddings"

    @property
    def headers(self) -> Mapping[str, str]:
        """The header with the key."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the body; `input_type` has the same two values as `Purpose`."""
        body: dict[str, object] = {"model": self.model, "input": list(texts), "input_type": purpose}
        if self.dimensions:
            body["output_dimension"] = self.dimensions
        if base64:
            body["encoding_format"] = "base64"
        return body

    def items(self, answer: object) -> Sequence[object]:
        """Return the vectors, in OpenAI's format."""
        return parse_data_items(answer)

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return None: errors have no code, only `detail` for people.

        A batch that is too large is a plain 400.
        """
        return None


def open_voyage(options: ProviderOptions) -> HttpProvider:
    """Open Voyage."""
    dialect = VoyageEmbeddingDialect(
        base_url=options.base_url,
        model=options.model,
        key=options.api_key,
        dimensions=options.dimensions,
        fixes=options.fixes,
    )
    return HttpProvider(
        dialect,
        dimensions=options.dimensions or DIMENSIONS.get(options.model, 0),
        key=options.api_key,
        version=digest_version(vector_source_address(options)),
        needs_key=options.needs_key,
    )
