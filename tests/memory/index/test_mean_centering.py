import math
import random
from array import array
from collections.abc import Sequence

import pytest

from memory.embeddings.protocol import Vector
from memory.embeddings.unit_vectors import unpack_vector
from memory.index.mean_centering import HALF_WEIGHT_COUNT, MeanVector, cosine, mean_vector

np = pytest.importorskip("numpy")


def unit(numbers: Sequence[float]) -> Vector:
    length = math.hypot(*numbers)
    return array("f", [number / length for number in numbers]).tobytes()


def cone(count: int, *, dimensions: int = 24, seed: int = 1) -> list[Vector]:
    """Return vectors around one direction, like those of a real model."""
    choose = random.Random(seed)
    return [unit([choose.gauss(0.8, 1) for _ in range(dimensions)]) for _ in range(count)]


def test_the_result_is_the_cosine_after_subtracting_the_mean() -> None:
    vectors = cone(40)
    common = mean_vector(vectors)
    assert common
    rows = np.array([list(unpack_vector(vector)) for vector in vectors])
    mean = rows.mean(axis=0) * 40 / (40 + HALF_WEIGHT_COUNT)
    left = rows - mean
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    to_mean = [cosine(vector, common.direction) for vector in vectors]
    assert common.length == pytest.approx(np.linalg.norm(mean), abs=1e-6)
    assert list(unpack_vector(common.direction)) == pytest.approx(list(mean / np.linalg.norm(mean)), abs=1e-6)
    for one in range(40):
        for other in range(40):
            plain = cosine(vectors[one], vectors[other])
            apart = common.apart(plain, of_first=to_mean[one], of_second=to_mean[other])
            assert apart == pytest.approx(float(left[one] @ left[other]), abs=1e-5)


def test_dissimilar_vectors_are_about_0_and_equal_ones_1() -> None:
    vectors = cone(300)
    common = mean_vector(vectors)
    assert common
    to_mean = [cosine(vector, common.direction) for vector in vectors]
    plain = [cosine(vectors[0], vector) for vector in vectors]
    apart = [
        common.apart(each, of_first=to_mean[0], of_second=of_other)
        for each, of_other in zip(plain, to_mean, strict=True)
    ]
    assert sum(plain[1:]) / 299 > 0.3
    assert sum(apart[1:]) / 299 == pytest.approx(0, abs=0.05)
    assert apart[0] == pytest.approx(1, abs=1e-5)


def test_the_mean_of_few_vectors_counts_little() -> None:
    [one, *_] = cone(1)
    alone, twice = mean_vector([one]), mean_vector([one, one])
    assert alone
    assert twice
    assert alone.length == pytest.approx(1 / (1 + HALF_WEIGHT_COUNT))
    assert twice.length == pytest.approx(2 / (2 + HALF_WEIGHT_COUNT))
    for common in (alone, twice):
        assert list(unpack_vector(common.direction)) == pytest.approx(list(unpack_vector(one)))
        assert common.apart(1.0, of_first=1.0, of_second=1.0) == pytest.approx(1)
        assert common.apart(0.0, of_first=1.0, of_second=0.0) < 0


def test_vectors_without_a_common_mean_are_unchanged() -> None:
    assert mean_vector([]) is None
    assert mean_vector([unit([3, 4]), unit([-3, -4])]) is None


def test_a_vector_equal_to_the_mean_is_similar_to_nothing() -> None:
    [one] = cone(1)
    assert MeanVector(one, 1.0).apart(1.0, of_first=1.0, of_second=1.0) == 0
    assert MeanVector(one, 1.0).apart(0.5, of_first=1.0, of_second=0.5) == 0


def test_the_order_of_the_vectors_does_not_matter() -> None:
    vectors = cone(100)
    assert mean_vector(vectors) == mean_vector(vectors[::-1])
