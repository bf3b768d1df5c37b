"""Instances that update one index: they share the work, and take over that of one that dies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory.errors import IndexUnavailable
from memory.index.postgres.index import PostgresIndex
from memory.index.protocol import Stamp
from memory.note_source import LoadedNote
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
from memory.settings import ChunkSettings
from memory.sync import EMPTIED_NOTES, SyncReport, _index_note, rebuild_index, sync_index
from memory.tokenizer import parse_query

ROOT = Path(__file__).parents[3]
INDEXER = """
import json, sys, time
from pathlib import Path
from memory.index.postgres.index import PostgresIndex
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
from memory.settings import ChunkSettings
from memory.sync import sync_index
base, name, url = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
server = Server(url)
notes = Notes(base / "memory", private=base / name, shared=NoteLocks(server))
index = PostgresIndex(server, fingerprint="test")
print("ready", index.identity() and "", flush=True)
sys.stdin.readline()
started, before = time.monotonic(), time.process_time()
added = changed = 0
while True:
    report = sync_index(notes, index, ChunkSettings())
    added, changed = added + report.added, changed + report.changed
    if not report.elsewhere:
        break
    time.sleep(0.1)
print(json.dumps([added, changed, time.process_time() - before, time.monotonic() - started]), flush=True)
index.close()
"""


class Indexer:
    """A process that indexes on command until everything is indexed."""

    def __init__(self, base: Path, name: str, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", INDEXER, str(base), name, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._process.stdout
        assert self._process.stdout.readline().startswith("ready")

    def go(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def end(self) -> tuple[int, int, float, float]:
        """Return how many notes it added and changed, and its seconds of CPU and wall time."""
        out, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        added, changed, cpu, seconds = json.loads(out)
        return added, changed, cpu, seconds


def write_notes(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    old = time.time() - 3600
    for number in range(count):
        note = folder / f"note-{number:05}.md"
        note.write_text(
            f"# Note {number}\n\n" + f"- parcel {number} is on the shelf with some other words\n" * 40
        )
        os.utime(note, (old, old))


def index_in_one(tmp_path: Path, database: str, names: str) -> list[tuple[int, int, float, float]]:
    indexers = [Indexer(tmp_path, name, database) for name in names]
    for indexer in indexers:
        indexer.go()
    return [indexer.end() for indexer in indexers]


class Desk:
    """The notes and the index of one instance in this process."""

    def __init__(self, root: Path, name: str, url: str) -> None:
        self.folder = root / "memory"
        self.folder.mkdir(exist_ok=True)
        self.server = Server(url)
        self.locks = NoteLocks(self.server)
        self.notes = Notes(self.folder, private=root / name, shared=self.locks)
        self.index = PostgresIndex(self.server, fingerprint="test")

    def sync(self, notes: Notes | None = None) -> SyncReport:
        return sync_index(notes or self.notes, self.index, ChunkSettings())

    def found(self, query: str) -> set[str]:
        return {run.path for run in self.index.candidates(parse_query(query), limit=100).runs}

    def claims(self) -> int:
        with self.server.transaction() as connection:
            row = connection.execute("SELECT count(*) FROM commonplace.claims").fetchone()
            assert row
            return int(row[0])

    def close(self) -> None:
        self.index.close()
        self.locks.close()
        self.server.close()


@pytest.fixture
def here(tmp_path: Path, database: str) -> Iterator[Desk]:
    desk = Desk(tmp_path, "here", database)
    yield desk
    desk.close()


@pytest.fixture
def there(tmp_path: Path, database: str, here: Desk) -> Iterator[Desk]:
    desk = Desk(tmp_path, "there", database)
    yield desk
    desk.close()


def old(file: Path) -> Path:
    then = time.time() - 3600
    os.utime(file, (then, then))
    return file


def test_notes_indexed_by_one_instance_are_found_by_the_other(here: Desk, there: Desk) -> None:
    write_notes(here.folder, 5)
    assert here.sync().added == 5
    assert there.sync().added == 0
    assert there.found("parcel") == here.found("parcel") == {f"note-{n:05}.md" for n in range(5)}
    assert here.claims() == 0


def test_a_search_waits_for_a_note_that_another_instance_is_indexing(
    here: Desk, there: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.sync.MAX_WAIT_SECONDS", 20.0)
    old_note = here.folder / "a.md"
    old_note.write_text("- umbrella")
    old(old_note)
    reading = threading.Event()

    class Slow(Notes):
        def load(self, path: str) -> LoadedNote:
            loaded = super().load(path)
            reading.set()
            time.sleep(0.3)
            return loaded

    slow = Slow(there.folder, private=there.folder.parent / "there", shared=there.locks)
    other = threading.Thread(target=there.sync, args=(slow,))
    other.start()
    assert reading.wait(5)
    report = here.sync()
    assert (report.added, report.elsewhere) == (0, 0)
    assert here.found("umbrella") == {"a.md"}
    other.join(5)
    assert here.claims() == 0


@pytest.mark.thorough
def test_a_search_does_not_wait_for_many_notes_claimed_by_others(
    here: Desk, there: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.sync.MAX_WAIT_SECONDS", 20.0)
    write_notes(here.folder, 30)
    there.index.identity()
    claimed = there.index.claim([f"note-{number:05}.md" for number in range(20)])
    assert len(claimed) == 20
    began = time.monotonic()
    report = here.sync()
    assert (report.added, report.elsewhere) == (10, 20)
    assert time.monotonic() - began < 10
    there.index.release(claimed)
    assert (here.sync().added, here.claims()) == (20, 0)


@pytest.mark.thorough
def test_the_claim_on_an_unreadable_note_is_released(here: Desk, there: Desk) -> None:
    (here.folder / "large.md").write_bytes(b"x" * (16 * 1024 * 1024 + 1))
    for desk in (here, there):
        assert [problem.path for problem in desk.sync().problems] == ["large.md"]
        assert desk.claims() == 0


@pytest.mark.thorough
def test_an_aborted_sync_releases_its_claims(here: Desk) -> None:
    class Broken(Notes):
        def load(self, path: str) -> LoadedNote:
            raise ZeroDivisionError

    write_notes(here.folder, 3)
    with pytest.raises(ZeroDivisionError):
        here.sync(Broken(here.folder, private=here.folder.parent / "here", shared=here.locks))
    assert here.claims() == 0


def test_an_expired_claim_is_not_relied_on(here: Desk, there: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host slept while it read a note; meanwhile another instance indexed a newer version."""
    monkeypatch.setattr("memory.sync._RENEW_SECONDS", 0.0)
    note = here.folder / "a.md"
    note.write_text("- passport")
    old(note)
    slept: list[str] = []

    class Sleeping(Notes):
        def load(self, path: str) -> LoadedNote:
            loaded = super().load(path)
            if not slept:
                slept.append(path)
                with here.server.transaction() as connection:
                    connection.execute("UPDATE commonplace.claims SET until = now() - interval '1 second'")
                note.write_text("- umbrella and more")
                old(note)
                assert there.sync().added == 1
            return loaded

    report = here.sync(Sleeping(here.folder, private=here.folder.parent / "here", shared=here.locks))
    assert report.added == 0
    assert here.found("umbrella") == {"a.md"}
    assert here.found("passport") == set()
    assert here.claims() == 0


def test_an_index_is_not_emptied_if_the_shared_folder_is_missing(here: Desk, there: Desk) -> None:
    write_notes(here.folder, EMPTIED_NOTES)
    here.sync()
    unmounted = Notes(here.folder.parent / "nothing", private=here.folder.parent / "here", shared=here.locks)
    with pytest.raises(IndexUnavailable, match="mount the shared storage"):
        here.sync(unmounted)
    assert len(there.found("parcel")) == EMPTIED_NOTES
    for note in here.folder.iterdir():
        note.unlink()
    with pytest.raises(IndexUnavailable, match="--rebuild"):
        here.sync()
    rebuild_index(here.notes, here.index, ChunkSettings())
    assert there.found("parcel") == set()


@pytest.mark.thorough
def test_an_index_is_not_emptied_if_the_unmounted_folder_has_a_note(here: Desk, there: Desk) -> None:
    write_notes(here.folder, EMPTIED_NOTES + 1)
    here.sync()
    unmounted = here.folder.parent / "unmounted"
    unmounted.mkdir()
    for name in ("note-00000.md", "new.md"):
        (unmounted / name).write_text("- parcel beside the mount")
    with pytest.raises(IndexUnavailable, match="has only 1 of the 21 notes"):
        here.sync(Notes(unmounted, private=here.folder.parent / "here", shared=here.locks))
    assert len(there.found("parcel")) == EMPTIED_NOTES + 1
    for number in range(EMPTIED_NOTES - 1):
        (here.folder / f"note-{number:05}.md").unlink()
    assert here.sync().removed == EMPTIED_NOTES - 1


@pytest.mark.thorough
def test_one_of_few_notes_may_be_deleted(here: Desk) -> None:
    write_notes(here.folder, 1)
    here.sync()
    (here.folder / "note-00000.md").unlink()
    assert here.sync().removed == 1


@pytest.mark.thorough
def test_instances_share_the_work_of_a_new_index(tmp_path: Path, database: str) -> None:
    write_notes(tmp_path / "memory", 1_000)
    ends = index_in_one(tmp_path, database, "abc")
    assert sum(added for added, *_ in ends) == 1_000
    assert sum(changed for _, changed, *_ in ends) == 0
    # Each has done its share.
    assert min(added for added, *_ in ends) > 100
    desk = Desk(tmp_path, "desk", database)
    assert (desk.sync().added, desk.claims(), len(desk.index.known())) == (0, 0, 1_000)
    desk.close()


@pytest.mark.thorough
def test_the_work_of_a_dead_instance_is_done_by_the_others(tmp_path: Path, database: str) -> None:
    write_notes(tmp_path / "memory", 1_000)
    indexers = [Indexer(tmp_path, name, database) for name in "abc"]
    desk = Desk(tmp_path, "desk", database)
    for indexer in indexers:
        indexer.go()
    deadline = time.monotonic() + 30
    while len(desk.index.known()) < 200 and time.monotonic() < deadline:
        time.sleep(0.02)
    indexers[0].kill()
    for indexer in indexers[1:]:
        indexer.end()
    assert (len(desk.index.known()), desk.sync().added, desk.claims()) == (1_000, 0, 0)
    desk.close()


@pytest.mark.thorough
def test_a_search_finds_at_once_the_notes_claimed_by_a_killed_process(tmp_path: Path, database: str) -> None:
    write_notes(tmp_path / "memory", 3)
    command = "index.claim([f'note-{n:05}.md' for n in range(3)]); print(flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", INDEXER.partition("sys.stdin")[0] + command, str(tmp_path), "a", database],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout
    assert process.stdout.readline() == "ready \n"
    assert process.stdout.readline() == "\n"
    desk = Desk(tmp_path, "desk", database)
    assert desk.sync().elsewhere == 3
    process.kill()
    process.communicate()
    began = time.monotonic()
    assert (desk.sync().added, desk.claims()) == (3, 0)
    assert time.monotonic() - began < 1.5
    desk.close()


@pytest.mark.thorough
def test_claiming_notes_that_are_being_indexed_neither_waits_nor_blocks(here: Desk, there: Desk) -> None:
    """Some of them have only a new timestamp, some new text."""
    write_notes(here.folder, 200)
    here.sync()
    there.index.identity()
    here.index.stamps()
    paths = sorted(here.index.known())
    some = [
        _index_note(path, Stamp(1, 2, 3), here.notes.load(path), ChunkSettings())
        for path in paths
        if not path.endswith("0.md")
    ]
    others = {path: Stamp(1, 2, 3) for path in paths if path.endswith("0.md")}
    there.index.claim([])  # opens its connections
    assert set(here.index.claim(paths)) == set(paths)
    with ThreadPoolExecutor(1) as thread:
        indexing = thread.submit(here.index.write_batch, some, restamped=others)
        taken: set[str] = set()
        longest, started = 0.0, time.monotonic()
        while not indexing.done():
            began = time.monotonic()
            taken |= set(there.index.claim(paths))
            longest = max(longest, time.monotonic() - began)
            there.index.release(taken)
        indexing.result()
        took = time.monotonic() - started
    assert {note.stamp for note in here.index.known().values()} == {Stamp(1, 2, 3)}
    assert longest < max(0.2, took / 2)
