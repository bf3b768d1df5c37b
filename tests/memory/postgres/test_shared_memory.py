"""Two memories with one folder and one server, as in two services."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from memory.embeddings.factory import open_embedding
from memory.forgetting import WordsToForget
from memory.index.postgres.schema import CHANGES
from memory.memory import Memory
from memory.postgres.server import Server
from memory.settings import EmbeddingSettings, FolderSettings, MemorySettings, WatchSettings
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.memory_tasks import run_memory_tasks

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
Open = Callable[..., Memory]


async def until(done: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return done()


@pytest.fixture
async def embeddings() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer(delay=0.3) as running:
        yield running


@pytest.fixture
async def open_memory(tmp_path: Path, database: str, embeddings: EmbeddingServer) -> AsyncIterator[Open]:
    (tmp_path / "shared").mkdir()
    async with AsyncExitStack() as stack:

        def open_it(name: str, *, embeds: bool = False, folders: tuple[FolderSettings, ...] = ()) -> Memory:
            workspace = tmp_path / name
            workspace.mkdir()
            (workspace / "memory").symlink_to(tmp_path / "shared")
            settings = MemorySettings(
                folders=folders,
                embedding=EmbeddingSettings.model_validate(
                    {
                        "provider": "openai" if embeds else "none",
                        "dimensions": 64,
                        "api_key": KEY,
                        "base_url": embeddings.base_url("openai"),
                    }
                ),
                watch=WatchSettings(enabled=False),
            )
            server = Server(database)
            stack.callback(server.close)
            embedding = open_embedding(settings.embedding, sections={}, environment={})
            memory = Memory(
                settings,
                workspace=workspace,
                now=lambda: NOW,
                embedding=embedding,
                server=server,
                instance=name,
            )
            stack.push_async_exit(memory)
            return memory

        yield open_it


async def test_a_note_written_by_one_memory_is_found_by_the_other(open_memory: Open) -> None:
    here, there = open_memory("here"), open_memory("there")
    await here.write("the umbrella is on the shelf")
    assert [hit.path for hit in (await there.search("umbrella")).hits] == ["2026-11-21.md"]
    await there.edit("2026-11-21.md", "umbrella", "suitcase")
    assert (await here.search("umbrella")).hits == ()
    assert [hit.path for hit in (await here.search("suitcase")).hits] == ["2026-11-21.md"]


async def test_a_whole_sync_waits_for_notes_claimed_by_others(open_memory: Open, tmp_path: Path) -> None:
    here, there = open_memory("here"), open_memory("there")
    for number in range(30):
        (tmp_path / "shared" / f"{number}.md").write_text(f"- parcel {number}")
    await there.status()
    claimed = there._index._sync_index.claim([f"{number}.md" for number in range(20)])
    assert len(claimed) == 20
    assert (await here.sync()).elsewhere == 20
    whole = asyncio.create_task(here.sync(whole=True))
    await asyncio.sleep(0.7)
    assert not whole.done()
    await there.search("parcel")
    there._index._sync_index.release(claimed)
    report = await whole
    assert report.elsewhere == 0
    assert (await here.status()).files == 30


async def test_notifications_reach_a_memory_without_a_watcher(
    open_memory: Open, embeddings: EmbeddingServer
) -> None:
    """The other one has no model: what it indexes is embedded here, without a search or a scan of the folder."""
    here, there = open_memory("here", embeds=True), open_memory("there")
    running = asyncio.create_task(run_memory_tasks(here))
    await asyncio.sleep(1)
    await there.write("the umbrella is on the shelf")
    await there.sync()
    try:
        assert await until(
            lambda: any("umbrella" in text for asked in embeddings.requests for text in asked.texts)
        )
    finally:
        running.cancel()
        await asyncio.wait([running])


def changes(database: str) -> object:
    with psycopg.connect(database) as db:
        return db.execute(CHANGES).fetchone()


@pytest.mark.thorough
async def test_each_text_is_embedded_by_one_memory_only(
    open_memory: Open, embeddings: EmbeddingServer, tmp_path: Path, database: str
) -> None:
    memories = [open_memory(name, embeds=True) for name in ("here", "there", "elsewhere")]
    await memories[0].status()
    running = [asyncio.create_task(run_memory_tasks(memory)) for memory in memories]
    await asyncio.sleep(1)  # until all have received the notification
    for number in range(60):
        (tmp_path / "shared" / f"{number}.md").write_text(f"- parcel {number} is on the shelf")
    try:
        await memories[0].sync(whole=True)

        def asked() -> list[str]:
            return [text for asked in embeddings.requests for text in asked.texts if "parcel" in text]

        assert await until(lambda: len(asked()) >= 60)
        await asyncio.sleep(0.5)
        assert len(asked()) == len(set(asked())) == 60
        assert (await memories[1].status()).missing_vectors == 0
        # Then they leave each other alone.
        await asyncio.sleep(1)
        before = await asyncio.to_thread(changes, database)
        await asyncio.sleep(1)
        assert await asyncio.to_thread(changes, database) == before
    finally:
        for task in running:
            task.cancel()
        await asyncio.wait(running)


@pytest.mark.thorough
async def test_texts_claimed_by_a_dead_instance_are_embedded_by_another(
    open_memory: Open, embeddings: EmbeddingServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.embedding_backfill.CLAIMED_PAUSE_SECONDS", 0.2)
    here, there = open_memory("here", embeds=True), open_memory("there", embeds=True)
    await there.write("the umbrella is on the shelf")
    await there.sync()
    model = there._vectors.models[0]
    assert len(await there._index.run(lambda index: index.list_unembedded(model, limit=10))) == 1
    running = asyncio.create_task(run_memory_tasks(here))
    try:
        await asyncio.sleep(0.5)
        assert embeddings.requests == []
        # As if its holder had been silent for long; nothing announces that.
        with psycopg.connect(database) as db:
            db.execute("UPDATE commonplace.claims SET until = now() - interval '1 second'")
        assert await until(lambda: len(embeddings.requests) == 1)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_what_is_hidden_here_is_not_shown_though_another_instance_indexes_it(
    open_memory: Open, tmp_path: Path
) -> None:
    vault = tmp_path / "elsewhere"
    vault.mkdir()
    (vault / "people.md").write_text("# People\n\n- Ada's number is 4711\n- Ben likes tea\n")
    (vault / "links.md").write_text("- 4711 is Ada's number, see [[people]]\n")
    folders = (FolderSettings(path=str(vault), name="vault"),)
    here, there = open_memory("here", folders=folders), open_memory("there", folders=folders)
    words = WordsToForget("Ada number")
    done = await here.forget_lines((await here.find_lines(words, limit=9)).lines, words)
    assert len(done.hidden) == 2

    async def search() -> int:
        return sum(["4711" in str(await there.search("number")) for _ in range(20)])

    others = asyncio.create_task(search())
    while not others.done():
        assert "4711" not in str((await here.search("Ada number tea")).hits)
        assert "4711" not in str((await here.links_of("vault/people.md")).backlinks)
    assert others.result()
