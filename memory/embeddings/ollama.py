"""What an Ollama server is asked for embeddings, and at which address. Brings no HTTP client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.embeddings.errors import EmbeddingError
from memory.embeddings.options import USUAL_ADDRESSES
from memory.embeddings.protocol import Purpose, digest_version

if TYPE_CHECKING:
    from memory.http_responses import HttpFailure


# What these models were trained to be told; the server adds nothing by itself.
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
    """`POST {host}/api/embed`; `dimensions` is sent where it is not 0."""

    base_url: str
    model: str
    key: str = field(repr=False)
    dimensions: int
    mends: Mapping[type[EmbeddingError], str]
    provider: str = "ollama"
    offers_base64: bool = False

    @property
    def url(self) -> str:
        """Ollama's own interface, which is not under `/v1`."""
        return f"{ollama_root(self.base_url)}/api/embed"

    @property
    def version(self) -> str:
        """The address, where it is not the usual one, and what stands before each text."""
        root = ollama_root(self.base_url)
        prefixes = _PREFIXES.get(_base_name(self.model), {})
        return digest_version("" if root == USUAL_ADDRESSES["ollama"] else root, *prefixes.values())

    @property
    def headers(self) -> Mapping[str, str]:
        """A key only for a server behind a guard."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def body(self, texts: Sequence[str], purpose: Purpose, *, base64: bool) -> Mapping[str, object]:
        """What is longer than the model's window is cut there rather than lost."""
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
        """In the order of the texts."""
        match answer:
            case {"embeddings": list(embeddings)}:
                return embeddings
        raise LookupError("embeddings")

    def kind_of(self, failure: "HttpFailure") -> type[EmbeddingError] | None:
        """The status says it all."""
        return None


def _base_name(model: str) -> str:
    return model.rpartition("/")[2].partition(":")[0]


def ollama_root(base_url: str) -> str:
    """Return the address that `/api/…` and `/v1/…` are appended to: `base_url` without either, and trailing slashes."""
    return base_url.strip().rstrip("/").removesuffix("/v1").removesuffix("/api").rstrip("/")


def pull_hint(model: str) -> str:
    """Return what to do about a model that the server does not have."""
    return f"run `ollama pull {model}`"
