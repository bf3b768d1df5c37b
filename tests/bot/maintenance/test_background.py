import asyncio
import logging
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from bot.archives.backup import Backups
from bot.maintenance.background import Background, NightlyJobs
from bot.maintenance.scheduler import JobStatus
from bot.state.database import State, StateUnusable
from bot.supervisor import Supervisor
from memory.embeddings.embedder import Embedder
from memory.embeddings.factory import Embedding, open_embedding
from memory.embeddings.protocol import Purpose, Vector
from memory.embeddings.unit_vectors import to_unit_vector
from memory.errors import IndexUnavailable
from memory.memory import Memory
from memory.postgres.notifications import CHANNEL
from memory.postgres.server import Server
from memory.settings import MemorySettings
from memory.sync import SyncReport
from tests.fakes.embedding_server import KEY, EmbeddingServer
from tests.fakes.postgres_server import PostgresServer


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer() as server:
        yield server


def memory_in(folder: Path, embedding: Embedding | None = None, *, watch: bool = True) -> Memory:
    (folder / "memory").mkdir(exist_ok=True)
    settings = MemorySettings.model_validate({"watch": {"enabled": watch, "debounce_seconds": 0.1}})
    return Memory(
        settings, workspace=folder, now=lambda: datetime.now(UTC), embedding=embedding, lasting=True
    )


def embedding_by(server: EmbeddingServer) -> Embedding:
    settings = MemorySettings.model_validate(
        {"embedding": {"provider": "openai", "base_url": server.base_url("openai"), "api_key": KEY}}
    )
    return open_embedding(settings.embedding, sections={}, environment={})


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not done():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_note_that_is_saved_gets_its_vector_without_a_search(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    memory = memory_in(tmp_path, embedding_by(server))
    (tmp_path / "memory" / "before.md").write_text("Written before the start.\n")
    async with memory, Background(memory, reindex_minutes=60):
        await server.wait_for_requests(1)
        (tmp_path / "memory" / "after.md").write_text("Written while it runs.\n")
        await server.wait_for_requests(2)
        await asyncio.sleep(0.5)
    assert [len(asked.texts) for asked in server.requests] == [1, 1]
    assert "Written while it runs." in server.requests[1].texts[0]


async def test_without_a_watch_what_came_before_the_start_gets_its_vectors(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    memory = memory_in(tmp_path, embedding_by(server), watch=False)
    (tmp_path / "memory" / "before.md").write_text("Written before the start.\n")
    async with memory, Background(memory, reindex_minutes=None) as upkeep:
        await server.wait_for_requests(1)
        assert upkeep.reindex is None


class BrokenProvider:
    """A library that makes vectors and fails in a way of its own, until it is mended."""

    provider, model, dimensions, version = "local", "broken", 3, ""

    def __init__(self) -> None:
        self.broken = True
        self.asked = 0

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        self.asked += 1
        if self.broken:
            raise ZeroDivisionError
        return [to_unit_vector([1.0, 0.0, 0.0]) for _ in texts]

    async def close(self) -> None:
        pass


@pytest.mark.thorough
async def test_vectors_that_fail_are_reported_and_made_once_that_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    provider = BrokenProvider()
    memory = memory_in(tmp_path, Embedding(primary=provider, embedder=Embedder(provider)), watch=False)
    supervisor = Supervisor(pauses=(0.1,), steady_seconds=0.2)
    (tmp_path / "memory" / "before.md").write_text("Written before the start.\n")
    async with memory, Background(memory, reindex_minutes=None, supervisor=supervisor):
        await until(lambda: bool(supervisor.failures))
        (failure,) = supervisor.failures
        assert (failure.name, failure.error.split()[0]) == ("vectors", "ZeroDivisionError")
        provider.broken = False
        await until(lambda: not supervisor.failures)
        assert (await memory.status()).missing_vectors == 0
    (first, *_) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert first.exc_info


@pytest.mark.thorough
async def test_news_of_the_index_that_fail_are_reported_and_heard_again(
    tmp_path: Path, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Another program announces something that is no text: a byte without a character, in a database that takes any."""

    async def run(statement: str, database: str = "postgres") -> None:
        await asyncio.to_thread(postgres.execute, statement, database=database)

    await run("CREATE DATABASE odd ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    supervisor = Supervisor(pauses=(0.2,), steady_seconds=0.5)
    (tmp_path / "memory").mkdir()
    with closing(Server(f"{postgres.url('odd')}?client_encoding=WIN1252")) as server:
        memory = Memory(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC), server=server)
        async with memory, Background(memory, reindex_minutes=None, supervisor=supervisor):
            async with asyncio.timeout(20):
                while not supervisor.failures:  # nobody is told before it listens
                    await run(f"SELECT pg_notify('{CHANNEL}', E'\\x81')", "odd")
                    await asyncio.sleep(0.05)
            (failure,) = supervisor.failures
            assert (failure.name, failure.error.split()[0]) == ("index news", "UnicodeDecodeError")
            await until(lambda: not supervisor.failures)
    await run("DROP DATABASE odd WITH (FORCE)")
    assert "the background task index news failed" in caplog.text


async def test_a_watcher_that_fails_is_reported_and_watches_again(tmp_path: Path) -> None:
    class Breaking(Memory):
        is_broken = False

        async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
            if self.is_broken:
                raise OSError("no more files")
            return await super().sync(rebuild=rebuild, whole=whole)

    settings = MemorySettings.model_validate({"watch": {"debounce_seconds": 0.05}})
    (tmp_path / "memory").mkdir()
    memory = Breaking(settings, workspace=tmp_path, now=lambda: datetime.now(UTC))
    supervisor = Supervisor(pauses=(0.1,), steady_seconds=0.3)
    async with memory, Background(memory, reindex_minutes=None, supervisor=supervisor):
        await until(lambda: "" in memory._watchers and memory._watchers[""].state.alive)
        memory.is_broken = True
        (tmp_path / "memory" / "new.md").write_text("New.\n")
        await until(lambda: bool(supervisor.failures))
        assert supervisor.failures[0].name == "watcher"
        watch = (await memory.status(look=False)).watch
        assert watch
        assert not watch.alive
        memory.is_broken = False
        await until(lambda: not supervisor.failures)
        watch = (await memory.status(look=False)).watch
        assert watch
        assert watch.alive
        assert (await memory.status(look=False)).files == 1


async def test_the_regular_look_tells_when_it_comes(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    upkeep = Background(memory, reindex_minutes=30)
    assert upkeep.reindex is None
    async with memory, upkeep:
        assert upkeep.reindex
        due = datetime.fromisoformat(upkeep.reindex.next_run) - datetime.now(UTC)
        assert 29 * 60 < due.total_seconds() <= 30 * 60
        assert upkeep.reindex.last_run == ""
        await until(lambda: upkeep.reindex is not None and upkeep.reindex.last_run != "")
        at_the_start = datetime.now(UTC) - datetime.fromisoformat(upkeep.reindex.last_run)
        assert at_the_start.total_seconds() < 20
    assert upkeep.reindex is None


@pytest.mark.thorough
async def test_the_regular_look_indexes_what_nobody_watched(tmp_path: Path) -> None:
    memory = memory_in(tmp_path, watch=False)
    async with memory, Background(memory, reindex_minutes=0.004) as upkeep:
        (tmp_path / "memory" / "new.md").write_text("New.\n")
        await until(lambda: upkeep.reindex is not None and upkeep.reindex.last_outcome == "ok")


@pytest.mark.thorough
async def test_the_regular_look_has_vectors_made_of_what_nobody_watched(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    memory = memory_in(tmp_path, embedding_by(server), watch=False)
    (tmp_path / "memory" / "before.md").write_text("Written before the start.\n")
    async with memory, Background(memory, reindex_minutes=0.004, settle=0):
        await server.wait_for_requests(1)
        (tmp_path / "memory" / "after.md").write_text("Written while it runs.\n")
        await server.wait_for_requests(2)
    assert "Written while it runs." in server.requests[1].texts[0]


async def test_a_first_look_that_breaks_is_reported_and_done_again(tmp_path: Path) -> None:
    class Breaking(Memory):
        looked = 0

        async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
            self.looked += 1
            if self.looked == 1:
                raise OSError("no more files")
            return await super().sync(rebuild=rebuild, whole=whole)

    memory = Breaking(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC))
    supervisor = Supervisor(pauses=(0.2,))
    async with memory, Background(memory, reindex_minutes=None, supervisor=supervisor):
        await until(lambda: [each.name for each in supervisor.failures] == ["first index"])
        await until(lambda: "" in memory._watchers and memory._watchers[""].state.alive)
        assert supervisor.failures == ()


async def test_notes_that_cannot_be_indexed_do_not_keep_it_from_watching(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(Memory):
        async def sync(self, *, rebuild: bool = False, whole: bool = False) -> SyncReport:
            raise IndexUnavailable("the disk is full")

    (tmp_path / "memory").mkdir()
    memory = Full(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC))
    async with memory, Background(memory, reindex_minutes=None):
        await until(lambda: "" in memory._watchers and memory._watchers[""].state.alive)
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told[0] == "could not index the notes at startup: the disk is full"
    assert set(told[1:]) <= {"a change was not indexed: the disk is full"}


@pytest.mark.thorough
async def test_a_regular_look_that_is_stopped_at_the_end_is_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class LeavingSlowly(Memory):
        begun = 0

        def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
            return {"slow": self._leave_slowly}

        async def _leave_slowly(self) -> None:
            self.begun += 1
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.5)

    memory = LeavingSlowly(MemorySettings(), workspace=tmp_path, now=lambda: datetime.now(UTC))
    async with memory, Background(memory, reindex_minutes=0.002):
        await until(lambda: memory.begun == 1)
        write_many(tmp_path / "memory")
        await until(lambda: bool(memory.jobs()))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def write_many(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(3000):
        (folder / f"n{number}.md").write_text(f"# N{number}\n\nThing number {number}.\n" * 10)


@pytest.mark.thorough
async def test_it_leaves_in_the_middle_of_indexing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    memory = memory_in(tmp_path)
    write_many(tmp_path / "memory")
    async with memory:
        async with Background(memory, reindex_minutes=0.002):
            await until(lambda: bool(memory.jobs()))
            first = memory.jobs()[0]
            assert first.done < first.total == 3000
            await asyncio.sleep(0.2)
        chunks = (await memory.status(look=False)).total_chunks
        assert chunks is not None
        assert chunks < 3000, "the rest is left for another time"
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_it_leaves_in_the_middle_of_a_request(tmp_path: Path, server: EmbeddingServer) -> None:
    server.delay = 5
    memory = memory_in(tmp_path, embedding_by(server))
    (tmp_path / "memory" / "before.md").write_text("Written before the start.\n")
    async with asyncio.timeout(3):
        async with memory, Background(memory, reindex_minutes=60):
            await server.wait_for_requests(1)


# -- at night -----------------------------------------------------------------------------------------------


async def done(background: Background, name: str) -> JobStatus:
    """Have a job run now, and give how it ended."""
    assert background._schedule
    await until(lambda: bool(background._schedule and background._schedule._scheduler))
    assert background._schedule._scheduler
    background._schedule._scheduler.modify_job(name, next_run_time=datetime.now(UTC))
    await until(lambda: bool((job := background._find_job(name)) and job.last_outcome))
    job = background._find_job(name)
    assert job
    return job


async def test_a_backup_is_made_at_night_and_tells_how_it_went(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    (tmp_path / "memory" / "note.md").write_text("A note.\n")
    backups = Backups(
        notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=lambda: datetime.now(UTC)
    )
    nights = NightlyJobs(time(3, 30), UTC, backups, keep=2)
    async with memory, Background(memory, reindex_minutes=60, nights=nights, settle=0) as upkeep:
        assert upkeep.reindex
        assert upkeep.reindex.name == "re-index"
        assert upkeep.backup
        assert upkeep.backup.last_run == ""
        first = datetime.fromisoformat(upkeep.backup.next_run) - datetime.now(UTC)
        assert first <= timedelta(minutes=10), "there is none yet, so it is not put off until the night"
        job = await done(upkeep, "backup")
        assert job.last_outcome == "ok"
        assert (datetime.fromisoformat(job.next_run).hour, job.next_run[14:16]) == (3, "30")
    made = backups.latest_nightly()
    assert made
    async with (
        memory_in(tmp_path) as memory,
        Background(memory, reindex_minutes=None, nights=nights, settle=0) as upkeep,
    ):
        assert upkeep.backup
        assert datetime.fromisoformat(upkeep.backup.last_run) == made
        assert upkeep.reindex is None


async def test_what_another_instance_does_for_all_is_not_done_here_and_says_who_does_it(
    tmp_path: Path,
) -> None:
    memory = memory_in(tmp_path, watch=False)
    note = tmp_path / "memory" / "note.md"
    note.write_text("A note.\n")
    backups = Backups(
        notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=lambda: datetime.now(UTC)
    )
    nights = NightlyJobs(time(3, 30), UTC, backups, keep=2)
    async with State(tmp_path / ".commonplace" / "state.db"):
        pass
    who = "attic"
    async with (
        memory,
        Background(memory, reindex_minutes=60, nights=nights, settle=0, elsewhere=lambda job: who) as upkeep,
    ):
        assert upkeep.reindex
        assert [job.elsewhere for job in (upkeep.reindex, *upkeep.jobs)] == ["attic"] * 3
        await until(lambda: bool(upkeep._last_check))
        (tmp_path / "memory" / "another.md").write_text("Another note.\n")
        await done(upkeep, "re-index")
        assert (await memory.status(look=False)).files == 1
        assert (await done(upkeep, "backup")).last_outcome == "ok"
        who = ""
        await done_again(upkeep, "re-index")
        assert (await memory.status(look=False)).files == 2
        assert {job.elsewhere for job in upkeep.jobs} == {""}
    (file,) = backups.folder.iterdir()
    with tarfile.open(file) as tar:
        assert [name for name in tar.getnames() if name.endswith(".md")] == []


async def done_again(background: Background, name: str) -> None:
    """Have a job run that has run already."""
    assert background._schedule
    assert background._schedule._scheduler
    job = background._schedule._jobs[name]
    job.status = replace(job.status, last_outcome="")
    await done(background, name)


async def test_a_backup_that_fails_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    memory = memory_in(tmp_path)
    (tmp_path / ".commonplace").mkdir()
    (tmp_path / ".commonplace" / "backups").write_text("in the way")
    backups = Backups(
        notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=lambda: datetime.now(UTC)
    )
    nights = NightlyJobs(time(3, 30), UTC, backups, keep=2)
    async with memory, Background(memory, reindex_minutes=None, nights=nights, settle=0) as upkeep:
        job = await done(upkeep, "backup")
        assert job.last_outcome.startswith("no backup was made: ")
    (record,) = (record for record in caplog.records if record.levelno >= logging.WARNING)
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)


async def test_what_is_to_be_tidied_is_done_though_one_fails_and_no_backup_is_wanted(tmp_path: Path) -> None:
    did = []

    async def fail() -> None:
        raise StateUnusable("the disk is full")

    async def work() -> None:
        did.append("work")

    memory = memory_in(tmp_path)
    backups = Backups(
        notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=lambda: datetime.now(UTC)
    )
    nights = NightlyJobs(time(3, 30), UTC, backups, keep=0, tidy=(fail, work))
    async with memory, Background(memory, reindex_minutes=None, nights=nights, settle=0) as upkeep:
        assert upkeep.backup is None
        tidying = upkeep._find_job("tidying up")
        assert tidying
        left = datetime.fromisoformat(tidying.next_run) - datetime.now(UTC)
        assert left <= timedelta(minutes=10), "a machine may be off every night"
        job = await done(upkeep, "tidying up")
        assert (job.last_outcome, did) == ("the disk is full", ["work"])
    assert not backups.folder.exists()


@pytest.mark.parametrize("missed", [True, False])
async def test_a_night_that_was_missed_is_made_up_for_soon_after_the_start(
    tmp_path: Path, missed: bool
) -> None:
    """Such as by a machine that runs by day alone: there are less than 24 hours between its starts, or just 24."""
    made_at = datetime.now(UTC) - timedelta(hours=23)
    backups = Backups(notes=tmp_path / "memory", private=tmp_path / ".commonplace", now=lambda: made_at)
    memory = memory_in(tmp_path)
    await backups.make_nightly(keep=2)
    at = (made_at + timedelta(minutes=30 if missed else -30)).time()
    nights = NightlyJobs(at, UTC, backups, keep=2)
    async with memory, Background(memory, reindex_minutes=None, nights=nights, settle=0) as upkeep:
        assert upkeep.backup
        left = datetime.fromisoformat(upkeep.backup.next_run) - datetime.now(UTC)
        assert left < timedelta(minutes=11) if missed else left > timedelta(minutes=25)
