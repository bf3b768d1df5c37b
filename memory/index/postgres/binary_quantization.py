"""Vector search for a service: bits in memory select candidates, the server ranks them by exact vectors.

A server-side scan of all bits takes some five times as long, since it reads them row by row.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import Vector
from memory.index.postgres.vector_search import ExactServerSearcher, ServerSearcher, format_vector
from memory.index.vector_search.binary_quantization import BinaryVectorCache, VectorBatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

ROWS_PER_READ = 10_000
"""Only the bits are sent: 48 bytes for 384 dimensions."""
CANDIDATE_GROWTH_EXPONENT = 0.9
"""Higher than the 1/3 for a file, since the server compares candidates without sending them to us.

Of 200,000 synthetic vectors of 384 dimensions, 900 candidates (1/3) contain .973 of the exact ten best, 2,100
(2/3) .987, and 3,800 are taken here. Of a million it finds .992, in 60 ms of processor time, two thirds of
them the server's.
"""
MAX_VECTORS = 5_000_000
"""With more vectors, whose bits would take over 325 MB in each process (384 dimensions), the server compares all."""


class BinaryServerSearcher(ExactServerSearcher):
    """`ServerSearcher` that holds the bits of all vectors, after subtracting their mean."""

    def __init__(self) -> None:
        """Read nothing yet."""
        self._signs = BinaryVectorCache()

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
        import numpy as np

        rows = _ServerVectorRows(db)
        count = rows.count(model)
        if count > MAX_VECTORS:
            return super().search(db, model, query, limit=limit, state=state, among=among)
        if limit <= 0 or not count:
            return []
        asked = np.frombuffer(query, "<f4")
        signs = self._signs.of(rows, model, state, dimensions=len(asked))
        places = signs.candidates(asked, results=limit, crowding=CANDIDATE_GROWTH_EXPONENT, among=among)
        ids = signs.ids[places]
        return db.execute(
            "SELECT text, -(embedding <#> %s::vector) AS alike FROM commonplace.embeddings WHERE id = ANY(%s)"
            " ORDER BY alike DESC, text LIMIT %s",
            (format_vector(query), ids.tolist(), limit),
        ).fetchall()

    def memory_bytes(self) -> int:
        """Return the bytes held between searches."""
        return self._signs.memory_bytes()


class _ServerVectorRows:
    """`VectorRows` on the server. Only one process stores vectors at a time, so ids appear in order."""

    def __init__(self, db: "Db") -> None:
        self._db = db

    def count(self, model: int) -> int:
        """See `VectorRows.count`."""
        row = self._db.execute("SELECT vectors FROM commonplace.models WHERE id = %s", [model]).fetchone()
        return int(row[0]) if row else 0

    def newest(self) -> int:
        """See `VectorRows.newest`."""
        row = self._db.execute("SELECT coalesce(max(id), 0) FROM commonplace.embeddings").fetchone()
        return int(row[0]) if row else 0

    def ids(self, model: int) -> "NDArray[np.int64]":
        """See `VectorRows.ids`."""
        return self._read_integers(
            "SELECT id FROM commonplace.embeddings WHERE model = %s ORDER BY id", [model]
        )

    def unused(self) -> "NDArray[np.int64]":
        """See `VectorRows.unused`."""
        return self._read_integers("SELECT id FROM commonplace.texts WHERE uses = 0", [])

    def read(self, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
        """See `VectorRows.read`."""
        import numpy as np

        rows = self._db.execute(
            "SELECT vector_send(embedding) FROM unnest(%s::bigint[]) WITH ORDINALITY AS asked (id, number)"
            " JOIN commonplace.embeddings USING (id) ORDER BY number",
            [ids.tolist()],
            binary=True,
        )
        joined = b"".join(row[0][4:] for row in rows)
        return np.frombuffer(joined, ">f4").reshape(-1, dimensions).astype("<f4")

    def read_between(
        self, model: int, after: int, last: int, *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """See `VectorRows.read_between`."""
        while after < last:
            piece = self._read_batch(
                "model = %s AND id > %s AND id <= %s ORDER BY id LIMIT %s",
                [model, after, last, ROWS_PER_READ],
                mean,
            )
            if piece is None:
                return
            yield piece
            after = int(piece.ids[-1])

    def reread(
        self, ids: "NDArray[np.int64]", texts: "NDArray[np.int64]", *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """See `VectorRows.reread`."""
        for at in range(0, len(ids), ROWS_PER_READ):
            piece = self._read_batch(
                "id = ANY(%s) ORDER BY id", [ids[at : at + ROWS_PER_READ].tolist()], mean
            )
            if piece is not None:
                yield piece

    def _read_batch(
        self, which: str, values: Sequence[Any], mean: "NDArray[np.float32]"
    ) -> VectorBatch | None:
        import numpy as np

        sql = (
            "SELECT id, text, bit_send(binary_quantize(embedding - %s::vector))"  # noqa: S608
            f" FROM commonplace.embeddings WHERE {which}"
        )
        cursor = self._db.execute(
            sql.encode(), [format_vector(mean.astype("<f4").tobytes()), *values], binary=True
        )
        rows = cursor.fetchall()
        if not rows:
            return None
        ids, texts = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
        # The bits are preceded by their number, four bytes.
        signs = np.frombuffer(b"".join(row[2][4:] for row in rows), np.uint8).reshape(len(rows), -1)
        return VectorBatch(ids, texts, signs, None)

    def _read_integers(self, sql: str, values: Sequence[Any]) -> "NDArray[np.int64]":
        import numpy as np

        rows = self._db.execute(sql.encode(), values, binary=True)
        return np.fromiter((row[0] for row in rows), np.int64)


def open_vector_searcher(*, lasting: bool) -> ServerSearcher:
    """Return the searcher that caches bits if `lasting`, for a service that searches often; else the exact one."""
    return BinaryServerSearcher() if lasting else ExactServerSearcher()
