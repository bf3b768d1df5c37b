"""Combine the scores of words and of meaning to one score for each passage."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from memory.ranking.candidates import CandidatePassage, PassageRun, Similarity
from memory.ranking.day_preference import prefer_days
from memory.ranking.query import WeightedQuery
from memory.ranking.word_scores import MAX_WORD_SCORE, WordScore

MEANING_SHARE = 0.6
"""Weight of perfect vector similarity relative to a perfect word match, at equal settings.

Similarity is gradual, and within one memory seldom above one half. Measured, the curve is flat from .4 to .6;
there, words still win if a model does not know the language and finds everything similar.
"""

FULL_AGREEMENT = 0.3
"""Correlation of words and similarity from which on meaning counts in full.

Where a model knows the language, passages with more of the query's words are on average more similar to it.
With an English model, English questions have .27 to .61 on average, Russian .13, Arabic and Thai .01; Chinese .29,
but a tenth of them .02 or less. Unlike a least similarity, it does not depend on the model. The curve is flat from
.2 to .4.
"""

ASSUMED_PASSAGES = 40
"""Number of agreeing passages that are added when the correlation is computed, since few passages show little."""

LEAST_TRUST = 0.3
"""How much meaning still counts if it does not agree with the words at all; the words may be the wrong ones."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Relative weights of meaning and words."""

    vector: float = 0.7
    text: float = 0.3


PassageKey = tuple[str, int]
"""Path and first line."""


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage that may become a hit, with its scores."""

    path: str
    mtime_ns: int
    passage: CandidatePassage
    words: float
    """BM25 in units of the query's total weight; 1 if each word occurs once in a passage of average length."""
    meaning: float | None
    """Similarity by angle: 1 for the same direction, 0 from a right angle on; None if it was not compared."""
    is_similar: bool
    own: float
    """Weight of the query's words in the passage itself, so that no newer but less exact passage hides it."""
    coverage: float
    """0 to 1: share of the query's weight that it has; see `WordScore.coverage`."""
    is_exact: bool
    """True if it contains all of them, except those that name a time."""
    match: float
    """0 to 1: words and meaning combined, whenever it was told."""
    score: float
    """0 to 1: `match`, times a factor by the day it was told."""

    @property
    def key(self) -> PassageKey:
        """What identifies it among the passages of all notes."""
        return self.path, self.passage.line_start


def combine_scores(
    query: WeightedQuery,
    runs: Sequence[PassageRun],
    scores: Sequence[Sequence[WordScore]],
    weights: Weights,
    *,
    today: date,
) -> list[ScoredPassage]:
    """Return the passages that may become hits, with the scores of words and meaning combined.

    `scores`: the word scores of each run's passages.
    """
    found = list(_collect_evidence(runs, scores))
    matches = _combine_matches(found, weights)
    best = max(matches, default=0.0)
    matching = [(one, match) for one, match in zip(found, matches, strict=True) if match > 0]
    days = (one.passage.day for one, _ in matching)
    preference = prefer_days(query.times, days, today=today, is_lookup=query.is_lookup)
    return [
        ScoredPassage(
            one.run.path,
            one.run.mtime_ns,
            one.passage,
            words=one.words.score,
            meaning=one.meaning,
            is_similar=_is_similar(one.passage),
            own=one.words.own,
            coverage=one.words.coverage,
            is_exact=one.words.is_exact,
            match=match,
            score=match * preference.factor(one.passage.day, match / best),
        )
        for one, match in matching
    ]


class _Evidence(NamedTuple):
    """A passage with any word or enough similarity, and what speaks for it."""

    run: PassageRun
    passage: CandidatePassage
    words: WordScore
    meaning: float | None
    """See `ScoredPassage.meaning`."""


def _collect_evidence(
    runs: Sequence[PassageRun], scores: Sequence[Sequence[WordScore]]
) -> Iterator[_Evidence]:
    for run, of_run in zip(runs, scores, strict=True):
        for passage, words in zip(run.passages, of_run, strict=True):
            if words.score > 0 or _is_similar(passage):
                yield _Evidence(run, passage, words, _angle_similarity(passage.similarity))


def _is_similar(passage: CandidatePassage) -> bool:
    return passage.similarity is not None and passage.similarity.is_enough


def _angle_similarity(similarity: Similarity | None) -> float | None:
    """Convert a cosine to 0..1 by its angle (Cer et al. 2018, "Universal Sentence Encoder", section 5).

    The cosine itself hardly separates near from very near.
    """
    if similarity is None:
        return None
    return 1 - 2 * math.acos(min(1.0, max(0.0, similarity.cosine))) / math.pi


def _combine_matches(found: Sequence[_Evidence], weights: Weights) -> list[float]:
    """Return each passage's `match`."""
    if all(one.meaning is None for one in found):
        return [one.words.score / MAX_WORD_SCORE for one in found]
    # The geometric mean of two scalings: words at their own value, which is always small for a long query,
    # and the best match as perfect, however poor it is.
    best = math.sqrt(max(one.words.score for one in found)) or 1.0
    meaning, words = MEANING_SHARE * weights.vector, weights.text
    most = meaning + words * math.sqrt(MAX_WORD_SCORE)
    if words:
        meaning *= _trust_meaning(found)
    return [(meaning * (one.meaning or 0.0) + words * one.words.score / best) / most for one in found]


def _trust_meaning(found: Sequence[_Evidence]) -> float:
    """Return how much meaning counts, `LEAST_TRUST` to 1: how far it agrees with the words about what fits.

    A model that does not know a language gives its texts similarities that have nothing to do with their words.
    """
    both = [
        (one.words.score, one.passage.similarity.cosine)
        for one in found
        if one.words.score > 0 and one.passage.similarity is not None
    ]
    agreement = len(both) * _correlation(both) + ASSUMED_PASSAGES * FULL_AGREEMENT
    return min(1.0, max(LEAST_TRUST, agreement / (len(both) + ASSUMED_PASSAGES) / FULL_AGREEMENT))


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Pearson's correlation; 0 if either number is the same in all pairs.

    `statistics.correlation` does the same, but importing it takes 18 ms.
    """
    if not pairs:
        return 0.0
    mean_x, mean_y = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    apart = [(x - mean_x, y - mean_y) for x, y in pairs]
    spread = math.sqrt(math.fsum(x * x for x, _ in apart) * math.fsum(y * y for _, y in apart))
    return math.fsum(x * y for x, y in apart) / spread if spread > 1e-12 else 0.0
