import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memory.chunker import split_chunks, split_passages
from memory.errors import IndexBroken, IndexUnavailable
from memory.index.protocol import IndexedNote, Stamp
from memory.index.sqlite import SqliteIndex
from memory.words import cut, query_terms

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
    words = [" ".join(cut(p.text)) for p in passages]
    return IndexedNote(path, Stamp(1, 1, 1), "digest", passages, words, split_chunks(passages))


def paths(index: SqliteIndex, query: str) -> list[str]:
    return [run.path for run in index.candidates(query_terms(query), most=10).runs]


def test_nothing_is_made_before_it_is_needed(file: Path) -> None:
    SqliteIndex(file, fingerprint="test").close()
    assert not file.parent.exists()


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "half", "other database", "folder gone"])
def test_a_damaged_file_is_replaced_on_opening(file: Path, damage: str) -> None:
    first = SqliteIndex(file, fingerprint="test")
    first.apply([note(f"{n}.md", "- passport " * 200) for n in range(20)])
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
    # Damage behind the first pages shows only when it is read; `reset` is what the memory answers it with.
    with contextlib.suppress(IndexBroken):
        assert len(again.known()) in (0, 20)
        paths(again, "passport")
    again.reset()
    assert again.known() == {}
    again.apply([note("new.md", "- passport")])
    assert paths(again, "passport") == ["new.md"]
    again.close()


def test_another_fingerprint_begins_anew(file: Path) -> None:
    first = SqliteIndex(file, fingerprint="one")
    first.apply([note("a.md", "- passport")])
    first.close()
    second = SqliteIndex(file, fingerprint="two")
    assert second.known() == {}
    second.close()


def test_a_file_deleted_while_open_is_made_again(file: Path, index: SqliteIndex) -> None:
    index.apply([note("a.md", "- passport")])
    file.unlink()
    assert index.known() == {}
    index.apply([note("b.md", "- passport")])
    other = SqliteIndex(file, fingerprint="test")
    assert paths(other, "passport") == ["b.md"]
    other.close()


def test_a_journal_left_behind_is_not_played_into_a_new_file(file: Path, index: SqliteIndex) -> None:
    index.apply([note("a.md", "- passport")])
    journal = Path(f"{file}-wal").read_bytes()
    assert journal
    file.unlink()
    Path(f"{file}-wal").write_bytes(journal)
    other = SqliteIndex(file, fingerprint="test")
    assert other.known() == {}
    assert integrity(file) == "ok"
    other.close()


def test_the_journal_of_one_file_is_not_played_into_another_put_in_its_place(
    file: Path, index: SqliteIndex
) -> None:
    first = SqliteIndex(file, fingerprint="test")
    first.apply([note("old.md", "- passport " * 500)])
    first.close()
    copy = file.read_bytes()
    beside = SqliteIndex(file, fingerprint="test")
    index.apply([note("new.md", "- folder " * 500)])
    assert set(beside.known()) == {"old.md", "new.md"}
    other = file.with_name("copy")
    other.write_bytes(copy)
    other.replace(file)
    assert set(index.known()) == {"old.md"}
    assert set(beside.known()) == {"old.md"}
    assert (paths(index, "passport"), paths(index, "folder")) == (["old.md"], [])
    assert integrity(file) == "ok"
    beside.close()


def test_an_index_begun_anew_is_another_one_even_at_the_same_place_on_disk(
    file: Path, index: SqliteIndex
) -> None:
    index.apply([note("a.md", "- passport")])
    seen = {index.identity()}
    for _ in range(3):
        index.reset()
        seen.add(index.identity())
    assert len(seen) == 4


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE passages SET words = x'ff'",
        "UPDATE passages SET text = CAST(x'ff' AS TEXT)",
        "UPDATE passages SET line_start = 'x'",
        "UPDATE chunks SET last = 'x'",
        "UPDATE notes SET path = x'ff'",
    ],
)
def test_what_is_stored_in_the_wrong_form_means_a_damaged_index(
    file: Path, index: SqliteIndex, damage: str
) -> None:
    index.apply([note("a.md", "- passport")])
    db = apsw.Connection(str(file))
    db.execute(damage)
    db.close()
    with pytest.raises(IndexBroken):
        _ = index.known(), paths(index, "passport")


def test_a_file_that_cannot_be_made_is_said_to_be_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    index = SqliteIndex(tmp_path / "file" / "index.db", fingerprint="test")
    with pytest.raises(IndexUnavailable, match="index"):
        index.known()


def test_the_full_text_table_agrees_with_the_chunks_after_changes(file: Path, index: SqliteIndex) -> None:
    for turn in range(5):
        index.apply([note(f"{n}.md", f"- passport {turn} {n}\n" * (n + 1)) for n in range(10)], gone=["3.md"])
    index.apply([], gone=["0.md", "9.md"])
    assert integrity(file) == "ok"
    db = apsw.Connection(str(file))
    try:
        db.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
        chunks = sorted(db.execute("SELECT id FROM chunks"))
        assert (
            sorted(db.execute("SELECT rowid FROM chunk_words WHERE chunk_words MATCH 'passport'")) == chunks
        )
        assert not list(db.execute("SELECT 1 FROM passages WHERE id >> 24 NOT IN (SELECT id FROM notes)"))
    finally:
        db.close()


def test_common_words_are_left_to_the_ranking_where_rarer_ones_can_choose(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.sqlite.COUNTED_HITS", 5)
    index.apply([note(f"{n}.md", "- common words" + (" passport" if n == 30 else "")) for n in range(40)])
    assert paths(index, "common passport") == ["30.md"]
    assert len(paths(index, "common")) == 10


@pytest.mark.skipif(not OPEN_FILES.exists(), reason="counts open files where /proc tells them")
def test_no_file_is_left_open(file: Path) -> None:
    before = len(list(OPEN_FILES.iterdir()))
    for _ in range(5):
        index = SqliteIndex(file, fingerprint="test")
        index.known()
        index.close()
    assert len(list(OPEN_FILES.iterdir())) == before


def integrity(file: Path) -> str:
    db = apsw.Connection(str(file))
    try:
        return str(db.execute("PRAGMA integrity_check").fetchall()[0][0])
    finally:
        db.close()
