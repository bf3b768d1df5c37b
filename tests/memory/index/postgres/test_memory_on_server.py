"""A memory whose index is on a server: filled, without the server, and with it again."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.memory import Memory
from memory.postgres.server import REST_SECONDS, Server
from memory.postgres.url import format_url
from memory.settings import MemorySettings
from tests.fakes.commonplace import Commonplace
from tests.fakes.index_checks import assert_sound
from tests.fakes.postgres_index_checks import assert_sound_on_server, read_server_contents
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs


def write(folder: Path, **notes: str) -> None:
    for name, text in notes.items():
        file = folder / "memory" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@asynccontextmanager
async def opened(folder: Path, url: str) -> AsyncIterator[Memory]:
    with closing(Server(url)) as server:
        async with Memory(
            MemorySettings(), workspace=folder, now=lambda: datetime.now(UTC), server=server
        ) as memory:
            yield memory


async def paths(memory: Memory, query: str) -> list[str]:
    results = await memory.search(query)
    assert not results.notice, results.notice
    return [hit.path for hit in results.hits]


@pytest.fixture
def mortal() -> Iterator[PostgresServer]:
    """A server of its own that can be killed."""
    if not find_programs():
        pytest.skip(NEEDS)
    with closing(PostgresServer()) as server:
        yield server


async def test_a_written_note_is_found_and_counted_in_the_status(tmp_path: Path, database: str) -> None:
    write(tmp_path, house="# House\n\n- the boiler is blue\n", trip="- three nights in Oslo\n")
    async with opened(tmp_path, database) as memory:
        assert await paths(memory, "boiler") == ["house.md"]
        written = await memory.write("the dentist is on Monday")
        assert await paths(memory, "dentist") == [written.path]
        (tmp_path / "memory" / "trip.md").unlink()
        await asyncio.sleep(0.6)
        assert await paths(memory, "Oslo") == []
        status = await memory.status()
        assert (status.files, status.problems) == (2, ())
        assert "tsvector" in status.fts
        assert (status.last_indexed_at or "").startswith("20")
        assert status.index == format_url(database)
    assert not (tmp_path / ".commonplace" / "index.db").exists()
    assert_sound_on_server(database)


@pytest.mark.thorough
def test_the_command_fills_a_new_database_and_without_the_url_the_file_is_used(
    tmp_path: Path, database: str
) -> None:
    commonplace = Commonplace(tmp_path)
    write(tmp_path / "workspace", house="- the boiler is blue\n", trip="- three nights in Oslo\n")
    config = tmp_path / "config.toml"
    config.write_text(f'[index]\nurl = "{database}"\n[memory.embedding]\nprovider = "none"\n')
    assert "2 new, 0 changed, 0 removed" in commonplace.output_of("memory", "index")
    assert "house.md" in commonplace.output_of("memory", "search", "boiler")
    assert "tsvector" in commonplace.output_of("memory", "status")
    assert "2 notes in 2 chunks" in commonplace("doctor").stdout
    before = read_server_contents(database)
    assert before.keys() == {"house.md", "trip.md"}
    commonplace.output_of("memory", "index", "--rebuild")
    assert read_server_contents(database) == before
    assert_sound_on_server(database)
    assert not (tmp_path / "workspace" / ".commonplace" / "index.db").exists()
    config.write_text('[memory.embedding]\nprovider = "none"\n')
    assert "house.md" in commonplace.output_of("memory", "search", "boiler")
    assert "FTS5" in commonplace.output_of("memory", "status")
    assert_sound(tmp_path / "workspace" / ".commonplace" / "index.db")


@pytest.mark.thorough
async def test_without_the_server_files_are_searched_and_indexing_resumes_later(
    tmp_path: Path, mortal: PostgresServer
) -> None:
    write(tmp_path, house="- the boiler is blue\n")
    async with opened(tmp_path, mortal.url()) as memory:
        assert await paths(memory, "boiler") == ["house.md"]
        mortal.kill()
        await memory.write("the dentist is on Monday")
        began = time.monotonic()
        results = await memory.search("dentist boiler")
        assert {hit.source for hit in results.hits} == {"scan"}
        assert len(results.hits) == 2
        assert "Searched the files one by one" in results.notice
        assert "127.0.0.1" not in results.notice
        again = await memory.search("dentist")
        assert again.hits[0].source == "scan"
        assert time.monotonic() - began < 5
        status = await memory.status()
        assert status.files == 2
        assert "does not answer" in status.index_problem
        assert (status.total_chunks, status.last_indexed_at) == (None, None)
        mortal.start()
        await until_answered(lambda: time.monotonic(), memory)
        assert len(await paths(memory, "dentist")) == 1
        status = await memory.status()
        assert (status.problems, status.index_problem, status.total_chunks) == ((), "", 2)
    assert len(read_server_contents(mortal.url())) == 2
    assert_sound_on_server(mortal.url())


async def until_answered(now: Callable[[], float], memory: Memory) -> None:
    """Wait a little longer than an unreachable server is left alone."""
    deadline = now() + REST_SECONDS + 10
    while (await memory.search("dentist")).notice:
        assert now() < deadline
        await asyncio.sleep(0.2)


@pytest.mark.thorough
async def test_a_halted_server_does_not_block_for_long(tmp_path: Path, mortal: PostgresServer) -> None:
    write(tmp_path, house="- the boiler is blue\n")
    url = f"{mortal.url()}?connect_timeout=2"
    async with opened(tmp_path, url) as memory:
        assert await paths(memory, "boiler") == ["house.md"]
    mortal.halt()
    try:
        async with opened(tmp_path, url) as memory:
            began = time.monotonic()
            results = await memory.search("boiler")
            assert [hit.path for hit in results.hits] == ["house.md"]
            assert time.monotonic() - began < 10
    finally:
        mortal.resume()


@pytest.mark.thorough
async def test_a_server_halted_during_a_statement_does_not_block_for_long(
    tmp_path: Path, mortal: PostgresServer
) -> None:
    """Its connections stay open, and nothing is received on them."""
    write(tmp_path, house="- the boiler is blue\n")
    try:
        async with opened(tmp_path, mortal.url()) as memory:
            assert await paths(memory, "boiler") == ["house.md"]
            mortal.halt()
            await asyncio.sleep(0.6)
            began = time.monotonic()
            async with asyncio.timeout(30):
                results = await memory.search("boiler")
            assert [hit.path for hit in results.hits] == ["house.md"]
            assert "cannot be reached" in results.notice
            began, waited = time.monotonic(), time.monotonic() - began
            assert waited < 15
        assert time.monotonic() - began < 15
    finally:
        mortal.resume()


@pytest.mark.thorough
async def test_the_oldest_supported_server_works(tmp_path: Path) -> None:
    if not find_programs(16):
        pytest.skip(NEEDS)
    write(tmp_path, house="# House\n\n- the boiler is blue\n", trip="- three nights in Oslo, 护照\n")
    with closing(PostgresServer(version=16)) as server:
        async with opened(tmp_path, server.url()) as memory:
            assert await paths(memory, "boiler") == ["house.md"]
            assert await paths(memory, "护照") == ["trip.md"]
            await memory.sync(rebuild=True)
            assert await paths(memory, "Oslo") == ["trip.md"]
        assert_sound_on_server(server.url())


async def test_a_damaged_index_is_built_again_from_the_notes(
    tmp_path: Path, database: str, postgres: PostgresServer
) -> None:
    write(tmp_path, house="- the boiler is blue\n")
    async with opened(tmp_path, database) as memory:
        assert await paths(memory, "boiler") == ["house.md"]
        name = database.rpartition("/")[2]
        postgres.execute("DROP TABLE commonplace.passages_a, commonplace.passages_b", database=name)
        assert await paths(memory, "boiler") == ["house.md"]
        postgres.execute("DROP TABLE commonplace.texts", database=name)
        write(tmp_path, trip="- three nights in Oslo\n")
        await asyncio.sleep(0.6)
        assert await paths(memory, "Oslo") == ["trip.md"]
        postgres.execute("DROP SCHEMA commonplace CASCADE", database=name)
        await asyncio.sleep(0.6)
        assert await paths(memory, "boiler") == ["house.md"]
    assert_sound_on_server(database)
