"""All embedding providers, their defaults and how to open them. Their modules are imported lazily."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memory.embeddings.errors import EmbeddingError, KeyRejected, ModelUnknown
from memory.embeddings.options import DEFAULT_ADDRESSES, ProviderOptions, RequestLimits
from memory.embeddings.protocol import EmbeddingProvider
from memory.translatable import Translatable


@dataclass(frozen=True, slots=True)
class ProviderDefinition:
    """One provider; `dimensions` is that of the default model, 0 if the first response shows it."""

    open: Callable[[ProviderOptions], EmbeddingProvider]
    model: str = ""
    dimensions: int = 0
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    limits: RequestLimits = field(default_factory=RequestLimits)


def _open_local(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.llama_cpp import LlamaCppProvider

    return LlamaCppProvider(options.model_path, cache_dir=options.cache_dir, dimensions=options.dimensions)


def _open_openai(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.openai import open_openai

    return open_openai(options)


def _open_gemini(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.gemini import open_gemini

    return open_gemini(options)


def _open_voyage(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.voyage import open_voyage

    return open_voyage(options)


def _open_ollama(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.ollama_server import open_ollama

    return open_ollama(options)


def _open_zhipu(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.zhipu import open_zhipu

    return open_zhipu(options)


def _open_llm(options: ProviderOptions) -> EmbeddingProvider:
    from memory.embeddings.llm import open_llm

    return open_llm(options)


PROVIDERS: Mapping[str, ProviderDefinition] = {
    "local": ProviderDefinition(_open_local, limits=RequestLimits(requests=1, query_seconds=30)),
    "openai": ProviderDefinition(
        _open_openai,
        model="text-embedding-3-small",
        dimensions=1536,
        base_url=DEFAULT_ADDRESSES["openai"],
        key_variables=("OPENAI_API_KEY",),
    ),
    "gemini": ProviderDefinition(
        _open_gemini,
        model="gemini-embedding-001",
        dimensions=768,
        base_url=DEFAULT_ADDRESSES["gemini"],
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        limits=RequestLimits(texts=100),
    ),
    "voyage": ProviderDefinition(
        _open_voyage,
        model="voyage-4-large",
        dimensions=1024,
        base_url=DEFAULT_ADDRESSES["voyage"],
        key_variables=("VOYAGE_API_KEY",),
        limits=RequestLimits(texts=1000, tokens=120_000),
    ),
    "ollama": ProviderDefinition(
        _open_ollama,
        model="nomic-embed-text",
        base_url=DEFAULT_ADDRESSES["ollama"],
        limits=RequestLimits(
            requests=1, query_seconds=15
        ),  # parallel requests would only queue while their timeouts run
    ),
    "zhipu": ProviderDefinition(
        _open_zhipu,
        model="embedding-3",
        dimensions=2048,
        base_url=DEFAULT_ADDRESSES["zhipu"],
        key_variables=("ZHIPU_API_KEY",),
        limits=RequestLimits(texts=64, tokens=64 * 3072),
    ),
    "llm": ProviderDefinition(_open_llm, model="text-embedding-3-small"),
}
"""By name in `[memory.embedding] provider`, without "auto" and "none"."""


def request_limits(provider: str) -> RequestLimits:
    """Return the limits of a provider's requests."""
    row = PROVIDERS.get(provider)
    return row.limits if row else RequestLimits()


def error_fixes(provider: str) -> Mapping[type[EmbeddingError], str]:
    """Return what a person can do about this provider's errors."""
    places = ["memory.embedding.api_key"]
    if provider == "llm":
        places.append(Translatable("the api_key of your chat provider"))
    elif variables := PROVIDERS[provider].key_variables:
        places += [f"providers.{provider}.api_key", variables[0]]
    unknown = Translatable("check memory.embedding.model and base_url")
    if provider == "llm":
        unknown = Translatable("set memory.embedding.model to an embedding model of your chat provider")
    places_text = places[0]
    for each in places[1:]:
        places_text = Translatable("{place} or {other}", place=places_text, other=each)
    return {KeyRejected: Translatable("check {places}", places=places_text), ModelUnknown: unknown}
