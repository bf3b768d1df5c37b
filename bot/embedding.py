"""From the settings to who makes the vectors of the notes: the keys and addresses of chat providers count too."""

import os
from collections.abc import Mapping

from bot.config.settings import Settings
from bot.models.known_providers import KNOWN_PROVIDERS, resolve_provider
from memory.embeddings.factory import Embedding, choose_providers, open_embedding
from memory.embeddings.provider_choice import ChatProviderAccess, ProviderSection


def open_embedding_from_settings(settings: Settings) -> Embedding:
    """Choose and open as `[memory.embedding]` says; asks nobody and loads no model.

    What is chosen but cannot be had is no error here: the memory then finds by words and says why.
    """
    return open_embedding(
        settings.memory.embedding,
        sections=provider_sections(settings),
        environment=os.environ,
        chat=chat_provider(settings, os.environ),
    )


def is_different_embedding(settings: Settings, other: Settings) -> bool:
    """Whether somebody else would make the vectors by the other settings, or at another address, or with another key.

    Also where `[memory.embedding]` itself is the same.
    """
    choices = [
        choose_providers(
            each.memory.embedding,
            sections=provider_sections(each),
            environment=os.environ,
            chat=chat_provider(each, os.environ),
        )
        for each in (settings, other)
    ]
    return choices[0] != choices[1]


def provider_sections(settings: Settings) -> dict[str, ProviderSection]:
    """The tables under `providers`, each with the address that its name stands for: its key is for no other."""
    return {
        name: ProviderSection(
            table.kind,
            table.base_url or (KNOWN_PROVIDERS[name].base_url if name in KNOWN_PROVIDERS else ""),
            next(iter(table.keys), ""),
        )
        for name, table in settings.providers.items()
    }


def chat_provider(settings: Settings, environment: Mapping[str, str]) -> ChatProviderAccess | None:
    """The first provider of `models.chain` that speaks OpenAI's language; None without one."""
    for place, model in enumerate(settings.models.chain):
        name = model.partition("/")[0]
        provider = resolve_provider(name, settings.providers, environment)
        if provider.kind == "openai":
            return ChatProviderAccess(
                name, provider.base_url, next(iter(provider.keys), ""), answers_first=place == 0
            )
    return None
