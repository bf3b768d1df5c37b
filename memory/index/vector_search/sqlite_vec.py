"""Vector search by sqlite-vec's SQL functions: the fastest way to run a single search.

It caches nothing and imports no numpy. Comparing 100,000 vectors of 384 dimensions takes about a tenth of a
second, more than half of which is SQLite's own reading.
"""

import json
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import apsw

from memory.embeddings.protocol import Vector
from memory.index.vector_search.rows import has_vectors

_MAX_ROWS = (1 << 63) - 1


class ExtensionMissing(Exception):
    """sqlite-vec cannot be used here; the message says why."""


class SqliteVecSearcher:
    """`VectorSearcher` by `vec_distance_cosine` over the plain table."""

    name: Literal["sqlite-vec"] = "sqlite-vec"

    reason = ""

    def __init__(self) -> None:
        """Load the extension once as a test. Raises `ExtensionMissing`."""
        trial = apsw.Connection(":memory:")
        load_extension(trial)
        trial.close()
        self._loaded: weakref.ref[apsw.Connection] | None = None

    def search(
        self,
        db: apsw.Connection,
        model: int,
        query: Vector,
        *,
        limit: int,
        version: str,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """See `VectorSearcher.search`."""
        if among is not None:
            cosines = self.similarities(db, model, query, among)
            return sorted(cosines.items(), key=lambda item: (-item[1], item[0]))[:limit]
        if not has_vectors(db, model, query):
            return []
        self._load_into(db)
        # In row order: in the index's order, rows would be read from all over the file.
        found = db.execute(
            "SELECT text, 1 - vec_distance_cosine(embedding, ?) AS cosine FROM vectors NOT INDEXED"
            " WHERE model = ? AND text NOT IN (SELECT id FROM texts WHERE uses = 0)"
            " ORDER BY cosine DESC, text LIMIT ?",
            (query, model, min(limit, _MAX_ROWS)),
        )
        return list(found)

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """See `VectorSearcher.similarities`."""
        if not has_vectors(db, model, query):
            return {}
        self._load_into(db)
        return dict(
            db.execute(
                "SELECT text, 1 - vec_distance_cosine(embedding, ?)"
                " FROM json_each(?) CROSS JOIN vectors ON text = value WHERE model = ?",
                (query, json.dumps(list(texts)), model),
            )
        )

    def _load_into(self, db: apsw.Connection) -> None:
        # The index opens a new connection after its file was replaced.
        if not self._loaded or self._loaded() is not db:
            load_extension(db)
            self._loaded = weakref.ref(db)


def load_extension(db: apsw.Connection) -> None:
    """Load sqlite-vec's functions into `db`. Raises `ExtensionMissing`."""
    # Not `import sqlite_vec`, which imports numpy if it is installed: slower than the search itself.
    try:
        found = find_spec("sqlite_vec")
    except ValueError:  # `sys.modules` holds something that is no module
        found = None
    if not found or not found.origin:
        raise ExtensionMissing("sqlite-vec is not installed")
    file = Path(found.origin).with_name("vec0")
    try:
        db.enable_load_extension(True)
        try:
            db.load_extension(str(file))
        finally:
            # SQL could load extensions as well.
            db.enable_load_extension(False)
    except (
        apsw.Error,
        AttributeError,
        OSError,
    ) as error:  # AttributeError: SQLite was built without extensions
        raise ExtensionMissing(f"sqlite-vec does not load ({error})") from error
