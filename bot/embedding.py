"""Chooses the embedding provider from the settings, including keys and base URLs of chat providers."""

import os
from collections.abc import Mapping

from bot.config.settings import Settings
from bot.models.known_providers import KNOWN_PROVIDERS, resolve_provider
from memory.embeddings.factory import Embedding, choose_providers, open_embedding
from memory.embeddings.provider_choice import ChatProviderAccess, ProviderSection


def open_embedding_from_settings(settings: Settings) -> Embedding:
    """Choose and open providers as `[memory.embedding]` says, without requests and without loading a model.

    An unavailable provider is no error: the memory then searches by words and says why.
    """
    return open_embedding(
        settings.memory.embedding,
        sections=provider_sections(settings),
        environment=os.environ,
        chat=chat_provider(settings, os.environ),
    )


def is_different_embedding(settings: Settings, other: Settings) -> bool:
    """Return whether the two settings choose different providers, base URLs or keys for embeddings.

    They may differ even if `[memory.embedding]` is the same.
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
    """Return the tables under `providers`, each with the base URL of its name: its key must go nowhere else."""
    return {
        name: ProviderSection(
            table.kind,
            table.base_url or (KNOWN_PROVIDERS[name].base_url if name in KNOWN_PROVIDERS else ""),
            next(iter(table.keys), ""),
        )
        for name, table in settings.providers.items()
    }


def chat_provider(settings: Settings, environment: Mapping[str, str]) -> ChatProviderAccess | None:
    """Return the first provider of `models.chain` that has an OpenAI-compatible API; None if there is none."""
    for place, model in enumerate(settings.models.chain):
        name = model.partition("/")[0]
        provider = resolve_provider(name, settings.providers, environment)
        if provider.kind == "openai":
            return ChatProviderAccess(
                name, provider.base_url, next(iter(provider.keys), ""), answers_first=place == 0
            )
    return None
