import base64
import math
import struct
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.embeddings.errors import ResponseUnusable
from memory.embeddings.unit_vectors import to_unit_vector, to_unit_vectors
from tests.fakes.table_test import table_test


def numbers_of(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def packed(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_numbers_become_little_endian_float32_of_length_one() -> None:
    assert numbers_of(to_unit_vector([3, 4.0])) == pytest.approx((0.6, 0.8))


def test_base64_and_numbers_give_the_same_vector() -> None:
    numbers = [float(array("f", [x / 7])[0]) for x in range(-5, 6)]

    assert to_unit_vector(packed(numbers)) == to_unit_vector(numbers)


def test_a_vector_of_length_one_is_unchanged_to_the_bit() -> None:
    vector = to_unit_vector([1.0, 2.0, -3.0])

    assert to_unit_vector(base64.b64encode(vector).decode()) == vector


@example([5e-324, 5e-324])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_any_numbers_but_zeros_get_length_one(numbers: list[float]) -> None:
    length = math.hypot(*numbers)
    if not length or math.isinf(length):
        with pytest.raises(ResponseUnusable):
            to_unit_vector(numbers)
    else:
        assert math.hypot(*numbers_of(to_unit_vector(numbers))) == pytest.approx(1, abs=1e-4)


@table_test(
    ("item", "words"),
    [
        ([math.nan, 1.0], "NaN or infinity"),
        ([math.inf, 1.0], "NaN or infinity"),
        ([0.0, 0.0], "zeros"),
        ([1.0, None], "other than a number"),
        ([1.0, "2"], "other than a number"),
        ([1.0, [2.0]], "other than a number"),
        ([10**400, 1], "other than a number"),
        ([], "not a list of numbers"),
        (None, "not a list of numbers"),
        ({"values": [1.0]}, "not a list of numbers"),
        ("", "not a list of numbers"),
        ("AAA", "not float32 in base64"),
        ("not base64!", "not float32 in base64"),
        ("AAAAAAA=", "not float32 in base64"),
        ("é", "not float32 in base64"),
        (packed([math.nan, 1.0]), "NaN or infinity"),
        (packed([0.0]), "zeros"),
    ],
)
def test_an_invalid_vector_is_refused(item: object, words: str) -> None:
    with pytest.raises(ResponseUnusable, match=words):
        to_unit_vector(item)


def test_a_vector_for_each_text() -> None:
    with pytest.raises(ResponseUnusable, match="1 vectors for 2 texts"):
        to_unit_vectors([[1.0]], count=2, dimensions=1)


def test_all_vectors_must_have_the_requested_dimensions() -> None:
    with pytest.raises(ResponseUnusable, match="vectors of 2 numbers instead of 3"):
        to_unit_vectors([[1.0, 0.0]], count=1, dimensions=3)


def test_unknown_dimensions_are_taken_from_the_first_vector() -> None:
    assert len(to_unit_vectors([[1.0, 0.0], [0.0, 1.0]], count=2, dimensions=0)) == 2
    with pytest.raises(ResponseUnusable, match="vectors of 1 numbers instead of 2"):
        to_unit_vectors([[1.0, 0.0], [1.0]], count=2, dimensions=0)
