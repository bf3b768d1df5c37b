"""BM25: the weight of a term and the score of a text that contains it, in Python, in SQL and as FTS5 has them.

The formula stands here alone. A score sums over the terms: weight · count · (K1 + 1) / (count + norm).
"""

import math
from collections.abc import Iterable

K1 = 1.2
B = 0.75
"""The usual constants of Okapi BM25 (Robertson and Zaragoza 2009). FTS5's bm25() has the same, unchangeable."""

AVERAGE_NORM = K1
"""The norm of a text of average length."""

MAX_SCORE = K1 + 1
"""The score of a text full of terms whose weights sum to 1. It is 1 if each occurs once at average length."""

ASSUMED_OTHER_CHUNKS = 60
"""Number of chunks without the word that is added when a word's rarity is computed.

A small memory knows little about rarity: in twenty chunks "describe" looks as rare as a name. With many more
assumed chunks, though, function words would weigh nearly as much as names, and few languages have a list of
stop words. Measured, English is flat from 30 to 1,000, and other languages gain below 100.
"""

LEAST_FTS5_WEIGHT = 1e-6
"""In FTS5, the weight of a term in half of the chunks or more, whatever their number."""


def term_weight(frequency: int, chunks: int) -> float:
    """Return the weight of a term that `frequency` of the chunks contain: the rarer, the higher.

    As in Lucene, 1 is added so that a word in every chunk still counts a little.
    """
    return math.log1p((max(chunks, frequency) + ASSUMED_OTHER_CHUNKS - frequency + 0.5) / (frequency + 0.5))


def length_norm(length: float, average: float) -> float:
    """Return the norm of a text: in a longer one, the same count of a term says less."""
    return K1 * (1 - B + B * length / average) if average else AVERAGE_NORM


def score(weights: Iterable[float], counts: Iterable[float], norm: float) -> float:
    """Return the score of a text that contains the terms of these weights so often."""
    total = 0.0
    for weight, count in zip(weights, counts, strict=True):
        total += weight * count / (count + norm)
    return MAX_SCORE * total


def score_sql(*, weight: str, count: str, length: str, average: str) -> str:
    """Return SQL for one term's part of `score`, from SQL for its arguments and those of `length_norm`."""
    norm = f"{_double(K1)} * ({_double(1 - B)} + {_double(B)} * {length} / {average})"
    return f"{weight} * {count} * {_double(MAX_SCORE)} / ({count} + {norm})"


def fts5_weight(frequency: int, chunks: int) -> float:
    """Return the weight of a term in FTS5's bm25()."""
    return max(LEAST_FTS5_WEIGHT, math.log((chunks - frequency + 0.5) / (frequency + 0.5)))


def fts5_frequency(weight: float, chunks: int) -> float:
    """Return how many chunks contain a term of this `fts5_weight`, unless that is the least one."""
    odds = math.exp(weight)
    return (chunks + 0.5 - 0.5 * odds) / (1 + odds)


def _double(number: float) -> str:
    return f"CAST({number!r} AS double precision)"
