"""Which texts are most alike, by sqlite-vec's functions in SQL: the quickest way to a single search.

It remembers nothing and imports no numpy. Comparing 100,000 vectors of 384 numbers takes about a tenth of a
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

_MOST_ROWS = (1 << 63) - 1


class ExtensionMissing(Exception):
    """sqlite-vec cannot be used here, and why."""


class SqliteVecSearcher:
    """`Nearest` by `vec_distance_cosine` over the plain table."""

    name: Literal["sqlite-vec"] = "sqlite-vec"

    reason = ""

    def __init__(self) -> None:
        """Try whether the extension loads: raises `ExtensionMissing`."""
        trial = apsw.Connection(":memory:")
        load_extension(trial)
        trial.close()
        self._loaded: weakref.ref[apsw.Connection] | None = None

    def search(
        self, db: apsw.Connection, model: int, query: Vector, *, most: int, version: str
    ) -> list[tuple[int, float]]:
        """See `Nearest.search`."""
        if not has_vectors(db, model, query):
            return []
        self._load_into(db)
        # In the order of the rows: by the index, what came in another order is read from all over the file.
        found = db.execute(
            "SELECT text, 1 - vec_distance_cosine(embedding, ?) AS cosine FROM vectors NOT INDEXED"
            " WHERE model = ? AND text NOT IN (SELECT id FROM texts WHERE uses = 0)"
            " ORDER BY cosine DESC, text LIMIT ?",
            (query, model, min(most, _MOST_ROWS)),
        )
        return list(found)

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """See `Nearest.similarities`."""
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
        # The index opens a new connection when its file was replaced.
        if not self._loaded or self._loaded() is not db:
            load_extension(db)
            self._loaded = weakref.ref(db)


def load_extension(db: apsw.Connection) -> None:
    """Give `db` sqlite-vec's functions. Raises `ExtensionMissing`."""
    # Not `import sqlite_vec`, since that imports numpy where there is one: more work than the search itself.
    try:
        found = find_spec("sqlite_vec")
    except ValueError:  # what `sys.modules` says of it is no module
        found = None
    if not found or not found.origin:
        raise ExtensionMissing("sqlite-vec is not installed")
    file = Path(found.origin).with_name("vec0")
    try:
        db.enable_load_extension(True)
        try:
            db.load_extension(str(file))
        finally:
            # What is open to us is open to SQL too.
            db.enable_load_extension(False)
    except (apsw.Error, AttributeError, OSError) as error:  # no attribute: an SQLite built without extensions
        raise ExtensionMissing(f"sqlite-vec does not load ({error})") from error
