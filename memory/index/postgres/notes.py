"""Write notes to the tables of one generation, and read them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.dates import note_date, passage_dates
from memory.index.passage_spans import latest_day
from memory.index.postgres.lexemes import format_tsvector
from memory.index.postgres.links import link_rows, name_rows
from memory.index.postgres.schema import MERGE_LOCK, PostgresTables, next_tick, strip_invalid
from memory.index.protocol import IndexedNote, KnownNote, Stamp
from memory.postgres.lock_keys import lock_key
from memory.tokenizer import tokenize

MAX_UNMERGED = 300_000
"""Changes of word counts before they are merged; up to this number, a query finds its words quickly."""

_KNOWN = "SELECT path, size, mtime_ns, ctime_ns, digest, fault FROM commonplace.notes@"


@dataclass(slots=True)
class IndexDelta:
    """The sums of a change of the notes."""

    notes: int = 0
    chunks: int = 0
    words: int = 0
    hits: int = 0
    misses: int = 0
    lexemes: Counter[str] = field(default_factory=Counter)
    """Change in the number of chunks that contain each lexeme."""
    left: Counter[int] = field(default_factory=Counter)
    """Number of deleted segments of each text id."""


def read_dated(tables: PostgresTables) -> list[tuple[str, int]]:
    """Return path and day of every note whose name begins with a date."""
    return list(tables.run("SELECT path, day FROM commonplace.notes@ WHERE day IS NOT NULL"))


def read_stamps(tables: PostgresTables) -> tuple[dict[str, tuple[int, int, int]], dict[str, str], int]:
    """Return stamps and faults by path, and the newest note's id."""
    stamps: dict[str, tuple[int, int, int]] = {}
    faults: dict[str, str] = {}
    newest = 0
    for path, size, mtime_ns, ctime_ns, fault, note in tables.run(
        "SELECT path, size, mtime_ns, ctime_ns, fault, id FROM commonplace.notes@"
    ):
        stamps[path] = (size, mtime_ns, ctime_ns)
        newest = max(newest, note)
        if fault:
            faults[path] = fault
    return stamps, faults, newest


def read_notes(tables: PostgresTables, paths: Collection[str] | None) -> dict[str, KnownNote]:
    """Return what is stored of these notes, or of all, by path."""
    rows = (
        tables.run(_KNOWN) if paths is None else tables.run(f"{_KNOWN} WHERE path = ANY(%s)", [list(paths)])
    )
    return {
        path: KnownNote(Stamp(size, mtime_ns, ctime_ns), digest, fault)
        for path, size, mtime_ns, ctime_ns, digest, fault in rows
    }


def write_notes(
    tables: PostgresTables,
    notes: Sequence[IndexedNote],
    *,
    deleted: Collection[str],
    restamped: Mapping[str, Stamp],
    newest: int | None,
    wanted: int | None,
    counts_uses: bool,
) -> IndexDelta:
    """Replace, delete and restamp notes; with `counts_uses`, update the use counts of their texts.

    `deleted` and `restamped` apply only to notes whose id is at most `newest`: others were indexed by somebody
    who read them later. `wanted` is the row of the model whose vectors are counted as hits.
    """
    change = IndexDelta()
    # All at once, in path order, so that two writers of the same notes cannot deadlock.
    tables.run(
        "SELECT FROM commonplace.notes@ WHERE path = ANY(%s) ORDER BY path FOR UPDATE",
        [[*(note.path for note in notes), *deleted, *restamped]],
    )
    if restamped:
        _restamp(tables, restamped, newest)
    before = _remove(tables, [note.path for note in notes], deleted, newest, change)
    if notes:
        _insert(tables, notes, before, change, wanted=wanted, counts_uses=counts_uses)
    elif counts_uses and change.left:
        _count_new_uses(tables, Counter(), change.left)
    lexemes = [(lexeme, count) for lexeme, count in change.lexemes.items() if count]
    tables.copy("lexeme_changes", lexemes)
    unmerged = tables.add_to_totals(
        notes=change.notes, chunks=change.chunks, words=change.words, unmerged=len(lexemes)
    )
    if unmerged > MAX_UNMERGED:
        merge_lexemes(tables)
    return change


def _restamp(tables: PostgresTables, restamped: Mapping[str, Stamp], newest: int | None) -> None:
    ordered = sorted(restamped.items())
    tables.run(
        "WITH held AS (SELECT id, path FROM commonplace.notes@ WHERE path = ANY(%(paths)s)"
        " AND (%(newest)s::bigint IS NULL OR id <= %(newest)s) ORDER BY path FOR UPDATE)"
        " UPDATE commonplace.notes@ AS n SET size = s.size, mtime_ns = s.mtime_ns, ctime_ns = s.ctime_ns"
        " FROM unnest(%(paths)s::text[], %(sizes)s::bigint[], %(mtimes)s::bigint[], %(ctimes)s::bigint[])"
        " AS s (path, size, mtime_ns, ctime_ns), held WHERE held.path = s.path AND n.id = held.id",
        {
            "paths": [path for path, _ in ordered],
            "sizes": [stamp.size for _, stamp in ordered],
            "mtimes": [stamp.mtime_ns for _, stamp in ordered],
            "ctimes": [stamp.ctime_ns for _, stamp in ordered],
            "newest": newest,
        },
    )


def _remove(
    tables: PostgresTables,
    replaced: Sequence[str],
    deleted: Collection[str],
    newest: int | None,
    change: IndexDelta,
) -> dict[str, Counter[int]]:
    """Delete notes in the path order that everybody uses; return the texts of each."""
    paths = sorted({*replaced, *deleted})
    if not paths:
        return {}
    rows = tables.run(
        "SELECT id, path FROM commonplace.notes@ WHERE path = ANY(%s) AND (%s::bigint IS NULL OR id <= %s"
        " OR path = ANY(%s)) ORDER BY path FOR UPDATE",
        (paths, newest, newest, list(replaced)),
    ).fetchall()
    if not rows:
        return {}
    names: dict[int, str] = dict(rows)
    ids = [list(names)]
    before: dict[str, Counter[int]] = {path: Counter() for path in names.values()}
    for note, text, times in tables.run(
        "WITH away AS (DELETE FROM commonplace.segments@ WHERE note = ANY(%s) RETURNING note, text)"
        " SELECT note, text, count(*) FROM away GROUP BY note, text",
        ids,
    ):
        before[names[note]][text] = times
        change.left[text] += times
    for table in ("passages", "names", "links"):
        tables.run(f"DELETE FROM commonplace.{table}@ WHERE note = ANY(%s)", ids)  # noqa: S608 - only our own
    for lexeme, count in tables.run(
        "SELECT lexeme, count(*) FROM commonplace.chunks@ AS c, unnest(c.words) WHERE note = ANY(%s) GROUP BY lexeme",
        ids,
    ):
        change.lexemes[lexeme] -= count
    [(chunks, words)] = tables.run(
        "WITH away AS (DELETE FROM commonplace.chunks@ WHERE note = ANY(%s) RETURNING length)"
        " SELECT count(*), coalesce(sum(length), 0)::bigint FROM away",
        ids,
    )
    tables.run("DELETE FROM commonplace.notes@ WHERE id = ANY(%s)", ids)
    change.notes -= len(names)
    change.chunks -= chunks
    change.words -= words
    return before


def _insert(
    tables: PostgresTables,
    notes: Sequence[IndexedNote],
    before: Mapping[str, Counter[int]],
    change: IndexDelta,
    *,
    wanted: int | None,
    counts_uses: bool,
) -> None:
    come = Counter(segment.digest for note in notes for segment in note.segments)
    texts = _count_new_uses(tables, come, change.left) if counts_uses else _add_texts(tables, come)
    ids = dict(zip([note.path for note in notes], _new_ids(tables, "note_ids", len(notes)), strict=True))
    tables.copy("notes", (_note_row(ids[note.path], note) for note in notes))
    tables.copy("names", (row for note in notes for row in name_rows(ids[note.path], note)))
    if any(note.links for note in notes):
        tables.copy("links", (row for note in notes for row in link_rows(ids[note.path], note)))
    days = {note.path: _passage_days(note) for note in notes}
    tables.copy(
        "passages", (row for note in notes for row in _passage_rows(ids[note.path], note, days[note.path]))
    )
    tables.copy(
        "segments",
        (
            (
                ids[note.path],
                each.first,
                each.last,
                texts[each.digest],
                strip_invalid(each.heading),
                latest_day(days[note.path][each.first : each.last + 1]),
            )
            for note in notes
            for each in note.segments
        ),
    )
    chunk_ids = iter(_new_ids(tables, "chunk_ids", sum(len(note.chunks) for note in notes)))
    tables.copy(
        "chunks",
        (
            row
            for note in notes
            for row in _chunk_rows(ids[note.path], note, days[note.path], chunk_ids, change)
        ),
    )
    change.notes += len(notes)
    if wanted is not None:
        new: Counter[int] = Counter()
        for note in notes:
            here = Counter(texts[segment.digest] for segment in note.segments)
            new += here - before.get(note.path, Counter())
        _count_cache_hits(tables, new, wanted, change)


def _new_ids(tables: PostgresTables, sequence: str, count: int) -> list[int]:
    if not count:
        return []
    return [
        row[0]
        for row in tables.run(
            f"SELECT nextval('commonplace.{sequence}') FROM generate_series(1, %s)",  # noqa: S608
            [count],
        )
    ]


def _note_row(note_id: int, note: IndexedNote) -> tuple[Any, ...]:
    day = note_date(note.path)
    return (
        note_id,
        note.path,
        *note.stamp,
        note.digest,
        strip_invalid(note.fault),
        day.toordinal() if day else None,
    )


def _passage_days(note: IndexedNote) -> list[int | None]:
    """Return the day of each passage, counted from 0001-01-01; None if it has none."""
    return [day.toordinal() if day else None for day in passage_dates(note.path, note.passages)]


def _passage_rows(note_id: int, note: IndexedNote, days: Sequence[int | None]) -> Iterator[tuple[Any, ...]]:
    for position, (passage, words, day) in enumerate(zip(note.passages, note.words, days, strict=True)):
        yield (
            note_id,
            position,
            passage.line_start,
            passage.line_end,
            strip_invalid(passage.heading),
            passage.is_heading,
            strip_invalid(passage.text),
            words,
            day,
        )


def _chunk_rows(
    note_id: int, note: IndexedNote, days: Sequence[int | None], ids: Iterator[int], change: IndexDelta
) -> Iterator[tuple[Any, ...]]:
    name = [
        *tokenize(note.path.removesuffix(".md")),
        *(word for each in note.names for word in each.words.split()),
    ]
    for chunk in note.chunks:
        inside = " ".join(note.words[chunk.first : chunk.last + 1])
        words, length, lexemes = format_tsvector([*name, *tokenize(chunk.heading), *inside.split()])
        change.lexemes.update(lexemes)
        change.chunks += 1
        change.words += length
        day = latest_day(days[chunk.first : chunk.last + 1])
        yield next(ids), note_id, chunk.first, chunk.last, length, words, day


def merge_lexemes(tables: PostgresTables) -> None:
    """Merge the changes of word counts, unless somebody else is doing so."""
    row = tables.run("SELECT pg_try_advisory_xact_lock(%s)", [lock_key("index", MERGE_LOCK)]).fetchone()
    if not (row and row[0]):
        return
    merged = tables.count(
        "WITH away AS (DELETE FROM commonplace.lexeme_changes@ RETURNING word, chunks),"
        " added AS (SELECT word, sum(chunks)::bigint AS chunks FROM away GROUP BY word ORDER BY word),"
        " written AS (INSERT INTO commonplace.lexemes@ AS l SELECT word, chunks FROM added"
        " ON CONFLICT (word) DO UPDATE SET chunks = l.chunks + excluded.chunks)"
        " SELECT count(*) FROM away"
    )
    tables.run("DELETE FROM commonplace.lexemes@ WHERE chunks = 0")
    tables.add_to_totals(unmerged=-merged)


def _count_new_uses(
    tables: PostgresTables, come: Mapping[bytes, int], left: Mapping[int, int]
) -> dict[bytes, int]:
    """Add new uses, by digest, and subtract ended ones, by id; return the id of each new text by digest.

    Rows are taken in digest order, so that two writers of the same texts cannot deadlock.
    """
    ids: dict[bytes, int] = {}
    more = Counter(come)
    if left:
        for text, digest in tables.run(
            "SELECT id, digest FROM commonplace.texts WHERE id = ANY(%s)", [list(left)]
        ):
            more[digest] -= left[text]
            ids[digest] = text
    changed = sorted((digest, uses) for digest, uses in more.items() if uses or digest not in ids)
    if changed:
        ids |= tables.run(
            "INSERT INTO commonplace.texts AS t (digest, uses)"
            " SELECT * FROM unnest(%s::bytea[], %s::bigint[]) AS s (digest, uses) ORDER BY digest"
            " ON CONFLICT (digest) DO UPDATE SET uses = greatest(0, t.uses + excluded.uses),"
            " unused_since = CASE WHEN t.uses + excluded.uses <= 0 THEN %s::bigint END RETURNING digest, id",
            ([digest for digest, _ in changed], [uses for _, uses in changed], next_tick(tables.db)),
        ).fetchall()
    return ids


def _add_texts(tables: PostgresTables, digests: Iterable[bytes]) -> dict[bytes, int]:
    """Add missing texts with no uses; return each text's id by digest."""
    wanted = sorted(digests)
    tables.run(
        "INSERT INTO commonplace.texts (digest, uses, unused_since)"
        " SELECT digest, 0, %s FROM unnest(%s::bytea[]) AS s (digest) ORDER BY digest ON CONFLICT DO NOTHING",
        (next_tick(tables.db), wanted),
    )
    rows = tables.run("SELECT digest, id FROM commonplace.texts WHERE digest = ANY(%s)", [wanted])
    return dict(rows.fetchall())


def _count_cache_hits(tables: PostgresTables, texts: Counter[int], model: int, change: IndexDelta) -> None:
    rows = tables.run(
        "SELECT text FROM commonplace.embeddings WHERE model = %s AND text = ANY(%s)", (model, list(texts))
    )
    change.hits = sum(texts[row[0]] for row in rows)
    change.misses = texts.total() - change.hits


def count_uses(tables: PostgresTables) -> None:
    """Recount the uses of all texts in this generation; only changed counts are written."""
    tables.run(
        "UPDATE commonplace.texts SET uses = counted.uses,"
        " unused_since = CASE WHEN counted.uses = 0 THEN %s::bigint END"
        " FROM (SELECT t.id, count(s.text) AS uses FROM commonplace.texts AS t"
        " LEFT JOIN commonplace.segments@ AS s ON s.text = t.id GROUP BY t.id)"
        " AS counted WHERE counted.id = texts.id AND counted.uses <> texts.uses",
        [next_tick(tables.db)],
    )


def clear_uses(tables: PostgresTables) -> None:
    """Set the uses of all texts to 0."""
    tables.run(
        "UPDATE commonplace.texts SET uses = 0, unused_since = %s WHERE uses > 0", [next_tick(tables.db)]
    )
