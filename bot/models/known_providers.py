"""Providers that need no `base_url` in the settings: which protocol they speak, where, and whether they want a key."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ProviderKind = Literal["openai", "anthropic", "gemini", "llama_cpp", "builtin"]


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """What a name in `[providers]`, or before the slash in `models.chain`, stands for."""

    kind: ProviderKind
    base_url: str = ""
    needs_key: bool = True
    key_variables: tuple[str, ...] = ()
    """Names in the environment, beside the provider's own name and `_API_KEY`."""


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
"""Addresses as of November 2026, from the providers' documentation. A table in the settings wins."""


def key_variables(name: str, *, kind: ProviderKind, base_url: str) -> tuple[str, ...]:
    """Where in the environment the key of a provider may stand.

    A key goes to the provider that bears its name, and to the usual address of the protocol that it is for: to
    nobody else.
    """
    own = f"{name.upper().replace('-', '_')}_API_KEY"
    known = KNOWN_PROVIDERS.get(name)
    variables = [own, *(known.key_variables if known else ())]
    usual = KNOWN_PROVIDERS[kind]
    if usual.base_url and base_url == usual.base_url:
        variables += [f"{kind.upper()}_API_KEY", *usual.key_variables]
    return tuple(dict.fromkeys(variables))
