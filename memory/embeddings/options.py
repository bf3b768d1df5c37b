"""Options that an embedding provider is opened with, and limits of its requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError

MAX_TEXTS = 2048
BYTES_PER_TOKEN = 3
"""A cautious estimate: English has four to five bytes per token, other languages at least this many."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of one request; `query_seconds` is how long a search waits for the vector.

    `silent_seconds`: a server that answers no ping for this long is treated as dead.
    """

    texts: int = MAX_TEXTS
    tokens: int = 300_000
    requests: int = 4
    query_seconds: float = 5.0
    silent_seconds: float = 8.0

    @property
    def bytes(self) -> int:
        """The limit of `tokens` in bytes, by a cautious estimate."""
        return self.tokens * BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """Options of a provider with all defaults filled in; `dimensions` is 0 if not set."""

    provider: str
    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    dimensions: int = 0
    needs_key: bool = False
    model_is_default: bool = False
    fixes: Mapping[type[EmbeddingError], str] = field(default_factory=dict, repr=False)
    model_path: str = ""
    cache_dir: str = ""


def is_on_this_machine(address: str) -> bool:
    """Return whether a URL names this machine itself, and no other one in its network."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


DEFAULT_ADDRESSES: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
    "voyage": "https://api.voyageai.com/v1",
    "ollama": "http://localhost:11434",
    "zhipu": "https://open.bigmodel.cn/api/paas/v4",
}
"""Default addresses by provider."""


def vector_source_address(options: ProviderOptions) -> str:
    """Return the address that vectors come from, "" if it is the default.

    The same model name may mean another model at another address.
    """
    return "" if options.base_url == DEFAULT_ADDRESSES.get(options.provider) else options.base_url
