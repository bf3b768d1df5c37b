"""From the settings to who makes the vectors of the notes: the keys and addresses of chat providers count too."""

import os
from collections.abc import Mapping

from bot.config import ProviderSettings, Settings
from memory.embeddings.auto import ChatProvider, ProviderSection
from memory.embeddings.opening import Embedding, open_embedding
from memory.embeddings.table import PROVIDERS


def open_embedding_of(settings: Settings) -> Embedding:
    """Choose and open as `[memory.embedding]` says; asks nobody and loads no model.

    What is chosen but cannot be had is no error here: the memory then finds by words and says why.
    """
    sections = {
        name: ProviderSection(table.kind, table.base_url, first_key(table))
        for name, table in settings.providers.items()
    }
    return open_embedding(
        settings.memory.embedding,
        sections=sections,
        environment=os.environ,
        chat=chat_provider(settings, os.environ),
    )


def chat_provider(settings: Settings, environment: Mapping[str, str]) -> ChatProvider | None:
    """The first provider of `models.chain` that speaks OpenAI's language and has a table; None without one."""
    openai = PROVIDERS["openai"]
    for model in settings.models.chain:
        name = model.partition("/")[0]
        table = settings.providers.get(name)
        if table is None or table.kind != "openai":
            continue
        base_url = table.base_url.rstrip("/") or openai.base_url
        key = first_key(table)
        if not key and base_url == openai.base_url:  # that key is shown to nobody else
            key = next(filter(None, (environment.get(name, "").strip() for name in openai.key_variables)), "")
        return ChatProvider(name, base_url, key)
    return None


def first_key(table: ProviderSettings) -> str:
    """The key that a provider is asked with before its others; "" for none."""
    keys = (key.get_secret_value().strip() for key in (table.api_key, *table.api_keys))
    return next(filter(None, keys), "")
