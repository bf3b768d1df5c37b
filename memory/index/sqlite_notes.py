"""Write notes to the tables of one generation, and read them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from memory.dates import note_date, passage_dates
from memory.index.passage_spans import latest_day
from memory.index.protocol import IndexedNote, KnownNote, Stamp
from memory.index.sqlite_links import insert_links, remove_links
from memory.index.sqlite_schema import POSITIONS, SqliteTables, UnexpectedType, check_integer, check_text
from memory.tokenizer import tokenize


@dataclass(slots=True)
class CacheLookups:
    """How many of the written texts already had a vector, and how many did not."""

    hits: int = 0
    misses: int = 0


def read_stamps(tables: SqliteTables) -> tuple[dict[str, tuple[int, int, int]], dict[str, str]]:
    """Return stamps and faults by path. Plain tuples, since there may be ten thousand. Raises `UnexpectedType`."""
    rows: list[Any] = tables.run("SELECT path, size, mtime_ns, ctime_ns FROM notes@").fetchall()
    stamps = {path: (size, mtime_ns, ctime_ns) for path, size, mtime_ns, ctime_ns in rows}
    if not {*map(type, stamps)} <= {str}:
        raise UnexpectedType("a path is missing")
    faults = tables.run("SELECT path, fault FROM notes@ WHERE fault <> ''")
    return stamps, {check_text(path): check_text(fault) for path, fault in faults}


def read_dated(tables: SqliteTables) -> list[tuple[str, int]]:
    """Return path and day of every note whose name begins with a date."""
    rows = tables.run("SELECT path, day FROM notes@ WHERE day IS NOT NULL")
    return [(check_text(path), check_integer(day)) for path, day in rows]


def read_notes(tables: SqliteTables, paths: Collection[str] | None) -> dict[str, KnownNote]:
    """Return what is stored of these notes, or of all, by path."""
    sql = "SELECT path, size, mtime_ns, ctime_ns, digest, fault FROM notes@"
    one = f"{sql} WHERE path = ?"
    rows = tables.run(sql) if paths is None else tables.run_each(one, ((path,) for path in paths))
    return {
        check_text(path): KnownNote(Stamp(size, mtime_ns, ctime_ns), digest, check_text(fault))
        for path, size, mtime_ns, ctime_ns, digest, fault in rows
    }


def write_notes(
    tables: SqliteTables,
    notes: Sequence[IndexedNote],
    *,
    deleted: Collection[str],
    restamped: Mapping[str, Stamp],
    clock: int,
    wanted: int | None,
    counts_uses: bool,
) -> CacheLookups:
    """Replace, delete and restamp notes; with `counts_uses`, update the use counts of their texts.

    `wanted` is the row of the model whose vectors are counted as hits.
    """
    left: Counter[int] = Counter()
    for path in deleted:
        left.update(_remove(tables, path))
    for path, stamp in restamped.items():
        tables.run(
            "UPDATE notes@ SET size = ?, mtime_ns = ?, ctime_ns = ? WHERE path = ?",
            (stamp.size, stamp.mtime_ns, stamp.ctime_ns, path),
        )
    uses = Counter(segment.digest for note in notes for segment in note.segments)
    texts = _count_new_uses(tables.db, uses) if counts_uses else _add_texts(tables.db, uses, clock)
    come: list[int] = []
    for note in notes:
        before = _remove(tables, note.path)
        left.update(before)
        _insert(tables, note, texts)
        if wanted is not None:
            come += _added_texts([texts[segment.digest] for segment in note.segments], before)
    if counts_uses:
        _remove_uses(tables.db, left, clock)
    return _count_cache_hits(tables.db, come, wanted)


def _count_new_uses(db: apsw.Connection, uses: Mapping[bytes, int]) -> dict[bytes, int]:
    """Add to the use counts of texts, by digest; return each text's id.

    In the digests' order, in which SQLite finds their places in a third less time.
    """
    ordered = sorted(uses.items())
    ids = db.executemany(
        "INSERT INTO texts (digest, uses) VALUES (?, ?) ON CONFLICT (digest)"
        " DO UPDATE SET uses = uses + excluded.uses, unused_since = NULL RETURNING id",
        ordered,
    )
    return {digest: check_integer(row[0]) for (digest, _), row in zip(ordered, ids, strict=True)}


def _add_texts(db: apsw.Connection, digests: Iterable[bytes], clock: int) -> dict[bytes, int]:
    """Add missing texts with no uses; return each text's id by digest."""
    ids: dict[bytes, int] = {}
    for digest in digests:
        row = db.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            db.execute("INSERT INTO texts (digest, uses, unused_since) VALUES (?, 0, ?)", (digest, clock))
        ids[digest] = check_integer(row[0]) if row else db.last_insert_rowid()
    return ids


def _remove_uses(db: apsw.Connection, left: Mapping[int, int], clock: int) -> None:
    db.executemany(
        "UPDATE texts SET uses = uses - ?1, unused_since = CASE WHEN uses = ?1 THEN ?2 END WHERE id = ?3",
        [(uses, clock, text_id) for text_id, uses in left.items()],
    )


def _added_texts(texts: Sequence[int], before: Iterable[int]) -> Iterable[int]:
    return (Counter(texts) - Counter(before)).elements()


def _count_cache_hits(db: apsw.Connection, texts: Sequence[int], model: int | None) -> CacheLookups:
    asked = CacheLookups()
    for text_id, times in Counter(texts).items():
        if db.execute("SELECT 1 FROM vectors WHERE model = ? AND text = ?", (model, text_id)).fetchone():
            asked.hits += times
        else:
            asked.misses += times
    return asked


def _remove(tables: SqliteTables, path: str) -> list[int]:
    """Remove a note and return the text ids of its segments."""
    row = tables.run("SELECT id FROM notes@ WHERE path = ?", (path,)).fetchone()
    if row is None:
        return []
    note = check_integer(row[0])
    here = (note * POSITIONS, (note + 1) * POSITIONS)
    tables.run("DELETE FROM chunk_words@ WHERE rowid IN (SELECT id FROM chunks@ WHERE note = ?)", (note,))
    tables.run("DELETE FROM chunks@ WHERE note = ?", (note,))
    tables.run("DELETE FROM passages@ WHERE id >= ? AND id < ?", here)
    texts = [
        check_integer(row[0])
        for row in tables.run("SELECT text FROM segments@ WHERE id >= ? AND id < ?", here)
    ]
    tables.run("DELETE FROM segments@ WHERE id >= ? AND id < ?", here)
    remove_links(tables, note)
    tables.run("DELETE FROM notes@ WHERE id = ?", (note,))
    return texts


def _insert(tables: SqliteTables, note: IndexedNote, texts: Mapping[bytes, int]) -> None:
    stamp, day = note.stamp, note_date(note.path)
    tables.run(
        "INSERT INTO notes@ (path, size, mtime_ns, ctime_ns, digest, fault, day) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            note.path,
            stamp.size,
            stamp.mtime_ns,
            stamp.ctime_ns,
            note.digest,
            note.fault,
            day.toordinal() if day else None,
        ),
    )
    note_id = tables.db.last_insert_rowid()
    insert_links(tables, note_id, note)
    base = note_id * POSITIONS
    days = [day.toordinal() if day else None for day in passage_dates(note.path, note.passages)]
    tables.run_each(
        "INSERT INTO passages@ VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (base + position, p.line_start, p.line_end, p.heading, p.is_heading, p.text, words, day)
            for position, (p, words, day) in enumerate(zip(note.passages, note.words, days, strict=True))
        ],
    )
    tables.run_each(
        "INSERT INTO segments@ VALUES (?, ?, ?, ?, ?)",
        [
            (base + s.first, s.last, texts[s.digest], s.heading, latest_day(days[s.first : s.last + 1]))
            for s in note.segments
        ],
    )
    if not note.chunks:
        return
    first_id = tables.count("SELECT coalesce(max(id), 0) + 1 FROM chunks@")
    tables.run_each(
        "INSERT INTO chunks@ VALUES (?, ?, ?, ?, ?)",
        [
            (chunk_id, note_id, chunk.first, chunk.last, latest_day(days[chunk.first : chunk.last + 1]))
            for chunk_id, chunk in enumerate(note.chunks, first_id)
        ],
    )
    name = " ".join([*tokenize(note.path.removesuffix(".md")), *(each.words for each in note.names)])
    tables.run_each(
        "INSERT INTO chunk_words@ (rowid, words) VALUES (?, ?)",
        [
            (chunk_id, " ".join([name, *tokenize(chunk.heading), *note.words[chunk.first : chunk.last + 1]]))
            for chunk_id, chunk in enumerate(note.chunks, first_id)
        ],
    )
