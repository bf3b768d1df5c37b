"""From what services send, numbers or base64, to vectors as they are stored: checked, and of length 1."""

import sys
from array import array
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence
from itertools import repeat
from math import hypot, isfinite
from operator import mul

from memory.embeddings.errors import AnswerUnusable
from memory.embeddings.protocol import Vector

BYTES_A_NUMBER = 4
ALIKE = 0.999
"""The least cosine of two vectors that the same model makes of the same text: services round a little."""
MEND_DIMENSIONS = "check memory.embedding.model and dimensions"

_SWAP = sys.byteorder == "big"
# Closer to 1 than this is what rounding to float32 leaves of a unit vector: dividing again would gain nothing.
_CLOSE = 1e-5
_TINY = 1e-300


def are_alike(vectors: Sequence[Vector], others: Sequence[Vector]) -> bool:
    """Return whether each vector, of length one, is practically the same as its counterpart."""
    return all(
        len(one) == len(other) and sum(map(mul, array("f", one), array("f", other))) >= ALIKE
        for one, other in zip(vectors, others, strict=True)
    )


def unit_vectors(items: Sequence[object], *, count: int, dimensions: int) -> list[Vector]:
    """Bring `count` items, each a list of numbers or base64 of float32, to unit length.

    `dimensions` is the length that each must have; 0 takes that of the first. Raises `AnswerUnusable`.
    """
    if len(items) != count:
        raise AnswerUnusable(f"{len(items)} vectors for {count} texts")
    vectors: list[Vector] = []
    for item in items:
        vector = unit_vector(item, dimensions=dimensions)
        dimensions = dimensions or len(vector) // BYTES_A_NUMBER
        vectors.append(vector)
    return vectors


def unit_vector(item: object, *, dimensions: int = 0) -> Vector:
    """Bring one list of numbers, or one base64 of little-endian float32, to unit length."""
    numbers = _decoded(item) if isinstance(item, str) else item
    if not isinstance(numbers, list | array) or not numbers:
        raise AnswerUnusable("a vector that is no list of numbers")
    if dimensions and len(numbers) != dimensions:
        raise AnswerUnusable(
            f"vectors of {len(numbers)} numbers instead of {dimensions}: {MEND_DIMENSIONS}",
        )
    try:
        length = hypot(*numbers)
    except (TypeError, OverflowError) as error:
        raise AnswerUnusable("a vector with something in it that is no number") from error
    if not isfinite(length) or not length:
        raise AnswerUnusable("a vector of zeros" if not length else "a vector with NaN or infinity in it")
    if length < _TINY:  # its inverse would be no number; the smallest have lost nearly all digits
        largest = max(map(abs, numbers))
        numbers = [number / largest for number in numbers]
        length = hypot(*numbers)
    if abs(length - 1) <= _CLOSE:
        return packed(numbers if isinstance(numbers, array) else array("f", numbers))
    return packed(array("f", map(mul, numbers, repeat(1 / length))))


def _decoded(text: str) -> "array[float]":
    numbers = array("f")
    try:
        numbers.frombytes(a2b_base64(text, strict_mode=True))
    except (Base64Error, ValueError) as error:  # not base64; no whole number of float32
        raise AnswerUnusable("a vector that is no base64 of float32") from error
    if _SWAP:
        numbers.byteswap()
    return numbers


def packed(numbers: "array[float]") -> Vector:
    """Numbers as a vector is stored; they are taken to be of length 1."""
    if _SWAP:
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def numbers_of(vector: Vector) -> "array[float]":
    """A stored vector as numbers."""
    numbers = array("f", vector)
    if _SWAP:
        numbers.byteswap()
    return numbers
