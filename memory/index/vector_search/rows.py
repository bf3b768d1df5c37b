"""Read the stored vectors from an index file."""

import json
from collections.abc import Iterator, Sequence

import apsw

from memory.embeddings.protocol import Vector
from memory.errors import IndexCorrupted


def has_vectors(db: apsw.Connection, model: int, query: Vector) -> bool:
    """Return whether the model has vectors to compare; raise `IndexCorrupted` if their length is not `query`'s."""
    row = db.execute("SELECT length(embedding) FROM vectors WHERE model = ? LIMIT 1", (model,)).fetchone()
    if not row:
        return False
    if row[0] != len(query):
        raise IndexCorrupted("the index is damaged (vectors of one model differ in length)")
    return True


def read_vectors(
    db: apsw.Connection, model: int, texts: Sequence[int], *, size: int
) -> Iterator[tuple[int, Vector]]:
    """Yield (text id, vector of `size` bytes), in no order; texts without a vector are left out."""
    rows = db.execute(
        "SELECT text, embedding FROM json_each(?) CROSS JOIN vectors ON text = value WHERE model = ?",
        (json.dumps(list(texts)), model),
    )
    for text, embedding in rows:
        yield text, check_vector_size(embedding, size)


def check_vector_size(embedding: object, size: int) -> Vector:
    """Return `embedding` if it is a vector of `size` bytes; raise `IndexCorrupted` otherwise."""
    if not isinstance(embedding, bytes) or len(embedding) != size:
        raise IndexCorrupted("the index is damaged (vectors of one model differ in length)")
    return embedding
