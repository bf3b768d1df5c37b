"""What all vectors of a memory have in common says nothing of one of them: likeness without it; pure.

The vectors of a model lie in a narrow cone, those of one person's notes in a narrower one. Less the mean of
all, what is unlike has a cosine about 0 for every model, and what is alike stands out (Mu and Viswanath 2018,
"All-but-the-Top"). On real conversations that is worth .01 of recall.
"""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from memory.embeddings.protocol import Vector
from memory.embeddings.unit_vectors import pack_vector, unpack_vector

SAMPLE = 256
"""Vectors that the mean is taken of: on average it is then 1/16 of a standard deviation off."""

HALF_WEIGHT_COUNT = 8
"""Among so many vectors the mean counts half: few vectors have little in common but themselves."""


@dataclass(frozen=True, slots=True)
class MeanVector:
    """The mean of a memory's vectors: its direction, of unit length, and its length."""

    direction: Vector
    length: float

    def apart(self, cosine: float, *, of_first: float, of_second: float) -> float:
        """The cosine of two vectors less the mean, from their cosines with each other and with its direction."""
        first, second = self.length * of_first, self.length * of_second
        common = self.length * self.length
        lengths = (1 - 2 * first + common) * (1 - 2 * second + common)
        return (cosine - first - second + common) / math.sqrt(lengths) if lengths > 0 else 0.0


def mean_vector(vectors: Sequence[Vector]) -> MeanVector | None:
    """The mean of vectors of one length; None where they have nothing in common."""
    if not vectors:
        return None
    sums = [math.fsum(column) for column in zip(*map(unpack_vector, vectors), strict=True)]
    length = math.hypot(*sums)
    if not length:
        return None
    share = len(vectors) / (len(vectors) + HALF_WEIGHT_COUNT)
    return MeanVector(pack_vector(array("f", [one / length for one in sums])), share * length / len(vectors))


def cosine(first: Vector, second: Vector) -> float:
    """Of two vectors of unit length."""
    return math.fsum(map(mul, unpack_vector(first), unpack_vector(second)))
