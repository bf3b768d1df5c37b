"""Embeddings by the chat provider: its key and address, and OpenAI's API."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memory.embeddings.options import ProviderOptions

# Imported when needed, since choosing a provider only needs the tables.
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
"""Default embedding models by host; "" for services without a lasting one. Others are asked for OpenAI's."""

OLLAMA_PORT = 11434
_ZHIPU_HOSTS = frozenset({"open.bigmodel.cn", "api.z.ai"})


def default_model(base_url: str, default: str) -> str:
    """Return the default embedding model of the service at this address, "" if it has none."""
    return DEFAULT_MODELS.get(_hostname(base_url), default)


def find_provider(name: str, base_url: str) -> str:
    """Return the key in `PROVIDERS` for a chat provider: its own if there is one, else "llm"."""
    if name == "ollama" or urlsplit(base_url).port == OLLAMA_PORT:
        return "ollama"
    return "zhipu" if name == "zhipu" or _hostname(base_url) in _ZHIPU_HOSTS else "llm"


def _hostname(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""


def open_llm(options: ProviderOptions) -> "HttpProvider":
    """Open the chat provider's `/embeddings`."""
    from memory.embeddings.openai import open_openai

    return open_openai(options)
