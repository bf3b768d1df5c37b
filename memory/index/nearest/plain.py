"""Which texts are most alike, in nothing but Python: some 15 µs for a vector of 384 numbers."""

import heapq
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Literal

import apsw

from memory.embeddings.protocol import Vector
from memory.embeddings.vectors import numbers_of
from memory.index.nearest.rows import has_vectors, sized, vectors_of


class PlainNearest:
    """`Nearest` where there is neither sqlite-vec nor numpy."""

    name: Literal["plain"] = "plain"

    def __init__(self, *, reason: str = "") -> None:
        """`reason` says why it is not another one."""
        self.reason = reason

    def search(
        self, db: apsw.Connection, model: int, query: Vector, *, most: int, version: str
    ) -> list[tuple[int, float]]:
        """See `Nearest.search`."""
        if not has_vectors(db, model, query):
            return []
        asked = numbers_of(query)
        rows = db.execute(
            "SELECT text, embedding FROM vectors NOT INDEXED"
            " WHERE model = ? AND text NOT IN (SELECT id FROM texts WHERE uses = 0)",
            (model,),
        )
        cosines = ((_dot(asked, sized(embedding, len(query))), -text) for text, embedding in rows)
        return [(-text, cosine) for cosine, text in heapq.nlargest(most, cosines)]

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """See `Nearest.similarities`."""
        if not has_vectors(db, model, query):
            return {}
        asked = numbers_of(query)
        found = vectors_of(db, model, texts, size=len(query))
        return {text: _dot(asked, embedding) for text, embedding in found}


def _dot(asked: "array[float]", embedding: Vector) -> float:
    cosine: float = sum(map(mul, asked, numbers_of(embedding)))
    return cosine
