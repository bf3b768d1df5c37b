"""Every provider over a real socket, in its own API."""

import math
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from memory.embeddings.errors import (
    EmbeddingOutOfCredit,
    KeyRejected,
    LimitReached,
    ModelUnknown,
    NoModelInstalled,
    RequestRefused,
    RequestTooLarge,
    ResponseUnusable,
)
from memory.embeddings.http import HttpProvider
from memory.embeddings.ollama import ollama_root
from memory.embeddings.ollama_server import open_ollama
from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import EmbeddingProvider, Purpose
from memory.embeddings.provider_table import error_fixes
from tests.fakes.embedding_server import KEY, EmbeddingServer, fails, says, vector_of
from tests.fakes.table_test import table_test

Open = Callable[..., EmbeddingProvider]
EmbeddedOllama = Callable[[], HttpProvider]


@asynccontextmanager
async def closing(provider: HttpProvider) -> AsyncIterator[HttpProvider]:
    try:
        yield provider
    finally:
        await provider.close()


PROVIDERS = ("openai", "gemini", "voyage", "ollama", "zhipu", "llm")
TEXTS = ("The cat sleeps on the stove.", "Müsli, 麦片, мюсли", 'quotes " and \\ and\nlines')


def numbers_of(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_texts_come_back_as_vectors_in_their_order(
    name: str, server: EmbeddingServer, open_at: Open
) -> None:
    provider = open_at(name)

    vectors = await provider.embed(TEXTS, purpose="document")

    [*_, asked] = server.requests
    for text, vector in zip(asked.texts, vectors, strict=True):
        assert numbers_of(vector) == pytest.approx(vector_of(text, provider.dimensions), abs=1e-6)
        assert math.hypot(*numbers_of(vector)) == pytest.approx(1, abs=1e-4)
    assert provider.provider == name


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [("openai", 1536), ("gemini", 768), ("voyage", 1024), ("zhipu", 2048), ("ollama", 0), ("llm", 1536)],
)
def test_the_length_of_the_default_models_vectors_is_known_beforehand(
    name: str, dimensions: int, open_at: Open
) -> None:
    assert open_at(name).dimensions == dimensions


async def test_an_unknown_length_is_known_after_the_first_answer(open_at: Open) -> None:
    provider = open_at("ollama")
    await provider.embed(["a"], purpose="query")

    assert provider.dimensions == 768


@pytest.mark.parametrize("name", ["openai", "llm", "zhipu"])
async def test_openai_api(name: str, server: EmbeddingServer, open_at: Open) -> None:
    await open_at(name).embed(["a", "b"], purpose="query")

    [asked] = server.requests
    assert asked.path.endswith("/embeddings")
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body["input"] == ["a", "b"]
    assert "dimensions" not in asked.body
    assert ("encoding_format" in asked.body) == (name != "zhipu")


@pytest.mark.parametrize(
    ("model", "dimensions", "sent"),
    [
        ("text-embedding-3-small", 512, 512),
        ("text-embedding-3-large", 0, None),
        ("openai/text-embedding-3-small", 256, 256),
        ("bge-m3", 1536, None),
    ],
)
async def test_dimensions_are_sent_if_set_and_supported_by_the_model(
    model: str, dimensions: int, sent: int | None, server: EmbeddingServer, open_at: Open
) -> None:
    server.dimensions["openai"] = 3072 if model.endswith("large") else 1536
    provider = open_at("openai", model=model, dimensions=dimensions)

    [vector] = await provider.embed(["a"], purpose="document")

    assert server.requests[0].body.get("dimensions") == sent
    assert provider.dimensions == len(vector) / 4 == (sent or server.dimensions["openai"])


@pytest.mark.parametrize(
    ("purpose", "task"), [("query", "RETRIEVAL_QUERY"), ("document", "RETRIEVAL_DOCUMENT")]
)
async def test_gemini_api(purpose: Purpose, task: str, server: EmbeddingServer, open_at: Open) -> None:
    [vector, _] = await open_at("gemini").embed(["a", "b"], purpose=purpose)

    [asked] = server.requests
    assert asked.path == "/gemini/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in asked.path
    assert asked.body["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "b"}]},
        "taskType": task,
        "outputDimensionality": 768,
    }
    assert len(vector) == 768 * 4


async def test_gemini_models_may_be_named_with_their_prefix(server: EmbeddingServer, open_at: Open) -> None:
    provider = open_at("gemini", model="models/gemini-embedding-001", dimensions=1536)
    await provider.embed(["a"], purpose="query")

    assert provider.model == "gemini-embedding-001"
    assert server.requests[0].dimensions == 1536


async def test_second_generation_gemini_gets_the_task_in_the_text(
    server: EmbeddingServer, open_at: Open
) -> None:
    provider = open_at("gemini", model="gemini-embedding-2")
    await provider.embed(["{a}"], purpose="query")
    await provider.embed(["b"], purpose="document")

    assert [asked.texts for asked in server.requests] == [
        ("task: search result | query: {a}",),
        ("title: none | text: b",),
    ]
    assert [asked.purpose for asked in server.requests] == ["", ""]


@pytest.mark.parametrize("purpose", ["query", "document"])
async def test_voyage_api(purpose: Purpose, server: EmbeddingServer, open_at: Open) -> None:
    await open_at("voyage").embed(["a"], purpose=purpose)
    await open_at("voyage", dimensions=256).embed(["a"], purpose=purpose)

    assert server.requests[0].body == {
        "model": "voyage-4-large",
        "input": ["a"],
        "input_type": purpose,
        "encoding_format": "base64",
    }
    assert server.requests[1].body["output_dimension"] == 256


async def test_ollama_api(server: EmbeddingServer, open_at: Open) -> None:
    await open_at("ollama").embed(["a"], purpose="query")
    await open_at("ollama", dimensions=256).embed(["a"], purpose="document")

    assert server.requests[0].path == "/ollama/api/embed"
    assert server.requests[0].body == {
        "model": "nomic-embed-text",
        "input": ["search_query: a"],
        "truncate": True,
    }
    assert server.requests[1].body["dimensions"] == 256


@pytest.mark.parametrize("how", ["ignored", "refused"])
@pytest.mark.parametrize("name", ["openai", "voyage"])
async def test_a_server_without_base64_is_asked_for_numbers(
    name: str, how: str, server: EmbeddingServer, open_at: Open
) -> None:
    server.base64 = how
    provider = open_at(name)

    for _ in range(3):
        [vector] = await provider.embed(["a"], purpose="document")
        assert numbers_of(vector) == pytest.approx(vector_of("a", provider.dimensions), abs=1e-6)

    assert len(server.requests) == (4 if how == "refused" else 3)


async def test_a_bad_text_does_not_switch_off_base64(server: EmbeddingServer, open_at: Open) -> None:
    server.refused_texts.add("bad")
    provider = open_at("openai")
    with pytest.raises(RequestRefused):
        await provider.embed(["bad"], purpose="document")
    await provider.embed(["good"], purpose="document")

    assert server.requests[-1].base64


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_wrong_key_is_reported_with_the_fix_and_without_the_key(
    name: str, server: EmbeddingServer, open_at: Open
) -> None:
    wrong = "wrong-0123456789"
    server.always(fails(401, f"Incorrect API key provided: {wrong[:8]}**6789"))

    with pytest.raises(KeyRejected) as caught:
        await open_at(name, key=wrong).embed(["a"], purpose="query")

    assert str(caught.value).startswith(f"{name} answered 40")
    assert "check memory.embedding.api_key" in str(caught.value)
    assert "wrong-" not in str(caught.value)
    assert "6789" not in str(caught.value)


@pytest.mark.parametrize("name", ["openai", "gemini", "voyage", "zhipu"])
async def test_without_a_key_no_request_is_made(name: str, server: EmbeddingServer, open_at: Open) -> None:
    with pytest.raises(
        KeyRejected, match=f"{name} has no API key: check memory.embedding.api_key or .*_API_KEY"
    ):
        await open_at(name, key="").embed(["a"], purpose="query")

    assert server.requests == []


@pytest.mark.parametrize("key", ["schlüssel-123456", "two words", "line\nbreak"])
async def test_an_invalid_key_is_reported(key: str, server: EmbeddingServer, open_at: Open) -> None:
    with pytest.raises(KeyRejected) as caught:
        await open_at("openai", key=key).embed(["a"], purpose="query")

    assert key not in str(caught.value)
    assert server.requests == []


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/api", "/api/"])
async def test_ollama_s_address_may_have_a_path(end: str, server: EmbeddingServer) -> None:
    at = server.base_url("ollama") + end
    options = ProviderOptions("ollama", model="nomic-embed-text", base_url=at, fixes=error_fixes("ollama"))
    async with closing(open_ollama(options)) as provider:
        await provider.embed(["a"], purpose="query")


async def test_an_unknown_ollama_model_is_reported_with_the_fix(open_at: Open) -> None:
    with pytest.raises(ModelUnknown, match=r"run `ollama pull other`$"):
        await open_at("ollama", model="other").embed(["a"], purpose="query")


@pytest.mark.parametrize(
    ("name", "status", "code", "kind"),
    [
        ("openai", 429, "insufficient_quota", EmbeddingOutOfCredit),
        ("openai", 429, "rate_limit_exceeded", LimitReached),
        ("openai", 400, "max_tokens_per_request", RequestTooLarge),
        ("openai", 403, "model_not_found", ModelUnknown),
        ("openai", 402, "", EmbeddingOutOfCredit),
        ("zhipu", 429, "1113", EmbeddingOutOfCredit),
        ("zhipu", 429, "1302", LimitReached),
        ("zhipu", 400, "1211", ModelUnknown),
        ("zhipu", 400, "1214", RequestRefused),
        ("voyage", 400, "", RequestRefused),
        ("gemini", 400, "", RequestRefused),
        ("ollama", 400, "", RequestRefused),
    ],
)
async def test_a_services_own_error_codes_are_mapped(
    name: str, status: int, code: str, kind: type[Exception], server: EmbeddingServer, open_at: Open
) -> None:
    server.always(fails(status, "room 402 is not billing", code=code))

    with pytest.raises(kind) as caught:
        await open_at(name).embed(["a"], purpose="document")

    assert type(caught.value) is kind


async def test_geminis_retry_delay_is_read(server: EmbeddingServer, open_at: Open) -> None:
    server.enqueue(fails(429))

    with pytest.raises(LimitReached) as caught:
        await open_at("gemini").embed(["a"], purpose="document")

    assert caught.value.retry_after == 7.5


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    "content", ["[]", "{}", "null", '{"data": {}, "embeddings": {}}', '{"data": [1], "embeddings": [1]}']
)
async def test_json_without_vectors_is_unusable(
    name: str, content: str, server: EmbeddingServer, open_at: Open
) -> None:
    server.always(says(content))

    with pytest.raises(ResponseUnusable, match=rf"^{name} sent "):
        await open_at(name).embed(["a"], purpose="document")


async def test_vectors_that_name_the_same_text_twice_are_unusable(
    server: EmbeddingServer, open_at: Open
) -> None:
    entry = '{"index": 0, "embedding": [1.0]}'
    server.always(says(f'{{"data": [{entry}, {entry}]}}'))

    with pytest.raises(ResponseUnusable):
        await open_at("openai").embed(["a", "b"], purpose="document")


@table_test(
    "base_url",
    [
        "http://ollama.example:11434",
        "http://ollama.example:11434/",
        "http://ollama.example:11434/v1",
        "http://ollama.example:11434/v1/",
    ],
)
def test_ollamas_address_may_end_in_its_version(base_url: str) -> None:
    assert ollama_root(base_url) == "http://ollama.example:11434"


def test_a_path_before_ollama_is_kept() -> None:
    assert ollama_root("https://example.org/ollama/v1") == "https://example.org/ollama"


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
async def test_ollama_makes_vectors_with_the_address_that_chats_and_without_its_version(
    end: str, server: EmbeddingServer, open_at: Open
) -> None:
    provider = open_at("ollama", base_url=server.base_url("ollama") + end)

    [vector] = await provider.embed(["a"], purpose="document")

    assert len(vector) == 768 * 4


# An embedding model that Ollama has


@pytest.fixture
def installed(server: EmbeddingServer) -> EmbeddedOllama:
    """Ollama at the fake server, with whichever model is installed."""
    return lambda: open_ollama(
        ProviderOptions(
            "ollama", model="", base_url=server.base_url("ollama") + "/v1", fixes=error_fixes("ollama")
        )
    )


@pytest.mark.parametrize(
    ("names", "model"),
    [
        (["qwen3:latest", "nomic-embed-text:latest"], "nomic-embed-text"),
        (["bge-m3:latest", "mxbai-embed-large:latest", "llama3.2:3b"], "mxbai-embed-large"),
        (["all-minilm:33m", "all-minilm:22m"], "all-minilm:33m"),
        (["snowflake-arctic-embed:latest"], "snowflake-arctic-embed"),
        (["embeddinggemma:300m", "qwen3-embedding:0.6b"], "embeddinggemma:300m"),
        (["someone/bge-m3:latest"], "someone/bge-m3"),
        (["qwen3:latest", "my-own-embedder:v2"], "my-own-embedder:v2"),
    ],
)
async def test_an_installed_embedding_model_of_ollama_is_chosen(
    installed: EmbeddedOllama, server: EmbeddingServer, names: list[str], model: str
) -> None:
    server.installed = names
    async with closing(installed()) as provider:
        assert (provider.model, server.listings) == ("", 0), "nobody is asked before the first text"
        await provider.embed(["a"], purpose="document")
        await provider.embed(["b"], purpose="query")

        assert provider.model == model
    assert [asked.body["model"] for asked in server.requests] == [model, model]
    assert server.listings == 1


async def test_ollama_without_an_embedding_model_says_how_to_get_one_and_finds_it(
    installed: EmbeddedOllama, server: EmbeddingServer
) -> None:
    server.installed = ["qwen3:latest"]
    async with closing(installed()) as provider:
        with pytest.raises(
            NoModelInstalled, match="has no embedding model: run `ollama pull nomic-embed-text`"
        ):
            await provider.embed(["a"], purpose="document")
        assert (provider.model, server.requests) == ("", [])

        server.installed.append("bge-m3:latest")
        await provider.embed(["a"], purpose="document")

        assert provider.model == "bge-m3"


async def test_a_model_removed_from_ollama_is_replaced_by_another(
    installed: EmbeddedOllama, server: EmbeddingServer
) -> None:
    server.installed = ["nomic-embed-text:latest", "all-minilm:latest"]
    async with closing(installed()) as provider:
        await provider.embed(["a"], purpose="document")
        server.installed = ["all-minilm:latest"]
        server.dimensions["ollama"] = 384
        with pytest.raises(ModelUnknown):
            await provider.embed(["a"], purpose="document")
        [vector] = await provider.embed(["a"], purpose="document")

        assert (provider.model, provider.dimensions, len(vector)) == ("all-minilm", 384, 384 * 4)


@pytest.mark.parametrize("answer", ["[]", "{}", '{"models": null}', '{"models": [1, {"size": 2}]}'])
async def test_an_invalid_list_of_models_means_no_model(
    installed: EmbeddedOllama, server: EmbeddingServer, answer: str
) -> None:
    server.tags = answer
    async with closing(installed()) as provider:
        with pytest.raises(NoModelInstalled):
            await provider.embed(["a"], purpose="document")


# What a service does not have


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("openai", "/openai"),
        ("openai", "/openai/v1/v1"),
        ("voyage", "/voyage"),
        ("zhipu", "/zhipu/api/paas"),
        ("gemini", "/gemini/v1beta"),
        ("ollama", "/ollama/api/embed"),
        ("ollama", "/elsewhere"),
    ],
)
async def test_a_path_unknown_to_the_service_is_reported(
    name: str, path: str, server: EmbeddingServer, open_at: Open
) -> None:
    provider = open_at(name, base_url=server.base_url("") + path)

    with pytest.raises(ModelUnknown, match=r"answered 404.*check .*base_url") as caught:
        await provider.embed(["a"], purpose="document")

    assert "ollama pull" not in str(caught.value)
    assert server.requests == []
    assert len(server.refused_paths) == 1
