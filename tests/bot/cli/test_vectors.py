"""`commonplace memory …` where somebody makes vectors: a server on a real socket, and a process where it matters."""

import asyncio
import json
import os
import signal
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from aiohttp import web

from bot.cli import memory as cli_memory
from bot.cli.memory import fill_until_failing, format_running_work
from bot.memory_json import encode_status
from memory.embedding_backfill import PROBE_TEXT
from memory.embeddings.embedder import Embedder
from memory.embeddings.errors import ModelUnusable
from memory.embeddings.factory import Embedding, open_embedding
from memory.embeddings.model_files import DownloadProgress as Download
from memory.embeddings.protocol import Purpose
from memory.embeddings.provider_table import PROVIDERS
from memory.memory import Memory
from memory.progress import JobProgress
from memory.settings import MemorySettings
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.embedding_server import KEY, EmbeddingRequest, EmbeddingServer, answer, fails, vector_of
from tests.fakes.terminal_window import TerminalWindow

HEAT = ("boiler", "too cold at home")
"""What these texts are about is the same to the server's model, and they have no word in common."""


async def by_meaning(_: web.Request, asked: EmbeddingRequest) -> web.StreamResponse:
    vectors = [_of_meaning(text, asked.dimensions or 1536) for text in asked.texts]
    return answer(asked, vectors, as_base64=asked.base64)


def _of_meaning(text: str, dimensions: int) -> "array[float]":
    alike = any(part in text for part in HEAT)
    return vector_of("heat" if alike else text, dimensions)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """In a thread of its own: the command wants the test's for itself."""
    server = EmbeddingServer()
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    server.always(by_meaning)
    yield server
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


class Run:
    """The command beside a server."""

    def __init__(self, commonplace: Commonplace) -> None:
        self.commonplace = commonplace

    def says(self, *arguments: str, stdin: str | None = None) -> str:
        return self.commonplace.output_of(*arguments, stdin=stdin)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.says("memory", *arguments, "--json"))


@pytest.fixture
def run(tmp_path: Path, server: EmbeddingServer) -> Run:
    return beside(CommonplaceHere(tmp_path), server)


@pytest.fixture
def process(tmp_path: Path, server: EmbeddingServer) -> Commonplace:
    """The command as a process of its own."""
    return beside(Commonplace(tmp_path), server).commonplace


def beside(commonplace: Commonplace, server: EmbeddingServer) -> Run:
    commonplace.memory.mkdir(parents=True)
    notes = {
        "house.md": "# House\n\nThe boiler was serviced in May.\n",
        "trip.md": "# Trip\n\nWe took the ferry to Oslo.\n",
        "garden.md": "# Garden\n\nThe apple tree came from the nursery.\n",
    }
    for name, text in notes.items():
        (commonplace.memory / name).write_text(text)
    commonplace.environment |= {
        "COMMONPLACE_MEMORY__EMBEDDING__PROVIDER": "openai",
        "COMMONPLACE_MEMORY__EMBEDDING__BASE_URL": server.base_url("openai"),
        "COMMONPLACE_MEMORY__EMBEDDING__API_KEY": KEY,
    }
    return Run(commonplace)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> float:
    """A person waits for moments; give the seconds: for the notes' vectors and the question's together."""
    monkeypatch.setattr(cli_memory, "MAX_FILL_SECONDS", 0.3)
    row = PROVIDERS["openai"]
    monkeypatch.setitem(PROVIDERS, "openai", replace(row, limits=replace(row.limits, query_seconds=0.5)))
    return 0.3 + 0.5


def wait_until_asked(server: EmbeddingServer, times: int) -> None:
    ends = time.monotonic() + 10
    while len(server.requests) < times:
        assert time.monotonic() < ends
        time.sleep(0.002)


def texts(server: EmbeddingServer) -> list[str]:
    return [text for asked in server.requests for text in asked.texts]


def test_what_was_indexed_is_found_by_its_meaning(run: Run, server: EmbeddingServer) -> None:
    assert "Vectors: 3 of 3 chunks." in run.says("memory", "index")
    assert [len(asked.texts) for asked in server.requests] == [3]
    found = run.json("search", "too cold at home")
    assert "notice" not in found
    assert (found["results"][0]["path"], found["results"][0]["source"]) == ("house.md", "vector")
    assert len(server.requests) == 2, "one for the question alone"
    assert (run.json("search", "boiler too cold at home"))["results"][0]["source"] == "hybrid"


@pytest.mark.parametrize("table", ["memory.embedding", "providers.openai"])
def test_a_key_alone_chooses_the_provider(run: Run, server: EmbeddingServer, table: str) -> None:
    environment = run.commonplace.environment
    del environment["COMMONPLACE_MEMORY__EMBEDDING__PROVIDER"]
    prefix = f"COMMONPLACE_{table.replace('.', '__').upper()}"
    for key in ("API_KEY", "BASE_URL"):
        environment[f"{prefix}__{key}"] = environment.pop(f"COMMONPLACE_MEMORY__EMBEDDING__{key}")
    status = run.json("status")
    assert status["embedding_provider"] == "openai"
    assert status["embedding_reason"].startswith("openai: a key is in ")
    assert table in status["embedding_reason"]
    assert (status["chunks_with_embedding"], status["missing_vectors"]) == (0, 3), "a status sends no note"
    assert [asked.texts for asked in server.requests] == [(PROBE_TEXT,)]


def test_a_search_makes_the_vectors_of_what_is_new(run: Run, server: EmbeddingServer) -> None:
    found = run.json("search", "too cold at home")
    assert found["results"][0]["path"] == "house.md"
    (run.commonplace.memory / "new.md").write_text("# New\n\nOne more.\n")
    run.json("search", "too cold at home")
    assert [len(asked.texts) for asked in server.requests] == [3, 1, 1, 1]


def test_nobody_is_to_wait_longer_than_eight_seconds_for_vectors() -> None:
    assert cli_memory.MAX_FILL_SECONDS + PROVIDERS["openai"].limits.query_seconds <= 8


@pytest.mark.thorough
def test_a_search_does_not_wait_long_for_vectors(
    run: Run, server: EmbeddingServer, short_waits: float
) -> None:
    server.delay = 30
    began = time.monotonic()
    found = run.json("search", "boiler")
    assert time.monotonic() - began < short_waits + 5, "as it is set by itself, 8 s"
    assert found["results"][0]["source"] == "fts"
    assert found["notice"].startswith("Searched by words alone: openai")


def test_a_batch_waits_for_all_vectors(run: Run, server: EmbeddingServer) -> None:
    printed = run.says("memory", "search", "--batch", "-", stdin="too cold at home\nferry\n")
    found = [json.loads(line) for line in printed.splitlines()]
    assert [document["results"][0]["path"] for document in found] == ["house.md", "trip.md"]
    assert found[0]["results"][0]["source"] == "vector"
    assert texts(server)[3:] == ["too cold at home", "ferry"]


@pytest.mark.thorough
async def test_a_batch_gives_up_the_vectors_that_nobody_gives(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    async def broken(_: web.Request, __: EmbeddingRequest) -> web.StreamResponse:
        return web.Response(status=500)

    server.always(broken)
    table = {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}
    settings = MemorySettings.model_validate({"embedding": table})
    embedding = open_embedding(settings.embedding, sections={}, environment={})
    async with Memory(
        settings, workspace=tmp_path, now=lambda: datetime.now(UTC), embedding=embedding
    ) as memory:
        await memory.write("One note")
        async with asyncio.timeout(10):
            await fill_until_failing(memory, embedding, timeout_seconds=0.3)
        assert (await memory.status()).missing_vectors == 1
        server.always(None)


async def test_it_is_told_what_goes_on(tmp_path: Path) -> None:
    class OnItsWay:
        provider, model, dimensions, version = "local", "tiny", 0, ""
        fetching = Download(35_000_000, 121_000_000, 12.3)

        async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[bytes]:
            raise ModelUnusable("not yet")

        async def close(self) -> None:
            pass

    provider = OnItsWay()
    embedding = Embedding(primary=provider, embedder=Embedder(provider))
    async with Memory(
        MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC), embedding=embedding
    ) as memory:
        assert format_running_work(memory, embedding) == "downloading the model: 35 of 121 MB, 12 s left"
        jobs = (JobProgress("embedding", 300, 1200, 12),)
        status = replace(await memory.status(), jobs=jobs)
    (job,) = encode_status(status)["jobs"]
    assert (job["job"], job["done"], job["per_second"], job["seconds_left"]) == ("embedding", 300, 25, 36)


def test_the_status_tells_all_of_it(run: Run) -> None:
    run.says("memory", "index")
    status = run.json("status")
    assert status["vector_search_enabled"] is True
    assert status["embedding_model"] == "text-embedding-3-small"
    assert status["dimensions"] == 1536
    assert status["vector_backend"] in {"sqlite-vec", "numpy"}
    assert status["cache"] == {"entries": 3, "hits": 0, "misses": 3}
    assert (status["jobs"], status["watch"]) == ([], None)
    printed = run.says("memory", "status")
    for part in ("by meaning and by words", "text-embedding-3-small", "1536", "3 chunks; 0 missing"):
        assert part in printed


# -- what goes wrong ----------------------------------------------------------------------------------------


def test_with_a_wrong_key_words_are_found_and_everything_says_why(run: Run, server: EmbeddingServer) -> None:
    server.always(None)
    run.commonplace.environment["COMMONPLACE_MEMORY__EMBEDDING__API_KEY"] = "wr0ng-key"
    printed = run.says("memory", "index", "--rebuild")
    assert "3 new" in printed
    assert "Vectors: 3 missing: openai answered 401" in printed
    report = run.json("index")
    assert (report["vectors"]["embedded"], report["vectors"]["missing"]) == (0, 3)
    assert "401" in report["vectors"]["error"]
    found = run.json("search", "boiler")
    assert (found["results"][0]["path"], found["results"][0]["source"]) == ("house.md", "fts")
    assert "401" in found["notice"]
    status = run.json("status")
    assert "401" in status["embedding_problem"]
    assert (status["missing_vectors"], status["chunks_with_embedding"]) == (3, 0)
    told = run.says("memory", "status")
    assert "search        by words alone\n" in told
    everything = [printed, json.dumps([report, found, status]), told]
    assert "wr0ng-key" not in "".join(everything)


@pytest.mark.thorough
def test_what_the_fallback_has_embedded_counts_and_it_is_said_who_serves(
    run: Run, server: EmbeddingServer
) -> None:
    environment = run.commonplace.environment
    environment["COMMONPLACE_MEMORY__EMBEDDING__BASE_URL"] = "http://127.0.0.1:1/v1"
    environment["COMMONPLACE_MEMORY__EMBEDDING__FALLBACK"] = "voyage"
    environment["COMMONPLACE_MEMORY__EMBEDDING__FALLBACK_MODEL"] = "voyage-3.5-lite"
    environment["COMMONPLACE_PROVIDERS__VOYAGE__API_KEY"] = KEY
    environment["COMMONPLACE_PROVIDERS__VOYAGE__BASE_URL"] = server.base_url("voyage")
    server.always(None)
    printed = run.says("memory", "index")
    assert "Vectors: 3 of 3 chunks, made by the fallback voyage: openai cannot be reached" in printed
    report = run.json("index")["vectors"]
    assert (report["embedded"], report["missing"], report["provider"]) == (3, 0, "voyage")
    status = run.json("status")
    assert (status["chunks_with_embedding"], status["missing_vectors"]) == (3, 0)
    assert (status["embedding_provider"], status["embedding_fallback"]) == ("openai", "voyage")
    assert (status["embedding_serving"], status["embedding_serving_model"]) == ("voyage", "voyage-3.5-lite")
    told = run.says("memory", "status")
    for line in ("search        by meaning and by words\n", "in use now    voyage voyage-3.5-lite\n"):
        assert line in told
    assert {asked.body["model"] for asked in server.requests} == {"voyage-3.5-lite"}


def test_an_index_without_the_cache_has_all_vectors_made_anew(run: Run, server: EmbeddingServer) -> None:
    server.always(None)
    run.says("memory", "index")
    asked = len(texts(server))
    report = run.json("index", "--no-cache")["vectors"]
    assert (report["embedded"], report["missing"], report["error"]) == (3, 0, "")
    assert len(texts(server)) - asked == 1 + 3, "a word of ours, and the notes"
    server.always(fails(401))
    report = run.json("index", "--no-cache")["vectors"]
    assert (report["embedded"], report["missing"]) == (3, 0)
    assert report["error"].startswith("the old ones were kept: openai answered 401")


@pytest.mark.thorough
@pytest.mark.usefixtures("short_waits")
def test_with_no_server_words_are_found_and_it_is_said(run: Run) -> None:
    run.commonplace.environment["COMMONPLACE_MEMORY__EMBEDDING__BASE_URL"] = "http://127.0.0.1:1/v1"
    found = run.json("search", "boiler")
    assert found["results"][0]["path"] == "house.md"
    assert found["notice"].startswith("Searched by words alone: openai cannot be reached at 127.0.0.1:1")
    status = run.json("status")
    assert "cannot be reached" in status["embedding_problem"]
    assert status["embedding_next_try"]


def test_a_local_model_that_is_not_there_is_told_with_what_to_do(run: Run) -> None:
    environment = run.commonplace.environment
    for key in ("BASE_URL", "API_KEY"):
        del environment[f"COMMONPLACE_MEMORY__EMBEDDING__{key}"]
    environment["COMMONPLACE_MEMORY__EMBEDDING__PROVIDER"] = "local"
    environment["COMMONPLACE_MEMORY__EMBEDDING__LOCAL__MODEL_PATH"] = "/nowhere/model.gguf"
    found = run.json("search", "boiler")
    assert found["results"][0]["path"] == "house.md"
    assert "make local" in found["notice"] or "/nowhere/model.gguf" in found["notice"]
    assert (run.json("status"))["embedding_problem"]


@pytest.mark.thorough
def test_an_index_that_was_killed_goes_on_where_it_was(process: Commonplace, server: EmbeddingServer) -> None:
    for number in range(300):
        (process.memory / f"n{number}.md").write_text(f"# N{number}\n\nThing number {number}.\n")
    process.environment["COMMONPLACE_MEMORY__EMBEDDING__BATCH_SIZE"] = "10"
    server.delay = 0.05
    with process.start("memory", "index") as running:
        wait_until_asked(server, 12)
        running.kill()
    before = len(texts(server))
    assert before < 303
    server.delay = 0
    report = Run(process).json("index")
    assert report["vectors"] == {"embedded": 303, "missing": 0, "error": "", "provider": "openai"}
    twice = len(texts(server)) - 303
    assert 0 <= twice <= 60, "at most what was under way is asked for again"


@pytest.mark.thorough
def test_a_terminal_sees_how_far_it_is(process: Commonplace, server: EmbeddingServer) -> None:
    for number in range(40):
        (process.memory / f"n{number}.md").write_text(f"# N{number}\n\nThing number {number}.\n")
    process.environment["COMMONPLACE_MEMORY__EMBEDDING__BATCH_SIZE"] = "4"
    server.delay = 0.3
    with TerminalWindow(
        [*process.command, "memory", "index"], cwd=process.folder, environment=process.environment
    ) as window:
        assert "embedding " in window.wait_for(" left")
        server.delay = 0
        assert window.wait_exit() == 0


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_while_vectors_are_made_is_no_traceback(
    process: Commonplace, server: EmbeddingServer
) -> None:
    server.delay = 30
    with process.start("memory", "index") as running:
        wait_until_asked(server, 1)
        running.send_signal(signal.SIGINT)
        assert running.communicate() == ("", "")
        assert running.returncode == 130


def test_no_secret_that_the_server_says_back_is_kept_or_shown(run: Run, server: EmbeddingServer) -> None:
    token = "123456789:AAHnVt5_zQe8Lk2PwXc7Rm4Sd9Gf1Bj6Yu3"
    secret = "Kx7pQ-vT4mZ-w9Lr2"
    run.commonplace.environment |= {"TELEGRAM_BOT_TOKEN": token, "COMMONPLACE_SERVER__TOKEN": secret}
    server.always(fails(400, f"{'x' * 140} {secret} {token}"))
    done = run.commonplace("memory", "index")
    shown = done.stdout + done.stderr + run.commonplace("memory", "status").stdout
    assert "answered 400" in shown
    kept = [file.read_bytes() for file in run.commonplace.memory.parent.rglob("*") if file.is_file()]
    for piece in (text[at : at + 8] for text in (secret, token) for at in range(len(text) - 7)):
        assert piece not in shown
        assert not any(piece.encode() in content for content in kept)
