"""Resolve a provider's protocol, URL and keys from the settings, its name and the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bot.config.settings import ProviderSettings

ProviderKind = Literal["openai", "anthropic", "gemini", "llama_cpp", "builtin"]


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """What a name in `[providers]`, or before the slash in `models.chain`, stands for."""

    kind: ProviderKind
    base_url: str = ""
    needs_key: bool = True
    key_variables: tuple[str, ...] = ()
    """Environment variables in addition to the provider's name plus `_API_KEY`."""


KNOWN_PROVIDERS: Mapping[str, KnownProvider] = {
    "builtin": KnownProvider("builtin", needs_key=False),
    "llama_cpp": KnownProvider("llama_cpp", needs_key=False),
    "openai": KnownProvider("openai", "https://api.openai.com/v1"),
    "anthropic": KnownProvider("anthropic", "https://api.anthropic.com"),
    "gemini": KnownProvider(
        "gemini", "https://generativelanguage.googleapis.com", key_variables=("GOOGLE_API_KEY",)
    ),
    "deepseek": KnownProvider("openai", "https://api.deepseek.com/v1"),
    "groq": KnownProvider("openai", "https://api.groq.com/openai/v1"),
    "mistral": KnownProvider("openai", "https://api.mistral.ai/v1"),
    "ollama": KnownProvider("openai", "http://localhost:11434/v1", needs_key=False),
    "openrouter": KnownProvider("openai", "https://openrouter.ai/api/v1"),
    "together": KnownProvider("openai", "https://api.together.xyz/v1"),
    "xai": KnownProvider("openai", "https://api.x.ai/v1"),
    "zhipu": KnownProvider("openai", "https://open.bigmodel.cn/api/paas/v4", key_variables=("ZAI_API_KEY",)),
}
"""Base URLs as of November 2026, from the providers' documentation. A table in the settings overrides them."""

KIND_BY_NAME: Mapping[str, ProviderKind] = {
    **{name: known.kind for name, known in KNOWN_PROVIDERS.items()},
    "voyage": "openai",  # makes embeddings and has no chat, so it has no row above
}
"""The `kind` of a table in `[providers]` that names none."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider with its settings resolved."""

    kind: ProviderKind
    base_url: str
    """Without a trailing slash."""
    keys: tuple[str, ...] = field(repr=False)
    """In the order of use; may be empty."""
    needs_key: bool
    """Whether requests without a key are pointless."""
    model_path: str
    key_variable: str
    """Environment variable that is checked first for its key."""


def resolve_provider(
    name: str, tables: "Mapping[str, ProviderSettings]", environment: Mapping[str, str]
) -> Provider:
    """Return a provider by its table in the settings, else by its name, else by its protocol's defaults."""
    table = tables.get(name)
    known = KNOWN_PROVIDERS.get(name)
    kind: ProviderKind = table.kind if table else known.kind if known else "openai"
    usual = known if known and known.kind == kind else KNOWN_PROVIDERS[kind]
    base_url = (table.base_url if table else "").strip().rstrip("/") or usual.base_url
    if name == "ollama" and kind == "openai":
        from memory.embeddings.ollama import ollama_root

        base_url = f"{ollama_root(base_url)}/v1"
    keys = table.keys if table else ()
    if not keys:
        variables = key_variables(name, kind=kind, base_url=base_url)
        keys = tuple(filter(None, (environment.get(each, "").strip() for each in variables)))[:1]
    return Provider(
        kind,
        base_url,
        keys,
        needs_key=usual.needs_key and base_url == usual.base_url,
        model_path=table.model_path.strip() if table else "",
        key_variable=_own_variable(name),
    )


def how_to_get(model: str) -> str:
    """Return how to obtain a missing model, `provider/model`; "" if there is no advice."""
    provider, _, name = model.partition("/")
    if provider != "ollama":
        return ""
    from memory.embeddings.ollama import pull_hint

    return pull_hint(name)


def key_variables(name: str, *, kind: ProviderKind, base_url: str) -> tuple[str, ...]:
    """Return the environment variables that may hold a provider's key.

    A key is sent only to the provider that bears its name, and to the default URL of its protocol.
    """
    own = _own_variable(name)
    known = KNOWN_PROVIDERS.get(name)
    usual = KNOWN_PROVIDERS[kind]
    elsewhere = known and known.kind != kind and base_url == usual.base_url
    variables = [] if elsewhere else [own, *(known.key_variables if known else ())]
    if usual.base_url and base_url == usual.base_url:
        variables += [f"{kind.upper()}_API_KEY", *usual.key_variables]
    return tuple(dict.fromkeys(variables))


def _own_variable(name: str) -> str:
    return f"{name.upper().replace('-', '_')}_API_KEY"
