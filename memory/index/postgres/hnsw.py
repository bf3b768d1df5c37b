"""A graph of each model's vectors (pgvector's HNSW) on the server, for more than a process should hold the signs of.

It overlooks much: of a million made-up vectors it finds .63 of the ten nearest in one step, and .89 in three quarters
of the time in which the server compares all and finds every one. So it is for very many only.
"""

import json
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
    from psycopg.errors import Diagnostic

    Db = Connection[tuple[Any, ...]]

log = logging.getLogger(__name__)

FROM = 5_000_000
"""Vectors of a model from which on it gets one; fewer are compared one by one, by several processes of the server: a
million in a second of processor time."""
MOST_DIMENSIONS = 4_000
"""The longest vectors that a graph takes."""
GRAPH = "m = 16, ef_construction = 96"
_EF_SEARCH = 1_000
_ITERATIVE = {
    "hnsw.iterative_scan": "relaxed_order",
    # By default it ends after 20,000, which is about where the first step ends: it would never come to a second one.
    "hnsw.max_scan_tuples": "400000",
    "hnsw.scan_mem_multiplier": "20",
}
"""Of pgvector from 0.8 on: the graph is asked for more in steps of `_EF_SEARCH`."""
LEAST_CANDIDATES, CANDIDATES_A_RESULT = 10_000, 10
"""Of these, compared exactly, come the results. Of a million made-up vectors 1,000 hold .63 of the ten nearest, 4,000
.76, 10,000 .84 (in 0.4 s of processor time), 20,000 .89."""


def type_of(dimensions: int) -> str:
    """What the vectors are cast to in the graph, as SQL; "" where they are too long for one.

    In half precision it is half as large, and it only proposes.
    """
    return f"halfvec({dimensions})" if dimensions <= MOST_DIMENSIONS else ""


def has_graph(db: "Db", model: int) -> bool:
    """Whether there is one that is whole."""
    row = db.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [_named(model)]
    ).fetchone()
    return bool(row and row[0])


def search_graph(
    db: "Db", model: int, query: Vector, literal: str, *, most: int, least_candidates: int = LEAST_CANDIDATES
) -> list[tuple[int, float]]:
    """As `Nearest.search`; what the graph proposes is compared exactly."""
    kind = type_of(len(query) // BYTES_A_NUMBER)
    db.execute(f"SET LOCAL hnsw.ef_search = {_EF_SEARCH}".encode())
    db.execute("SELECT '[0]'::vector")  # else its settings are not known yet on a fresh connection
    db.execute(
        "SELECT set_config(name, %s::jsonb ->> name, true) FROM pg_settings WHERE %s::jsonb ? name",
        [json.dumps(_ITERATIVE)] * 2,
    )
    # A vector wherever it stands: the server takes it for what its first place says, and halves are less exact.
    sql = (
        "SELECT text, -(embedding <#> %(query)s::vector) AS alike FROM"  # noqa: S608 - nothing but our own
        f" (SELECT text, embedding FROM commonplace.embeddings WHERE model = {model:d}"
        f" ORDER BY embedding::{kind} <=> %(query)s::vector::{kind} LIMIT %(candidates)s) AS e"
        " WHERE NOT EXISTS (SELECT FROM commonplace.texts AS t WHERE t.id = e.text AND t.uses = 0)"
        " ORDER BY alike DESC, text LIMIT %(most)s"
    )
    candidates = max(least_candidates, CANDIDATES_A_RESULT * most)
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
    name = _named(model)
    if not has_graph(db, model):
        db.add_notice_handler(_tell)
        db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())
        db.execute(
            f"CREATE INDEX CONCURRENTLY {name.partition('.')[2]} ON commonplace.embeddings"
            f" USING hnsw ((embedding::{kind}) halfvec_cosine_ops) WITH ({GRAPH}) WHERE model = {model:d}".encode()
        )


def _tell(notice: "Diagnostic") -> None:
    if "maintenance_work_mem" in (notice.message_primary or ""):
        log.warning(
            "a graph of vectors needs more memory than the server's maintenance_work_mem while it is made, and takes"
            " many times as long; let its owner raise that for this user (ALTER ROLE … SET maintenance_work_mem)"
        )


def _named(model: int) -> str:
    return f"commonplace.embeddings_halves_{model:d}"
