"""A note's lock among instances: two workspaces, one folder of notes, one server."""

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memory import disk
from memory.errors import NoteUnwritable
from memory.line_reversal import LinesReplacement
from memory.locked_note import LockedNote
from memory.locks import lock_file
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import REST_SECONDS, Server
from tests.fakes.postgres_server import PostgresServer

ROOT = Path(__file__).parents[3]


class Instance:
    """The notes of one process."""

    def __init__(self, root: Path, name: str, url: str, *, folder: str = "memory", wait: float = 0.2) -> None:
        self.folder = root / folder
        self.private = root / name
        self.server = Server(url)
        self.locks = NoteLocks(self.server, answer_seconds=1)
        self.notes = Notes(self.folder, private=self.private, lock_timeout=wait, shared=self.locks)

    def close(self) -> None:
        self.locks.close()
        self.server.close()


Start = Callable[..., Instance]


@pytest.fixture
def start(tmp_path: Path, database: str) -> Iterator[Start]:
    instances: list[Instance] = []

    def start(name: str, *, url: str = database, folder: str = "memory", wait: float = 0.2) -> Instance:
        instances.append(Instance(tmp_path, name, url, folder=folder, wait=wait))
        return instances[-1]

    yield start
    for instance in instances:
        instance.close()


def end_sessions(postgres: PostgresServer, *, of: str) -> None:
    """Cut the sessions, as if the network failed for a moment."""
    postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
        of.rpartition("/")[2],
    )


def test_a_note_locked_by_one_instance_is_written_by_no_other(start: Start) -> None:
    here, there = start("here"), start("there")
    with here.notes.held("a.md"):
        with pytest.raises(
            NoteUnwritable, match=r"a.md has been locked by another instance for more than 0.2 sec"
        ):
            there.notes.append("a.md", "- late", title="T")
        there.notes.append("b.md", "- another note", title="T")
    there.notes.append("a.md", "- late", title="T")
    assert (here.folder / "a.md").read_text() == "# T\n\n- late\n"


@pytest.mark.thorough
def test_spellings_and_other_mounts_of_a_note_share_its_lock(start: Start, tmp_path: Path) -> None:
    here, there = start("here"), start("there", folder="mounted elsewhere")
    (tmp_path / "memory").mkdir()
    there.folder.symlink_to(tmp_path / "memory")
    with here.notes.held("Ünited.md"), pytest.raises(NoteUnwritable, match="another instance"):
        there.notes.append("u\u0308nited.md", "- late", title="T")


@pytest.mark.thorough
def test_a_waiting_instance_gets_the_lock_as_soon_as_it_is_free(start: Start) -> None:
    here, there = start("here"), start("there", wait=10)
    began = time.monotonic()
    with here.notes.held("a.md"):
        waiting = threading.Thread(
            target=there.notes.append, args=("a.md", "- waited"), kwargs={"title": "T"}
        )
        waiting.start()
        time.sleep(0.3)
        assert not (here.folder / "a.md").exists()
    waiting.join(20)
    assert "- waited" in (here.folder / "a.md").read_text()
    assert time.monotonic() - began < 5


def test_closed_locks_open_no_connection(start: Start, postgres: PostgresServer, database: str) -> None:
    here = start("here")
    here.notes.append("a.md", "- one", title="T")
    here.locks.close()
    with pytest.raises(NoteUnwritable, match="the memory was closed"):
        here.notes.edit("a.md", "one", "two")
    # Appending needs no lock: it behaves as without the server.
    here.notes.append("a.md", "- two", title="T")
    assert (here.folder / "a.md").read_text() == "# T\n\n- one\n- two\n"
    here.server.close()
    there = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    deadline = time.monotonic() + 5
    while postgres.execute(there, database.rpartition("/")[2]) != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_instance_that_lost_its_lock_changes_nothing(
    start: Start, postgres: PostgresServer, database: str
) -> None:
    here = start("here")
    here.notes.append("a.md", "- one", title="T")
    with here.notes.held("a.md") as note:
        end_sessions(postgres, of=database)
        changes: list[Callable[[LockedNote], object]] = [
            lambda note: note.edit("one", "two"),
            lambda note: note.plan_edit("one", "two"),
            lambda note: note.remove(["- one"]),
            lambda note: note.rename("b.md"),
            lambda note: note.replace(LinesReplacement(3, ("- one",), ())),
            lambda note: note.plan_replacement(LinesReplacement(3, ("- one",), ())),
            lambda note: note.remove_lines(lambda text: {2}),
            lambda note: note.plan_removal({2}),
            lambda note: note.delete_if(lambda text: True, keep=True),
        ]
        for change in changes:
            with pytest.raises(NoteUnwritable, match=r"a.md was not changed.*; try again\.$"):
                change(note)
    assert (here.folder / "a.md").read_text() == "# T\n\n- one\n"
    assert [path.name for path in here.folder.iterdir()] == ["a.md"]
    assert not (here.private / "trash").exists()
    here.notes.edit("a.md", "one", "two")
    assert (here.folder / "a.md").read_text() == "# T\n\n- two\n"


@pytest.mark.thorough
def test_an_expired_session_is_reopened(start: Start, postgres: PostgresServer, database: str) -> None:
    here = start("here")
    for number in range(3):
        here.notes.append("a.md", f"- {number}", title="T")
        here.notes.edit("a.md", f"- {number}", f"- edited {number}")
        end_sessions(postgres, of=database)


@pytest.mark.thorough
def test_a_pooler_in_transaction_mode_is_detected(
    start: Start, postgres: PostgresServer, database: str
) -> None:
    here = start("here")
    here.notes.append("a.md", "- one", title="T")
    with here.notes.held("a.md") as note:
        # As if a pooler had given the query another backend than the one that holds the lock.
        postgres.execute("SELECT 1")
        assert here.locks._session is not None
        here.locks._session.query("SELECT pg_advisory_unlock_all() IS NULL", ())
        with pytest.raises(NoteUnwritable, match="do not work through a pooler"):
            note.edit("one", "two")


@pytest.mark.thorough
def test_while_the_server_is_unreachable_notes_can_only_be_appended_to(tmp_path: Path) -> None:
    postgres = PostgresServer()
    here = Instance(tmp_path, "here", postgres.url())
    try:
        here.notes.append("a.md", "- one", title="T")
        postgres.kill()
        here.notes.append("a.md", "- two", title="T")
        with pytest.raises(NoteUnwritable, match=r"a.md was not changed.*does not answer.*; try again\.$"):
            here.notes.edit("a.md", "one", "three")
        began = time.monotonic()
        here.notes.append("a.md", "- three", title="T")
        assert time.monotonic() - began < 0.5
        postgres.start()
        time.sleep(REST_SECONDS)
        here.notes.edit("a.md", "- one\n", "")
        assert (here.folder / "a.md").read_text() == "# T\n\n- two\n- three\n"
    finally:
        here.close()
        postgres.close()


@pytest.mark.thorough
def test_a_hanging_server_does_not_block_for_long(tmp_path: Path) -> None:
    postgres = PostgresServer()
    here = Instance(tmp_path, "here", postgres.url())
    try:
        here.notes.append("a.md", "- one", title="T")
        postgres.halt()
        began = time.monotonic()
        here.notes.append("a.md", "- two", title="T")
        assert time.monotonic() - began < 6
        began = time.monotonic()
        with pytest.raises(NoteUnwritable, match=r"a\.md was not changed"):
            here.notes.edit("a.md", "one", "three")
        assert time.monotonic() - began < 6
        postgres.resume()
        assert (here.folder / "a.md").read_text() == "# T\n\n- one\n- two\n"
    finally:
        here.close()
        postgres.close()


@pytest.mark.thorough
def test_an_instance_that_returns_too_late_finds_its_draft_removed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host hung before the rename; meanwhile its locks were released, and another instance wrote."""
    for module in ("note_append", "locked_note"):
        monkeypatch.setattr(f"memory.{module}.lock_file", lambda fd, path: None)
    here, there = start("here"), start("there")
    here.notes.append("a.md", "- one", title="T")
    rename = os.rename
    hung: list[str] = []

    def slow(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if not source.startswith("."):
            raise OSError(18, "as where the notes are mounted apart")
        if not hung:
            hung.append(source)
            here.locks.close()
            there.notes.append("a.md", "- two", title="T")
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr("memory.locked_note.os.rename", slow)
    with pytest.raises(NoteUnwritable, match=r"a\.md was not changed"):
        here.notes.edit("a.md", "one", "three")
    assert (here.folder / "a.md").read_text() == "# T\n\n- one\n- two\n"
    there.notes.edit("a.md", "one", "three")
    assert [path.name for path in here.folder.iterdir()] == ["a.md"]


@pytest.mark.thorough
def test_a_dead_instance_s_draft_is_removed_by_the_next_write(start: Start) -> None:
    here, there = start("here"), start("there")
    here.notes.append("a.md", "- one", title="T")
    with here.notes.held("a.md") as note:
        beginning = f".note-{zlib.crc32(b'a.md'):08x}"
        assert note.path == "a.md"
    (here.folder / f"{beginning}-0123456789abcdef").write_text("half")
    (here.folder / ".note-ffffffff-0123456789abcdef").write_text("of another note")
    there.notes.append("a.md", "- two", title="T")
    assert sorted(path.name for path in here.folder.iterdir()) == [".note-ffffffff-0123456789abcdef", "a.md"]


@pytest.mark.thorough
def test_without_the_lock_server_the_file_s_own_lock_is_respected(start: Start) -> None:
    here = start("here")
    away = start("away", url="postgresql://nobody@127.0.0.1:9/nowhere", wait=0.2)
    here.notes.append("a.md", "- one", title="T")
    fd = os.open(here.folder / "a.md", os.O_RDWR)
    lock_file(fd, "a.md")
    done = threading.Thread(target=away.notes.append, args=("a.md", "- two"), kwargs={"title": "T"})
    done.start()
    time.sleep(0.3)
    assert (here.folder / "a.md").read_text() == "# T\n\n- one\n"
    # The lock's holder replaces the file.
    (here.folder / "new").write_text("# T\n\n- edited\n")
    (here.folder / "new").rename(here.folder / "a.md")
    os.close(fd)
    done.join(5)
    assert (here.folder / "a.md").read_text() == "# T\n\n- edited\n- two\n"


@pytest.mark.thorough
def test_waiting_for_a_file_lock_times_out(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    one, two = os.open(file, os.O_RDWR), os.open(file, os.O_RDWR)
    lock_file(one, "a.md")
    with pytest.raises(NoteUnwritable, match=r"for more than 0\.05 seconds"):
        lock_file(two, "a.md", timeout=0.05)
    os.close(one)
    lock_file(two, "a.md", timeout=0.05)
    os.close(two)


WRITER = """
import sys
from pathlib import Path
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
base, name, count, url = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
notes = Notes(base / "memory", private=base / name, shared=NoteLocks(Server(url)))
for number in range(count):
    notes.append("day.md", f"- {name}{number:04} end.", title="day")
    if number % 5 == 4:
        notes.edit("day.md", f"{name}{number - 4:04} ", f"{name}{number - 4:04} edited ")
    print(number, flush=True)
"""


def start_writer(base: Path, name: str, count: int, url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(base), name, str(count), url],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.thorough
def test_instances_that_write_at_once_and_are_killed_lose_nothing(tmp_path: Path, database: str) -> None:
    steady = {name: start_writer(tmp_path, name, 150, database) for name in "ab"}
    said: set[str] = set()
    for turn in range(4):
        name = "cdef"[turn]
        with start_writer(tmp_path, name, 10_000, database) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(5)]
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.read().splitlines(keepends=True)
        said |= {f"{name}{int(line):04}" for line in lines if line.endswith("\n")}
    for name, writer in steady.items():
        lines = writer.communicate(timeout=60)[0].splitlines()
        assert len(lines) == 150
        said |= {f"{name}{int(line):04}" for line in lines}
    text = (tmp_path / "memory/day.md").read_text()
    standing = [line.split()[1] for line in text.splitlines()[2:]]
    assert len(standing) == len(set(standing))
    assert said <= set(standing)
    assert all(f"- {name}{number:04} edited end." in text for name in "ab" for number in range(0, 150, 5))
    Notes(tmp_path / "memory", private=tmp_path / "a", shared=NoteLocks(Server(database))).append(
        "day.md", "- last", title="day"
    )
    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["day.md"]
    assert disk.read_all(os.open(tmp_path / "memory/day.md", os.O_RDONLY), limit=10**6).endswith(b"- last\n")
