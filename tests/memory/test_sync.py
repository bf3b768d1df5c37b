import contextlib
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event

import pytest

from memory.errors import IndexUnavailable
from memory.index.sqlite import SqliteIndex
from memory.listing import Listing, NoteStat
from memory.note_source import LoadedNote
from memory.notes import Notes
from memory.settings import ChunkSettings
from memory.sync import SyncReport, rebuild_index, sync_index
from memory.tokenizer import parse_query
from tests.fakes.index_checks import assert_sound, read_index_contents


class Desk:
    """A folder of notes and an index of it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "memory"
        self.notes = Notes(self.folder, private=root / ".commonplace")
        self.index = SqliteIndex(root / ".commonplace" / "index.db", fingerprint="test")

    def put(self, path: str, text: str | bytes, *, age: float = 60) -> Path:
        """Write a note as an editor would have `age` seconds ago."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (time.time() - age,) * 2)
        return file

    def sync(self) -> SyncReport:
        return sync_index(self.notes, self.index, ChunkSettings())

    def found(self, query: str) -> set[str]:
        return {run.path for run in self.index.candidates(parse_query(query), limit=100).runs}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.index.close()


def counts(report: SyncReport) -> tuple[int, int, int]:
    return report.added, report.changed, report.removed


def test_new_changed_and_deleted_notes_are_distinguished(desk: Desk) -> None:
    desk.put("a.md", "- passport")
    desk.put("sub/b.md", "- folder")
    assert counts(desk.sync()) == (2, 0, 0)
    assert counts(desk.sync()) == (0, 0, 0)
    desk.put("a.md", "- visa and more")
    (desk.folder / "sub/b.md").unlink()
    desk.put("c.md", "- shelf")
    assert counts(desk.sync()) == (1, 1, 1)
    assert (desk.found("passport"), desk.found("visa"), desk.found("folder")) == (set(), {"a.md"}, set())


class Shelf:
    """A `NoteSource` without files: texts by path, each with the number of its edition."""

    is_shared = False

    def __init__(self) -> None:
        self.texts: dict[str, tuple[int, str]] = {}
        self.loads: list[str] = []

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        stats = [self._stat(path) for path in self.texts]
        new = [
            stat
            for stat in stats
            if (known or {}).get(stat.path) != (stat.size, stat.mtime_ns, stat.ctime_ns)
        ]
        return Listing(new, [], sorted(self.texts.keys() - {stat.path for stat in new}))

    def load(self, path: str) -> LoadedNote:
        self.loads.append(path)
        _, text = self.texts[path]
        return LoadedNote(text, "utf-8", hashlib.sha256(text.encode()).hexdigest(), self._stat(path))

    def _stat(self, path: str) -> NoteStat:
        edition, text = self.texts[path]
        return NoteStat(path, len(text), 1_000_000_007, 0, edition)


def test_notes_need_not_be_files(tmp_path: Path) -> None:
    shelf = Shelf()
    shelf.texts = {"a/1.md": (1, "- passport"), "b/1.md": (1, "- folder")}
    with contextlib.closing(SqliteIndex(tmp_path / "index.db", fingerprint="test")) as index:

        def sync() -> tuple[int, int, int]:
            return counts(sync_index(shelf, index, ChunkSettings()))

        def found(query: str) -> list[str]:
            return [run.path for run in index.candidates(parse_query(query), limit=9).runs]

        assert sync() == (2, 0, 0)
        assert (found("passport"), found("folder")) == (["a/1.md"], ["b/1.md"])
        shelf.texts = {"a/1.md": (2, "- visa"), "c/1.md": (1, "- folder")}
        shelf.loads.clear()
        assert sync() == (1, 1, 1)
        assert (found("passport"), found("visa"), found("folder")) == ([], ["a/1.md"], ["c/1.md"])
        assert sync() == (0, 0, 0)
        assert sorted(shelf.loads) == ["a/1.md", "c/1.md"]
        rebuild_index(shelf, index, ChunkSettings())
        assert (found("visa"), found("folder")) == (["a/1.md"], ["c/1.md"])


def test_a_missing_folder_is_an_empty_memory(desk: Desk) -> None:
    assert counts(desk.sync()) == (0, 0, 0)
    desk.put("a.md", "- x")
    desk.sync()
    (desk.folder / "a.md").unlink()
    desk.folder.rmdir()
    assert counts(desk.sync()) == (0, 0, 1)


def test_a_touched_note_is_not_indexed_again(desk: Desk) -> None:
    file = desk.put("a.md", "- passport")
    desk.sync()
    os.utime(file, (1, 1))
    assert counts(desk.sync()) == (0, 0, 0)
    assert desk.index.known()["a.md"].stamp.mtime_ns == 1_000_000_000 or desk.sync()


def test_a_change_of_the_same_size_and_time_is_noticed(desk: Desk) -> None:
    file = desk.put("a.md", "- passport")
    time.sleep(0.12)
    desk.sync()
    before = file.stat()
    file.write_text("- suitcase")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    desk.sync()
    assert desk.found("suitcase") == {"a.md"}


def test_a_note_with_a_future_time_is_not_read_repeatedly(desk: Desk) -> None:
    file = desk.put("a.md", "- passport", age=-3600)
    time.sleep(0.12)
    desk.sync()
    assert desk.index.known()["a.md"].stamp.mtime_ns == file.stat().st_mtime_ns


@pytest.mark.parametrize("year", [-10_000, 1600, 2300, 300_000])
def test_a_time_outside_64_bits_is_accepted(desk: Desk, monkeypatch: pytest.MonkeyPatch, year: int) -> None:
    nanoseconds = (year - 1970) * 31_556_952 * 10**9
    of = NoteStat.of.__func__  # type: ignore[attr-defined]
    there = classmethod(lambda cls, path, found: of(cls, path, found)._replace(mtime_ns=nanoseconds))
    # Few file systems store such a time.
    monkeypatch.setattr(NoteStat, "of", there)
    monkeypatch.setattr("memory.listing._PLAIN_NAME", re.compile("(?!)"))
    monkeypatch.setattr("memory.sync.RACY_NS", 0)
    monkeypatch.setattr("memory.sync.COARSE_RACY_NS", 0)
    desk.put("a.md", "- passport")
    assert counts(desk.sync()) == (1, 0, 0)
    assert desk.found("passport") == {"a.md"}
    assert counts(desk.sync()) == (0, 0, 0)


def test_a_newer_version_indexed_by_another_process_is_not_overwritten(
    desk: Desk,
) -> None:
    other = Desk(desk.folder.parent)

    class Slow(Notes):
        """Another process writes and indexes the note between our reading and our indexing of it."""

        def load(self, path: str) -> LoadedNote:
            loaded = super().load(path)
            if "old" in loaded.text:
                other.put("a.md", "- new words")
                other.put("b.md", "- more")
                other.sync()
            return loaded

    desk.put("a.md", "- old")
    report = sync_index(Slow(desk.folder, private=desk.folder / ".c"), desk.index, ChunkSettings())
    assert desk.found("new") == {"a.md"}
    assert desk.found("more") == {"b.md"}
    assert counts(report) == (0, 0, 0)
    other.index.close()


def test_two_changes_within_one_tick_of_the_clock_are_both_noticed(desk: Desk) -> None:
    for n in range(10):
        desk.put("a.md", f"- number{n:03}", age=0)
        desk.sync()
        assert desk.found(f"number{n:03}") == {"a.md"}


def test_an_unreadable_note_is_listed_in_the_report(desk: Desk) -> None:
    desk.put("good.md", "- passport")
    desk.put("large.md", b"x" * (16 * 1024 * 1024 + 1))
    report = desk.sync()
    assert counts(report) == (1, 0, 0)
    assert [(problem.path, "16 MiB" in problem.reason) for problem in report.problems] == [("large.md", True)]


def test_text_that_is_not_utf_8_is_indexed_and_reported(desk: Desk) -> None:
    desk.put("old.md", "- Schlüssel im Flur".encode("windows-1252"))
    desk.put("wide.md", "- Schlüssel im Keller".encode("utf-16"))
    report = desk.sync()
    assert desk.found("Schlüssel") == {"old.md", "wide.md"}
    assert [problem.path for problem in report.problems] == ["old.md"]
    time.sleep(0.12)
    for _ in range(3):
        assert desk.sync().problems == report.problems


def test_a_note_that_became_unreadable_stays_indexed(desk: Desk) -> None:
    desk.put("a.md", "- passport")
    desk.sync()
    desk.put("a.md", b"x" * (16 * 1024 * 1024 + 1))
    report = desk.sync()
    assert report.problems
    assert report.removed == 0


def test_notes_stay_indexed_while_their_folder_is_unreadable(nobody_path: Path) -> None:
    desk = Desk(nobody_path)
    desk.put("a.md", "- passport")
    desk.sync()
    desk.folder.chmod(0)
    assert desk.sync().problems
    desk.folder.chmod(0o700)
    assert desk.found("passport") == {"a.md"}
    desk.index.close()


def test_a_stopped_sync_resumes_next_time(desk: Desk) -> None:
    for n in range(5):
        desk.put(f"{n}.md", "- passport")
    stop = Event()
    stop.set()
    for work in (sync_index, rebuild_index):
        with pytest.raises(IndexUnavailable, match="stopped"):
            work(desk.notes, desk.index, ChunkSettings(), stop=stop)
    assert counts(desk.sync()) == (5, 0, 0)


def test_byte_order_marks_and_line_ends_leave_lines_and_words_right(desk: Desk) -> None:
    desk.put("a.md", b"\xef\xbb\xbf# One\r\n\r\n- passport\r\n- folder\r\n")
    desk.sync()
    run = desk.index.candidates(parse_query("folder"), limit=5).runs[0]
    assert [(p.line_start, p.text) for p in run.passages] == [
        (1, "# One"),
        (3, "- passport"),
        (4, "- folder"),
    ]


def test_empty_notes_are_recorded_and_not_read_again(desk: Desk) -> None:
    desk.put("empty.md", "")
    desk.put("blank.md", "\n\n  \n")
    assert counts(desk.sync()) == (2, 0, 0)
    assert counts(desk.sync()) == (0, 0, 0)


def test_a_renamed_note_moves(desk: Desk) -> None:
    file = desk.put("a.md", "- passport")
    desk.sync()
    file.rename(desk.folder / "b.md")
    assert counts(desk.sync()) == (1, 0, 1)
    assert desk.found("passport") == {"b.md"}


def test_a_rebuild_gives_what_many_syncs_gave(desk: Desk) -> None:
    for n in range(40):
        desk.put(f"{n % 7}.md", "\n".join(f"- passport number {k * n}" for k in range(n)))
        desk.sync()
    before = {
        query: desk.index.candidates(parse_query(query), limit=100) for query in ("passport", "number 12")
    }
    rebuild_index(desk.notes, desk.index, ChunkSettings())
    after = {query: desk.index.candidates(parse_query(query), limit=100) for query in before}
    for query in before:
        assert sorted(before[query].runs, key=str) == sorted(after[query].runs, key=str)
        assert before[query].frequencies == after[query].frequencies


def test_large_memories_are_indexed_in_several_transactions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.sync.BATCH_BYTES", 100)
    for n in range(30):
        desk.put(f"{n}.md", f"- passport {n} and some more words")
    assert counts(desk.sync()) == (30, 0, 0)
    assert len(desk.found("passport")) == 30


REBUILDER = """
import sys
from pathlib import Path
from memory.index.sqlite import SqliteIndex
from memory.notes import Notes
from memory.settings import ChunkSettings
from memory.sync import rebuild_index
root = Path(sys.argv[1])
notes = Notes(root / "memory", private=root / ".commonplace")
index = SqliteIndex(root / ".commonplace" / "index.db", fingerprint="test")
print("begun", flush=True)
print(rebuild_index(notes, index, ChunkSettings()).added)
"""
MAX_WAIT_SECONDS = 0.5
"""As a share of the rebuild's time: a rebuild that locked others out would have them wait for nearly all of it."""


@pytest.mark.thorough
def test_others_search_and_write_while_another_process_rebuilds(desk: Desk) -> None:
    for n in range(400):
        desk.put(
            f"{n}.md", f"# Note {n}\n\n" + f"- passport number {n} and some other words of its own\n" * 30
        )
    desk.sync()
    reader = Desk(desk.folder.parent)
    waits: dict[str, list[float]] = {"search": [], "write": []}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", REBUILDER, str(desk.folder.parent)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as rebuilding:
        assert rebuilding.stdout is not None
        assert rebuilding.stdout.readline() == "begun\n"
        started = time.monotonic()
        while rebuilding.poll() is None:
            began = time.monotonic()
            assert len(reader.found("passport")) == 100
            waits["search"].append(time.monotonic() - began)
            desk.put("written.md", f"- umbrella {len(waits['write'])}")
            began = time.monotonic()
            desk.sync()
            waits["write"].append(time.monotonic() - began)
            assert reader.found("umbrella") == {"written.md"}
            time.sleep(0.01)
        took = time.monotonic() - started
        assert int(rebuilding.stdout.read()) in (400, 401)
    desk.sync()
    print(f"{took:.3f} s", {what: f"{max(times):.3f} s of {len(times)}" for what, times in waits.items()})
    assert len(waits["write"]) > 3
    assert max(waits["search"] + waits["write"]) < MAX_WAIT_SECONDS * took
    assert desk.found("umbrella") == {"written.md"}
    file = desk.folder.parent / ".commonplace/index.db"
    assert_sound(file)
    before = read_index_contents(file)
    rebuild_index(desk.notes, desk.index, ChunkSettings())
    assert read_index_contents(file) == before
    reader.index.close()


def test_changes_during_a_rebuild_are_in_its_result(desk: Desk) -> None:
    class Slow(Notes):
        """While one note is read, others change that were read or listed already."""

        def load(self, path: str) -> LoadedNote:
            loaded = super().load(path)
            if path == "b.md" and "old" in loaded.text:
                desk.put("a.md", "- umbrella")
                desk.put("d.md", "- suitcase")
                (desk.folder / "c.md").unlink(missing_ok=True)
            return loaded

    for name in "abc":
        desk.put(f"{name}.md", f"- old {name}")
    report = rebuild_index(Slow(desk.folder, private=desk.folder / ".c"), desk.index, ChunkSettings())
    assert counts(report) == (3, 0, 0)
    assert desk.found("umbrella suitcase") == {"a.md", "d.md"}
    assert desk.index.known().keys() == {"a.md", "b.md", "d.md"}
    assert counts(desk.sync()) == (0, 0, 0)


def test_a_rebuild_that_is_stopped_in_the_middle_leaves_the_old_state(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.sync.REBUILD_BATCH_BYTES", 100)
    stop = Event()

    class Stopping(Notes):
        def load(self, path: str) -> LoadedNote:
            if path == "7.md":
                stop.set()
            return super().load(path)

    for n in range(10):
        desk.put(f"{n}.md", f"- passport {n}" * 20)
    desk.sync()
    with pytest.raises(IndexUnavailable, match="stopped"):
        rebuild_index(
            Stopping(desk.folder, private=desk.folder / ".c"), desk.index, ChunkSettings(), stop=stop
        )
    assert len(desk.found("passport")) == 10
    assert_sound(desk.folder.parent / ".commonplace/index.db")


def test_a_second_rebuild_at_the_same_time_is_refused(desk: Desk) -> None:
    desk.put("a.md", "- passport")
    shadow = desk.index.shadow()
    with pytest.raises(IndexUnavailable, match="another process is rebuilding"):
        rebuild_index(desk.notes, desk.index, ChunkSettings())
    shadow.close()
    assert counts(rebuild_index(desk.notes, desk.index, ChunkSettings())) == (1, 0, 0)


def test_an_index_that_is_replaced_by_one_with_other_settings_is_rebuilt(desk: Desk) -> None:
    desk.put("a.md", "- passport")
    other = SqliteIndex(desk.folder.parent / ".commonplace" / "index.db", fingerprint="other")

    def replace_once(_done: int, _total: int) -> None:
        if not (desk.folder / "b.md").exists():
            rebuild_index(desk.notes, other, ChunkSettings())
            desk.put("b.md", "- passport")

    sync_index(desk.notes, desk.index, ChunkSettings(), report=replace_once)
    other.close()
    assert desk.found("passport") == {"a.md", "b.md"}
    assert not desk.index.is_outdated()


def test_notes_of_an_outdated_index_are_left_to_the_process_that_rebuilds_it(desk: Desk) -> None:
    desk.put("a.md", "- passport")
    desk.sync()
    newer = SqliteIndex(desk.folder.parent / ".commonplace" / "index.db", fingerprint="newer")
    with contextlib.closing(newer), contextlib.closing(newer.shadow()):
        left = sync_index(desk.notes, newer, ChunkSettings())
    assert left.elsewhere == 1
