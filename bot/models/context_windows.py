"""Input limits of well-known models, as of November 2026; a provider's own report overrides them."""

import re

_WINDOWS = (
    (r"gpt-5(?!\d)", 400_000),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4-(0125|1106|vision)", 128_000),
    (r"gpt-4(?![\d.o])", 8_192),
    (r"gpt-3\.5-turbo", 16_385),
    (r"\bo1-(mini|preview)", 128_000),
    (r"\bo[134](?!\d)", 200_000),
    (r"gpt-oss", 131_072),
    (r"claude-(opus|sonnet)-(4-[6-9]|[5-9])|claude-(fable|mythos)", 1_000_000),
    (r"claude", 200_000),
    (r"gemini-1\.5-pro", 2_097_152),
    (r"gemini-(1\.5|2|3)", 1_048_576),
    (r"deepseek", 131_072),
    (r"mistral-(large|medium|small)|magistral|devstral", 131_072),
    (r"codestral", 262_144),
    (r"llama-?3\.[123]|llama-?3-[123]", 131_072),
    (r"llama-?3(?![.\d-])", 8_192),
    (r"qwen-?3", 131_072),
    (r"qwen-?2\.5", 32_768),
    (r"grok-4-fast", 2_000_000),
    (r"grok-4", 262_144),
    (r"grok-3", 131_072),
    (r"glm-4\.[67]", 204_800),
    (r"glm-4\.5", 131_072),
    (r"kimi-k2", 262_144),
)

MIN_WINDOW = min(tokens for _, tokens in _WINDOWS)
"""Minimum input limit, in tokens, that is assumed for an unknown model."""


def known_window(model: str) -> int | None:
    """Return the input limit in tokens of a model of this name; None if unknown. The first matching pattern counts."""
    name = model.lower()
    return next((tokens for pattern, tokens in _WINDOWS if re.search(pattern, name)), None)
