"""The interface between index and vector search: a query's vector goes in, text ids and cosines come out."""

from collections.abc import Sequence
from typing import Literal, Protocol

import apsw

from memory.embeddings.protocol import Vector


class VectorSearcher(Protocol):
    """Compares a vector with those in the index file.

    It belongs to one thread, and is called within a transaction on `db` with the tables `texts (id, uses)`
    and `vectors (id, model, text, embedding)`: row ids of vectors are never reused, embeddings never change,
    and all of a model have the same length. All implementations return the same texts, except for rounding to
    float32 when cosines agree to five digits, and for the few that `binary_quantization` misses.
    """

    @property
    def name(self) -> Literal["sqlite-vec", "numpy"]:
        """Return the library's name, as status shows it."""
        ...

    @property
    def reason(self) -> str:
        """Return why a better searcher is not used; empty if this is the best one."""
        ...

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
        """Return the `limit` most similar texts in use: (text id, cosine), best first, ties by id.

        With `among`, only these texts are compared; they are distinct and in use.

        `version` is the file's identity, a slash, and an id of its state: a cache of another identity is
        dropped, one of the same version is still valid. Raises `IndexCorrupted` if the model's vectors are
        not as long as the query.
        """
        ...

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """Return the cosines of these texts, used or not; texts without a vector are left out.

        Raises as `search`.
        """
        ...
