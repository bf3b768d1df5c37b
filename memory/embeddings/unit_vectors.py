"""Convert what services send, numbers or base64, to checked vectors of length one."""

import sys
from array import array
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence
from itertools import repeat
from math import hypot, isfinite
from operator import mul

from memory.embeddings.errors import ResponseUnusable
from memory.embeddings.protocol import Vector

BYTES_PER_NUMBER = 4
SAME_MODEL_SIMILARITY = 0.999
"""Minimum cosine of two vectors of the same text by the same model, since services round a little."""

_SWAP = sys.byteorder == "big"
# Rounding to float32 leaves unit vectors within this distance of 1; dividing again would gain nothing.
_CLOSE = 1e-5
_TINY = 1e-300


def are_same_vectors(vectors: Sequence[Vector], others: Sequence[Vector]) -> bool:
    """Return whether each vector, of length one, is practically the same as its counterpart."""
    return all(
        len(one) == len(other) and sum(map(mul, array("f", one), array("f", other))) >= SAME_MODEL_SIMILARITY
        for one, other in zip(vectors, others, strict=True)
    )


def to_unit_vectors(items: Sequence[object], *, count: int, dimensions: int) -> list[Vector]:
    """Convert `count` items, each a list of numbers or base64 of float32, to vectors of length one.

    `dimensions` is the required number of dimensions; 0 takes that of the first. Raises `ResponseUnusable`.
    """
    if len(items) != count:
        raise ResponseUnusable("{count} vectors for {wanted} texts", count=len(items), wanted=count)
    vectors: list[Vector] = []
    for item in items:
        vector = to_unit_vector(item, dimensions=dimensions)
        dimensions = dimensions or len(vector) // BYTES_PER_NUMBER
        vectors.append(vector)
    return vectors


def to_unit_vector(item: object, *, dimensions: int = 0) -> Vector:
    """Convert a list of numbers, or base64 of little-endian float32, to a vector of length one.

    Raises `ResponseUnusable`.
    """
    numbers = _decode_base64(item) if isinstance(item, str) else item
    if not isinstance(numbers, list | array) or not numbers:
        raise ResponseUnusable("a vector that is not a list of numbers")
    if dimensions and len(numbers) != dimensions:
        raise ResponseUnusable(
            "vectors of {count} numbers instead of {wanted}: check memory.embedding.model and dimensions",
            count=len(numbers),
            wanted=dimensions,
        )
    try:
        length = hypot(*numbers)
    except (TypeError, OverflowError) as error:
        raise ResponseUnusable("a vector with something other than a number in it") from error
    if not isfinite(length) or not length:
        if not length:
            raise ResponseUnusable("a vector of zeros")
        raise ResponseUnusable("a vector with NaN or infinity in it")
    if length < _TINY:  # its inverse would be infinite; tiny numbers have lost nearly all digits
        largest = max(map(abs, numbers))
        numbers = [number / largest for number in numbers]
        length = hypot(*numbers)
    if abs(length - 1) <= _CLOSE:
        return pack_vector(numbers if isinstance(numbers, array) else array("f", numbers))
    return pack_vector(array("f", map(mul, numbers, repeat(1 / length))))


def _decode_base64(text: str) -> "array[float]":
    numbers = array("f")
    try:
        numbers.frombytes(a2b_base64(text, strict_mode=True))
    except (Base64Error, ValueError) as error:  # not base64, or not a whole number of float32
        raise ResponseUnusable("a vector that is not float32 in base64") from error
    if _SWAP:
        numbers.byteswap()
    return numbers


def pack_vector(numbers: "array[float]") -> Vector:
    """Pack float32 numbers, taken to be of length one, as a stored vector."""
    if _SWAP:
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def unpack_vector(vector: Vector) -> "array[float]":
    """Return a stored vector as an array of float32, (dimensions,)."""
    numbers = array("f", vector)
    if _SWAP:
        numbers.byteswap()
    return numbers
