"""A graph of each model's vectors (pgvector's HNSW) on the server, for more than a process should hold the signs of.

It overlooks more than signs do, and filling it takes long: only where there are very many vectors is it worth that.
"""

import logging
import threading
from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import Vector
from memory.embeddings.vectors import BYTES_A_NUMBER
from memory.errors import IndexBroken, IndexUnavailable
from memory.postgres.keys import lock_key
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

log = logging.getLogger(__name__)

FROM = 1_000_000
"""Vectors of a model from which on it gets one; fewer are compared one by one, by several processes of the server."""
MOST_DIMENSIONS, MOST_HALVED = 2_000, 4_000
"""The longest vectors that a graph takes, and those that it takes in half precision."""
_GRAPH = "m = 16, ef_construction = 96"
_EF_SEARCH = 1_000
LEAST_CANDIDATES, CANDIDATES_A_RESULT = 100, 10
"""Of these, compared exactly, come the results."""


def type_of(dimensions: int) -> str:
    """What the vectors are cast to in the graph, as SQL; "" where they are too long for one."""
    if dimensions > MOST_HALVED:
        return ""
    return f"halfvec({dimensions})" if dimensions > MOST_DIMENSIONS else f"vector({dimensions})"


def has_graph(db: "Db", model: int) -> bool:
    """Whether there is one that is whole."""
    row = db.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [_named(model)]
    ).fetchone()
    return bool(row and row[0])


def search_graph(db: "Db", model: int, query: Vector, literal: str, *, most: int) -> list[tuple[int, float]]:
    """As `Nearest.search`; what the graph proposes is compared exactly."""
    kind = type_of(len(query) // BYTES_A_NUMBER)
    db.execute(f"SET LOCAL hnsw.ef_search = {_EF_SEARCH}".encode())
    db.execute("SELECT '[0]'::vector")  # else its settings are not known yet on a fresh connection
    if db.execute("SELECT 1 FROM pg_settings WHERE name = 'hnsw.iterative_scan'").fetchone():  # from 0.8 on
        db.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
    sql = (
        "SELECT text, -(embedding <#> %(query)s::vector) AS alike FROM"  # noqa: S608 - nothing but our own
        f" (SELECT text, embedding FROM commonplace.embeddings WHERE model = {model:d}"
        f" ORDER BY embedding::{kind} <=> %(query)s::{kind} LIMIT %(candidates)s) AS e"
        " WHERE NOT EXISTS (SELECT FROM commonplace.texts AS t WHERE t.id = e.text AND t.uses = 0)"
        " ORDER BY alike DESC, text LIMIT %(most)s"
    )
    candidates = max(LEAST_CANDIDATES, CANDIDATES_A_RESULT * most)
    return db.execute(sql.encode(), {"query": literal, "candidates": candidates, "most": most}).fetchall()


def begin_graphs(server: Server, *, least: int = FROM) -> threading.Thread | None:
    """Have the models with so many vectors get theirs, on a thread of its own; None where all have one."""
    with server.transaction() as db:
        rows = db.execute(
            "SELECT id, dimensions FROM commonplace.models WHERE vectors >= %s ORDER BY seen DESC", [least]
        ).fetchall()
        wanted = [(model, size) for model, size in rows if type_of(size) and not has_graph(db, model)]
    if not wanted:
        return None
    thread = threading.Thread(target=_make, args=(server, wanted), name="memory-graph", daemon=True)
    thread.start()
    return thread


def _make(server: Server, wanted: list[tuple[int, int]]) -> None:
    try:
        with server.session() as db:
            db.execute("SET statement_timeout = 0")
            row = db.execute("SELECT pg_try_advisory_lock(%s)", [lock_key("index", "graphs")]).fetchone()
            if not (row and row[0]):
                return  # somebody else is at it
            for model, dimensions in wanted:
                make_graph(db, model, dimensions)
    except (IndexUnavailable, IndexBroken) as error:
        log.warning("vectors get no graph: %s", error)


def make_graph(db: "Db", model: int, dimensions: int) -> None:
    """Make it while others go on to write; what an earlier try has left behind goes first."""
    kind = type_of(dimensions)
    operators = "halfvec_cosine_ops" if kind.startswith("halfvec") else "vector_cosine_ops"
    name = _named(model)
    if not has_graph(db, model):
        db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())
        db.execute(
            f"CREATE INDEX CONCURRENTLY {name.partition('.')[2]} ON commonplace.embeddings"
            f" USING hnsw ((embedding::{kind}) {operators}) WITH ({_GRAPH}) WHERE model = {model:d}".encode()
        )


def _named(model: int) -> str:
    return f"commonplace.embeddings_graph_{model:d}"
