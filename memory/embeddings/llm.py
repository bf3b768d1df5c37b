"""Embeddings by the provider that also chats: its key and address, OpenAI's language."""

from dataclasses import replace
from urllib.parse import urlsplit

from memory.embeddings.http import HttpProvider
from memory.embeddings.openai import open_openai
from memory.embeddings.table import ProviderOptions

MODELS = {
    "api.mistral.ai": "mistral-embed",
    "api.siliconflow.cn": "BAAI/bge-m3",
    "openrouter.ai": "openai/text-embedding-3-small",
}
"""The usual embedding model of hosts that have another one than OpenAI's."""


def open_llm(options: ProviderOptions) -> HttpProvider:
    """Open the chat provider's `/embeddings`; its usual model where none is set."""
    host = urlsplit(options.base_url).hostname or ""
    model = MODELS.get(host, options.model) if options.model_is_default else options.model
    return open_openai(replace(options, model=model))
