"""All embedding providers: what each is by default, and how it is opened. Nothing is imported before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError, KeyRejected, ModelUnknown
from memory.embeddings.protocol import EmbeddingProvider

TEXTS = 2048
BYTES_A_TOKEN = 3
"""Fewer than a token has in any language but English, where it has four to five: a careful estimate."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be asked of a service at once; `query_seconds` is how long a person waits for it.

    `silent_seconds`: after so long, a server of which not even a ping is answered is taken for silent.
    """

    texts: int = TEXTS
    tokens: int = 300_000
    requests: int = 4
    query_seconds: float = 5.0
    silent_seconds: float = 8.0

    @property
    def bytes(self) -> int:
        """`tokens`, as far as they can be told from outside."""
        return self.tokens * BYTES_A_TOKEN


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


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider; `dimensions` is that of the default model, 0 where the first answer tells."""

    open: Callable[[ProviderOptions], EmbeddingProvider]
    model: str = ""
    dimensions: int = 0
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    limits: Limits = Limits()


def _local(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.llama_cpp import LlamaCppProvider

    return LlamaCppProvider(options.model_path, cache_dir=options.cache_dir, dimensions=options.dimensions)


def _openai(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.openai import open_openai

    return open_openai(options)


def _gemini(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.gemini import open_gemini

    return open_gemini(options)


def _voyage(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.voyage import open_voyage

    return open_voyage(options)


def _ollama(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.ollama import open_ollama

    return open_ollama(options)


def _zhipu(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.zhipu import open_zhipu

    return open_zhipu(options)


def _llm(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.llm import open_llm

    return open_llm(options)


PROVIDERS: Mapping[str, ProviderRow] = {
    "local": ProviderRow(_local, limits=Limits(requests=1, query_seconds=30)),
    "openai": ProviderRow(
        _openai,
        model="text-embedding-3-small",
        dimensions=1536,
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
    ),
    "gemini": ProviderRow(
        _gemini,
        model="gemini-embedding-001",
        dimensions=768,
        base_url="https://generativelanguage.googleapis.com",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        limits=Limits(texts=100),
    ),
    "voyage": ProviderRow(
        _voyage,
        model="voyage-4-large",
        dimensions=1024,
        base_url="https://api.voyageai.com/v1",
        key_variables=("VOYAGE_API_KEY",),
        limits=Limits(texts=1000, tokens=120_000),
    ),
    "ollama": ProviderRow(
        _ollama,
        model="nomic-embed-text",
        base_url="http://localhost:11434",
        limits=Limits(requests=1, query_seconds=15),  # it would only queue more, with their time running
    ),
    "zhipu": ProviderRow(
        _zhipu,
        model="embedding-3",
        dimensions=2048,
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_variables=("ZHIPU_API_KEY",),
        limits=Limits(texts=64, tokens=64 * 3072),
    ),
    "llm": ProviderRow(_llm, model="text-embedding-3-small"),
}
"""By name in `[memory.embedding] provider`; "auto" and "none" are no providers."""


def address_of(options: ProviderOptions) -> str:
    """Return where vectors come from, "" for the service's usual address: one model name may stand for two models."""
    return "" if options.base_url == PROVIDERS[options.provider].base_url else options.base_url


def limits_of(provider: str) -> Limits:
    """What may be asked of a provider at once."""
    row = PROVIDERS.get(provider)
    return row.limits if row else Limits()


def mends_of(provider: str) -> Mapping[type[EmbeddingError], str]:
    """What a person can do about an error of this provider."""
    places = ["memory.embedding.api_key"]
    if provider == "llm":
        places.append("the api_key of your chat provider")
    elif variables := PROVIDERS[provider].key_variables:
        places += [f"providers.{provider}.api_key", variables[0]]
    unknown = "check memory.embedding.model and base_url"
    if provider == "llm":
        unknown = "set memory.embedding.model to an embedding model of your chat provider"
    return {KeyRejected: f"check {' or '.join(places)}", ModelUnknown: unknown}
