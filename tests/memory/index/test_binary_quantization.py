"""Recall, memory and reads of binary quantization."""

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import numpy as np
import pytest

from memory.index.vector_search import binary_quantization
from memory.index.vector_search.binary_quantization import (
    BLOCK_VECTORS,
    CACHED_VECTOR_BYTES,
    BinaryVectorSearcher,
)
from tests.fakes.vector_file import VectorFile, Vectors, clustered_vectors, random_vectors, unit


@pytest.fixture
def file(tmp_path: Path) -> Iterator[VectorFile]:
    opened = VectorFile(tmp_path / "index.db")
    yield opened
    opened.db.close()


def search(searcher: BinaryVectorSearcher, file: VectorFile, query: Vectors, *, limit: int = 10) -> list[int]:
    with file.db:
        found = searcher.search(file.db, 1, query.tobytes(), limit=limit, version=file.version)
    return [text for text, _ in found]


def recall(
    searcher: BinaryVectorSearcher, file: VectorFile, vectors: Vectors, queries: Vectors, limit: int
) -> float:
    """Return the recall; row n of `vectors` has the text n + 1."""
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :limit] + 1
    hits = [
        len({*search(searcher, file, query, limit=limit)} & {*best.tolist()})
        for query, best in zip(queries, exact, strict=True)
    ]
    return sum(hits) / (limit * len(queries))


@pytest.mark.thorough
def test_recall_is_nearly_complete(file: VectorFile) -> None:
    vectors = clustered_vectors(BLOCK_VECTORS + 3000, 384)
    file.add(vectors)
    queries = unit(vectors[::700] + 0.05 * random_vectors(len(vectors[::700]), 384, seed=3))
    nearest = BinaryVectorSearcher()
    for most in (1, 10, 30):
        assert recall(nearest, file, vectors, queries, most) >= 0.99, most


@pytest.mark.thorough
def test_recall_stays_the_same_with_incremental_updates(file: VectorFile) -> None:
    """Across the border of a block, and with the mean recomputed in between."""
    vectors = clustered_vectors(BLOCK_VECTORS + 3000, 384)
    nearest = BinaryVectorSearcher()
    edges = [
        0,
        1,
        5,
        300,
        4000,
        BLOCK_VECTORS - 100,
        BLOCK_VECTORS - 99,
        BLOCK_VECTORS,
        BLOCK_VECTORS + 700,
        len(vectors),
    ]
    for start, end in pairwise(edges):
        file.add(vectors[start:end])
        assert search(nearest, file, vectors[end - 1], limit=1) == [end]
    assert recall(nearest, file, vectors, vectors[::900], 10) >= 0.99


@pytest.mark.thorough
def test_vectors_left_after_many_deletions_are_found(file: VectorFile) -> None:
    vectors = clustered_vectors(BLOCK_VECTORS + 3000, 64)
    texts = file.add(vectors)
    nearest = BinaryVectorSearcher()
    search(nearest, file, vectors[0])
    held = nearest.memory_bytes()
    file.remove([text for text in texts if text % 20])
    left = [text for text in texts if not text % 20]
    for text in left[::50]:
        assert search(nearest, file, vectors[text - 1], limit=1) == [text]
    assert nearest.memory_bytes() < held / 1.5


def test_unused_vectors_are_dropped_and_return_when_used_again(file: VectorFile) -> None:
    vectors = clustered_vectors(6000, 64)
    texts = file.add(vectors)
    nearest = BinaryVectorSearcher()
    search(nearest, file, vectors[0])
    held = nearest.memory_bytes()
    left, unused = texts[::20], [text for text in texts if text % 20 != 1]
    file.use(unused, 0)
    for text in left[::50]:
        assert search(nearest, file, vectors[text - 1], limit=1) == [text]
    assert nearest.memory_bytes() < held / 2
    assert not {*search(nearest, file, vectors[5], limit=100)} & {*unused}
    back, gone = unused[:300], unused[300:350]
    file.use(back, 1)
    file.remove(gone)
    [new] = file.add(vectors[:1] * -1)
    for text in (*back[::20], *left[::60]):
        assert search(nearest, file, vectors[text - 1], limit=1) == [text]
    assert search(nearest, file, -vectors[0], limit=1) == [new]
    file.use(texts, 0)
    file.use([new], 0)
    assert search(nearest, file, vectors[0]) == []
    file.use(unused[-200:], 1)
    assert search(nearest, file, vectors[unused[-1] - 1], limit=1) == [unused[-1]]


@pytest.mark.thorough
def test_a_growing_log_does_not_grow_the_cache(file: VectorFile) -> None:
    """Each line gives the log's last segment another vector, and the previous one is unused."""
    nearest = BinaryVectorSearcher()
    vectors = clustered_vectors(20_000, 64)
    held = []
    for start in range(0, len(vectors), 1000):
        texts = file.add(vectors[start : start + 1000])
        file.use(texts[:-1], 0)
        assert search(nearest, file, vectors[start + 999], limit=1) == texts[-1:]
        held.append(nearest.memory_bytes())
    # At most two blocks of bits, and the ids of vectors that are only on disk.
    assert max(held) < 500_000, held


@pytest.mark.thorough
def test_memory_use_is_as_small_as_documented(file: VectorFile) -> None:
    """48 bytes of bits and 16 of ids for 384 dimensions, in blocks of 16,384."""
    few = CACHED_VECTOR_BYTES // (4 * 384)
    vectors = clustered_vectors(2 * BLOCK_VECTORS, 384)
    nearest = BinaryVectorSearcher()
    file.add(vectors[:few])
    assert search(nearest, file, vectors[0], limit=1) == [1]
    assert (
        CACHED_VECTOR_BYTES * 0.9
        < nearest.memory_bytes()
        < CACHED_VECTOR_BYTES + BLOCK_VECTORS * (48 + 16) + 10_000
    )
    file.add(vectors[few:])
    assert search(nearest, file, vectors[-1], limit=1) == [2 * BLOCK_VECTORS]
    assert nearest.memory_bytes() < 2 * BLOCK_VECTORS * (48 + 16) + 10_000


def test_the_file_is_read_again_only_when_it_changed(file: VectorFile) -> None:
    vectors = clustered_vectors(2000, 64)
    file.add(vectors)
    nearest = BinaryVectorSearcher()
    asked: list[str] = []
    search(nearest, file, vectors[0])

    def note(_cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        asked.append(statement)
        return True

    file.db.exec_trace = note
    search(nearest, file, vectors[1])
    assert [statement for statement in asked if "texts" in statement or "max(id)" in statement] == []
    file.add(vectors[:1])
    asked.clear()
    search(nearest, file, vectors[1])
    assert len([statement for statement in asked if "max(id)" in statement]) == 1
    file.db.exec_trace = None


@pytest.fixture
def prefix_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare a prefix first of 3,000 vectors already, in many blocks."""
    monkeypatch.setattr(binary_quantization, "BLOCK_VECTORS", 512)
    monkeypatch.setattr(binary_quantization, "MIN_PREFIX_VECTORS", 3000)
    monkeypatch.setattr(binary_quantization, "MIN_CANDIDATES", 20)
    monkeypatch.setattr(binary_quantization, "CANDIDATES_PER_RESULT", 2)
    monkeypatch.setattr(binary_quantization, "MIN_VECTORS_PER_PREFIX_CANDIDATE", 4)


@pytest.mark.parametrize(
    ("count", "dimensions", "limit", "missed"),
    [
        (3000, 1024, 10, True),
        (2999, 1024, 10, False),
        (3000, 1000, 10, False),
        (3000, 1024, 100, False),
    ],
)
@pytest.mark.usefixtures("prefix_first")
def test_a_prefix_of_the_bits_comes_first_only_with_many_long_vectors(
    file: VectorFile, count: int, dimensions: int, limit: int, missed: bool
) -> None:
    """A vector that is similar except in its first 400 numbers is missed exactly if the prefix comes first."""
    query, *others = random_vectors(count, dimensions)
    similar = np.concatenate((-query[:400], query[400:]))
    texts = file.add(np.stack((*others, similar)))
    found = search(BinaryVectorSearcher(), file, query, limit=limit)
    assert (texts[-1] not in found) == missed


@pytest.mark.parametrize("differing", [slice(0, 240), slice(512, 790)])
@pytest.mark.usefixtures("prefix_first")
def test_prefix_and_rest_both_count(file: VectorFile, differing: slice) -> None:
    """Neither the prefix alone nor the rest alone would select this vector: it is average there."""
    query, *others = random_vectors(3000, 1024)
    similar = query.copy()
    similar[differing] *= -1
    texts = file.add(np.stack((*others, similar)))
    assert search(BinaryVectorSearcher(), file, query, limit=1) == [texts[-1]]


@pytest.mark.usefixtures("prefix_first")
def test_a_prefix_first_misses_few_of_the_best(file: VectorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = clustered_vectors(4000, 1536)
    file.add(vectors)
    queries = unit(vectors[::40] + 0.02 * random_vectors(100, 1536, seed=3))
    searcher = BinaryVectorSearcher()
    in_two_steps = [search(searcher, file, query) for query in queries]
    assert recall(searcher, file, vectors, queries, 10) >= 0.99
    monkeypatch.setattr(binary_quantization, "MIN_PREFIX_VECTORS", 5000)
    at_once = [search(searcher, file, query) for query in queries]
    same = [len({*some} & {*others}) for some, others in zip(in_two_steps, at_once, strict=True)]
    assert sum(same) >= 0.99 * 10 * len(queries)


@pytest.mark.usefixtures("prefix_first")
@pytest.mark.parametrize("share", [2, 4, 400])
def test_a_prefix_first_finds_the_best_of_some_texts(file: VectorFile, share: int) -> None:
    vectors = clustered_vectors(4000, 1536)
    among = file.add(vectors)[::share]
    searcher = BinaryVectorSearcher()
    hits = 0
    for query in unit(vectors[::200] + 0.02 * random_vectors(20, 1536, seed=3)):
        with file.db:
            found = searcher.search(file.db, 1, query.tobytes(), limit=3, version=file.version, among=among)
        assert {text for text, _ in found} <= {*among}
        best = [among[place] for place in np.argsort(-(vectors[::share] @ query))[:3]]
        assert found[0][0] == best[0]
        hits += len({text for text, _ in found} & {*best})
    assert hits >= 0.95 * 3 * 20


@pytest.mark.usefixtures("prefix_first")
def test_a_prefix_first_follows_every_change(file: VectorFile) -> None:
    """Additions, deletions and unused texts across many blocks, with the prefix compared first throughout."""
    vectors = clustered_vectors(6000, 1024)
    texts = file.add(vectors[:4000])
    searcher = BinaryVectorSearcher()
    assert search(searcher, file, vectors[3999], limit=1) == [texts[3999]]
    texts += file.add(vectors[4000:])
    for place in (0, 511, 512, 4000, 5999):
        assert search(searcher, file, vectors[place], limit=1) == [texts[place]]
    file.remove(texts[1:1500:2])
    for place in (0, 2, 1498, 1500, 1501, 5999):
        assert search(searcher, file, vectors[place], limit=1) == [texts[place]]
    assert not {*search(searcher, file, vectors[1], limit=10)} & {*texts[1:1500:2]}
    best = search(searcher, file, vectors[3000])
    file.use(best[:9], 0)
    without = search(searcher, file, vectors[3000])
    assert len(without) == 10
    assert {*without} & {*best} == {best[9]}
    file.use(best[:9], 1)
    assert search(searcher, file, vectors[3000]) == best


@pytest.mark.usefixtures("prefix_first")
def test_unused_vectors_are_never_chosen_by_their_prefix(file: VectorFile) -> None:
    """Not even if they are the closest, and almost as many as are still held."""
    vectors = clustered_vectors(4000, 1024)
    texts = file.add(np.concatenate([np.repeat(vectors[:1], 1000, axis=0), vectors[1:3001]]))
    file.use(texts[:1000], 0)
    searcher = BinaryVectorSearcher()
    found = search(searcher, file, vectors[0], limit=10)
    assert len(found) == 10
    assert not {*found} & {*texts[:1000]}


@pytest.mark.usefixtures("prefix_first")
def test_deleting_needs_no_second_copy_of_the_bits(file: VectorFile) -> None:
    vectors = clustered_vectors(16_000, 1024)
    texts = file.add(vectors)
    searcher = BinaryVectorSearcher()
    tracemalloc.start()
    try:
        search(searcher, file, vectors[0])
        file.remove(texts[:1])
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert search(searcher, file, vectors[-1], limit=1) == [texts[-1]]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most - held < searcher.memory_bytes() / 2
