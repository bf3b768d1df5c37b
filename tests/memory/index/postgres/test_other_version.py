"""An index on the server that another version filled, or one with other settings: it answers until it is replaced."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest

from memory.errors import IndexUnavailable, RebuildRunning
from memory.index.location import IndexServerLocation
from memory.index.postgres.index import PostgresIndex
from memory.index.postgres.schema import SHADOW_LOCK
from memory.index.protocol import IndexChanged
from memory.memory import Memory
from memory.notes import Notes
from memory.postgres.lock_keys import lock_key
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
from memory.settings import ChunkSettings, MemorySettings
from memory.sync import SyncReport, sync_index
from memory.tokenizer import parse_query
from tests.fakes.postgres_index_checks import assert_sound_on_server
from tests.fakes.postgres_server import PostgresServer

ROOT = Path(__file__).parents[4]
OLD, NEW = "5/3/400/80", "6/3/400/80"
BUILDER = """
import sys
from pathlib import Path
from memory.index.postgres.index import PostgresIndex
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
from memory.settings import ChunkSettings
from memory.sync import sync_index
base, fingerprint, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
server = Server(url)
notes = Notes(base / "memory", private=base / "builder", shared=NoteLocks(server))
sync_index(notes, PostgresIndex(server, fingerprint=fingerprint, user="builder"), ChunkSettings())
"""


class Instance:
    """The notes and the index of one instance, of one version."""

    def __init__(self, root: Path, name: str, url: str, fingerprint: str) -> None:
        self.folder = root / "memory"
        self.folder.mkdir(exist_ok=True)
        self._server = Server(url)
        self._locks = NoteLocks(self._server)
        self._notes = Notes(self.folder, private=root / name, shared=self._locks)
        self.place = IndexServerLocation(self._server, fingerprint=fingerprint, user=name, member=name)
        self.index = PostgresIndex(self._server, fingerprint=fingerprint, user=name, member=name)

    def sync(self) -> SyncReport:
        return sync_index(self._notes, self.index, ChunkSettings())

    def found(self, query: str) -> list[str]:
        runs = self.index.candidates(parse_query(query), limit=100).runs
        return sorted({run.path for run in runs})

    def close(self) -> None:
        self.index.close()
        self._locks.close()
        self._server.close()


Open = Callable[[str, str], Instance]


@pytest.fixture
def opened(tmp_path: Path, database: str) -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda name, fingerprint: stack.enter_context(
            closing(Instance(tmp_path, name, database, fingerprint))
        )
    assert_sound_on_server(database)


@pytest.fixture
def ask(database: str, postgres: PostgresServer) -> Callable[[str], list[tuple[object, ...]]]:
    return lambda sql: postgres.execute(sql, database=database.rpartition("/")[2])


Ask = Callable[[str], list[tuple[object, ...]]]


def fall_silent(ask: Ask, name: str) -> None:
    """Make an instance look as if it had stopped some minutes ago."""
    ask(f"UPDATE commonplace.index_users SET seen = now() - interval '3 minutes' WHERE name = '{name}'")


def fingerprint_of(ask: Ask) -> object:
    return ask("SELECT fingerprint FROM commonplace.index_state")[0][0]


def write_old(instance: Instance, name: str, text: str) -> None:
    file = instance.folder / name
    file.write_text(text)
    then = time.time() - 3600
    os.utime(file, (then, then))


@contextmanager
def shadow_lock(database: str) -> Iterator[None]:
    """Hold the lock of a process that rebuilds the index."""
    with closing(Server(database)) as server, server.session() as db:
        db.execute("SELECT pg_advisory_lock(%s)", [lock_key("index", SHADOW_LOCK)])
        yield


@contextmanager
def reader_lock(database: str) -> Iterator[None]:
    """Hold the lock of a reader, for which a swap has to wait."""
    with closing(Server(database)) as server, server.session() as db, db.transaction():
        db.execute("LOCK TABLE commonplace.index_state IN ACCESS SHARE MODE")
        yield


def test_an_index_of_the_previous_version_answers_until_its_shadow_takes_over(opened: Open, ask: Ask) -> None:
    kitchen = opened("kitchen", OLD)
    write_old(kitchen, "a.md", "- passport")
    kitchen.sync()
    identity = kitchen.index.identity()
    fall_silent(ask, "kitchen")
    study = opened("study", NEW)
    assert (study.found("passport"), study.index.is_outdated()) == (["a.md"], True)
    with pytest.raises(IndexChanged):
        study.index.write_batch([], deleted=["a.md"])
    with closing(study.index.shadow()) as shadow:
        assert not shadow.is_outdated()
        assert study.found("passport") == ["a.md"]
        with pytest.raises(RebuildRunning):
            study.index.shadow()
    assert (study.found("passport"), fingerprint_of(ask)) == (["a.md"], OLD)
    write_old(study, "b.md", "- passport")
    assert study.sync().added == 2
    assert (study.found("passport"), study.index.is_outdated()) == (["a.md", "b.md"], False)
    assert (fingerprint_of(ask), study.index.identity()) == (NEW, identity)
    assert study.sync().added == 0


@pytest.mark.parametrize("lasting", [True, False])
async def test_searches_are_answered_while_another_process_builds_the_new_index(
    tmp_path: Path, database: str, ask: Ask, lasting: bool
) -> None:
    @contextmanager
    def memory_of_this_version() -> Iterator[Memory]:
        with closing(Server(database)) as server:
            yield Memory(
                MemorySettings(),
                workspace=tmp_path,
                now=lambda: datetime.now(UTC),
                server=server,
                lasting=lasting,
            )

    async def found(query: str) -> list[str]:
        results = await memory.search(query)
        assert not results.notice, results.notice
        return sorted(hit.path for hit in results.hits)

    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "old.md").write_text("- the passport is in the desk")
    with memory_of_this_version() as memory:
        async with memory:
            await memory.sync()
    current = fingerprint_of(ask)
    ask(f"UPDATE commonplace.index_state SET fingerprint = '{OLD}'")
    (tmp_path / "memory" / "new.md").write_text("- the passport is in the safe")
    with shadow_lock(database), memory_of_this_version() as memory:
        async with memory:
            for _ in range(3):
                assert await found("passport") == ["old.md"]
            assert fingerprint_of(ask) == OLD
    with memory_of_this_version() as memory:
        async with memory:
            assert "old.md" in await found("passport")
            await memory.sync()
            assert fingerprint_of(ask) == current
            assert await found("passport") == ["new.md", "old.md"]
    assert_sound_on_server(database)


def silent_and_new(opened: Open, ask: Ask) -> tuple[Instance, Instance]:
    """Return an instance of the old version that has indexed a note and fallen silent, and a new one."""
    kitchen = opened("kitchen", OLD)
    write_old(kitchen, "a.md", "- passport")
    kitchen.sync()
    fall_silent(ask, "kitchen")
    return kitchen, opened("study", NEW)


async def test_an_instance_of_the_old_version_that_wakes_up_during_the_rebuild_is_refused_after_it(
    opened: Open, ask: Ask
) -> None:
    kitchen, study = silent_and_new(opened, ask)
    assert study.found("passport") == ["a.md"]
    with closing(study.index.shadow()) as shadow:
        async with aclosing(kitchen.place.news().changes()) as changes:
            await anext(changes)  # what shows that a service is running
        write_old(kitchen, "b.md", "- passport")
        assert await asyncio.to_thread(kitchen.sync)
        assert kitchen.found("passport") == study.found("passport") == ["a.md", "b.md"]
        # One that starts now is refused at once, and does not stop the other by trying.
        with pytest.raises(IndexUnavailable, match="in use by study with other settings"):
            opened("hall", OLD).index.stamps()
        shadow.promote()
    for name in ("kitchen", "hall"):
        with pytest.raises(IndexUnavailable, match="in use by study with other settings"):
            opened(name, OLD).found("passport")
    with pytest.raises(IndexUnavailable, match="in use by study with other settings"):
        kitchen.sync()
    assert study.sync().added == 2
    assert (study.found("passport"), fingerprint_of(ask)) == (["a.md", "b.md"], NEW)
    # When that one has stopped, the older version may answer, and build its own again.
    fall_silent(ask, "study")
    assert kitchen.found("passport") == ["a.md", "b.md"]
    kitchen.sync()
    assert fingerprint_of(ask) == OLD


def test_a_shadow_does_not_take_over_from_an_active_instance_with_other_settings(
    opened: Open, ask: Ask
) -> None:
    kitchen, study = silent_and_new(opened, ask)
    with closing(study.index.shadow()) as shadow:
        # An instance of an earlier release records its use whatever others do.
        ask("UPDATE commonplace.index_users SET seen = now() WHERE name = 'kitchen'")
        with pytest.raises(IndexUnavailable, match="in use by kitchen with other settings"):
            shadow.promote()
    for _ in range(2):
        with pytest.raises(IndexUnavailable, match="in use by kitchen with other settings"):
            study.sync()
        assert (study.found("passport"), fingerprint_of(ask)) == (["a.md"], OLD)
    assert kitchen.found("passport") == ["a.md"]
    fall_silent(ask, "kitchen")
    study.sync()
    assert fingerprint_of(ask) == NEW


def test_one_of_several_new_instances_builds_while_the_others_answer(
    opened: Open, ask: Ask, database: str
) -> None:
    kitchen = opened("kitchen", OLD)
    for number in range(30):
        write_old(kitchen, f"{number}.md", f"- passport {number}")
    kitchen.sync()
    fall_silent(ask, "kitchen")
    instances = [opened(name, NEW) for name in ("study", "hall", "garden")]
    with shadow_lock(database):
        for instance in instances:
            assert instance.sync().added == 0
            assert len(instance.found("passport")) == 30
    reports: list[SyncReport] = []
    threads = [Thread(target=lambda each=each: reports.append(each.sync())) for each in instances]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.added for report in reports if report.added] == [30]
    assert fingerprint_of(ask) == NEW
    for instance in instances:
        assert (len(instance.found("passport")), instance.index.is_outdated()) == (30, False)


FILLING = "SELECT 1 FROM commonplace.notes_b HAVING count(*) >= 50"
SWAPPING = "SELECT 1 FROM pg_locks WHERE relation = 'commonplace.index_state'::regclass AND NOT granted"


@pytest.mark.thorough
@pytest.mark.parametrize("moment", [FILLING, SWAPPING], ids=["filling", "swapping"])
def test_a_killed_builder_leaves_the_old_index_answering_and_the_next_starts_again(
    tmp_path: Path, opened: Open, ask: Ask, database: str, moment: str
) -> None:
    count = 1_000
    kitchen = opened("kitchen", OLD)
    for number in range(count):
        write_old(
            kitchen, f"{number}.md", f"# Note {number}\n\n" + f"- parcel {number} is on the shelf\n" * 40
        )
    kitchen.sync()
    fall_silent(ask, "kitchen")
    study = opened("study", NEW)
    command = [sys.executable, "-c", BUILDER, str(tmp_path), NEW, database]
    with (
        reader_lock(database),
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}) as builder,
    ):
        try:
            while not ask(moment):
                assert builder.poll() is None
                if moment == FILLING:
                    assert study.found("parcel 7") == kitchen.found("parcel 7") != []
        finally:
            builder.kill()
        assert builder.wait() == -signal.SIGKILL, "it was still at work"
    assert fingerprint_of(ask) == OLD
    assert study.found("parcel 7") == kitchen.found("parcel 7") != []
    # The server may notice a little later that the builder has gone.
    while study.index.is_outdated():
        study.sync()
    assert fingerprint_of(ask) == NEW
    assert len(study.index.known()) == count
    assert study.sync().added == 0
