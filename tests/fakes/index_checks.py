"""Check an index file's consistency and read its contents without the index's own code."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import apsw

_TABLES = {"notes", "passages", "chunks", "chunk_words", "segments", "names", "links"}


def assert_sound(file: Path) -> None:
    """Assert no damage, no orphans, no superfluous tables, and exact `texts.uses`.

    A shadow index that a dead process left is allowed until the index is next opened, so open it first.
    """
    with _open_index(file) as db:
        at = _generation(db)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.execute(f"INSERT INTO chunk_words_{at} (chunk_words_{at}) VALUES ('integrity-check')")
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert {name for name in tables if name.rpartition("_")[0] in _TABLES} == {
            f"{name}_{at}" for name in _TABLES
        }
        assert not list(db.execute("SELECT 1 FROM about WHERE key = 'shadow'"))
        chunks = db.execute(f"SELECT id FROM chunks_{at} ORDER BY id").fetchall()
        assert db.execute(f"SELECT rowid FROM chunk_words_{at} ORDER BY rowid").fetchall() == chunks
        for ownerless in (
            f"SELECT 1 FROM passages_{at} WHERE id >> 24 NOT IN (SELECT id FROM notes_{at})",
            f"SELECT 1 FROM segments_{at} WHERE id >> 24 NOT IN (SELECT id FROM notes_{at})",
            f"SELECT 1 FROM chunks_{at} WHERE note NOT IN (SELECT id FROM notes_{at})",
            f"SELECT 1 FROM segments_{at} WHERE text NOT IN (SELECT id FROM texts)",
            f"SELECT 1 FROM names_{at} WHERE note NOT IN (SELECT id FROM notes_{at})",
            f"SELECT 1 FROM notes_{at} WHERE id NOT IN (SELECT note FROM names_{at} WHERE name = '')",
            f"SELECT 1 FROM links_{at} WHERE id >> 24 NOT IN (SELECT id FROM notes_{at})",
            "SELECT 1 FROM vectors WHERE text NOT IN (SELECT id FROM texts)",
            "SELECT 1 FROM vectors WHERE model NOT IN (SELECT id FROM models)",
            "SELECT 1 FROM vectors JOIN models ON models.id = vectors.model WHERE length(embedding) <> 4 * dimensions",
            "SELECT 1 FROM refusals WHERE text NOT IN (SELECT id FROM texts)",
            "SELECT 1 FROM refusals NATURAL JOIN (SELECT model, text FROM vectors)",
            "SELECT 1 FROM texts WHERE (uses = 0) <> (unused_since IS NOT NULL)",
        ):
            assert not list(db.execute(ownerless)), ownerless
        uses = Counter(row[0] for row in db.execute(f"SELECT text FROM segments_{at}"))
        assert dict(db.execute("SELECT id, uses FROM texts WHERE uses <> 0")) == dict(uses)


def read_index_contents(file: Path) -> dict[str, object]:
    """Return everything stored of each note by its path, including word positions, without row ids."""
    contents: dict[str, object] = {}
    with _open_index(file) as db:
        at = _generation(db)
        db.execute(
            f"CREATE VIRTUAL TABLE temp.words USING fts5vocab ('main', 'chunk_words_{at}', 'instance')"
        )
        words: dict[int, list[object]] = defaultdict(list)
        for term, chunk, offset in db.execute("SELECT term, doc, offset FROM temp.words"):
            words[chunk].append((offset, term))
        for note, path, size, digest, fault, day in db.execute(
            f"SELECT id, path, size, digest, fault, day FROM notes_{at}"
        ):
            contents[path] = (
                (size, digest, fault, day),
                db.execute(
                    "SELECT id & 16777215, line_start, line_end, heading, is_heading, text, words"
                    f" FROM passages_{at} WHERE id >> 24 = ? ORDER BY id",
                    (note,),
                ).fetchall(),
                db.execute(
                    f"SELECT s.id & 16777215, last, heading, digest FROM segments_{at} AS s"
                    " JOIN texts ON texts.id = text WHERE s.id >> 24 = ? ORDER BY s.id",
                    (note,),
                ).fetchall(),
                db.execute(
                    f"SELECT name, key, words FROM names_{at} WHERE note = ? ORDER BY name", (note,)
                ).fetchall(),
                db.execute(
                    "SELECT id & 16777215, line, key, target, is_wiki, shown"
                    f" FROM links_{at} WHERE id >> 24 = ? ORDER BY id",
                    (note,),
                ).fetchall(),
                [
                    (first, last, sorted(words[chunk], key=str))
                    for chunk, first, last in db.execute(
                        f"SELECT id, first, last FROM chunks_{at} WHERE note = ? ORDER BY first", (note,)
                    )
                ],
            )
    return contents


def _generation(db: apsw.Connection) -> str:
    return str(db.execute("SELECT value FROM about WHERE key = 'generation'").fetchall()[0][0])


@contextlib.contextmanager
def _open_index(file: Path) -> Iterator[apsw.Connection]:
    db = apsw.Connection(str(file))
    db.set_busy_timeout(10_000)
    try:
        yield db
    finally:
        db.close()
