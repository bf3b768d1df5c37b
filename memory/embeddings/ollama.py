"""Ollama's embedding API and its addresses. Imports no HTTP client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.embeddings.errors import EmbeddingError
from memory.embeddings.options import DEFAULT_ADDRESSES
from memory.embeddings.protocol import Purpose, digest_version
from memory.translatable import Translatable

if TYPE_CHECKING:
    from memory.http_responses import HttpFailure


# The prefixes that these models were trained with; the server adds none.
_PREFIXES: Mapping[str, Mapping[Purpose, str]] = {
    "nomic-embed-text": {"query": "search_query: ", "document": "search_document: "},
    "embeddinggemma": {"query": "task: search result | query: ", "document": "title: none | text: "},
    "mxbai-embed-large": {
        "query": "Represent this sentence for searching relevant passages: ",
        "document": "",
    },
}


@dataclass(frozen=True, slots=True)
class OllamaEmbeddingDialect:
    """`POST {host}/api/embed`; `dimensions` is sent unless it is 0."""

    base_url: str
    model: str
    key: str = field(repr=False)
    dimensions: int
    fixes: Mapping[type[EmbeddingError], str]
    provider: str = "ollama"
    offers_base64: bool = False

    @property
    def url(self) -> str:
        """The URL of Ollama's own API, which is not under `/v1`."""
        return f"{ollama_root(self.base_url)}/api/embed"

    @property
    def version(self) -> str:
        """A digest of the address, unless it is the default, and of the prefixes."""
        root = ollama_root(self.base_url)
        prefixes = _PREFIXES.get(_base_name(self.model), {})
        return digest_version("" if root == DEFAULT_ADDRESSES["ollama"] else root, *prefixes.values())

    @property
    def headers(self) -> Mapping[str, str]:
        """The header with the key, for a server behind an authenticating proxy."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """Return the body; the server truncates texts that exceed the model's window."""
        prefix = _PREFIXES.get(_base_name(self.model), {}).get(purpose, "")
        body: dict[str, object] = {
            "model": self.model,
            "input": [prefix + text for text in texts],
            "truncate": True,
        }
        if self.dimensions:
            body["dimensions"] = self.dimensions
        return body

    def items(self, answer: object) -> Sequence[object]:
        """Return the vectors in the order of the texts. Raises LookupError."""
        match answer:
            case {"embeddings": list(embeddings)}:
                return embeddings
        raise LookupError("embeddings")

    def kind_of(self, failure: "HttpFailure") -> type[EmbeddingError] | None:
        """Return None, since the HTTP status says it all."""
        return None


def _base_name(model: str) -> str:
    return model.rpartition("/")[2].partition(":")[0]


def ollama_root(base_url: str) -> str:
    """Return `base_url` without trailing slashes, `/api` and `/v1`, so that either can be appended."""
    return base_url.strip().rstrip("/").removesuffix("/v1").removesuffix("/api").rstrip("/")


def pull_hint(model: str) -> str:
    """Return what to do about a model that the server does not have."""
    return Translatable("run `ollama pull {model}`", model=model)
