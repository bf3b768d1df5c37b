import asyncio
import importlib.util
import os
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memory.embeddings.errors import KeyRejected, ModelUnusable, ResponseUnusable
from memory.embeddings.llama_cpp import LlamaCppProvider, count_usable_cores, is_installed, make_batches
from memory.embeddings.llama_library import StopFlag
from memory.embeddings.llama_model import EmbeddingStopped, LlamaModel, prefixes
from memory.embeddings.model_files import DownloadProgress
from memory.embeddings.protocol import EmbeddingProvider, Vector
from tests.fakes.hub_server import REFERENCE, running_hub
from tests.fakes.table_test import table_test
from tests.fakes.tiny_gguf import TINY_CONTEXT, TINY_DIMENSIONS, write_tiny_gguf

ROOT = Path(__file__).parents[3]
MODEL_FILE = os.environ.get("MODEL_FILE", "")

needs_llama = pytest.mark.skipif(
    not (is_installed() and importlib.util.find_spec("gguf")),
    reason="llama-cpp-python or gguf is not installed",
)
needs_model = pytest.mark.skipif(
    not (is_installed() and MODEL_FILE), reason="MODEL_FILE names no real embedding model"
)


def test_a_local_model_is_identified_by_its_files_content(tmp_path: Path) -> None:
    def version(path: Path) -> str | None:
        return LlamaCppProvider(str(path), cache_dir="/nowhere").version

    for folder in ("one", "two", "three"):
        (tmp_path / folder).mkdir()
    content = b"GGUF" + bytes(3 << 20)
    one, two, three = (tmp_path / folder / "model.gguf" for folder in ("one", "two", "three"))
    assert version(one) is None
    one.write_bytes(content)
    two.write_bytes(content)
    three.write_bytes(content[:-1] + b"x")
    assert version(one) == version(two) != version(three)
    provider = LlamaCppProvider(str(one), cache_dir="/nowhere")
    before = provider.version
    one.write_bytes(content + b"more")
    os.utime(one, ns=(1, 1))
    assert provider.version not in {before, None}


async def test_without_the_library_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with running_hub(b"GGUF and more") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        async with provided(REFERENCE, cache_dir=tmp_path) as provider:
            with pytest.raises(
                ModelUnusable, match=r"needs llama_cpp, which is not installed: run make local"
            ):
                await provider.embed(["a"], purpose="document")

    assert hub.asked == []


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes seconds for a long text."""
    path = tmp_path_factory.mktemp("models") / "slow.gguf"
    return write_tiny_gguf(path, dimensions=192, context=2048, layers=6)


@asynccontextmanager
async def provided(path: Path | str, **options: Any) -> AsyncIterator[LlamaCppProvider]:
    provider = LlamaCppProvider(str(path), **{"cache_dir": "/nowhere", **options})
    try:
        yield provider
    finally:
        await provider.close()


def floats(vector: Vector) -> list[float]:
    return list(struct.unpack(f"<{len(vector) // 4}f", vector))


def likeness(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(floats(one), floats(other), strict=True))


# What needs no model


@table_test(
    ("name", "expected"),
    [
        ("bert all-MiniLM-L6-v2 all-MiniLM-L6-v2-q8_0", ("", "")),
        ("bert Granite Embedding 107m Multilingual granite-embedding-107m-multilingual-Q8_0", ("", "")),
        ("nomic-bert nomic-embed-text-v1.5 x", ("search_query: ", "search_document: ")),
        ("bert Multilingual E5 Small x", ("query: ", "passage: ")),
        ("bert e5-base-v2 x", ("query: ", "passage: ")),
        ("bert BGE Small En v1.5 x", ("Represent this sentence for searching relevant passages: ", "")),
        ("bert bge-m3 x", ("", "")),
        ("bert snowflake-arctic-embed-l-v2.0 x", ("query: ", "")),
        ("gemma-embedding Embeddinggemma 300M x", ("task: search result | query: ", "title: none | text: ")),
    ],
)
def test_a_model_gets_the_prefixes_it_was_trained_with(name: str, expected: tuple[str, str]) -> None:
    assert prefixes(name) == expected


def test_models_that_take_instructions_get_one_before_the_query_alone() -> None:
    for name in ("qwen3 Qwen3 Embedding 0.6B x", "bert multilingual-e5-large-instruct x"):
        query, document = prefixes(name)
        assert query.startswith("Instruct: ")
        assert query.endswith("\nQuery: ")
        assert document == ""


def test_texts_are_batched_within_both_limits() -> None:
    texts = [[0] * size for size in (3, 3, 4, 20, 1, 1, 1, 1)]
    found = [[len(text) for text in batch] for batch in make_batches(texts, max_tokens=8, max_texts=3)]
    assert found == [[3, 3], [4], [20], [1, 1, 1], [1]]
    assert list(make_batches([], max_tokens=8, max_texts=3)) == []


def test_it_is_a_provider_that_knows_its_name_before_it_loads(tmp_path: Path) -> None:
    provider: EmbeddingProvider = LlamaCppProvider(str(tmp_path / "some-model.gguf"), cache_dir=tmp_path)
    assert (provider.provider, provider.model, provider.dimensions) == ("local", "some-model", 0)


def test_all_processors_are_used_unless_told_otherwise() -> None:
    assert 1 <= count_usable_cores() <= (os.cpu_count() or 1)


async def test_a_provider_that_never_ran_can_be_closed(tmp_path: Path) -> None:
    provider = LlamaCppProvider(str(tmp_path / "x.gguf"), cache_dir=tmp_path)
    await provider.close()
    await provider.close()
    with pytest.raises(ModelUnusable, match="closed"):
        await provider.embed(["a"], purpose="query")


@pytest.mark.thorough
def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF and more")
    code = f"""
import asyncio, sys
sys.modules["llama_cpp"] = None
from memory.embeddings.llama_cpp import LlamaCppProvider
provider = LlamaCppProvider({str(tmp_path / "model.gguf")!r}, cache_dir=".")
try:
    asyncio.run(provider.embed(["a"], purpose="query"))
except Exception as error:
    print(type(error).__name__, error)
"""
    done = run(code)
    assert "ModelUnusable" in done.stdout
    assert "make local" in done.stdout
    assert done.stderr == ""


@needs_llama
async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    async with provided(tmp_path / "none.gguf") as provider:
        with pytest.raises(
            ModelUnusable, match=r"none\.gguf does not exist.*memory\.embedding\.local\.model_path"
        ):
            await provider.embed(["a"], purpose="query")


@needs_llama
async def test_a_file_that_is_no_gguf_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("hello")
    async with provided(tmp_path / "text.gguf") as provider:
        with pytest.raises(ModelUnusable, match="not a GGUF file"):
            await provider.embed(["a"], purpose="query")
    async with provided(tmp_path) as provider:
        with pytest.raises(ModelUnusable, match="folder"):
            await provider.embed(["a"], purpose="query")


@needs_llama
async def test_a_failed_download_raises_for_waiting_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_hub(b"") as hub:
        hub.token = "another"
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        async with provided(REFERENCE, cache_dir=tmp_path) as provider:
            with pytest.raises(KeyRejected):
                await provider.embed(["a"], purpose="query")


# What any model must do


@needs_llama
async def test_vectors_have_length_one_and_keep_the_order(tiny: Path) -> None:
    texts = [f"text {number} of some" for number in range(70)]
    async with provided(tiny) as provider:
        together = await provider.embed(texts, purpose="document")
        alone = [(await provider.embed([text], purpose="document"))[0] for text in texts]
        assert provider.dimensions == TINY_DIMENSIONS
    for vector, other in zip(together, alone, strict=True):
        assert len(vector) == TINY_DIMENSIONS * 4
        assert likeness(vector, vector) == pytest.approx(1, abs=1e-5)
        assert likeness(vector, other) == pytest.approx(1, abs=1e-4)


@pytest.mark.thorough
@needs_llama
async def test_the_same_text_gives_the_same_bytes(tiny: Path) -> None:
    async with provided(tiny) as one, provided(tiny) as other:
        first = await one.embed(["once more", "with feeling"], purpose="query")
        assert await one.embed(["once more", "with feeling"], purpose="query") == first
        assert await other.embed(["once more", "with feeling"], purpose="query") == first


@pytest.mark.thorough
@needs_llama
async def test_a_text_is_cut_at_what_the_model_takes(tiny: Path) -> None:
    letters = "abcdefgh" * 20
    async with provided(tiny) as provider:
        full, longer, shorter = await provider.embed(
            [letters[: TINY_CONTEXT - 2], letters, letters[: TINY_CONTEXT - 3]], purpose="document"
        )
    assert likeness(full, longer) == pytest.approx(1, abs=1e-4)
    assert likeness(full, shorter) < 0.9999


@pytest.mark.thorough
@needs_llama
@pytest.mark.parametrize("text", ["", "\0", "\ud800", "中文", "🦊" * 500, "a" * 1_000_000])
async def test_no_text_crashes_the_model(tiny: Path, text: str) -> None:
    async with provided(tiny) as provider:
        (vector,) = await provider.embed([text], purpose="document")
    assert likeness(vector, vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.thorough
@needs_llama
async def test_prefixes_reach_the_model(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "any.gguf", name="Multilingual E5 Tiny")
    async with provided(path) as prefixed:
        query = await prefixed.embed(["fox"], purpose="query")
        document = await prefixed.embed(["fox"], purpose="document")
    async with provided(write_tiny_gguf(tmp_path / "plain.gguf")) as plain:
        assert await plain.embed(["query: fox"], purpose="document") == query
        assert await plain.embed(["passage: fox"], purpose="query") == document


@needs_llama
async def test_shortened_vectors_are_normalized_again(tiny: Path) -> None:
    async with provided(tiny, dimensions=8) as provider:
        (vector,) = await provider.embed(["a"], purpose="query")
        assert (len(vector), provider.dimensions) == (32, 8)
        assert likeness(vector, vector) == pytest.approx(1, abs=1e-5)
    async with provided(tiny, dimensions=64) as provider:
        with pytest.raises(ModelUnusable, match=r"memory\.embedding\.dimensions"):
            await provider.embed(["a"], purpose="query")


@pytest.mark.thorough
@needs_llama
async def test_many_callers_each_get_their_own(tiny: Path) -> None:
    async with provided(tiny) as provider:
        expected = {
            word: (await provider.embed([word], purpose="query"))[0] for word in ("abc", "def", "ghi", "jkl")
        }
        asked = [[word, "filler"] for word in expected] * 10
        found = await asyncio.gather(*(provider.embed(texts, purpose="document") for texts in asked))
    for texts, vectors in zip(asked, found, strict=True):
        assert likeness(vectors[0], expected[texts[0]]) == pytest.approx(1, abs=1e-4)


@needs_llama
async def test_two_providers_work_side_by_side(tiny: Path, tmp_path: Path) -> None:
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=2, dimensions=64)
    async with provided(tiny) as one, provided(other) as two:
        found = await asyncio.gather(
            *(provider.embed(["a", "b"] * 20, purpose="document") for provider in (one, two) * 5)
        )
    assert [len(vectors[0]) // 4 for vectors in found] == [TINY_DIMENSIONS, 64] * 5


@pytest.mark.thorough
@needs_llama
async def test_the_loop_goes_on_while_the_model_works(slow: Path) -> None:
    async with provided(slow) as provider:
        task = asyncio.create_task(provider.embed(["ab" * 1000], purpose="document"))
        rounds = 0
        while not task.done():
            await asyncio.sleep(0.001)
            rounds += 1
    assert rounds > 10


@pytest.mark.thorough
@needs_llama
async def test_a_query_goes_before_documents_that_wait(slow: Path) -> None:
    done: list[str] = []

    async def ask(provider: LlamaCppProvider, name: str, texts: list[str], purpose: Any) -> None:
        await provider.embed(texts, purpose=purpose)
        done.append(name)

    async with provided(slow) as provider:
        await provider.embed(["a"], purpose="query")
        documents = asyncio.create_task(ask(provider, "documents", ["ab" * 150] * 12, "document"))
        await asyncio.sleep(0)
        await ask(provider, "query", ["a"], "query")
        await documents
    assert done == ["query", "documents"]


@pytest.mark.thorough
@needs_llama
async def test_a_cancelled_request_is_not_worked_on(slow: Path) -> None:
    async with provided(slow) as provider:
        await provider.embed(["a"], purpose="query")
        tasks = [asyncio.create_task(provider.embed(["ab" * 900] * 50, purpose="document")) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        assert await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        async with asyncio.timeout(60):
            assert await provider.embed(["b"], purpose="query")


@pytest.mark.thorough
@needs_llama
async def test_closing_stops_what_is_running(slow: Path) -> None:
    async with provided(slow) as provider:
        await provider.embed(["a"], purpose="query")
        tasks = [
            asyncio.create_task(provider.embed(["ab" * 1000] * 50, purpose="document")) for _ in range(2)
        ]
        await asyncio.sleep(0.1)
        before = time.perf_counter()
        await provider.close()
        assert time.perf_counter() - before < 5
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(found, ModelUnusable)


@needs_llama
def test_a_stopped_model_stops_in_the_middle(slow: Path) -> None:
    stop = StopFlag()
    model = LlamaModel(slow, threads=1, stop=stop)
    try:
        stop.set()
        with pytest.raises(EmbeddingStopped):
            model.vectors([model.tokens("ab" * 1000, "document")])
    finally:
        model.close()


@needs_llama
async def test_nan_is_detected(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "nan.gguf", broken=True)
    async with provided(path) as provider:
        with pytest.raises(ResponseUnusable, match="no usable vector"):
            await provider.embed(["a"], purpose="query")


@needs_llama
async def test_a_model_that_does_not_embed_is_refused(tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "chat.gguf", pooling=None, causal=True)
    async with provided(path) as provider:
        with pytest.raises(ModelUnusable, match="not an embedding model"):
            await provider.embed(["a"], purpose="query")


@needs_llama
async def test_an_old_encoder_that_names_no_pooling_is_averaged(tiny: Path, tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "old.gguf", pooling=None)
    async with provided(path) as old, provided(tiny) as new:
        assert await old.embed(["fox"], purpose="query") == await new.embed(["fox"], purpose="query")


@needs_llama
async def test_a_damaged_file_is_reported_and_a_repaired_one_loaded(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(tiny.read_bytes()[:-5000])
    async with provided(path) as provider:
        with pytest.raises(ModelUnusable, match=r"half\.gguf cannot be loaded: .*\. Fetch or copy"):
            await provider.embed(["a"], purpose="query")
        path.unlink()
        path.write_bytes(tiny.read_bytes())
        assert await provider.embed(["a"], purpose="query")


@needs_llama
async def test_a_model_of_the_hub_is_downloaded_for_the_first_text(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_hub(tiny.read_bytes()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        seen: list[DownloadProgress] = []
        async with provided(REFERENCE, cache_dir=tmp_path, report=seen.append) as provider:
            assert hub.asked == []
            assert await provider.embed(["a"], purpose="query")
            assert provider.fetching is None
        assert seen[-1].done == len(hub.content)


# What a process must do


def run(code: str, *, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        # llama-cpp-python itself leaves two files open on /dev/null.
        [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


START = """
import asyncio, sys
from memory.embeddings.llama_cpp import LlamaCppProvider
async def start(path, text):
    provider = LlamaCppProvider(path, cache_dir=".")
    await provider.embed(["a"], purpose="query")
    task = asyncio.create_task(provider.embed([text] * 100, purpose="document"))
    await asyncio.sleep(0.1)
"""


@pytest.mark.thorough
@needs_llama
def test_llama_cpp_says_nothing_by_itself(tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "half.gguf").write_bytes(tiny.read_bytes()[:-5000])
    code = f"""{START}
asyncio.run(start({str(tiny)!r}, "b"))
try:
    asyncio.run(start({str(tmp_path / "half.gguf")!r}, "b"))
except Exception as error:
    print(type(error).__name__)
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ModelUnusable\n", "")


@pytest.mark.thorough
@needs_llama
def test_a_process_ends_at_once_with_the_model_at_work(slow: Path) -> None:
    before = time.perf_counter()
    done = run(f"{START}\nasyncio.run(start({str(slow)!r}, 'ab' * 1000))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.perf_counter() - before < 30


@pytest.mark.thorough
@needs_llama
def test_standard_output_is_left_alone_while_the_model_loads(tiny: Path) -> None:
    code = f"""{START}
import threading
over = threading.Event()
def talk():
    count = 0
    while not over.is_set():
        print("word")
        count += 1
    print(count)
thread = threading.Thread(target=talk)
thread.start()
asyncio.run(start({str(tiny)!r}, "b"))
over.set()
thread.join()
"""
    *words, count = run(code).stdout.split()
    assert words == ["word"] * int(count)


# What a real model must do


@pytest.fixture
def real() -> str:
    assert Path(MODEL_FILE).is_file()
    return MODEL_FILE


@needs_model
async def test_similar_sentences_have_similar_vectors(real: str) -> None:
    texts = [
        "The cat sleeps on the sofa.",
        "A kitten is napping on the couch.",
        "Our tax return is due in April.",
        "We have to hand in the declaration to the tax office this spring.",
    ]
    async with provided(real) as provider:
        cat, kitten, tax, office = await provider.embed(texts, purpose="document")
        (query,) = await provider.embed(["Where does the cat lie?"], purpose="query")
    assert likeness(cat, kitten) > likeness(cat, tax) + 0.2
    assert likeness(tax, office) > likeness(kitten, office) + 0.2
    assert likeness(query, cat) > likeness(query, tax) + 0.2


@needs_model
async def test_a_real_model_gives_the_same_alone_and_together(real: str) -> None:
    texts = [f"Note number {number}: we met at the harbour and talked. " * 3 for number in range(40)]
    async with provided(real, threads=1) as provider:
        together = await provider.embed(texts, purpose="document")
        alone = [(await provider.embed([text], purpose="document"))[0] for text in texts[:5]]
    assert [likeness(a, b) for a, b in zip(together, alone, strict=False)] == pytest.approx([1] * 5, abs=1e-3)
    assert [likeness(vector, vector) for vector in together] == pytest.approx([1] * 40, abs=1e-5)
