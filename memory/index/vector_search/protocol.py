"""What looks for alike texts is to the index: a question's vector goes in, texts and cosines come out."""

from collections.abc import Sequence
from typing import Literal, Protocol

import apsw

from memory.embeddings.protocol import Vector


class VectorSearcher(Protocol):
    """Compares a vector with those in the index's file.

    It belongs to one thread, and is called within a transaction on `db` with the tables `texts (id, uses)` and
    `vectors (id, model, text, embedding)`: row ids of vectors are never used twice, embeddings never change,
    and all of a model have one length. Every way gives the same texts, but for what rounding to float32 does
    to cosines that are equal in five places, and for the few that `sign_bits` overlooks.
    """

    @property
    def name(self) -> Literal["sqlite-vec", "numpy"]:
        """What it is built on, as status shows it."""
        ...

    @property
    def reason(self) -> str:
        """Why it is this one where another had been better; empty where none had."""
        ...

    def search(
        self, db: apsw.Connection, model: int, query: Vector, *, most: int, version: str
    ) -> list[tuple[int, float]]:
        """The `most` texts in use whose vectors are most alike: (text id, cosine), best first, equals by id.

        `version` is the file's identity, a slash, and what changes with every change of the file by anybody:
        what was remembered of another identity is dropped, what was remembered of the same version still
        holds. Raises `IndexBroken` where the vectors of the model are not as long as the query.
        """
        ...

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """Cosines of these texts, in use or not; those without a vector are left out. Raises as `search`."""
        ...
