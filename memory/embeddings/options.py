"""What an embedding provider is opened with, and what may be asked of it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError

MAX_TEXTS = 2048
BYTES_PER_TOKEN = 3
"""Fewer than a token has in any language but English, where it has four to five: a careful estimate."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What may be asked of a service at once; `query_seconds` is how long a person waits for it.

    `silent_seconds`: after so long, a server of which not even a ping is answered is taken for silent.
    """

    texts: int = MAX_TEXTS
    tokens: int = 300_000
    requests: int = 4
    query_seconds: float = 5.0
    silent_seconds: float = 8.0

    @property
    def bytes(self) -> int:
        """`tokens`, as far as they can be told from outside."""
        return self.tokens * BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What a provider is opened with, every default filled in; `dimensions` is 0 where none was asked for."""

    provider: str
    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    dimensions: int = 0
    needs_key: bool = False
    model_is_default: bool = False
    mends: Mapping[type[EmbeddingError], str] = field(default_factory=dict, repr=False)
    model_path: str = ""
    cache_dir: str = ""


USUAL_ADDRESSES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
    "voyage": "https://api.voyageai.com/v1",
    "ollama": "http://localhost:11434",
    "zhipu": "https://open.bigmodel.cn/api/paas/v4",
}
"""By provider."""


def vector_source_address(options: ProviderOptions) -> str:
    """Return where vectors come from, "" for the service's usual address: one model name may stand for two models."""
    return "" if options.base_url == USUAL_ADDRESSES.get(options.provider) else options.base_url
