"""The providers that `commonplace init` offers: what each needs, and which of its models to take if in doubt."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A provider with a model; the address is in `KNOWN_PROVIDERS`."""

    provider: str
    title: str
    model: str
    """As of November 2026; another name can be typed."""
    key_page: str


OFFERS = (
    ModelOffer("anthropic", "Anthropic (Claude)", "claude-sonnet-4-5", "console.anthropic.com"),
    ModelOffer("openai", "OpenAI", "gpt-4.1", "platform.openai.com/api-keys"),
    ModelOffer("gemini", "Google (Gemini)", "gemini-2.5-pro", "aistudio.google.com/apikey"),
    ModelOffer("mistral", "Mistral", "mistral-large-latest", "console.mistral.ai"),
    ModelOffer("deepseek", "DeepSeek", "deepseek-chat", "platform.deepseek.com"),
    ModelOffer("xai", "xAI (Grok)", "grok-4", "console.x.ai"),
    ModelOffer("zhipu", "Zhipu (GLM)", "glm-4.6", "open.bigmodel.cn"),
    ModelOffer("groq", "Groq", "llama-3.3-70b-versatile", "console.groq.com/keys"),
    ModelOffer("together", "Together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "api.together.ai"),
    ModelOffer("openrouter", "OpenRouter", "anthropic/claude-sonnet-4.5", "openrouter.ai/keys"),
)
"""All with a key; Ollama and other servers are asked for differently."""

OLLAMA = "ollama"
OLLAMA_MODEL = "qwen3"
