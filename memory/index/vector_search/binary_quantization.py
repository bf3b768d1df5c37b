"""Which texts are most alike, in a service: one bit a number in memory proposes, the stored vectors decide.

Bits stand word by word, so that 16,384 vectors are compared by one XOR and one count; what is left is a sort of
some hundred numbers. 100,000 vectors of 384 numbers are 4.8 MB of bits and 1.6 MB of ids. Few vectors are kept
in memory themselves, beside their bits.
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
"""Recall of the exact best among the candidates, measured on 15,278 real MiniLM vectors and 694 questions: 10 of
200 .993, 10 of 400 .999, 20 of 300 .991, 20 of 600 .999, 50 of 600 .992."""
FULL_RECALL_DIMENSIONS = 384
"""Fewer numbers are fewer bits, and tell less: so many times more candidates, which is as much to read."""
CANDIDATE_GROWTH_EXPONENT = 1 / 3
"""The power with which candidates grow beyond `BLOCK_VECTORS` vectors: among more of them, more lie close together."""
BLOCK_VECTORS = 16_384
"""Vectors compared at once: with 384 numbers each their bits fit the processor's cache; measured the quickest."""
ROWS_PER_READ = 512
"""So that of the vectors themselves no more than 3 MB (at 1,536 numbers) are in memory at once."""
MEAN_SAMPLE = 1024
"""How many vectors the mean is taken from: it is then some 3 % of a deviation off, which turns few bits."""
CACHED_VECTOR_BYTES = 16 << 20
"""So many bytes of a model's vectors are kept in memory, beside their bits: 10,000 of 384 numbers. To read 400
candidates from all over the file takes 0.4 to 0.7 ms, which is nothing at 100,000, but twice `M @ q` at 10,000."""
MIN_UNUSED_TO_DROP = 1024
"""Vectors of texts that no note uses are held while they are fewer than this, or than a quarter of all: each time that
a daily log is written on, its end has another vector, and that of before stays on disk alone."""
MEAN_REFRESH_FACTOR = 2
"""The mean is taken anew when there are so many times more vectors than it was taken from."""


class VectorBatch(NamedTuple):
    """Some vectors of a model, one each row, in the order of their ids."""

    ids: "NDArray[np.int64]"
    texts: "NDArray[np.int64]"
    signs: "NDArray[np.uint8]"
    """Whether each number is above the mean's: eight to a byte, the first one in the highest bit."""
    vectors: "NDArray[np.float32] | None"
    """Themselves, where they were read for it."""


class VectorRows(Protocol):
    """The vectors that are stored, at one moment. Their ids grow, and none is ever another vector's."""

    def count(self, model: int) -> int:
        """How many there are of a model."""
        ...

    def newest(self) -> int:
        """The highest id of all models; 0 where there is none."""
        ...

    def ids(self, model: int) -> "NDArray[np.int64]":
        """Those of a model, in order."""
        ...

    def unused(self) -> "NDArray[np.int64]":
        """The texts that no note uses."""
        ...

    def read(self, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
        """The vectors with these ids, in this order."""
        ...

    def read_between(
        self, model: int, after: int, last: int, *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """The vectors of a model with ids beyond the one, up to the other."""
        ...

    def reread(
        self, ids: "NDArray[np.int64]", texts: "NDArray[np.int64]", *, mean: "NDArray[np.float32]"
    ) -> "Iterator[VectorBatch]":
        """These vectors, of these texts."""
        ...


class BinaryVectorCache:
    """The signs of all vectors of each model, kept up to date. It belongs to one thread."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._identity = ""
        self._models: dict[int, BinaryVectors] = {}

    def of(self, rows: VectorRows, model: int, version: str, *, dimensions: int) -> "BinaryVectors":
        """Those of a model by now; `version` is as in `Nearest.search`."""
        identity = version.partition("/")[0]
        if identity != self._identity:
            self._models.clear()
            self._identity = identity
        bits = self._models.get(model)
        if bits and bits.version == version:
            return bits
        # Not remembered while it is being read: what fails half-way is begun again.
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
        """What it holds in memory between searches."""
        return sum(bits.memory_bytes() for bits in self._models.values())


class BinaryVectorSearcher:
    """`Nearest` that remembers the signs of all vectors, less their mean, and reads those of candidates."""

    name: Literal["numpy"] = "numpy"

    def __init__(self, *, reason: str = "") -> None:
        """Read nothing yet; `reason` says why it is not another one."""
        self.reason = reason
        self._signs = BinaryVectorCache()

    def search(
        self, db: apsw.Connection, model: int, query: Vector, *, most: int, version: str
    ) -> list[tuple[int, float]]:
        """See `Nearest.search`."""
        import numpy as np

        if most <= 0 or not has_vectors(db, model, query):
            return []
        asked = np.frombuffer(query, "<f4")
        rows = _FileVectorRows(db)
        bits = self._signs.of(rows, model, version, dimensions=len(asked))
        candidates = bits.candidates(asked, results=most)
        cosines = np.vecdot(bits.vectors(rows, candidates), asked)
        texts = bits.texts[candidates]
        best = np.lexsort((texts, -cosines))[:most]
        return list(zip(texts[best].tolist(), cosines[best].tolist(), strict=True))

    def similarities(
        self, db: apsw.Connection, model: int, query: Vector, texts: Sequence[int]
    ) -> dict[int, float]:
        """See `Nearest.similarities`."""
        import numpy as np

        if not has_vectors(db, model, query):
            return {}
        found = dict(read_vectors(db, model, texts, size=len(query)))
        asked = np.frombuffer(query, "<f4")
        vectors = np.frombuffer(b"".join(found.values()), "<f4").reshape(len(found), len(asked))
        return dict(zip(found, np.vecdot(vectors, asked).tolist(), strict=True))

    def memory_bytes(self) -> int:
        """What it holds in memory between searches."""
        return self._signs.memory_bytes()


class BinaryVectors:
    """The signs of one model's vectors less their mean, in the order of their rows."""

    def __init__(self, stored: VectorRows, model: int, *, dimensions: int) -> None:
        """Take the mean from some of them, and read none yet."""
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
        self._absent = np.empty((2, 0), np.int64)
        """Ids and texts of the vectors that are not held, since no note uses them."""
        ids = stored.ids(model)
        self._mean_of = len(ids)
        sample = ids[np.unique(np.linspace(0, len(ids) - 1, MEAN_SAMPLE).astype(np.intp))]
        self._mean: NDArray[np.float32] = stored.read(sample, dimensions=dimensions).mean(axis=0)

    def update_from(self, stored: VectorRows) -> None:
        """Add the vectors that came since the last time, and drop those that went."""
        newest = stored.newest()
        self._append_batches(stored.read_between(self._model, self._newest, newest, mean=self._mean))
        self._newest = newest
        if stored.count(self._model) != self._filled + self._absent.shape[1]:
            self._drop_deleted(stored)
        self._update_unused(stored)

    def _append_batches(self, pieces: "Iterable[VectorBatch]") -> None:
        """Add vectors, with them their signs."""
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
        back = ~np.isin(self._absent[1], unused)
        if back.any():
            rows, self._absent = self._absent[:, back], self._absent[:, ~back]
            self._append_batches(stored.reread(rows[0], rows[1], mean=self._mean))
        self._unused = np.flatnonzero(np.isin(self.texts, unused))
        if len(self._unused) > max(MIN_UNUSED_TO_DROP, self._filled // 4):
            leaving = np.stack((self.ids[self._unused], self.texts[self._unused]))
            self._absent = np.concatenate((self._absent, leaving), axis=1)
            self._keep_only(~np.isin(np.arange(self._filled), self._unused))
            self._unused = np.empty(0, np.intp)

    def is_outdated(self) -> bool:
        """Whether the mean is of too few of them."""
        return self._filled > MEAN_REFRESH_FACTOR * self._mean_of

    def _drop_deleted(self, stored: VectorRows) -> None:
        import numpy as np

        there = stored.ids(self._model)
        self._absent = self._absent[:, np.isin(self._absent[0], there)]
        self._keep_only(np.isin(self.ids, there))

    def _keep_only(self, staying: "NDArray[np.bool_]") -> None:
        blocks, self._blocks, self._filled = self._blocks, [], 0
        for number, block in enumerate(blocks):
            here = staying[number * BLOCK_VECTORS : (number + 1) * BLOCK_VECTORS]
            self._append(block[:, : len(here)][:, here])
        self.ids, self.texts = self.ids[staying], self.texts[staying]
        if self._kept is not None:
            self._kept = self._kept[staying]

    def candidates(
        self, asked: "NDArray[np.float32]", *, results: int, crowding: float = CANDIDATE_GROWTH_EXPONENT
    ) -> "NDArray[np.intp]":
        """Places of those in use whose bits differ least, in the order of their rows: enough for `results`."""
        import numpy as np

        most = _count_candidates(results, dimensions=self._dimensions, count=self._filled, crowding=crowding)
        if self._filled - len(self._unused) <= most:
            return np.delete(np.arange(self._filled), self._unused)
        pattern = self._pack_words(quantize(asked[None, :], self._mean))
        differing = np.empty(self._filled, np.uint16)
        for start, block in zip(range(0, self._filled, BLOCK_VECTORS), self._blocks, strict=True):
            here = differing[start : start + BLOCK_VECTORS]
            np.bitwise_count(block[:, : len(here)] ^ pattern).sum(axis=0, dtype=np.uint16, out=here)
        differing[self._unused] = self._dimensions + 1
        # Counted, not partitioned: as quick, and of equals the first are taken, always the same ones.
        last = int(np.searchsorted(np.cumsum(np.bincount(differing)), most))
        sure, equal = np.flatnonzero(differing < last), np.flatnonzero(differing == last)
        found = np.concatenate((sure, equal[: most - len(sure)]))
        found.sort()  # neighbours in the file are read one after the other
        return found

    def vectors(self, stored: VectorRows, places: "NDArray[np.intp]") -> "NDArray[np.float32]":
        """The vectors themselves, one a row."""
        if self._kept is not None:
            return self._kept[places]
        return stored.read(self.ids[places], dimensions=self._dimensions)

    def memory_bytes(self) -> int:
        """What it holds in memory between searches."""
        others = self.ids.nbytes + self.texts.nbytes + self._unused.nbytes + self._mean.nbytes
        others += self._absent.nbytes
        kept = 0 if self._kept is None else self._kept.nbytes
        return sum(block.nbytes for block in self._blocks) + others + kept

    def _pack_words(self, signs: "NDArray[np.uint8]") -> "NDArray[np.uint64]":
        """One column a vector, one row for each 64 of its numbers."""
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
    """As in `VectorBatch`."""
    import numpy as np

    return np.packbits(vectors > mean, axis=1)


def _count_candidates(results: int, *, dimensions: int, count: int, crowding: float) -> int:
    wanted = MIN_CANDIDATES + CANDIDATES_PER_RESULT * results
    return int(
        wanted * max(1, FULL_RECALL_DIMENSIONS / dimensions) * max(1, count / BLOCK_VECTORS) ** crowding
    )


class _FileVectorRows:
    """`VectorRows` of an index's file."""

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
        """See `VectorRows.between`."""
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
        """See `VectorRows.again`."""
        for at in range(0, len(ids), ROWS_PER_READ):
            some = slice(at, at + ROWS_PER_READ)
            vectors = self.read(ids[some], dimensions=len(mean))
            yield VectorBatch(ids[some], texts[some], quantize(vectors, mean), vectors)


def _to_array(rows: Iterable[tuple[int]]) -> "NDArray[np.int64]":
    import numpy as np

    return np.fromiter(chain.from_iterable(rows), np.int64)


def _read_vectors(db: apsw.Connection, ids: "NDArray[np.int64]", *, dimensions: int) -> "NDArray[np.float32]":
    """The vectors in these rows.

    By blob I/O, straight to where they are wanted: as quick as the quickest statement (a join with `carray`,
    which an SQLite of the system may lack), and 1.4 times as quick as one with `json_each`.
    """
    import numpy as np

    vectors = np.empty((len(ids), dimensions), "<f4")
    rows: list[int] = ids.tolist()
    if not rows:
        return vectors
    try:
        # Not `with blob`: it complains where a row that is gone has closed the blob already.
        with closing(db.blob_open("main", "vectors", "embedding", rows[0], False)) as blob:
            for place, row in enumerate(rows):
                if place:
                    blob.reopen(row)
                if blob.length() != dimensions * BYTES_PER_NUMBER:
                    raise IndexCorrupted("the index is damaged (vectors of one model differ in length)")
                blob.read_into(vectors[place])
    except apsw.SQLError as error:
        raise IndexCorrupted(f"the index is damaged ({error})") from error
    return vectors
