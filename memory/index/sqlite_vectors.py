"""Vectors in the index file, stored once for each text and model, however many notes contain the text."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date
from itertools import islice

import apsw

from memory.chunker import segment_text
from memory.embeddings.protocol import ModelId, Vector
from memory.embeddings.unit_vectors import BYTES_PER_NUMBER
from memory.index.mean_centering import SAMPLE, MeanVector, mean_vector
from memory.index.passage_spans import PassageSpan, parse_day
from memory.index.protocol import UnembeddedText, VectorCounts, VectorQuery
from memory.index.similarity import TextLocation, compute_similarities, most_similar_spans
from memory.index.sqlite_schema import POSITIONS, SqliteTables, check_bytes, check_integer, check_text
from memory.index.sqlite_scope import SqliteScope
from memory.index.vector_search.protocol import VectorSearcher
from memory.index.vector_search.rows import read_vectors
from memory.ranking.candidates import Similarity

FEW_TEXTS = 10_000
"""So many texts or fewer are looked up one by one; more are met soon enough in a walk over all texts."""


def find_model(db: apsw.Connection, model: ModelId) -> int | None:
    """Return the model's row; None if no vector of it was stored."""
    row = db.execute(
        "SELECT id FROM models WHERE provider = ? AND model = ? AND dimensions = ?",
        (model.provider, model.stored_name, model.dimensions),
    ).fetchone()
    return check_integer(row[0]) if row else None


def last_dimensions(db: apsw.Connection, model: ModelId) -> int:
    """Return the length of the model's latest vectors; 0 if it has none."""
    row = db.execute(
        "SELECT dimensions FROM models WHERE provider = ? AND model = ? AND dimensions > 0"
        " ORDER BY seen DESC, id DESC",
        (model.provider, model.stored_name),
    ).fetchone()
    return check_integer(row[0]) if row else 0


def list_unembedded(tables: SqliteTables, model: ModelId, *, limit: int) -> list[UnembeddedText]:
    """See `Index.list_unembedded`."""
    model_id = find_model(tables.db, model) or 0
    # The subquery keeps its order because of its LIMIT, and CROSS JOIN follows it. A note with time 0 was too
    # recent when read for its timestamp to be reliable.
    rows = tables.run(
        "SELECT s.id, s.last, s.text, s.heading FROM"
        " (SELECT id FROM notes@ ORDER BY mtime_ns = 0 DESC, mtime_ns DESC, id DESC LIMIT -1) AS n"
        " CROSS JOIN segments@ AS s ON s.id >= n.id << 24 AND s.id < (n.id + 1) << 24"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE model = ?1 AND vectors.text = s.text)"
        " AND NOT EXISTS (SELECT 1 FROM refusals WHERE model = ?1 AND refusals.text = s.text)",
        (model_id,),
    )
    places: dict[int, tuple[int, int, str]] = {}
    for segment, last, text_id, heading in rows:
        if len(places) >= limit:
            break
        places.setdefault(
            check_integer(text_id), (check_integer(segment), check_integer(last), check_text(heading))
        )
    return [read_unembedded_text(tables, text_id, *place) for text_id, place in places.items()]


def read_unembedded_text(
    tables: SqliteTables, text_id: int, segment: int, last: int, heading: str
) -> UnembeddedText:
    """Read a text from its passages, from `segment` to the position `last`."""
    digest = tables.db.execute("SELECT digest FROM texts WHERE id = ?", (text_id,)).fetchone()
    passages = tables.run(
        "SELECT text FROM passages@ WHERE id BETWEEN ? AND ? ORDER BY id",
        (segment, segment - segment % POSITIONS + last),
    )
    return UnembeddedText(
        check_bytes(digest and digest[0]), segment_text(heading, [check_text(row[0]) for row in passages])
    )


def store_vectors(
    db: apsw.Connection,
    model: ModelId,
    vectors: Mapping[bytes, Vector],
    refused: Mapping[bytes, str],
    *,
    clock: int,
) -> None:
    """See `Index.store_vectors`. Raises `ValueError` if a vector's length is not the model's."""
    for vector in vectors.values():
        if len(vector) != BYTES_PER_NUMBER * model.dimensions:
            raise ValueError(
                f"a vector of {len(vector) / BYTES_PER_NUMBER:g} numbers; {model.model} has {model.dimensions}"
            )
    texts = _find_text_ids(db, [*vectors, *refused])
    if not texts:
        return
    db.execute(
        "INSERT INTO models (provider, model, dimensions, seen) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (provider, model, dimensions) DO UPDATE SET seen = excluded.seen",
        (model.provider, model.stored_name, model.dimensions, clock),
    )
    model_id = find_model(db, model)
    kept = [(model_id, texts[digest], vector) for digest, vector in vectors.items() if digest in texts]
    db.executemany("INSERT OR IGNORE INTO vectors (model, text, embedding) VALUES (?, ?, ?)", kept)
    db.executemany("DELETE FROM refusals WHERE model = ? AND text = ?", [row[:2] for row in kept])
    db.executemany(
        "INSERT OR REPLACE INTO refusals SELECT ?1, ?2, ?3"
        " WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE model = ?1 AND text = ?2)",
        [(model_id, texts[digest], why) for digest, why in refused.items() if digest in texts],
    )


def _find_text_ids(db: apsw.Connection, digests: Iterable[bytes]) -> dict[bytes, int]:
    return {
        digest: check_integer(row[0])
        for digest in digests
        for row in db.execute("SELECT id FROM texts WHERE digest = ?", (digest,))
    }


def count_vectors(tables: SqliteTables, model: ModelId, *, hits: int, misses: int) -> VectorCounts:
    """See `Index.count_vectors`; costs about one lookup for each text."""
    model_id = find_model(tables.db, model) or 0
    segments = tables.count("SELECT count(*) FROM texts WHERE uses > 0")
    have = tables.count(
        "SELECT count(*) FROM vectors CROSS JOIN texts ON texts.id = text WHERE model = ? AND uses > 0",
        (model_id,),
    )
    refusals = tables.count(
        "SELECT count(*) FROM refusals CROSS JOIN texts ON texts.id = text WHERE model = ? AND uses > 0",
        (model_id,),
    )
    refused = tables.run(
        "SELECT DISTINCT path, reason FROM refusals"
        " CROSS JOIN segments@ AS s ON s.text = refusals.text"
        " CROSS JOIN notes@ ON notes@.id = s.id >> 24 WHERE model = ? ORDER BY path, reason",
        (model_id,),
    )
    return VectorCounts(
        segments=segments,
        missing=segments - have - refusals,
        chunks_with_embedding=_count_whole_chunks(tables, model_id, have, segments),
        refused=tuple((check_text(path), check_text(why)) for path, why in refused),
        kept=tables.count("SELECT count(*) FROM vectors"),
        hits=hits,
        misses=misses,
    )


def _count_whole_chunks(tables: SqliteTables, model_id: int, have: int, segments: int) -> int:
    if have == segments:
        return tables.count("SELECT count(*) FROM chunks@")
    if not have:
        return 0
    # The last segment that begins before the chunk may overlap it.
    return tables.count(
        "SELECT count(*) FROM chunks@ AS c WHERE NOT EXISTS ("
        " SELECT 1 FROM segments@ AS s WHERE s.id <= (c.note << 24) + c.last AND s.last >= c.first"
        " AND s.id >= coalesce((SELECT max(id) FROM segments@ WHERE id BETWEEN c.note << 24"
        " AND (c.note << 24) + c.first), (c.note << 24) + c.first)"
        " AND NOT EXISTS (SELECT 1 FROM vectors WHERE model = ? AND vectors.text = s.text))",
        (model_id,),
    )


def retry_refused(db: apsw.Connection, model: ModelId) -> None:
    """See `Index.retry_refused`."""
    db.execute("DELETE FROM refusals WHERE model = ?", (find_model(db, model) or 0,))


def evict_unused(db: apsw.Connection, *, limit: int, wanted_models: Collection[ModelId]) -> int:
    """See `Index.evict_unused`; also deletes texts without use and vector."""
    row = db.execute("SELECT count(*) FROM vectors").fetchone()
    spare = check_integer(row and row[0]) - limit
    unwanted = dict(_find_unwanted(db, wanted_models))
    gone = 0
    if spare > 0:
        longest_unused = _longest_unused(db, unwanted, limit=spare)
        db.executemany("DELETE FROM vectors WHERE id = ?", longest_unused)
        gone = len(longest_unused)
    db.execute(
        "DELETE FROM texts WHERE uses = 0 AND NOT EXISTS"
        " (SELECT 1 FROM models CROSS JOIN vectors ON vectors.model = models.id AND vectors.text = texts.id)"
    )
    db.execute("DELETE FROM refusals WHERE text NOT IN (SELECT id FROM texts)")
    return gone


def delete_all_unused(db: apsw.Connection) -> None:
    """Delete all texts that are in no note, with their vectors."""
    unused = "(SELECT id FROM texts WHERE uses = 0)"
    db.execute(f"DELETE FROM vectors WHERE text IN {unused}")  # noqa: S608
    db.execute(f"DELETE FROM refusals WHERE text IN {unused}")  # noqa: S608
    db.execute("DELETE FROM texts WHERE uses = 0")


def _find_unwanted(db: apsw.Connection, wanted_models: Collection[ModelId]) -> Iterable[tuple[int, int]]:
    stored = {(model.provider, model.stored_name, model.dimensions) for model in wanted_models}
    for model_id, provider, model, dimensions, seen in db.execute(
        "SELECT id, provider, model, dimensions, seen FROM models"
    ):
        if (provider, model, dimensions) not in stored:
            yield check_integer(model_id), check_integer(seen)


def _longest_unused(db: apsw.Connection, unwanted: Mapping[int, int], *, limit: int) -> list[tuple[int]]:
    """Return the longest unused vectors: their text is in no note, or their model is not wanted."""
    unused = {
        check_integer(row[0]): check_integer(row[1])
        for row in db.execute(
            "SELECT vectors.id, coalesce(unused_since, 0) FROM texts"
            " CROSS JOIN models CROSS JOIN vectors ON vectors.model = models.id AND vectors.text = texts.id"
            " WHERE uses = 0"
        )
    }
    for model_id, seen in unwanted.items():
        for row in db.execute("SELECT id FROM vectors WHERE model = ?", (model_id,)):
            unused[check_integer(row[0])] = min(seen, unused.get(check_integer(row[0]), seen))
    return [(vector,) for vector in sorted(unused, key=lambda vector: (unused[vector], vector))[:limit]]


def read_mean_vector(
    db: apsw.Connection, model_id: int, *, size: int, among: Sequence[int] | None = None
) -> MeanVector | None:
    """Return the mean of the vectors in use, of `size` bytes each, or of those of the texts `among`.

    It is computed from a sample that depends on the texts alone: the first ones by digest.
    """
    if among is not None and len(among) <= FEW_TEXTS:
        rows = db.execute(
            "SELECT texts.id FROM json_each(?2) CROSS JOIN texts ON texts.id = value"
            " CROSS JOIN vectors ON vectors.model = ?1 AND vectors.text = texts.id WHERE uses > 0 ORDER BY digest",
            (model_id, json.dumps(among)),
        )
    else:
        rows = db.execute(
            "SELECT texts.id FROM texts CROSS JOIN vectors ON vectors.model = ? AND vectors.text = texts.id"
            " WHERE uses > 0 ORDER BY digest",
            (model_id,),
        )
    chosen = None if among is None else frozenset(among)
    with closing(rows):
        in_use = (check_integer(text_id) for (text_id,) in rows if chosen is None or text_id in chosen)
        sample = list(islice(in_use, SAMPLE))
    return mean_vector([vector for _, vector in read_vectors(db, model_id, sample, size=size)])


def read_similarities(
    db: apsw.Connection,
    searcher: VectorSearcher,
    model_id: int,
    vector_query: VectorQuery,
    mean_vector: MeanVector | None,
    texts: Sequence[int],
) -> dict[int, Similarity]:
    """Return each text's similarity to the query; texts without a vector are left out."""
    cosines = searcher.similarities(db, model_id, vector_query.vector, texts)
    if mean_vector is None:
        return compute_similarities(
            vector_query, None, {text_id: (found,) for text_id, found in cosines.items()}
        )
    to_mean = searcher.similarities(db, model_id, mean_vector.direction, list(cosines))
    return compute_similarities(
        vector_query, mean_vector, {text_id: (found, to_mean[text_id]) for text_id, found in cosines.items()}
    )


def most_similar_segments(
    tables: SqliteTables,
    searcher: VectorSearcher,
    model_id: int,
    vector_query: VectorQuery,
    *,
    version: str,
    today: date,
    scope: SqliteScope | None = None,
) -> list[PassageSpan]:
    """Return the ranges of the segments most similar to the query, best first; ties by age, path and position.

    With `scope`, only segments in its folders.
    """
    among = scope.texts(tables) if scope else None

    def search(limit: int) -> list[tuple[int, float]]:
        return searcher.search(
            tables.db, model_id, vector_query.vector, limit=limit, version=version, among=among
        )

    def standing(texts: Collection[int]) -> Iterable[TextLocation]:
        for text_id in texts:
            for path, segment, last, day, mtime_ns in tables.run(
                "SELECT path, segments@.id, last, segments@.day, mtime_ns FROM segments@"
                " CROSS JOIN notes@ ON notes@.id = segments@.id >> 24 WHERE text = ?",
                (text_id,),
            ):
                if scope and not scope.folders.contains(check_text(path)):
                    continue
                note, first = divmod(check_integer(segment), POSITIONS)
                place = (note, first, check_integer(last))
                yield TextLocation(text_id, check_text(path), place, parse_day(day), check_integer(mtime_ns))

    most = min(vector_query.limit, tables.count("SELECT count(*) FROM segments@"))
    return most_similar_spans(search, standing, limit=most, minimum=vector_query.min_similarity, today=today)
