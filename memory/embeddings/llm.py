"""Embeddings by the provider that also chats: its key and address, OpenAI's language."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memory.embeddings.options import ProviderOptions

# Imported where it is needed: the choice of a provider wants the tables alone.
if TYPE_CHECKING:
    from memory.embeddings.http import HttpProvider

DEFAULT_MODELS: Mapping[str, str] = {
    "api.openai.com": "text-embedding-3-small",
    "api.mistral.ai": "mistral-embed",
    "api.siliconflow.cn": "BAAI/bge-m3",
    "openrouter.ai": "openai/text-embedding-3-small",
    "api.deepseek.com": "",
    "api.groq.com": "",
    "api.x.ai": "",
    "api.together.xyz": "",
}
"""By host; "" for those that have no embedding model, or none that lasts. Others are asked for OpenAI's."""

OLLAMA_PORT = 11434
_ZHIPU_HOSTS = frozenset({"open.bigmodel.cn", "api.z.ai"})


def default_model(base_url: str, default: str) -> str:
    """Return the usual embedding model of the service at this address, "" where it has none."""
    return DEFAULT_MODELS.get(_hostname(base_url), default)


def find_provider(name: str, base_url: str) -> str:
    """Return the row of `PROVIDERS` for a chat provider: one of its own if there is one, else "llm"."""
    if name == "ollama" or urlsplit(base_url).port == OLLAMA_PORT:
        return "ollama"
    return "zhipu" if name == "zhipu" or _hostname(base_url) in _ZHIPU_HOSTS else "llm"


def _hostname(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""


def open_llm(options: ProviderOptions) -> "HttpProvider":
    """Open the chat provider's `/embeddings`."""
    from memory.embeddings.openai import open_openai

    return open_openai(options)
