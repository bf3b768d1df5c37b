from typing import Any

import pytest

from bot.config.settings import Settings
from bot.embedding import chat_provider, open_embedding_from_settings
from memory.embeddings.provider_choice import ChatProviderAccess
from tests.fakes.table_test import table_test


def settings_with(**tables: Any) -> Settings:
    tables.setdefault("memory", {"embedding": {"local": {"cache_dir": "/nowhere"}}})
    return Settings(**tables)


async def test_without_any_key_nobody_is_opened() -> None:
    embedding = open_embedding_from_settings(settings_with())
    assert (embedding.choice.provider, embedding.embedder, embedding.error) == ("none", None, "")


@pytest.mark.parametrize(
    ("variable", "provider"),
    [("OPENAI_API_KEY", "openai"), ("GOOGLE_API_KEY", "gemini"), ("VOYAGE_API_KEY", "voyage")],
)
async def test_a_key_in_the_environment_chooses(
    monkeypatch: pytest.MonkeyPatch, variable: str, provider: str
) -> None:
    monkeypatch.setenv(variable, "k")
    embedding = open_embedding_from_settings(settings_with())
    assert embedding.choice.reason == f"{provider}: a key is in {variable}"
    assert embedding.embedder
    await embedding.embedder.close()


async def test_a_providers_own_table_chooses_by_its_first_key() -> None:
    tables = {"gemini": {"kind": "gemini", "api_keys": [" ", "first", "second"]}}
    embedding = open_embedding_from_settings(settings_with(providers=tables))
    assert embedding.choice.reason == "gemini: a key is in providers.gemini"
    assert embedding.choice.options
    assert embedding.choice.options.api_key == "first"
    assert embedding.embedder
    await embedding.embedder.close()


async def test_a_table_for_voyage_is_enough() -> None:
    embedding = open_embedding_from_settings(settings_with(providers={"voyage": {"api_key": "v"}}))
    assert embedding.choice.reason == "voyage: a key is in providers.voyage"
    assert embedding.choice.options
    assert (embedding.choice.options.base_url, embedding.choice.options.api_key) == (
        "https://api.voyageai.com/v1",
        "v",
    )
    assert embedding.embedder
    await embedding.embedder.close()


@table_test("name", ["deepseek", "mistral", "voyage"])
async def test_the_key_of_another_provider_is_not_shown_to_openai(name: str) -> None:
    tables = {name: {"api_key": "its-own"}}
    embedding = open_embedding_from_settings(settings_with(providers=tables))
    assert embedding.choice.provider == ("voyage" if name == "voyage" else "none")
    if embedding.embedder:
        await embedding.embedder.close()


CHAIN = {"chain": ["claude/x", "groq/y", "openai/z"]}
GROQ = {"kind": "openai", "base_url": "https://groq.example/v1/"}


def test_the_first_of_the_chain_that_speaks_openais_language_chats() -> None:
    tables = {
        "claude": {"kind": "anthropic"},
        "openai": {"kind": "openai", "api_key": "o"},
        "groq": {**GROQ, "api_key": "g"},
    }
    assert chat_provider(settings_with(models=CHAIN, providers=tables), {}) == ChatProviderAccess(
        "groq", "https://groq.example/v1", "g", answers_first=False
    )


def test_openais_key_is_shown_to_openai_alone() -> None:
    environment = {"OPENAI_API_KEY": " o "}
    claude = {"claude": {"kind": "anthropic"}}
    groq = settings_with(models=CHAIN, providers={**claude, "groq": GROQ, "openai": {"kind": "openai"}})
    assert chat_provider(groq, environment) == ChatProviderAccess(
        "groq", "https://groq.example/v1", "", False
    )
    openai = settings_with(models={"chain": ["openai/z"]}, providers={"openai": {"kind": "openai"}})
    assert chat_provider(openai, environment) == ChatProviderAccess(
        "openai", "https://api.openai.com/v1", "o"
    )


async def test_notes_are_not_sent_to_whoever_only_stands_in() -> None:
    mine = {"mine": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}}
    for chain, provider in ((["mine/m"], "llm"), (["anthropic/x", "mine/m"], "none")):
        embedding = open_embedding_from_settings(settings_with(models={"chain": chain}, providers=mine))
        assert embedding.choice.provider == provider
        if embedding.embedder:
            await embedding.embedder.close()


def test_the_notebook_makes_no_vectors() -> None:
    assert chat_provider(settings_with(), {"OPENAI_API_KEY": "o"}) is None
