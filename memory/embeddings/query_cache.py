"""Vectors of recent queries, so that repeating one costs no request. Kept in memory only."""

from collections import OrderedDict
from hashlib import sha256

from memory.embeddings.protocol import ModelId, Vector

MAX_CACHED_QUERIES = 1000


class QueryCache:
    """The last `max_queries` queries by model and text; only a digest of the text is kept."""

    def __init__(self, max_queries: int = MAX_CACHED_QUERIES) -> None:
        self._max_queries = max_queries
        self._vectors: OrderedDict[tuple[ModelId, bytes], Vector] = OrderedDict()

    def __len__(self) -> int:
        return len(self._vectors)

    def get(self, model: ModelId, query: str) -> Vector | None:
        """Return the query's vector of exactly this model; None if there is none."""
        key = (model, _digest(query))
        vector = self._vectors.get(key)
        if vector is not None:
            self._vectors.move_to_end(key)
        return vector

    def put(self, model: ModelId, query: str, vector: Vector) -> None:
        """Store a vector, replacing the least recently used one if the cache is full."""
        self._vectors[model, _digest(query)] = vector
        if len(self._vectors) > self._max_queries:
            self._vectors.popitem(last=False)

    def clear(self) -> None:
        """Delete all vectors."""
        self._vectors.clear()


def _digest(query: str) -> bytes:
    return sha256(query.encode("utf-8", "surrogatepass")).digest()
