"""Google's Gemini embeddings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError, EmbeddingOutOfCredit, KeyRejected
from memory.embeddings.http import HttpProvider
from memory.embeddings.options import ProviderOptions, vector_source_address
from memory.embeddings.protocol import Purpose, digest_version
from memory.http_responses import HttpFailure

DIMENSIONS = 768
VERSION = "v1beta"

_TASKS = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
# Since the second generation the task is part of the text, and `taskType` is ignored.
_PROMPTS = {"query": "task: search result | query: {}", "document": "title: none | text: {}"}
_REASONS: Mapping[object, type[EmbeddingError]] = {
    "API_KEY_INVALID": KeyRejected,  # sent with status 400
    "API_KEY_SERVICE_BLOCKED": KeyRejected,
    "FAILED_PRECONDITION": EmbeddingOutOfCredit,  # status 400: no free tier in this country
}


@dataclass(frozen=True, slots=True)
class GeminiEmbeddingDialect:
    """`POST {host}/v1beta/models/{model}:batchEmbedContents`, at most 100 texts."""

    base_url: str
    name: str
    key: str = field(repr=False)
    dimensions: int
    fixes: Mapping[type[EmbeddingError], str]
    provider: str = "gemini"
    offers_base64: bool = False

    @property
    def model(self) -> str:
        """The name without `models/`, so that both spellings are one model."""
        return self.name.removeprefix("models/")

    @property
    def url(self) -> str:
        """The URL without the key, since URLs appear in logs."""
        return f"{self.base_url}/{VERSION}/models/{self.model}:batchEmbedContents"

    @property
    def headers(self) -> Mapping[str, str]:
        """The header with the key."""
        return {"x-goog-api-key": self.key} if self.key else {}

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the body, in which each text is a request with model, task and dimensions."""
        common: dict[str, object] = {
            "model": f"models/{self.model}",
            "outputDimensionality": self.dimensions,
        }
        told_in_text = self.model.startswith("gemini-embedding-2")
        prompt = _PROMPTS[purpose] if told_in_text else "{}"
        if not told_in_text:
            common["taskType"] = _TASKS[purpose]
        return {
            "requests": [{**common, "content": {"parts": [{"text": prompt.format(text)}]}} for text in texts]
        }

    def items(self, answer: object) -> Sequence[object]:
        """Return the vectors in the order of the requests; shortened ones are not of length 1. Raises LookupError."""
        match answer:
            case {"embeddings": list(embeddings)}:
                return [embedding["values"] for embedding in embeddings]
        raise LookupError("embeddings")

    def kind_of(self, failure: HttpFailure) -> type[EmbeddingError] | None:
        """Return the error for `error.details[].reason`, else for `error.status`."""
        return next(
            (
                _REASONS[reason]
                for reason in _error_reasons(failure.fields.get("error"))
                if reason in _REASONS
            ),
            None,
        )


def _error_reasons(error: object) -> Iterator[str]:
    if isinstance(error, Mapping):
        details = error.get("details")
        for detail in details if isinstance(details, list) else []:
            if isinstance(detail, Mapping) and isinstance(reason := detail.get("reason"), str):
                yield reason
        if isinstance(status := error.get("status"), str):
            yield status


def open_gemini(options: ProviderOptions) -> HttpProvider:
    """Open Gemini; vectors have 768 dimensions by default."""
    dimensions = options.dimensions or DIMENSIONS
    dialect = GeminiEmbeddingDialect(
        base_url=options.base_url,
        name=options.model,
        key=options.api_key,
        dimensions=dimensions,
        fixes=options.fixes,
    )
    return HttpProvider(
        dialect,
        dimensions=dimensions,
        key=options.api_key,
        version=digest_version(vector_source_address(options)),
        needs_key=options.needs_key,
    )
