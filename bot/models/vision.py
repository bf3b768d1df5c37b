"""Image support of well-known models, as of November 2026; the owner's settings override it."""

import re

_VISION = (
    (r"vision|multimodal|pixtral|llava|moondream|minicpm-v|internvl|qvq|omni", True),
    (r"\dv\b|[-_.:\d]vl\b", True),  # GLM-4.5V, qwen3-vl
    (r"gpt-oss|gpt-3\.5|gpt-4-32k|gpt-4-0[36]|audio|transcribe", False),
    (r"gpt-4$|gpt-4-(0125|1106)", False),
    (r"gpt-(4o|4\.1|4\.5|5)|gpt-4-turbo|chatgpt", True),
    (r"\bo1-(mini|preview)|\bo3-mini", False),
    (r"\bo[134](?!\d)", True),
    (r"claude-(2|instant)", False),
    (r"claude|gemini", True),
    (r"gemma-?3[-:]?(n|270m|1b)", False),
    (r"gemma-?[34]", True),
    (r"gemma", False),
    (r"deepseek-(chat|coder|reasoner|r1|v[23])", False),
    (r"codestral|mixtral|mathstral|mistral-(nemo|7b)", False),
    (r"llama-?4", True),
    (r"llama-?[23]", False),
    (r"grok-4", True),
    (r"grok-[23]", False),
    (r"glm-4", False),
    (r"kimi-k2\.[5-9]", True),
    (r"kimi-k2", False),
    (r"qwen-?(2|2\.5|3)(?![.\d])", False),
)


def known_vision(model: str) -> bool | None:
    """Return whether a model of this name accepts images; None if unknown. The first matching pattern counts."""
    name = model.lower().partition("/")[2] or model.lower()
    return next((sees for pattern, sees in _VISION if re.search(pattern, name)), None)
