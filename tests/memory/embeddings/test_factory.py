import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from memory.embeddings.factory import Embedding, open_embedding
from memory.embeddings.provider_choice import ChatProviderAccess, ProviderSection
from memory.embeddings.provider_table import PROVIDERS
from memory.settings import EmbeddingSettings, LocalEmbeddingSettings
from tests.fakes.embedding_server import KEY
from tests.fakes.table_test import table_test

ROOT = Path(__file__).parents[3]
CHAT = ChatProviderAccess("mine", "http://127.0.0.1:1/v1", KEY)


async def opened(chat: ChatProviderAccess | None = None, **settings: object) -> Embedding:
    """Open the embedding, and close it at the end."""
    chosen = EmbeddingSettings.model_validate(settings)
    embedding = open_embedding(chosen, sections={}, environment={}, chat=chat)
    if embedding.embedder:
        await embedding.embedder.close()
    return embedding


@table_test("name", PROVIDERS)
async def test_every_provider_opens_with_its_name_alone(name: str) -> None:
    embedding = await opened(provider=name, chat=CHAT if name == "llm" else None)
    assert embedding.error == ""
    assert embedding.choice.provider == name
    assert embedding.choice.reason == f"{name}: set in memory.embedding.provider"
    assert embedding.embedder is not None
    [model] = embedding.embedder.models
    assert model.provider == name
    assert embedding.primary is not None
    assert embedding.primary.provider == name
    if PROVIDERS[name].dimensions:
        assert model.dimensions == embedding.primary.dimensions == PROVIDERS[name].dimensions


@table_test("name", PROVIDERS)
async def test_every_provider_opens_as_a_fallback(name: str) -> None:
    primary = "voyage" if name == "openai" else "openai"
    embedding = await opened(provider=primary, fallback=name, chat=CHAT)
    assert embedding.embedder is not None
    assert [model.provider for model in embedding.embedder.models] == [primary, name]
    assert (embedding.fallback.provider, embedding.error) == (name, "")


async def test_a_local_model_with_a_missing_file_still_opens() -> None:
    embedding = await opened(provider="local", local=LocalEmbeddingSettings(model_path="/nowhere/x.gguf"))
    assert embedding.embedder is not None


async def test_without_a_provider_there_is_no_embedder() -> None:
    for embedding in (
        await opened(),
        await opened(provider="none"),
        await opened(provider="none", fallback="openai"),
    ):
        assert (embedding.embedder, embedding.primary, embedding.error) == (None, None, "")
        assert embedding.choice.provider == "none"
        assert embedding.choice.reason.startswith("none: ")
    assert Embedding().embedder is None


async def test_a_provider_is_not_its_own_fallback() -> None:
    embedding = await opened(provider="openai", fallback="openai")
    assert embedding.embedder is not None
    assert len(embedding.embedder.models) == 1
    assert embedding.fallback.provider == "none"


async def test_the_chat_provider_is_the_last_and_uncertain_choice() -> None:
    embedding = await opened(chat=CHAT)
    assert (embedding.choice.provider, embedding.choice.unsure) == ("llm", True)
    assert embedding.embedder is not None


async def test_the_batch_size_comes_from_the_settings() -> None:
    embedding = await opened(provider="openai", batch_size=7)
    assert embedding.embedder is not None
    assert embedding.embedder._batch_size == 7


async def test_a_key_is_not_in_the_repr() -> None:
    embedding = await opened(provider="openai", fallback="voyage", api_key=KEY)
    assert KEY not in repr(embedding)


def test_a_section_gives_key_and_address() -> None:
    settings = EmbeddingSettings(provider="auto")
    section = ProviderSection("openai", "http://127.0.0.1:1/v1", KEY)
    embedding = open_embedding(settings, sections={"openai": section}, environment={})
    assert embedding.choice.options is not None
    assert (embedding.choice.options.base_url, embedding.choice.options.api_key) == (section.base_url, KEY)
    assert "providers.openai" in embedding.choice.reason


NOT_FOR_WORDS = ("httpx", "numpy", "llama_cpp", "watchfiles", "sqlite_vec")
HEAVY = ("httpx", "numpy", "llama_cpp", "apsw", "aiohttp", "watchfiles")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("settings", "loaded"),
    [
        pytest.param({}, [], id="auto"),
        pytest.param({"provider": "none"}, [], id="none", marks=pytest.mark.thorough),
        pytest.param({"provider": "openai"}, ["httpx"], id="openai"),
        pytest.param({"provider": "local"}, [], id="local", marks=pytest.mark.thorough),
    ],
)
def test_only_what_is_chosen_is_imported(settings: dict[str, str], loaded: list[str]) -> None:
    code = (
        "import json, sys\n"
        "from memory.embeddings.factory import open_embedding\n"
        "from memory.settings import EmbeddingSettings\n"
        f"open_embedding(EmbeddingSettings.model_validate({settings!r}), sections={{}}, environment={{}})\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(output) == loaded


@pytest.mark.thorough
def test_a_memory_without_vectors_searches_without_heavy_libraries(tmp_path: Path) -> None:
    code = f"""
import asyncio, json, sys
from datetime import UTC, datetime
from pathlib import Path
from memory.embeddings.factory import open_embedding
from memory.memory import Memory
from memory.settings import MemorySettings

async def main():
    settings = MemorySettings()
    made = open_embedding(settings.embedding, sections={{}}, environment={{}})
    async with Memory(
        settings, workspace=Path({str(tmp_path)!r}), now=lambda: datetime(2026, 11, 21, tzinfo=UTC), embedding=made
    ) as memory:
        await memory.write("one")
        assert (await memory.search("one")).hits
        await memory.fill_vectors()
        assert (await memory.status()).vector_backend == "none"
    print(json.dumps([name for name in {NOT_FOR_WORDS!r} if name in sys.modules]))

asyncio.run(main())
"""
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(output) == []


@pytest.mark.parametrize(
    "variable",
    [
        {"ALL_PROXY": "socks5://127.0.0.1:1"},
        {"HTTP_PROXY": "ftp://x:1"},
        {"SSL_CERT_FILE": "/nonexistent.pem"},
    ],
)
async def test_environment_errors_are_reported_and_stop_nothing(
    variable: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory import http_responses

    http_responses._default_ssl_context.cache_clear()
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    embedding = await opened(provider="openai", api_key=SecretStr(KEY))
    http_responses._default_ssl_context.cache_clear()
    assert embedding.embedder is None
    assert embedding.error.startswith("openai cannot be opened: ")
    assert KEY not in embedding.error


async def test_a_configured_model_that_is_missing_is_reported() -> None:
    embedding = await opened(provider="auto", local={"model_path": "/nowhere/x.gguf"})
    assert embedding.choice.provider == "none"
    assert embedding.error.startswith("local.model_path is set, but ")
