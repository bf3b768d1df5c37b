"""Pure: find the provider of a model that is named without one, such as "gpt-4.1"."""

import re
from collections.abc import Collection

_MAKERS = (
    ("openai", r"(?:chat)?gpt-(?!oss)|o\d+(?:-|$)"),
    ("anthropic", r"claude-"),
    ("gemini", r"gemini-"),
    ("deepseek", r"deepseek-"),
    ("mistral", r"(?:open-)?mi[sx]tral-|(?:code|dev|magi|mini)stral-|pixtral-"),
    ("xai", r"grok-"),
    ("zhipu", r"glm-"),
)
"""Prefixes of the models that each provider makes and serves itself."""
_SERVERS = ("ollama", "groq", "openrouter")
"""Providers that serve models of many makers, suggested for any other name."""


def with_provider(name: str) -> str:
    """Return `provider/model` for a well-known model without its provider; any other name unchanged.

    A name with a tag (`deepseek-r1:8b`) is a downloaded file, which says nothing about its provider.
    """
    if "/" in name or ":" in name:
        return name
    lower = name.lower()
    maker = next((provider for provider, begins in _MAKERS if re.match(begins, lower)), "")
    return f"{maker}/{name}" if maker else name


def ways_to_write(name: str, providers: Collection[str]) -> str:
    """Return suggestions for a model without a provider: `"mine/llama3" or "ollama/llama3"`.

    `providers` are those of the settings, listed first.
    """
    served = dict.fromkeys((*providers, *_SERVERS))
    *first, last = [f'"{provider}/{name}"' for provider in served][:4]
    return f"{', '.join(first)} or {last}"
