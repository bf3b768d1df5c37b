"""Vector search on the server, and its interface."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from memory.embeddings.protocol import Vector
from memory.embeddings.unit_vectors import unpack_vector

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]


class ServerSearcher(Protocol):
    """Compares vectors with those on the server; it belongs to one thread, and is called within a transaction."""

    def search(
        self,
        db: "Db",
        model: int,
        query: Vector,
        *,
        limit: int,
        state: str,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Return the `limit` most similar texts in use: (text id, cosine), best first, ties by id.

        With `among`, only these texts are compared; they are distinct and in use. `state` is an id of the
        index's state; a cache of the same state is still valid.
        """
        ...

    def similarities(
        self, db: "Db", model: int, queries: Sequence[Vector], texts: Sequence[int]
    ) -> dict[int, tuple[float, ...]]:
        """Return the cosines of these texts, used or not, with each query; texts without a vector are left out."""
        ...


class ExactServerSearcher:
    """`ServerSearcher` that has the server compare all vectors."""

    def search(
        self,
        db: "Db",
        model: int,
        query: Vector,
        *,
        limit: int,
        state: str,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """See `ServerSearcher.search`."""
        if among is not None:
            found = self.similarities(db, model, [query], among)
            cosines = [(text, cosine) for text, (cosine,) in found.items()]
            return sorted(cosines, key=lambda item: (-item[1], item[0]))[:limit]
        return db.execute(
            "SELECT text, -(embedding <#> %s::vector) AS alike FROM commonplace.embeddings AS e WHERE model = %s"
            " AND NOT EXISTS (SELECT FROM commonplace.texts AS t WHERE t.id = e.text AND t.uses = 0)"
            " ORDER BY alike DESC, text LIMIT %s",
            (format_vector(query), model, min(limit, 1 << 62)),
        ).fetchall()

    def similarities(
        self, db: "Db", model: int, queries: Sequence[Vector], texts: Sequence[int]
    ) -> dict[int, tuple[float, ...]]:
        """See `ServerSearcher.similarities`."""
        cosines = ", ".join("-(embedding <#> %s::vector)" for _ in queries)
        rows = db.execute(
            (
                f"SELECT text, {cosines} FROM commonplace.embeddings"  # noqa: S608
                " WHERE model = %s AND text = ANY(%s)"
            ).encode(),
            [*map(format_vector, queries), model, list(texts)],
        )
        return {row[0]: row[1:] for row in rows}


def format_vector(vector: Vector) -> str:
    """Return a vector in pgvector's text format."""
    return f"[{','.join(map(repr, unpack_vector(vector)))}]"
