import contextlib
import dataclasses
import os
import random
import subprocess
import sys
import textwrap
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from memory.chunker import split_chunks, split_passages, split_segments
from memory.embeddings.protocol import ModelId
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.proposals import ProposalLimits
from memory.index.protocol import IndexChanged, IndexedNote, Stamp, VectorQuery
from memory.index.sqlite import SqliteIndex
from memory.index.vector_search.binary_quantization import BinaryVectorSearcher
from memory.index.vector_search.protocol import VectorSearcher
from memory.index.vector_search.sqlite_vec import SqliteVecSearcher
from memory.note_references import NoteReference
from memory.tokenizer import parse_query, tokenize
from tests.fakes.index_checks import assert_sound, read_index_contents

MODEL = ModelId("fake", "small", 4)
OPEN_FILES = Path("/proc/self/fd")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".commonplace" / "index.db"


@pytest.fixture
def index(file: Path) -> Iterator[SqliteIndex]:
    index = SqliteIndex(file, fingerprint="test")
    yield index
    index.close()


def note(path: str, text: str) -> IndexedNote:
    passages = split_passages(text)
    words = [" ".join(tokenize(p.text)) for p in passages]
    segments = split_segments(passages)
    return IndexedNote(path, Stamp(1, 1, 1), "digest", passages, words, split_chunks(passages), segments)


def embed(index: SqliteIndex) -> int:
    """Give every text a vector; return how many were missing."""
    missing = index.list_unembedded(MODEL, limit=10_000)
    index.store_vectors(MODEL, {text.digest: array("f", [1, 0, 0, 0]).tobytes() for text in missing})
    return len(missing)


def paths(index: SqliteIndex, query: str) -> list[str]:
    return [run.path for run in index.candidates(parse_query(query), limit=10).runs]


@contextlib.contextmanager
def killed(code: str, file: Path, *, wait: bool = False) -> Iterator[None]:
    """Run code with an `index` of this file in a process, wait until it has begun, and kill it at the end."""
    before = f"""
import contextlib, os, signal, time
from pathlib import Path
from memory.errors import IndexUnavailable
from memory.index.sqlite import SqliteIndex
from tests.memory.test_sqlite_index import note
file = Path({str(file)!r})
index = SqliteIndex(file, fingerprint="test")
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", before + textwrap.dedent(code)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        if wait:
            process.wait(timeout=60)
        yield
        process.kill()


def test_no_file_is_created_before_it_is_needed(file: Path) -> None:
    SqliteIndex(file, fingerprint="test").close()
    assert not file.parent.exists()


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "half", "other database", "folder gone"])
def test_a_damaged_file_is_replaced_on_opening(file: Path, damage: str) -> None:
    first = SqliteIndex(file, fingerprint="test")
    first.write_batch([note(f"{n}.md", "- passport " * 200) for n in range(20)])
    first.close()
    whole = file.read_bytes()
    match damage:
        case "truncated":
            file.write_bytes(whole[:100])
        case "garbage":
            file.write_bytes(b"not a database at all" * 1000)
        case "empty":
            file.write_bytes(b"")
        case "half":
            file.write_bytes(whole[: len(whole) // 2])
        case "other database":
            file.unlink()
            db = apsw.Connection(str(file))
            db.execute("CREATE TABLE about (x)")
            db.close()
        case _:
            file.unlink()
            file.parent.rename(file.parent.with_name("elsewhere"))
    again = SqliteIndex(file, fingerprint="test")
    # Damage beyond the first pages is found only when they are read; the memory then calls `reset`.
    with contextlib.suppress(IndexCorrupted):
        assert len(again.known()) in (0, 20)
        paths(again, "passport")
    again.reset()
    assert again.known() == {}
    again.write_batch([note("new.md", "- passport")])
    assert paths(again, "passport") == ["new.md"]
    again.close()


def fill_anew(index: SqliteIndex, notes: list[IndexedNote]) -> None:
    with contextlib.closing(index.shadow()) as shadow:
        shadow.write_batch(notes)
        shadow.promote()


def test_an_outdated_index_answers_and_takes_no_notes(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    first.write_batch([note("a.md", "- passport")])
    second = SqliteIndex(file, fingerprint="two")
    assert (first.is_outdated(), second.is_outdated()) == (False, True)
    assert paths(second, "passport") == ["a.md"]
    with pytest.raises(IndexChanged):
        second.write_batch([note("b.md", "- passport")])
    first.write_batch([note("c.md", "- passport")])  # the earlier version may still run
    assert paths(second, "passport") == ["a.md", "c.md"]
    before = second.identity()
    fill_anew(second, [note("b.md", "- passport")])
    assert (first.is_outdated(), second.is_outdated()) == (True, False)
    assert second.identity() != before
    assert paths(second, "passport") == ["b.md"]
    with pytest.raises(IndexChanged):
        first.write_batch([note("d.md", "- passport")])
    first.close()
    second.close()
    assert_sound(file)


def test_tables_of_another_version_are_recreated(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    first.write_batch([note("a.md", "- passport")])
    first.close()
    db = apsw.Connection(str(file))
    db.execute("UPDATE about SET value = '4/one' WHERE key = 'fingerprint'")
    db.close()
    second = SqliteIndex(file, fingerprint="two")
    assert not second.is_outdated()
    assert second.known() == {}
    second.close()


def test_notes_of_the_version_without_links_are_found_until_they_are_indexed_again(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    first.write_batch([note("a.md", "- passport")])
    first.close()
    db = apsw.Connection(str(file))
    db.execute("UPDATE about SET value = '5/one' WHERE key = 'fingerprint'")
    db.execute("DROP TABLE names_a; DROP TABLE links_a")
    db.close()
    second = SqliteIndex(file, fingerprint="one")
    assert second.is_outdated()
    assert paths(second, "passport") == ["a.md"]
    assert second.links(["a.md"]) == []
    fill_anew(second, [note("a.md", "- passport"), note("b.md", "- passport")])
    assert not second.is_outdated()
    assert sorted(paths(second, "passport")) == ["a.md", "b.md"]
    second.close()
    assert_sound(file)


def test_what_a_later_version_left_in_the_file_is_not_taken_for_links(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    linked = note("a.md", "- passport [[b|secret]]")
    first.write_batch([dataclasses.replace(linked, links=[NoteReference(1, "b", "", True, "secret")])])
    first.close()
    db = apsw.Connection(str(file))
    # The version before recreated its own tables, and knows of no others.
    db.execute("UPDATE about SET value = '5/one' WHERE key = 'fingerprint'")
    db.execute("CREATE TABLE names_b (left_over)")
    db.close()
    second = SqliteIndex(file, fingerprint="one")
    assert paths(second, "passport") == ["a.md"]
    assert second.links(["a.md"]) == []
    fill_anew(second, [note("a.md", "- passport")])
    assert paths(second, "passport") == ["a.md"]
    second.close()
    assert_sound(file)


def test_another_fingerprint_keeps_the_vectors(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    first.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(5)])
    assert embed(first) == 5
    second = SqliteIndex(file, fingerprint="two")
    fill_anew(second, [note(f"{n}.md", f"- passport {n}") for n in range(7)])
    assert len(paths(second, "passport")) == 7
    numbers = second.count_vectors(MODEL)
    assert (numbers.segments, numbers.kept) == (7, 5)
    assert embed(second) == 2
    first.close()
    second.close()
    assert_sound(file)


def test_two_programs_with_other_settings_take_turns_and_break_nothing(file: Path) -> None:
    one, two = (SqliteIndex(file, fingerprint=name) for name in ("one", "two"))
    for turn in range(3):
        for index in (one, two):
            assert index.is_outdated() == ((index, turn) != (one, 0))
            fill_anew(index, [note(f"{turn}.md", "- passport")])
            assert not index.is_outdated()
            assert paths(index, "passport") == [f"{turn}.md"]
    one.close()
    two.close()
    assert_sound(file)


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        ("DROP TABLE notes_a", 20),
        ("UPDATE passages_a SET words = x'ff'", 20),
        ("DELETE FROM about WHERE key = 'identity'", 20),
        ("UPDATE about SET value = 'x' WHERE key = 'generation'", 20),
        ("UPDATE vectors SET embedding = x'00' WHERE id = 3", 0),
        ("UPDATE vectors SET text = 99 WHERE id = 3", 0),
        ("DROP TABLE refusals", 0),
        ("DELETE FROM about WHERE key = 'vectors'", 0),
    ],
)
def test_undamaged_vectors_survive_a_reset(file: Path, index: SqliteIndex, damage: str, kept: int) -> None:
    index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
    assert embed(index) == 20
    db = apsw.Connection(str(file))
    db.execute(damage)
    db.close()
    index.reset()
    assert index.known() == {}
    assert index.count_vectors(MODEL).kept == kept
    index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
    assert embed(index) == 20 - kept
    index.close()
    assert_sound(file)


@pytest.mark.thorough
def test_damaged_vectors_do_not_survive_a_reset(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="test")
    first.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(2000)])
    embed(first)
    first.close()
    db = apsw.Connection(str(file))
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'vectors'").fetchall()[0][0]
    db.close()
    assert isinstance(page, int)
    with file.open("r+b") as raw:
        raw.seek((page - 1) * 4096)
        raw.write(b"\xff" * 4096)
    again = SqliteIndex(file, fingerprint="test")
    assert len(again.known()) == 2000
    again.reset()
    assert again.count_vectors(MODEL).kept == 0
    again.write_batch([note("a.md", "- passport 1")])
    assert embed(again) == 1
    again.close()
    assert_sound(file)


def test_a_dead_process_s_shadow_is_removed_on_opening(file: Path, index: SqliteIndex) -> None:
    index.write_batch([note("a.md", "- passport")])
    shadow = index.shadow()
    shadow.write_batch([note("b.md", "- folder"), note("c.md", "- passport")])
    shadow._lock.release()  # as the system does when a process dies
    shadow._file.close()
    assert paths(index, "passport") == ["a.md"]
    SqliteIndex(file, fingerprint="test").shadow().close()
    assert_sound(file)
    shadow = index.shadow()
    shadow.write_batch([note("b.md", "- folder")])
    shadow._lock.release()
    shadow._file.close()
    again = SqliteIndex(file, fingerprint="test")
    assert paths(again, "passport folder") == ["a.md"]
    again.close()
    assert_sound(file)


@pytest.mark.thorough
def test_a_killed_rebuild_does_not_stop_an_open_index_from_purging(file: Path, index: SqliteIndex) -> None:
    index.write_batch([note("a.md", "- passport")])
    with killed(
        """
        with contextlib.closing(index.shadow()):
            print("begun", flush=True)
            time.sleep(60)
        """,
        file,
    ):
        with pytest.raises(IndexUnavailable, match="being rebuilt right now"):
            index.purge()
        assert index.evict_unused(limit=0, wanted_models=[]) == 0
    index.purge()
    with killed("index.shadow(); print('begun', flush=True); time.sleep(60)", file):
        assert embed(index) == 1
    index.write_batch([], deleted=["a.md"])
    assert index.evict_unused(limit=0, wanted_models=[]) == 1
    index.close()
    assert_sound(file)


@pytest.mark.thorough
def test_vectors_survive_a_kill_between_the_old_file_and_the_new_one(file: Path) -> None:
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
        embed(index)
    code = """
        from pathlib import Path
        Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        print("begun", flush=True)
        index.reset()
        """
    with killed(code, file, wait=True):
        pass
    assert not file.exists()
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        assert index.count_vectors(MODEL).kept == 20
        index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
        assert embed(index) == 0
    assert list(file.parent.glob("index.db.new*")) == []
    assert_sound(file)


@pytest.mark.thorough
def test_an_unfinished_new_file_never_becomes_the_index(file: Path) -> None:
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        index.write_batch([note("a.md", "- passport")])
        embed(index)
    code = """
        import memory.index.sqlite_file as sqlite_file
        sqlite_file.rescue_vectors = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        print("begun", flush=True)
        index.reset()
        """
    with killed(code, file, wait=True):
        pass
    assert Path(f"{file}.new").exists()
    file.unlink()
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        assert index.known() == {}
    assert list(file.parent.glob("index.db.new*")) == []
    assert_sound(file)


@pytest.mark.thorough
@pytest.mark.parametrize("fingerprint", ["test", "other"])
def test_too_many_open_files_do_not_count_as_damage(file: Path, fingerprint: str) -> None:
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
        embed(index)
        # Another connection keeps the journal open, so that it must be opened as well.
        code = f"""
            import resource
            index = SqliteIndex(file, fingerprint={fingerprint!r})
            first = len(os.listdir("/dev/fd")) - 1
            for more in range(40):
                resource.setrlimit(resource.RLIMIT_NOFILE, (first + more, 4096))
                for ask in (index.numbers, index.reset):
                    try:
                        ask()
                    except IndexUnavailable:
                        pass
                index.close()
            print("begun", flush=True)
            """
        with killed(code, file, wait=True):
            pass
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        assert index.count_vectors(MODEL).kept == 20
    assert_sound(file)


@pytest.mark.thorough
def test_a_disk_fault_is_reported_and_retried(file: Path) -> None:
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        index.write_batch([note("a.md", "- passport")])
        embed(index)
    code = """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        index.numbers()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))  # any write fails as an I/O error
        for change in (lambda: index.write_batch([note("b.md", "- folder")]), index.reset):
            try:
                change()
            except IndexUnavailable:
                pass
            else:
                raise AssertionError
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        index.write_batch([note("b.md", "- folder")])
        assert sorted(index.known()) == ["a.md", "b.md"]
        print("begun", flush=True)
        """
    with killed(code, file, wait=True):
        pass
    with contextlib.closing(SqliteIndex(file, fingerprint="test")) as index:
        assert sorted(index.known()) == ["a.md", "b.md"]
        assert index.count_vectors(MODEL).kept == 1
    assert_sound(file)


def test_a_living_shadow_is_left_alone_by_other_openings(file: Path, index: SqliteIndex) -> None:
    with contextlib.closing(index.shadow()) as shadow:
        shadow.write_batch([note("a.md", "- passport")])
        other = SqliteIndex(file, fingerprint="test")
        assert other.known() == {}
        other.close()
        shadow.promote()
    assert paths(index, "passport") == ["a.md"]
    assert_sound(file)


def test_numbers_are_not_counted_again_while_nothing_changes(index: SqliteIndex) -> None:
    index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(20)])
    first = index.count_vectors(MODEL)
    assert index.count_vectors(MODEL) is first
    embed(index)
    assert index.count_vectors(MODEL).missing == 0


def test_after_any_changes_the_index_equals_one_from_scratch(file: Path, tmp_path: Path) -> None:
    index, fresh = (
        SqliteIndex(file, fingerprint="test"),
        SqliteIndex(tmp_path / "fresh.db", fingerprint="test"),
    )
    rng = random.Random(5)
    notes: dict[str, IndexedNote] = {}
    for _ in range(40):
        gone = rng.sample(sorted(notes), min(2, len(notes)))
        changed = [
            note(
                f"{rng.randrange(20)}.md",
                "# Title\n\n" + f"- a line of words {rng.randrange(9)}\n" * rng.randrange(40),
            )
            for _ in range(3)
        ]
        index.write_batch(changed, deleted=gone)
        notes = {path: kept for path, kept in notes.items() if path not in gone}
        notes |= {one.path: one for one in changed}
    fresh.write_batch(list(notes.values()))
    index.close()
    fresh.close()
    assert read_index_contents(file) == read_index_contents(tmp_path / "fresh.db")
    assert_sound(file)


def test_a_file_deleted_while_open_is_created_again(file: Path, index: SqliteIndex) -> None:
    index.write_batch([note("a.md", "- passport")])
    file.unlink()
    assert index.known() == {}
    index.write_batch([note("b.md", "- passport")])
    other = SqliteIndex(file, fingerprint="test")
    assert paths(other, "passport") == ["b.md"]
    other.close()


def test_a_leftover_journal_is_not_replayed_into_a_new_file(file: Path, index: SqliteIndex) -> None:
    index.write_batch([note("a.md", "- passport")])
    journal = Path(f"{file}-wal").read_bytes()
    assert journal
    file.unlink()
    Path(f"{file}-wal").write_bytes(journal)
    other = SqliteIndex(file, fingerprint="test")
    assert other.known() == {}
    assert integrity(file) == "ok"
    other.close()


def test_the_journal_of_a_replaced_file_is_not_replayed_into_the_new_one(
    file: Path, index: SqliteIndex
) -> None:
    first = SqliteIndex(file, fingerprint="test")
    first.write_batch([note("old.md", "- passport " * 500)])
    first.close()
    copy = file.read_bytes()
    beside = SqliteIndex(file, fingerprint="test")
    index.write_batch([note("new.md", "- folder " * 500)])
    assert set(beside.known()) == {"old.md", "new.md"}
    other = file.with_name("copy")
    other.write_bytes(copy)
    other.replace(file)
    assert set(index.known()) == {"old.md"}
    assert set(beside.known()) == {"old.md"}
    assert (paths(index, "passport"), paths(index, "folder")) == (["old.md"], [])
    assert integrity(file) == "ok"
    beside.close()


def test_a_recreated_index_has_another_identity_even_with_the_same_inode(
    file: Path, index: SqliteIndex
) -> None:
    index.write_batch([note("a.md", "- passport")])
    seen = {index.identity()}
    for _ in range(3):
        index.reset()
        seen.add(index.identity())
    assert len(seen) == 4


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE passages_a SET words = x'ff'",
        "UPDATE passages_a SET text = CAST(x'ff' AS TEXT)",
        "UPDATE passages_a SET line_start = 'x'",
        "UPDATE chunks_a SET last = 'x'",
        "UPDATE notes_a SET path = x'ff'",
    ],
)
def test_a_value_of_the_wrong_type_means_a_damaged_index(file: Path, index: SqliteIndex, damage: str) -> None:
    index.write_batch([note("a.md", "- passport")])
    db = apsw.Connection(str(file))
    db.execute(damage)
    db.close()
    with pytest.raises(IndexCorrupted):
        _ = index.known(), paths(index, "passport")


def test_an_index_that_cannot_be_created_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    index = SqliteIndex(tmp_path / "file" / "index.db", fingerprint="test")
    with pytest.raises(IndexUnavailable, match="index"):
        index.known()


def test_the_full_text_table_agrees_with_the_chunks_after_changes(file: Path, index: SqliteIndex) -> None:
    for turn in range(5):
        index.write_batch(
            [note(f"{n}.md", f"- passport {turn} {n}\n" * (n + 1)) for n in range(10)], deleted=["3.md"]
        )
    index.write_batch([], deleted=["0.md", "9.md"])
    assert integrity(file) == "ok"
    db = apsw.Connection(str(file))
    try:
        db.execute("INSERT INTO chunk_words_a (chunk_words_a) VALUES ('integrity-check')")
        chunks = sorted(db.execute("SELECT id FROM chunks_a"))
        assert (
            sorted(db.execute("SELECT rowid FROM chunk_words_a WHERE chunk_words_a MATCH 'passport'"))
            == chunks
        )
        assert not list(db.execute("SELECT 1 FROM passages_a WHERE id >> 24 NOT IN (SELECT id FROM notes_a)"))
    finally:
        db.close()


def test_rare_words_choose_and_common_ones_only_rank(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ProposalLimits(exact_hits=10, rare_hits=5_000, surely_rare=3)
    for name, value in {"READ_AHEAD": 5, "FIRST_HITS": 5, "LIMITS": limits}.items():
        monkeypatch.setattr(f"memory.index.sqlite_full_text.{name}", value)
    notes = [note(f"{n}.md", "- common words" + (" passport" if n > 27 else "")) for n in range(40)]
    index.write_batch([*notes, note("long.md", f"- passport of {'many others ' * 60}")])
    index.write_batch([note(f"{n}.md", "- common") for n in range(30, 40)])
    terms = parse_query("common passport")
    candidates = index.candidates(terms, limit=3)
    assert {run.path for run in candidates.runs} == {"28.md", "29.md", "long.md"}
    assert ([candidates.frequencies[term] for term in terms], candidates.chunks) == ([40, 3], 41)
    assert len(paths(index, "common")) == 10


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="counts open files where /proc tells them")
def test_no_file_is_left_open(file: Path) -> None:
    before = len(list(OPEN_FILES.iterdir()))
    for _ in range(5):
        index = SqliteIndex(file, fingerprint="test")
        index.known()
        index.close()
    assert len(list(OPEN_FILES.iterdir())) == before


@contextlib.contextmanager
def full_disk(*, pages: int) -> Iterator[None]:
    """Allow only so many pages for files that are created beside the index to replace it."""

    def limit(db: apsw.Connection) -> None:
        if db.db_filename("main").endswith(".new"):
            db.execute(f"PRAGMA max_page_count = {pages}")

    apsw.connection_hooks.append(limit)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(limit)


@pytest.mark.thorough
@pytest.mark.parametrize("pages", [5, 60], ids=["at once", "while vectors are copied"])
def test_a_reset_that_finds_the_disk_full_loses_no_vectors_and_leaves_nothing(
    file: Path, index: SqliteIndex, pages: int
) -> None:
    notes = [note(f"{n}.md", f"- passport {n}") for n in range(2000)]
    index.write_batch(notes)
    assert embed(index) == 2000
    db = apsw.Connection(str(file))
    db.execute("DROP TABLE notes_a")
    db.close()
    with full_disk(pages=pages):
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match="full"):
                index.reset()
            assert list(file.parent.glob("index.db.new*")) == []
    index.reset()
    assert index.count_vectors(MODEL).kept == 2000
    index.write_batch(notes)
    assert embed(index) == 0
    index.close()
    assert_sound(file)


@pytest.mark.parametrize("damage", ["zeroblob(12)", "zeroblob(15)", "zeroblob(0)", "'x'"])
@pytest.mark.parametrize("which", ["", " WHERE id = (SELECT min(id) FROM vectors)"], ids=["all", "one"])
@pytest.mark.parametrize("nearest", [SqliteVecSearcher, BinaryVectorSearcher])
def test_a_vector_of_another_length_means_a_damaged_index(
    file: Path, nearest: Callable[[], VectorSearcher], damage: str, which: str
) -> None:
    index = SqliteIndex(file, fingerprint="test", searcher=nearest())
    index.write_batch([note(f"{n}.md", f"- passport {n}") for n in range(5)])
    embed(index)
    db = apsw.Connection(str(file))
    db.execute(f"UPDATE vectors SET embedding = {damage}{which}")
    db.close()
    question = VectorQuery(MODEL, array("f", [1, 0, 0, 0]).tobytes(), limit=10, min_similarity=0.3)
    with contextlib.closing(index), pytest.raises(IndexCorrupted):
        index.candidates(parse_query("passport"), limit=10, vector_query=question)


def integrity(file: Path) -> str:
    db = apsw.Connection(str(file))
    try:
        return str(db.execute("PRAGMA integrity_check").fetchall()[0][0])
    finally:
        db.close()


def test_changes_are_refused_after_another_process_changed_the_index(file: Path) -> None:
    with contextlib.ExitStack() as stack:
        one, other = (
            stack.enter_context(contextlib.closing(SqliteIndex(file, fingerprint="test"))) for _ in range(2)
        )
        before = one.version()
        one.write_batch([note("a.md", "- passport")], version=before)
        assert one.version() == before
        other.write_batch([note("a.md", "- suitcase")])
        with pytest.raises(IndexChanged):
            one.write_batch([note("a.md", "- passport")], deleted=["a.md"], version=before)
        assert paths(one, "suitcase") == ["a.md"]


def test_stamps_are_those_of_the_file_whoever_wrote_it(file: Path, index: SqliteIndex) -> None:
    other = SqliteIndex(file, fingerprint="test")
    index.write_batch([note("a.md", "one"), note("b.md", "two")])
    assert index.stamps()[0] == other.stamps()[0] == {"a.md": (1, 1, 1), "b.md": (1, 1, 1)}
    other.write_batch([], deleted=["b.md"], restamped={"a.md": Stamp(2, 2, 2)})
    assert index.stamps()[0] == other.stamps()[0] == {"a.md": (2, 2, 2)}
    with contextlib.closing(other.shadow()) as shadow:
        shadow.write_batch([note("c.md", "three")])
        assert shadow.stamps()[0] == {"c.md": (1, 1, 1)}
        shadow.write_batch([note("d.md", "four")])
        assert shadow.stamps()[0].keys() == {"c.md", "d.md"}
        assert index.stamps()[0].keys() == {"a.md"}
        shadow.promote()
    assert index.stamps()[0].keys() == other.stamps()[0].keys() == {"c.md", "d.md"}
    other.reset()
    assert index.stamps()[0] == {}
    other.close()
    for each in file.parent.glob("index.db*"):
        each.unlink()
    assert index.stamps()[0] == {}
