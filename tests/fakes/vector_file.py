"""A file with the two tables of vector search, filled and changed by the test itself."""

import json
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, uses INTEGER NOT NULL, unused_since INTEGER
);
CREATE INDEX IF NOT EXISTS texts_unused ON texts (unused_since) WHERE uses = 0;
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, text INTEGER NOT NULL, embedding BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS vector_of_text ON vectors (model, text);
"""


def unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype("<f4")


def random_vectors(count: int, dimensions: int, *, seed: int = 0) -> Vectors:
    """Return vectors distributed evenly in every direction."""
    return unit(np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32))


def clustered_vectors(count: int, dimensions: int, *, seed: int = 0) -> Vectors:
    """Return vectors like those of models: biased to one side, a few dominant directions, clustered by topic."""
    rng = np.random.default_rng(seed)
    spread = (np.arange(1, dimensions + 1) ** -0.4).astype(np.float32)
    topics = rng.standard_normal((max(1, count // 40), dimensions), dtype=np.float32) * spread
    lean = 0.8 * rng.standard_normal(dimensions, dtype=np.float32) * spread
    own = rng.standard_normal((count, dimensions), dtype=np.float32) * spread
    return unit(lean + topics[rng.integers(len(topics), size=count)] + 0.8 * own)


class VectorFile:
    """The tables in a file, and their `version`."""

    def __init__(self, path: Path | str, *, version: str = "first/0") -> None:
        self.db = apsw.Connection(str(path))
        self.db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        self.db.execute(SCHEMA)
        self.version = version

    def add(self, vectors: Vectors, *, model: int = 1) -> list[int]:
        """Add new texts with one vector each; return their ids."""
        self._change()
        with self.db:
            texts = [self._text() for _ in vectors]
            self.add_for(texts, vectors, model=model)
        return texts

    def add_for(self, texts: Sequence[int], vectors: Vectors, *, model: int = 1) -> None:
        self._change()
        rows = [(model, text, vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)]
        with self.db:
            self.db.executemany("INSERT INTO vectors (model, text, embedding) VALUES (?, ?, ?)", rows)

    def use(self, texts: Sequence[int], uses: int) -> None:
        self._change()
        with self.db:
            self.db.executemany("UPDATE texts SET uses = ? WHERE id = ?", [(uses, text) for text in texts])

    def remove(self, texts: Sequence[int]) -> None:
        """Remove texts with their vectors."""
        self._change()
        gone = json.dumps(list(texts))
        with self.db:
            self.db.execute("DELETE FROM texts WHERE id IN (SELECT value FROM json_each(?))", (gone,))
            self.db.execute("DELETE FROM vectors WHERE text IN (SELECT value FROM json_each(?))", (gone,))

    def _text(self) -> int:
        self.db.execute("INSERT INTO texts (digest, uses) VALUES (randomblob(32), 1)")
        return self.db.last_insert_rowid()

    def _change(self) -> None:
        identity, _, changes = self.version.partition("/")
        self.version = f"{identity}/{int(changes) + 1}"
