"""All embedding providers: what each is by default, and how it is opened. Nothing is imported before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError, KeyRejected, ModelUnknown
from memory.embeddings.options import USUAL_ADDRESSES, Limits, ProviderOptions
from memory.embeddings.protocol import EmbeddingProvider


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """One provider; `dimensions` is that of the default model, 0 where the first answer tells."""

    open: Callable[[ProviderOptions], EmbeddingProvider]
    model: str = ""
    dimensions: int = 0
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)


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
    from memory.embeddings.ollama_server import open_ollama

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
        base_url=USUAL_ADDRESSES["openai"],
        key_variables=("OPENAI_API_KEY",),
    ),
    "gemini": ProviderRow(
        _gemini,
        model="gemini-embedding-001",
        dimensions=768,
        base_url=USUAL_ADDRESSES["gemini"],
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        limits=Limits(texts=100),
    ),
    "voyage": ProviderRow(
        _voyage,
        model="voyage-4-large",
        dimensions=1024,
        base_url=USUAL_ADDRESSES["voyage"],
        key_variables=("VOYAGE_API_KEY",),
        limits=Limits(texts=1000, tokens=120_000),
    ),
    "ollama": ProviderRow(
        _ollama,
        model="nomic-embed-text",
        base_url=USUAL_ADDRESSES["ollama"],
        limits=Limits(requests=1, query_seconds=15),  # it would only queue more, with their time running
    ),
    "zhipu": ProviderRow(
        _zhipu,
        model="embedding-3",
        dimensions=2048,
        base_url=USUAL_ADDRESSES["zhipu"],
        key_variables=("ZHIPU_API_KEY",),
        limits=Limits(texts=64, tokens=64 * 3072),
    ),
    "llm": ProviderRow(_llm, model="text-embedding-3-small"),
}
"""By name in `[memory.embedding] provider`; "auto" and "none" are no providers."""


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
