"""Pure: the provider of a model that is named without one, such as "gpt-4.1"."""

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
"""The beginnings of the names of the models that each provider makes and serves itself."""
_SERVERS = ("ollama", "groq", "openrouter")
"""Providers that serve models of many makers: what to write for any other name."""


def with_provider(name: str) -> str:
    """Return `provider/model` for a well-known model without its provider; any other name as it is.

    A name with a tag (`deepseek-r1:8b`) is that of a downloaded file, and says nothing of who serves it.
    """
    if "/" in name or ":" in name:
        return name
    lower = name.lower()
    maker = next((provider for provider, begins in _MAKERS if re.match(begins, lower)), "")
    return f"{maker}/{name}" if maker else name


def ways_to_write(name: str, providers: Collection[str]) -> str:
    """Return what may be written for a model without a provider: `"mine/llama3" or "ollama/llama3"`.

    `providers`: those of the settings, which are named first.
    """
    served = dict.fromkeys((*providers, *_SERVERS))
    *first, last = [f'"{provider}/{name}"' for provider in served][:4]
    return f"{', '.join(first)} or {last}"
