"""What holds for every way of finding alike vectors: all of them give the same."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from memory.errors import IndexCorrupted
from memory.index.vector_search.binary_quantization import BinaryVectorSearcher
from memory.index.vector_search.protocol import VectorSearcher
from memory.index.vector_search.sqlite_vec import SqliteVecSearcher
from tests.fakes.vector_file import VectorFile, Vectors, clustered_vectors, random_vectors, unit

NOISE = 3e-6
"""What rounding to float32 makes of a cosine."""
WAYS: dict[str, Callable[[], VectorSearcher]] = {
    "sqlite-vec": SqliteVecSearcher,
    "numpy": BinaryVectorSearcher,
}
MAKERS = pytest.mark.parametrize("make", [random_vectors, clustered_vectors])


@pytest.fixture(params=WAYS)
def nearest(request: pytest.FixtureRequest) -> VectorSearcher:
    if request.param == "sqlite-vec":
        pytest.importorskip("sqlite_vec")
    return WAYS[request.param]()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[VectorFile]:
    opened = VectorFile(tmp_path / "index.db")
    yield opened
    opened.db.close()


def search(
    searcher: VectorSearcher,
    file: VectorFile,
    query: Vectors,
    *,
    limit: int = 10,
    model: int = 1,
    among: Sequence[int] | None = None,
) -> list[tuple[int, float]]:
    with file.db:
        return searcher.search(
            file.db, model, query.tobytes(), limit=limit, version=file.version, among=among
        )
    raise AssertionError


def found(
    searcher: VectorSearcher, file: VectorFile, query: Vectors, *, limit: int = 10, model: int = 1
) -> list[int]:
    return [text for text, _ in search(searcher, file, query, limit=limit, model=model)]


def assert_best(
    result: list[tuple[int, float]], texts: list[int], vectors: Vectors, query: Vectors, *, limit: int
) -> None:
    """The best by exact arithmetic, in their order as far as noise allows."""
    cosines = dict(zip(texts, (vectors.astype(np.float64) @ query.astype(np.float64)).tolist(), strict=True))
    best = sorted(cosines.values(), reverse=True)[:limit]
    assert len(result) == len(best)
    assert len({text for text, _ in result}) == len(result)
    for (text, cosine), wanted in zip(result, best, strict=True):
        assert cosine == pytest.approx(wanted, abs=NOISE)
        assert cosine == pytest.approx(cosines[text], abs=NOISE)


def test_its_name_is_one_of_those_that_status_shows(
    nearest: VectorSearcher, request: pytest.FixtureRequest
) -> None:
    assert nearest.name == request.node.callspec.params["nearest"]
    assert nearest.reason == ""


@pytest.mark.parametrize(
    ("make", "count", "dimensions"),
    [
        (random_vectors, 1, 384),
        (random_vectors, 7, 3),
        (random_vectors, 290, 100),
        (clustered_vectors, 290, 8),
        (clustered_vectors, 300, 1536),
        pytest.param(clustered_vectors, 1500, 384, marks=pytest.mark.thorough),
        pytest.param(clustered_vectors, 600, 1536, marks=pytest.mark.thorough),
    ],
)
def test_the_best_come_first(
    nearest: VectorSearcher, file: VectorFile, make: Callable[..., Vectors], count: int, dimensions: int
) -> None:
    vectors = make(count, dimensions)
    texts = file.add(vectors)
    near = vectors[:: max(1, count // 8)]
    for query in unit(near + 0.03 * random_vectors(len(near), dimensions, seed=1)):
        result = search(nearest, file, query)
        assert_best(result, texts, vectors, query, limit=10)


@MAKERS
def test_more_than_there_are_gives_all(
    nearest: VectorSearcher, file: VectorFile, make: Callable[..., Vectors]
) -> None:
    vectors = make(30, 64)
    texts = file.add(vectors)
    assert_best(search(nearest, file, vectors[3], limit=1000), texts, vectors, vectors[3], limit=30)
    assert found(nearest, file, vectors[3], limit=1) == [texts[3]]
    assert found(nearest, file, vectors[3], limit=0) == []


def test_equals_come_by_id(nearest: VectorSearcher, file: VectorFile) -> None:
    one, other = random_vectors(2, 384)
    texts = file.add(np.stack([other, *[one] * 500, other]))
    assert found(nearest, file, other, limit=7) == [texts[0], texts[-1], *texts[1:6]]


def test_the_same_in_every_order_of_coming(nearest: VectorSearcher, file: VectorFile) -> None:
    """A text's id says nothing of when its vector came."""
    vectors = clustered_vectors(200, 64)
    texts = file.add(np.empty((0, 64), np.float32)) or file.add(vectors, model=9)
    order = list(range(200))
    random.Random(1).shuffle(order)
    file.add_for([texts[place] for place in order], vectors[order], model=1)
    assert_best(search(nearest, file, vectors[50]), texts, vectors, vectors[50], limit=10)


@pytest.mark.parametrize("count", [0, 1, 60, 900])
def test_only_the_texts_among_which_it_searches_are_compared(
    nearest: VectorSearcher, file: VectorFile, count: int
) -> None:
    vectors = clustered_vectors(1200, 384)
    texts = file.add(vectors)
    places = sorted(random.Random(count).sample(range(1200), count))
    among = [texts[place] for place in places]
    for query in vectors[::150]:
        for limit in (1, 12, 1500):
            result = search(nearest, file, query, limit=limit, among=among)
            assert_best(result, among, vectors[places], query, limit=limit)
        assert len(search(nearest, file, query)) == 10


def test_nothing_is_found_where_there_is_nothing(nearest: VectorSearcher, file: VectorFile) -> None:
    query = random_vectors(1, 8)[0]
    assert search(nearest, file, query) == []
    with file.db:
        assert nearest.similarities(file.db, 1, query.tobytes(), [1, 2]) == {}
    texts = file.add(random_vectors(3, 8))
    file.use(texts, 0)
    assert search(nearest, file, query) == []


def test_vectors_of_another_length_are_damage(nearest: VectorSearcher, file: VectorFile) -> None:
    texts = file.add(random_vectors(3, 8))
    query = random_vectors(1, 16)[0].tobytes()
    with file.db, pytest.raises(IndexCorrupted, match="differ in length"):
        nearest.search(file.db, 1, query, limit=3, version=file.version)
    with file.db, pytest.raises(IndexCorrupted, match="differ in length"):
        nearest.similarities(file.db, 1, query, texts)


def test_models_are_kept_apart(nearest: VectorSearcher, file: VectorFile) -> None:
    small, large = clustered_vectors(50, 32), clustered_vectors(60, 96, seed=2)
    texts = file.add(small[:25], model=1)
    others = file.add(large[:30], model=2)
    texts += file.add(small[25:], model=1)
    others += file.add(large[30:], model=2)
    for _ in range(2):
        assert_best(search(nearest, file, small[30], model=1), texts, small, small[30], limit=10)
        assert_best(search(nearest, file, large[30], model=2), others, large, large[30], limit=10)
    assert search(nearest, file, small[0], model=3) == []


def test_texts_that_no_note_uses_are_not_proposed_until_one_does(
    nearest: VectorSearcher, file: VectorFile
) -> None:
    vectors = clustered_vectors(400, 64)
    texts = file.add(vectors)
    query = vectors[7]
    best = found(nearest, file, query)
    file.use(best[:9], 0)
    less = found(nearest, file, query)
    assert len(less) == 10
    assert set(less) & set(best) == {best[9]}
    file.use(best[:9], 2)
    assert found(nearest, file, query) == best
    file.use([text for text in texts if text != best[5]], 0)
    assert found(nearest, file, query) == [best[5]]


def test_the_similarity_of_a_text_is_told_whether_used_or_not(
    nearest: VectorSearcher, file: VectorFile
) -> None:
    vectors = clustered_vectors(40, 64)
    texts = file.add(vectors)
    file.use(texts[:1], 0)
    wanted = [*texts[:3], 12345, texts[9], texts[9]]
    with file.db:
        told = nearest.similarities(file.db, 1, vectors[9].tobytes(), wanted)
        assert nearest.similarities(file.db, 1, vectors[9].tobytes(), []) == {}
    assert told == {
        text: pytest.approx(float(vectors[texts.index(text)] @ vectors[9]), abs=NOISE)
        for text in {*texts[:3], texts[9]}
    }
    assert told[texts[2]] == pytest.approx(
        dict(search(nearest, file, vectors[9], limit=40))[texts[2]], abs=NOISE
    )


def test_what_comes_and_goes_is_noticed(nearest: VectorSearcher, file: VectorFile) -> None:
    """Step by step against exact arithmetic over what the file holds."""
    rng = random.Random(4)
    pool = clustered_vectors(3000, 48)
    held: dict[int, int] = {}
    used: dict[int, bool] = {}
    for step in range(20):
        match rng.choice(["add", "remove", "unuse", "use"]):
            case "add":
                rows = [rng.randrange(len(pool)) for _ in range(rng.choice([1, 30, 400]))]
                texts = file.add(pool[rows])
                held |= zip(texts, rows, strict=True)
                used |= dict.fromkeys(texts, True)
            case "remove":
                gone = rng.sample(sorted(held), len(held) // 3)
                file.remove(gone)
                for text in gone:
                    del held[text], used[text]
            case change:
                some = rng.sample(sorted(held), len(held) // 4)
                file.use(some, change == "use")
                used |= dict.fromkeys(some, change == "use")
        query = pool[rng.randrange(len(pool))]
        texts = [text for text in held if used[text]]
        result = search(nearest, file, query, limit=5)
        assert_best(result, texts, pool[[held[text] for text in texts]], query, limit=5)
        assert step or held or result == []


def test_what_another_connection_wrote_is_seen(
    nearest: VectorSearcher, file: VectorFile, tmp_path: Path
) -> None:
    vectors = random_vectors(4, 16)
    file.add(vectors[:2])
    assert len(search(nearest, file, vectors[3])) == 2
    other = VectorFile(tmp_path / "index.db", version="first/50")
    new = other.add(vectors[2:])
    other.db.close()
    file.version = "first/99"
    assert found(nearest, file, vectors[3])[0] == new[1]


def test_a_file_begun_anew_is_not_taken_for_the_old_one(nearest: VectorSearcher, file: VectorFile) -> None:
    """Ids start again there, and the same model may have another number and another length."""
    old = clustered_vectors(500, 64)
    file.add(old)
    assert len(search(nearest, file, old[0])) == 10
    for identity, dimensions in (("second", 64), ("third", 32)):
        new = clustered_vectors(500, dimensions, seed=5)
        again = VectorFile(":memory:", version=f"{identity}/0")
        texts = again.add(new)
        assert_best(search(nearest, again, new[0]), texts, new, new[0], limit=10)
        again.db.close()


def test_a_damaged_vector_is_told_as_damage(nearest: VectorSearcher, file: VectorFile) -> None:
    vectors = random_vectors(5, 16)
    texts = file.add(vectors)
    file.db.execute("UPDATE vectors SET embedding = x'00' WHERE text = ?", (texts[2],))
    with file.db, pytest.raises((IndexCorrupted, apsw.SQLError)):
        nearest.search(file.db, 1, vectors[0].tobytes(), limit=5, version=file.version)


@pytest.mark.parametrize(("make", "count"), [(clustered_vectors, 1500), (random_vectors, 250)])
def test_all_ways_give_the_same(file: VectorFile, make: Callable[..., Vectors], count: int) -> None:
    pytest.importorskip("sqlite_vec")
    vectors = make(count, 384)
    texts = file.add(np.concatenate([vectors, vectors[:200]]))
    file.use(texts[::7], 0)
    ways = [make() for make in WAYS.values()]
    near = vectors[:: count // 12]
    for query in unit(near + 0.02 * random_vectors(len(near), 384, seed=8)):
        results = [search(way, file, query, limit=12) for way in ways]
        for result in results[1:]:
            assert [text for text, _ in result] == [text for text, _ in results[0]]
            assert [cosine for _, cosine in result] == pytest.approx(
                [cosine for _, cosine in results[0]], abs=NOISE
            )
