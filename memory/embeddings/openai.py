"""OpenAI's embeddings, and those of every server with the same API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.embeddings.errors import (
    EmbeddingError,
    EmbeddingOutOfCredit,
    KeyRejected,
    ModelUnknown,
    RequestTooLarge,
)
from memory.embeddings.http import EmbeddingDialect, HttpProvider
from memory.embeddings.options import ProviderOptions, vector_source_address
from memory.embeddings.protocol import Purpose, digest_version
from memory.http_responses import HttpFailure

DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Length of the vectors of known models; for others the first response shows it."""

_CODES: Mapping[object, type[EmbeddingError]] = {
    "insufficient_quota": EmbeddingOutOfCredit,
    "credit_balance_exhausted": EmbeddingOutOfCredit,
    "billing_hard_limit_reached": EmbeddingOutOfCredit,
    "billing_not_active": EmbeddingOutOfCredit,
    "invalid_api_key": KeyRejected,
    "model_not_found": ModelUnknown,
    "max_tokens_per_request": RequestTooLarge,
}


@dataclass(frozen=True, slots=True)
class OpenAIEmbeddingDialect:
    """`POST {base_url}/embeddings`; `dimensions` is sent unless it is 0."""

    provider: str
    base_url: str
    model: str
    key: str = field(repr=False)
    dimensions: int
    fixes: Mapping[type[EmbeddingError], str]
    offers_base64: bool = True

    @property
    def url(self) -> str:
        """The URL; the API's version is part of `base_url`."""
        return f"{self.base_url}/embeddings"

    @property
    def headers(self) -> Mapping[str, str]:
        """The header with the key; empty for local servers without one."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the body, the same for queries and documents.

        Many servers do not know `encoding_format`, so it is sent only for base64.
        """
        body: dict[str, object] = {"model": self.model, "input": list(texts)}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        if base64:
            body["encoding_format"] = "base64"
        return body

    def items(self, answer: object) -> Sequence[object]:
        """Return the vectors, ordered by the index that each carries."""
        return parse_data_items(answer)

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return the error for `error.code`, else for `error.type`; an empty account is sent as 429 too."""
        match failure.fields.get("error"):
            case {"code": str(code), **rest} if code in _CODES or "type" not in rest:
                return _CODES.get(code)
            case {"type": kind}:
                return _CODES.get(kind)
        return None


def parse_data_items(answer: object) -> Sequence[object]:
    """Return the vectors of `{"data": [{"index": 0, "embedding": …}]}` in the order of their texts.

    Raises LookupError.
    """
    match answer:
        case {"data": list(data)}:
            indices = [entry.get("index", place) for place, entry in enumerate(data)]
            if indices != list(range(len(data))):
                data = [
                    entry for _, entry in sorted(zip(indices, data, strict=True), key=lambda pair: pair[0])
                ]
                if sorted(indices) != list(range(len(data))):
                    raise LookupError("index")
            return [entry["embedding"] for entry in data]
    raise LookupError("data")


def dimensions_to_request(options: ProviderOptions, *, model: str) -> int:
    """Return the `dimensions` to send; 0 if they were not set or the model would refuse them."""
    return options.dimensions if "text-embedding-3" in model else 0


def open_openai(options: ProviderOptions) -> HttpProvider:
    """Open OpenAI, or the server at `base_url`, which may need no key."""
    return open_dialect(
        OpenAIEmbeddingDialect,
        options,
        request=dimensions_to_request(options, model=options.model),
        known=DIMENSIONS.get(options.model.rpartition("/")[2], 0),
    )


def open_dialect(
    kind: type[OpenAIEmbeddingDialect], options: ProviderOptions, *, request: int, known: int
) -> HttpProvider:
    """Open a server that speaks OpenAI's API or a dialect of it.

    `request`: the dimensions to send, 0 for none; `known`: those of the model's vectors, 0 if unknown.
    """
    dialect: EmbeddingDialect = kind(
        options.provider, options.base_url, options.model, options.api_key, request, options.fixes
    )
    return HttpProvider(
        dialect,
        dimensions=options.dimensions or known,
        key=options.api_key,
        version=digest_version(vector_source_address(options)),
        needs_key=options.needs_key,
    )
