"""Vector search for a service: one bit per number in memory selects candidates, exact vectors rank them.

Bits are stored word by word, so that 16,384 vectors are compared by one XOR and one bit count; the rest is
sorting a few hundred numbers. 100,000 vectors of 384 dimensions take 4.8 MB of bits and 1.6 MB of ids. A
small number of vectors is cached whole. With very many long vectors, the first 512 bits are compared, then the
rest of those that differ least so far.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import apsw

from memory.embeddings.protocol import Vector
from memory.embeddings.unit_vectors import BYTES_PER_NUMBER
from memory.errors import IndexCorrupted
from memory.index.vector_search.rows import check_vector_size, has_vectors, read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_CANDIDATES = 200
CANDIDATES_PER_RESULT = 20
"""Measured recall of the exact best, on 15,278 real MiniLM vectors and 694 queries:

10 of 200 candidates .993, 10 of 400 .999, 20 of 300 .991, 20 of 600 .999, 50 of 600 .992.
"""
FULL_RECALL_DIMENSIONS = 384
"""With fewer dimensions there are fewer bits, so proportionally more candidates are read, which costs the same."""
CANDIDATE_GROWTH_EXPONENT = 1 / 3
"""Exponent with which candidates grow beyond `BLOCK_VECTORS` vectors, since more of them lie close together."""
BLOCK_VECTORS = 16_384
"""Vectors compared at once.

With 384 dimensions their bits fit the processor's cache; measured to be the fastest.
"""
MIN_PREFIX_VECTORS = 16 * BLOCK_VECTORS
MIN_PREFIX_DIMENSIONS = 1024
"""From so many vectors with so many numbers on, a prefix of the bits is compared first, then the rest of the closest.

Comparing all bits of fewer vectors takes 6 ms. For a million with 1,536 dimensions it takes 25 ms, or
13 ms with a prefix.
With so many bits, the number of candidates no longer has to grow with the number of vectors either: a thousand of a
million contain .998 to 1 of the exact ten best in three synthetic sets.
"""
PREFIX_WORDS = 8
"""Words of 64 bits compared first, in the order of the dimensions.

Neither sorting the dimensions by variance nor rotating the vectors at random helped with all sets of real vectors.
"""
PREFIX_CANDIDATES_PER_CANDIDATE = 8
"""Vectors selected by their prefix, per candidate.

With a third of the bits as prefix, recall of the exact ten best among 20,801 real MiniLM vectors falls from .997 to
.995; of a million synthetic ones from 1 to .998.
"""
MIN_VECTORS_PER_PREFIX_CANDIDATE = 8
"""If many results are wanted, all bits are compared: reading the rest for one vector in eight takes as long."""
ROWS_PER_READ = 512
"""Limits the float32 vectors in memory to 3 MB at 1,536 dimensions."""
MEAN_SAMPLE = 1024
"""Vectors that the mean is computed from; it is then off by some 3 % of a deviation, which flips few bits."""
CACHED_VECTOR_BYTES = 16 << 20
"""Maximum bytes of a model's vectors cached beside their bits: 10,000 vectors of 384 dimensions.

Reading 400 candidates spread over the file takes 0.4 to 0.7 ms, which is little at 100,000 vectors, but twice
`M @ q` at 10,000.
"""
MIN_UNUSED_TO_DROP = 256
"""Vectors of unused texts are held while they are fewer than this, or than an eighth of all.

Each time a daily log grows, its last segment gets a new vector, and the previous one is no longer used.
"""
MEAN_REFRESH_FACTOR = 2
"""The mean is recomputed when there are this many times more vectors than it was computed from."""


class VectorBatch(NamedTuple):
    """Vectors of a model, one per row, in the order of their ids."""

    ids: "NDArray[np.int64]"
    texts: "NDArray[np.int64]"
    signs: "NDArray[np.uint8]"
    """uint8, (n, dimensions / 8 rounded up): a bit is set if its number is above the mean; highest bit first."""
    vectors: "NDArray[np.float32] | None"
    """float32, (n, dimensions); None if they were not read."""


class VectorRows(Protocol):
    """The stored vectors at one moment. Ids only grow and are never reused."""

    def count(self, model: int) -> int:
        """Return how many vectors a model has."""
        ...

    def newest(self) -> int:
        """Return the highest id of all models; 0 if there is none."""
        ...

    def ids(self, model: int) -> "NDArray[np.int64]":
        """Return a model's ids in order: int64, (n,)."""
        ...

    def unused(self) -> "NDArray[np.int64]":
        """Return the ids of texts that no note uses: int64, (n,)."""
        ...

    def read(self, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
        """Return the vectors with these ids, in this order: float32, (n, dimensions)."""
        ...

    def read_between(
        self, model: int, after: int, last: int, *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """Yield a model's vectors with ids above `after`, up to `last`."""
        ...

    def reread(
        self, ids: "NDArray[np.int64]", texts: "NDArray[np.int64]", *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """Yield the vectors with these ids, of these texts."""
        ...


class BinaryVectorCache:
    """The quantized vectors of each model, kept up to date. It belongs to one thread."""

    def __init__(self) -> None:
        """Start empty."""
        self._identity = ""
        self._models: dict[int, BinaryVectors] = {}

    def of(self, rows: VectorRows, model: int, version: str, *, dimensions: int) -> "BinaryVectors":
        """Return a model's quantized vectors, updated; for `version` see `VectorSearcher.search`."""
        identity = version.partition("/")[0]
        if identity != self._identity:
            self._models.clear()
            self._identity = identity
        bits = self._models.get(model)
        if bits and bits.version == version:
            return bits
        # Not cached while it is being read, so that a failed read starts over.
        self._models.pop(model, None)
        if bits:
            bits.update_from(rows)
        if not bits or bits.is_outdated():
            bits = BinaryVectors(rows, model, dimensions=dimensions)
            bits.update_from(rows)
        bits.version = version
        self._models[model] = bits
        return bits

    def memory_bytes(self) -> int:
        """Return the bytes held between searches."""
        return sum(bits.memory_bytes() for bits in self._models.values())


class BinaryVectorSearcher:
    """`VectorSearcher` that holds all vectors as bits and reads exact vectors for the candidates."""

    name: Literal["numpy"] = "numpy"

    def __init__(self, *, reason: str = "") -> None:
        """Read nothing yet; `reason` says why the other searcher is not used."""
        self.reason = reason
        self._signs = BinaryVectorCache()

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
        import numpy as np

        if limit <= 0 or not has_vectors(db, model, query):
            return []
        asked = np.frombuffer(query, "<f4")
        rows = _FileVectorRows(db)
        bits = self._signs.of(rows, model, version, dimensions=len(asked))
        candidates = bits.candidates(asked, results=limit, among=among)
        cosines = np.vecdot(bits.vectors(rows, candidates), asked)
        texts = bits.texts[candidates]
        best = np.lexsort((texts, -cosines))[:limit]
        return list(zip(texts[best].tolist(), cosines[best].tolist(), strict=True))

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """See `VectorSearcher.similarities`."""
        import numpy as np

        if not has_vectors(db, model, query):
            return {}
        found = dict(read_vectors(db, model, texts, size=len(query)))
        asked = np.frombuffer(query, "<f4")
        vectors = np.frombuffer(b"".join(found.values()), "<f4").reshape(len(found), len(asked))
        return dict(zip(found, np.vecdot(vectors, asked).tolist(), strict=True))

    def memory_bytes(self) -> int:
        """Return the bytes held between searches."""
        return self._signs.memory_bytes()


class BinaryVectors:
    """One model's vectors as bits, after subtracting their mean, in the order of their rows."""

    def __init__(self, stored: VectorRows, model: int, *, dimensions: int) -> None:
        """Compute the mean from a sample; read no bits yet."""
        import numpy as np

        self.version = ""
        self.ids = np.empty(0, np.int64)
        self.texts = np.empty(0, np.int64)
        self._model = model
        self._dimensions = dimensions
        self._size = dimensions * BYTES_PER_NUMBER
        self._blocks: list[NDArray[np.uint64]] = []
        self._filled = 0
        self._kept: NDArray[np.float32] | None = np.empty((0, dimensions), "<f4")
        self._newest = 0
        self._unused: NDArray[np.intp] = np.empty(0, np.intp)
        self._dropped = np.empty((2, 0), np.int64)
        """int64, (2, n): ids and texts of vectors that are not held, since no note uses them."""
        ids = stored.ids(model)
        self._mean_count = len(ids)
        sample = ids[np.unique(np.linspace(0, len(ids) - 1, MEAN_SAMPLE).astype(np.intp))]
        self._mean: NDArray[np.float32] = stored.read(sample, dimensions=dimensions).mean(axis=0)

    def update_from(self, stored: VectorRows) -> None:
        """Add new vectors and drop deleted ones."""
        newest = stored.newest()
        self._append_batches(stored.read_between(self._model, self._newest, newest, mean=self._mean))
        self._newest = newest
        if stored.count(self._model) != self._filled + self._dropped.shape[1]:
            self._drop_deleted(stored)
        self._update_unused(stored)

    def _append_batches(self, pieces: "Iterable[VectorBatch]") -> None:
        """Add the batches' bits and, if cached, their vectors."""
        import numpy as np

        ids, texts = [self.ids], [self.texts]
        kept = [] if self._kept is None else [self._kept]
        for piece in pieces:
            self._append(self._pack_words(piece.signs))
            if kept and piece.vectors is not None:
                kept = [*kept, piece.vectors] if self._filled * self._size <= CACHED_VECTOR_BYTES else []
            else:
                kept = []
            ids.append(piece.ids)
            texts.append(piece.texts)
        if len(ids) > 1:
            self.ids, self.texts = np.concatenate(ids), np.concatenate(texts)
            self._kept = np.concatenate(kept) if kept else None

    def _update_unused(self, stored: VectorRows) -> None:
        import numpy as np

        unused = stored.unused()
        back = ~np.isin(self._dropped[1], unused)
        if back.any():
            rows, self._dropped = self._dropped[:, back], self._dropped[:, ~back]
            self._append_batches(stored.reread(rows[0], rows[1], mean=self._mean))
        self._unused = np.flatnonzero(np.isin(self.texts, unused))
        if len(self._unused) > max(MIN_UNUSED_TO_DROP, self._filled // 8):
            leaving = np.stack((self.ids[self._unused], self.texts[self._unused]))
            self._dropped = np.concatenate((self._dropped, leaving), axis=1)
            self._keep_only(~np.isin(np.arange(self._filled), self._unused))
            self._unused = np.empty(0, np.intp)

    def is_outdated(self) -> bool:
        """Return whether the mean was computed from too few vectors."""
        return self._filled > MEAN_REFRESH_FACTOR * self._mean_count

    def _drop_deleted(self, stored: VectorRows) -> None:
        import numpy as np

        there = stored.ids(self._model)
        self._dropped = self._dropped[:, np.isin(self._dropped[0], there)]
        self._keep_only(np.isin(self.ids, there))

    def _keep_only(self, staying: "NDArray[np.bool_]") -> None:
        blocks, self._blocks, self._filled = self._blocks, [], 0
        for start in range(0, len(staying), BLOCK_VECTORS):
            here = staying[start : start + BLOCK_VECTORS]
            block = blocks.pop(0)  # its memory is free before the next one is copied
            self._append(block[:, : len(here)][:, here])
        self.ids, self.texts = self.ids[staying], self.texts[staying]
        if self._kept is not None:
            self._kept = self._kept[staying]

    def candidates(
        self,
        asked: "NDArray[np.float32]",
        *,
        results: int,
        crowding: float = CANDIDATE_GROWTH_EXPONENT,
        among: Sequence[int] | None = None,
    ) -> "NDArray[np.intp]":
        """Return positions of the used vectors whose bits differ least, in row order; enough for `results`.

        `asked`: float32, (dimensions,). `crowding` is the exponent of growth. `among`: only the vectors of
        these texts. Returns intp, (n,).
        """
        import numpy as np

        excluded = self._unused if among is None else np.flatnonzero(~np.isin(self.texts, among))
        included = self._filled - len(excluded)
        prefix_first = self._dimensions >= MIN_PREFIX_DIMENSIONS and self._filled >= MIN_PREFIX_VECTORS
        most = _count_candidates(
            results,
            dimensions=self._dimensions,
            count=min(included, MIN_PREFIX_VECTORS) if prefix_first else included,
            crowding=crowding,
        )
        if included <= most:
            return np.delete(np.arange(self._filled), excluded)
        pattern = self._pack_words(quantize(asked[None, :], self._mean))
        selected = PREFIX_CANDIDATES_PER_CANDIDATE * most
        if not prefix_first or selected > self._filled // MIN_VECTORS_PER_PREFIX_CANDIDATE:
            return _lowest(self._count_differing(pattern, excluded), most)
        differing = self._count_differing(pattern[:PREFIX_WORDS], excluded)
        places = _lowest(differing, selected)
        differing = differing[places] + self._count_rest(places, pattern[PREFIX_WORDS:])
        return places[_lowest(differing, most)]

    def _count_differing(
        self, pattern: "NDArray[np.uint64]", excluded: "NDArray[np.intp]"
    ) -> "NDArray[np.uint16]":
        """Count each vector's bits that differ from `pattern`, its first words; those at `excluded` come last."""
        import numpy as np

        differing = np.empty(self._filled, np.uint16)
        for start, block in zip(range(0, self._filled, BLOCK_VECTORS), self._blocks, strict=True):
            here = differing[start : start + BLOCK_VECTORS]
            words = block[: len(pattern), : len(here)]
            np.bitwise_count(words ^ pattern).sum(axis=0, dtype=np.uint16, out=here)
        differing[excluded] = self._dimensions + 1
        return differing

    def _count_rest(self, places: "NDArray[np.intp]", pattern: "NDArray[np.uint64]") -> "NDArray[np.uint16]":
        """Count the bits of the vectors at `places`, in order, that differ from `pattern`, their last words."""
        import numpy as np

        differing = np.empty(len(places), np.uint16)
        edges = np.searchsorted(places, np.arange(len(self._blocks) + 1) * BLOCK_VECTORS)
        for number, block in enumerate(self._blocks):
            some = slice(edges[number], edges[number + 1])
            words = block[-len(pattern) :, places[some] - number * BLOCK_VECTORS]
            np.bitwise_count(words ^ pattern).sum(axis=0, dtype=np.uint16, out=differing[some])
        return differing

    def vectors(self, stored: VectorRows, places: "NDArray[np.intp]") -> "NDArray[np.float32]":
        """Return the vectors at these positions: float32, (n, dimensions)."""
        if self._kept is not None:
            return self._kept[places]
        return stored.read(self.ids[places], dimensions=self._dimensions)

    def memory_bytes(self) -> int:
        """Return the bytes held between searches."""
        others = self.ids.nbytes + self.texts.nbytes + self._unused.nbytes + self._mean.nbytes
        others += self._dropped.nbytes
        kept = 0 if self._kept is None else self._kept.nbytes
        return sum(block.nbytes for block in self._blocks) + others + kept

    def _pack_words(self, signs: "NDArray[np.uint8]") -> "NDArray[np.uint64]":
        """Pack bits into uint64, (dimensions / 64 rounded up, n): one column per vector."""
        import numpy as np

        words = -(-self._dimensions // 64)
        packed = np.zeros((len(signs), words * 8), np.uint8)
        packed[:, : signs.shape[1]] = signs
        return packed.view(np.uint64).T

    def _append(self, columns: "NDArray[np.uint64]") -> None:
        import numpy as np

        done = 0
        while done < columns.shape[1]:
            place = self._filled % BLOCK_VECTORS
            if not place:
                self._blocks.append(np.empty((len(columns), BLOCK_VECTORS), np.uint64))
            fitting = min(BLOCK_VECTORS - place, columns.shape[1] - done)
            self._blocks[-1][:, place : place + fitting] = columns[:, done : done + fitting]
            done += fitting
            self._filled += fitting


def quantize(vectors: "NDArray[np.float32]", mean: "NDArray[np.float32]") -> "NDArray[np.uint8]":
    """Return the bits of `VectorBatch.signs`.

    `vectors`: float32, (n, dimensions); `mean`: float32, (dimensions,).
    """
    import numpy as np

    return np.packbits(vectors > mean, axis=1)


def _lowest(numbers: "NDArray[np.uint16]", count: int) -> "NDArray[np.intp]":
    """Return the positions of the `count` lowest numbers, in order; of equal ones the first."""
    import numpy as np

    # As fast as partitioning, and ties are always resolved the same way.
    last = int(np.searchsorted(np.cumsum(np.bincount(numbers)), count))
    sure, equal = np.flatnonzero(numbers < last), np.flatnonzero(numbers == last)
    found = np.concatenate((sure, equal[: count - len(sure)]))
    found.sort()  # so that adjacent rows of the file are read one after the other
    return found


def _count_candidates(results: int, *, dimensions: int, count: int, crowding: float) -> int:
    wanted = MIN_CANDIDATES + CANDIDATES_PER_RESULT * results
    return int(
        wanted * max(1, FULL_RECALL_DIMENSIONS / dimensions) * max(1, count / BLOCK_VECTORS) ** crowding
    )


class _FileVectorRows:
    """`VectorRows` of an index file."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def count(self, model: int) -> int:
        """See `VectorRows.count`."""
        [(count,)] = self._db.execute("SELECT count(*) FROM vectors WHERE model = ?", (model,))
        return int(count)

    def newest(self) -> int:
        """See `VectorRows.newest`."""
        [(newest,)] = self._db.execute("SELECT coalesce(max(id), 0) FROM vectors")
        return int(newest)

    def ids(self, model: int) -> "NDArray[np.int64]":
        """See `VectorRows.ids`."""
        ids = _to_array(self._db.execute("SELECT id FROM vectors WHERE model = ?", (model,)))
        ids.sort()
        return ids

    def unused(self) -> "NDArray[np.int64]":
        """See `VectorRows.unused`."""
        return _to_array(self._db.execute("SELECT id FROM texts WHERE uses = 0"))

    def read(self, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
        """See `VectorRows.read`."""
        return _read_vectors(self._db, ids, dimensions=dimensions)

    def read_between(
        self, model: int, after: int, last: int, *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """See `VectorRows.read_between`."""
        import numpy as np

        rows = self._db.execute(
            "SELECT id, text, embedding FROM vectors NOT INDEXED"
            " WHERE id > ? AND id <= ? AND model = ? ORDER BY id",
            (after, last, model),
        )
        size = len(mean) * BYTES_PER_NUMBER
        while some := list(islice(rows, ROWS_PER_READ)):
            joined = b"".join(check_vector_size(each, size) for _, _, each in some)
            vectors = np.frombuffer(joined, "<f4").reshape(-1, len(mean))
            ids, texts = (np.array([row[at] for row in some], np.int64) for at in (0, 1))
            yield VectorBatch(ids, texts, quantize(vectors, mean), vectors)

    def reread(
        self, ids: "NDArray[np.int64]", texts: "NDArray[np.int64]", *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """See `VectorRows.reread`."""
        for at in range(0, len(ids), ROWS_PER_READ):
            some = slice(at, at + ROWS_PER_READ)
            vectors = self.read(ids[some], dimensions=len(mean))
            yield VectorBatch(ids[some], texts[some], quantize(vectors, mean), vectors)


def _to_array(rows: Iterable[tuple[int]]) -> "NDArray[np.int64]":
    import numpy as np

    return np.fromiter(chain.from_iterable(rows), np.int64)


def _read_vectors(db: apsw.Connection, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
    """Return the vectors in these rows: float32, (n, dimensions). Raises `IndexCorrupted`.

    Blob I/O writes straight into the array: as fast as the fastest statement (a join with `carray`, which a
    system's SQLite may lack), and 1.4 times as fast as one with `json_each`.
    """
    import numpy as np

    vectors = np.empty((len(ids), dimensions), "<f4")
    rows: list[int] = ids.tolist()
    if not rows:
        return vectors
    try:
        # Not `with blob`, which complains if a deleted row has already closed the blob.
        with closing(db.blob_open("main", "vectors", "embedding", rows[0], False)) as blob:
            for place, row in enumerate(rows):
                if place:
                    blob.reopen(row)
                if blob.length() != dimensions * BYTES_PER_NUMBER:
                    raise IndexCorrupted("the index is damaged (vectors of one model differ in length)")
                blob.read_into(vectors[place])
    except apsw.SQLError as error:
        raise IndexCorrupted("the index is damaged ({error})", error=error) from error
    return vectors
