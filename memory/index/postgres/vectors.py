"""Vectors on the server, stored once for each text and model, however many notes contain the text."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from struct import pack
from typing import TYPE_CHECKING, Any

from memory.chunker import segment_text
from memory.embeddings.protocol import ModelId, Vector
from memory.embeddings.unit_vectors import BYTES_PER_NUMBER
from memory.errors import IndexUnavailable
from memory.index.mean_centering import SAMPLE, MeanVector, mean_vector
from memory.index.passage_spans import PassageSpan, parse_day
from memory.index.postgres.schema import VECTORS_LOCK, PostgresTables, next_tick, strip_invalid
from memory.index.postgres.scope import PostgresScope
from memory.index.postgres.vector_search import ServerSearcher
from memory.index.protocol import UnembeddedText, VectorCounts, VectorQuery
from memory.index.similarity import TextLocation, compute_similarities, most_similar_spans
from memory.postgres.lock_keys import lock_key
from memory.ranking.candidates import Similarity

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

MAX_DIMENSIONS = 16_000
"""The maximum number of dimensions that pgvector stores."""
_MAX_ROWS = 1 << 30


def find_model(db: "Db", model: ModelId) -> int | None:
    """Return the model's row; None if no vector of it was stored."""
    row = db.execute(
        "SELECT id FROM commonplace.models WHERE provider = %s AND model = %s AND dimensions = %s",
        (model.provider, model.stored_name, model.dimensions),
    ).fetchone()
    return int(row[0]) if row else None


def last_dimensions(db: "Db", model: ModelId) -> int:
    """Return the length of the model's latest vectors; 0 if it has none."""
    row = db.execute(
        "SELECT dimensions FROM commonplace.models WHERE provider = %s AND model = %s AND dimensions > 0"
        " ORDER BY seen DESC, id DESC",
        (model.provider, model.stored_name),
    ).fetchone()
    return int(row[0]) if row else 0


def list_unembedded(
    tables: PostgresTables, model: ModelId, *, limit: int, without: Sequence[int] = ()
) -> list[UnembeddedText]:
    """See `Index.list_unembedded`. Leaves out the text ids in `without`."""
    model_id = find_model(tables.db, model) or 0
    asked, found = limit, dict[int, tuple[int, int, int, str]]()
    while limit > 0:
        # A note with time 0 was too recent when read for its timestamp to be reliable.
        rows = tables.run(
            "SELECT s.text, s.note, s.first, s.last, s.heading FROM commonplace.segments@ AS s"
            " JOIN commonplace.notes@ AS n ON n.id = s.note"
            " WHERE NOT EXISTS (SELECT FROM commonplace.embeddings AS e WHERE e.model = %(model)s AND e.text = s.text)"
            " AND NOT EXISTS (SELECT FROM commonplace.refusals AS r WHERE r.model = %(model)s AND r.text = s.text)"
            " AND s.text <> ALL(%(without)s::bigint[])"
            " ORDER BY n.mtime_ns = 0 DESC, n.mtime_ns DESC, n.id DESC, s.first LIMIT %(asked)s",
            {"model": model_id, "asked": asked, "without": list(without)},
        ).fetchall()
        found.clear()
        for text, *place in rows:
            found.setdefault(text, (place[0], place[1], place[2], place[3]))
        if len(found) >= limit or len(rows) < asked:
            break
        asked *= 2
    texts = dict(list(found.items())[:limit])
    return list(read_texts(tables, texts).values()) if texts else []


def read_texts(
    tables: PostgresTables, places: Mapping[int, tuple[int, int, int, str]]
) -> dict[int, UnembeddedText]:
    """Read texts from the passages at their place: note, first, last, and the headings above."""
    digests: dict[int, bytes] = dict(
        tables.run("SELECT id, digest FROM commonplace.texts WHERE id = ANY(%s)", [list(places)]).fetchall()
    )
    passages: dict[int, list[str]] = {text: [] for text in places}
    columns = [list(column) for column in zip(*[place[:3] for place in places.values()], strict=True)]
    for text, body in tables.run(
        "SELECT place.id, p.text FROM unnest(%s::bigint[], %s::bigint[], %s::integer[], %s::integer[])"
        " AS place (id, note, first, last) JOIN commonplace.passages@ AS p ON p.note = place.note"
        " AND p.position BETWEEN place.first AND place.last ORDER BY place.id, p.position",
        [list(places), *columns],
    ):
        passages[text].append(body)
    return {
        text: UnembeddedText(bytes(digests[text]), segment_text(place[3], passages[text]))
        for text, place in places.items()
        if text in digests
    }


def store_vectors(
    db: "Db", model: ModelId, vectors: Mapping[bytes, Vector], refused: Mapping[bytes, str]
) -> bool:
    """See `Index.store_vectors`. Returns whether anything was stored.

    Raises `ValueError` if a vector's length is not the model's, `IndexUnavailable` if it is too long for
    pgvector.
    """
    for vector in vectors.values():
        if len(vector) != BYTES_PER_NUMBER * model.dimensions:
            raise ValueError(
                f"a vector of {len(vector) / BYTES_PER_NUMBER:g} numbers; {model.model} has {model.dimensions}"
            )
    if model.dimensions > MAX_DIMENSIONS:
        raise IndexUnavailable(
            "vectors of {dimensions} numbers are more than pgvector can store ({most}); set "
            "memory.embedding.dimensions to less",
            dimensions=model.dimensions,
            most=MAX_DIMENSIONS,
        )
    db.execute("SELECT pg_advisory_xact_lock(%s)", [lock_key("index", VECTORS_LOCK)])
    # The rows are locked until the end, so that nobody deletes these texts meanwhile.
    texts: dict[bytes, int] = {
        bytes(digest): text
        for digest, text in db.execute(
            "SELECT digest, id FROM commonplace.texts WHERE digest = ANY(%s) ORDER BY digest FOR KEY SHARE",
            [[*vectors, *refused]],
        )
    }
    if not texts:
        return False
    [(model_id,)] = db.execute(
        "INSERT INTO commonplace.models AS m (provider, model, dimensions, seen) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (provider, model, dimensions) DO UPDATE SET seen = excluded.seen RETURNING id",
        (model.provider, model.stored_name, model.dimensions, next_tick(db)),
    )
    kept = [(texts[digest], vector) for digest, vector in vectors.items() if digest in texts]
    there = {
        row[0]
        for row in db.execute(
            "SELECT text FROM commonplace.embeddings WHERE model = %s AND text = ANY(%s)",
            (model_id, [text for text, _ in kept]),
        )
    }
    new = {text: vector for text, vector in kept if text not in there}
    _insert_vectors(db, model_id, new)
    if new:
        db.execute(
            "DELETE FROM commonplace.refusals WHERE model = %s AND text = ANY(%s)", (model_id, list(new))
        )
        db.execute("UPDATE commonplace.models SET vectors = vectors + %s WHERE id = %s", (len(new), model_id))
    why = {texts[digest]: reason for digest, reason in refused.items() if digest in texts}
    db.execute(
        "INSERT INTO commonplace.refusals AS r (model, text, reason)"
        " SELECT %(model)s, s.text, s.reason FROM unnest(%(texts)s::bigint[], %(reasons)s::text[]) AS s (text, reason)"
        " WHERE NOT EXISTS (SELECT FROM commonplace.embeddings AS e WHERE e.model = %(model)s AND e.text = s.text)"
        " ON CONFLICT (model, text) DO UPDATE SET reason = excluded.reason",
        {
            "model": model_id,
            "texts": list(why),
            "reasons": [strip_invalid(reason) for reason in why.values()],
        },
    )
    return True


def _insert_vectors(db: "Db", model: int, vectors: Mapping[int, Vector]) -> None:
    if not vectors:
        return
    import sys
    from array import array

    sql = "COPY commonplace.embeddings (model, text, embedding) FROM STDIN WITH (FORMAT BINARY)"
    with db.cursor() as cursor, cursor.copy(sql) as copy:
        copy.set_types(["int4", "int8", "bytea"])
        for text, vector in vectors.items():
            numbers = array("f", vector)
            if sys.byteorder == "little":  # vectors are stored little-endian, and sent big-endian
                numbers.byteswap()
            copy.write_row((model, text, pack("!HH", len(numbers), 0) + numbers.tobytes()))


def count_vectors(tables: PostgresTables, model: ModelId, *, hits: int, misses: int) -> VectorCounts:
    """See `Index.count_vectors`; costs about one lookup for each text."""
    model_id = find_model(tables.db, model) or 0
    segments = tables.count("SELECT count(*) FROM commonplace.texts WHERE uses > 0")
    have, refusals = (
        tables.count(
            f"SELECT count(*) FROM commonplace.{table} AS v"  # noqa: S608
            " JOIN commonplace.texts AS t ON t.id = v.text"
            " WHERE v.model = %s AND t.uses > 0",
            [model_id],
        )
        for table in ("embeddings", "refusals")
    )
    refused = tables.run(
        'SELECT DISTINCT n.path, r.reason COLLATE "C" AS reason FROM commonplace.refusals AS r'
        " JOIN commonplace.segments@ AS s ON s.text = r.text JOIN commonplace.notes@ AS n ON n.id = s.note"
        " WHERE r.model = %s ORDER BY n.path, reason",
        [model_id],
    ).fetchall()
    return VectorCounts(
        segments=segments,
        missing=segments - have - refusals,
        chunks_with_embedding=_count_whole_chunks(tables, model_id, have, segments),
        refused=tuple((path, why) for path, why in refused),
        kept=tables.count("SELECT coalesce(sum(vectors), 0)::bigint FROM commonplace.models"),
        hits=hits,
        misses=misses,
    )


def _count_whole_chunks(tables: PostgresTables, model_id: int, have: int, segments: int) -> int:
    if have == segments:
        return tables.count(
            "SELECT chunks FROM commonplace.index_sums WHERE generation = %s", [tables.generation]
        )
    if not have:
        return 0
    # The last segment that begins before the chunk may overlap it.
    return tables.count(
        "SELECT count(*) FROM commonplace.chunks@ AS c WHERE NOT EXISTS ("
        " SELECT FROM commonplace.segments@ AS s WHERE s.note = c.note AND s.first <= c.last AND s.last >= c.first"
        " AND NOT EXISTS (SELECT FROM commonplace.embeddings AS e WHERE e.model = %s AND e.text = s.text))",
        [model_id],
    )


def retry_refused(db: "Db", model: ModelId) -> None:
    """See `Index.retry_refused`."""
    db.execute("DELETE FROM commonplace.refusals WHERE model = %s", [find_model(db, model) or 0])


def evict_unused(db: "Db", *, limit: int, wanted_models: Collection[ModelId]) -> int:
    """See `Index.evict_unused`; also deletes texts without use and vector."""
    db.execute("SELECT pg_advisory_xact_lock(%s)", [lock_key("index", VECTORS_LOCK)])
    models = db.execute("SELECT id, provider, model, dimensions, vectors FROM commonplace.models").fetchall()
    spare = sum(row[4] for row in models) - limit
    gone = 0
    if spare > 0:
        stored = {(model.provider, model.stored_name, model.dimensions) for model in wanted_models}
        unwanted = [row[0] for row in models if (row[1], row[2], row[3]) not in stored]
        gone = _delete_vectors(
            db,
            "SELECT e.id FROM commonplace.embeddings AS e JOIN commonplace.texts AS t ON t.id = e.text"
            " JOIN commonplace.models AS m ON m.id = e.model WHERE t.uses = 0 OR m.id = ANY(%s)"
            " ORDER BY least(CASE WHEN t.uses = 0 THEN coalesce(t.unused_since, 0) END,"
            " CASE WHEN m.id = ANY(%s) THEN m.seen END), e.id LIMIT %s",
            (unwanted, unwanted, spare),
        )
    _delete_texts(db, "uses = 0 AND NOT EXISTS (SELECT FROM commonplace.embeddings AS e WHERE e.text = t.id)")
    db.execute(
        "DELETE FROM commonplace.refusals AS r WHERE NOT EXISTS (SELECT FROM commonplace.texts WHERE id = r.text)"
    )
    return gone


def delete_all_unused(db: "Db") -> None:
    """Delete all texts that are in no note, with their vectors."""
    db.execute("SELECT pg_advisory_xact_lock(%s)", [lock_key("index", VECTORS_LOCK)])
    unused = "SELECT id FROM commonplace.texts WHERE uses = 0"
    _delete_vectors(db, f"SELECT id FROM commonplace.embeddings WHERE text IN ({unused})", ())  # noqa: S608
    db.execute(f"DELETE FROM commonplace.refusals WHERE text IN ({unused})".encode())  # noqa: S608
    _delete_texts(db, "uses = 0")


def _delete_texts(db: "Db", which: str) -> None:
    """Delete texts, in the digest order that everybody uses, unless they are used by then."""
    sql = (
        "DELETE FROM commonplace.texts WHERE id IN (SELECT id FROM commonplace.texts AS t"  # noqa: S608
        f" WHERE {which} ORDER BY digest FOR UPDATE)"
    )
    db.execute(sql.encode())


def _delete_vectors(db: "Db", which: str, values: Sequence[Any]) -> int:
    """Delete the vectors whose ids a query returns, unless they are used by then; return how many."""
    sql = (
        f"WITH gone AS (DELETE FROM commonplace.embeddings WHERE id IN ({which}) RETURNING model),"  # noqa: S608
        " counted AS (SELECT model, count(*) AS times FROM gone GROUP BY model)"
        " UPDATE commonplace.models AS m SET vectors = vectors - times FROM counted"
        " WHERE counted.model = m.id RETURNING times"
    )
    rows = db.execute(sql.encode(), values or None).fetchall()
    return sum(row[0] for row in rows)


def read_mean_vector(
    db: "Db", model_id: int, *, size: int, among: Sequence[int] | None = None
) -> MeanVector | None:
    """Return the mean of the vectors in use, or of those of the texts `among`.

    It is computed from a sample that depends on the texts alone.
    """
    chosen = "" if among is None else " AND t.id = ANY(%(among)s)"
    sql = (
        "SELECT e.embedding::float4[] FROM commonplace.texts AS t"  # noqa: S608
        " JOIN commonplace.embeddings AS e ON e.model = %(model)s AND e.text = t.id"
        f" WHERE t.uses > 0{chosen} ORDER BY t.digest LIMIT %(most)s"
    )
    rows = db.execute(sql.encode(), {"model": model_id, "among": among, "most": SAMPLE})
    vectors = [pack_numbers(row[0]) for row in rows]
    return mean_vector([vector for vector in vectors if len(vector) == size])


def read_similarities(
    db: "Db",
    searcher: ServerSearcher,
    model_id: int,
    vector_query: VectorQuery,
    common: MeanVector | None,
    texts: Sequence[int],
) -> dict[int, Similarity]:
    """Return each text's similarity to the query; texts without a vector are left out."""
    asked = [vector_query.vector, *([common.direction] if common else [])]
    return compute_similarities(vector_query, common, searcher.similarities(db, model_id, asked, texts))


def most_similar_segments(
    tables: PostgresTables,
    searcher: ServerSearcher,
    model_id: int,
    vector_query: VectorQuery,
    *,
    state: str,
    today: date,
    scope: PostgresScope | None = None,
) -> list[PassageSpan]:
    """Return the ranges of the segments most similar to the query, best first; ties by age, path and position.

    With `scope`, only segments in its folders.
    """
    among = scope.texts(tables) if scope else None

    def search(limit: int) -> list[tuple[int, float]]:
        return searcher.search(
            tables.db, model_id, vector_query.vector, limit=limit, state=state, among=among
        )

    def standing(texts: Collection[int]) -> Iterable[TextLocation]:
        for text, path, day, mtime_ns, *place in tables.run(
            "SELECT s.text, n.path, s.day, n.mtime_ns, s.note, s.first, s.last FROM commonplace.segments@ AS s"
            " JOIN commonplace.notes@ AS n ON n.id = s.note WHERE s.text = ANY(%s)",
            [list(texts)],
        ):
            if scope is None or scope.folders.contains(path):
                yield TextLocation(text, path, (place[0], place[1], place[2]), parse_day(day), mtime_ns)

    return most_similar_spans(
        search,
        standing,
        limit=min(vector_query.limit, _MAX_ROWS),
        minimum=vector_query.min_similarity,
        today=today,
    )


def pack_numbers(numbers: Iterable[float]) -> Vector:
    """Return numbers from the server as a vector."""
    from array import array

    from memory.embeddings.unit_vectors import pack_vector

    return pack_vector(array("f", numbers))
