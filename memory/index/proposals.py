"""Choose the chunks that may answer a query: by rare words with BM25, by common ones with closeness.

If every word of a query is common, chunks differ less by how often the words occur than by how close together
they are. The same for every database: it only counts, matches and scores.
"""

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from typing import Protocol

from memory.ranking.query import weigh_terms
from memory.ranking.ties import score_band
from memory.tokenizer import Term

RARE_SHARE = 0.05
"""A term in a larger share of the chunks never chooses alone, unless it has few hits.

It would exclude terms that are hardly more common.
"""

CLOSE_TERMS = 3
"""How many common terms, the rarest ones, must occur close together; few chunks contain more of them."""

_MAX_ROWS = 1 << 31

ScoredChunk = tuple[float, int]
"""A score, higher is better, and a chunk's id."""


@dataclass(frozen=True, slots=True)
class ProposalLimits:
    """How many hits a database may score for one query; it depends on what scoring costs there."""

    exact_hits: int
    """Terms with at most this many hits together are all ranked."""
    rare_hits: int
    """The rarest terms with at most this many hits together choose alone, if the others add too many."""
    surely_rare: int
    """A term in at most this many chunks may choose alone, whatever their share."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How common a query's terms are, and what an average chunk is."""

    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    chunks: int
    """Number of all chunks."""
    average_length: float = 1.0
    """Tokens per chunk."""

    def sum_hits(self, terms: Collection[Term]) -> int:
        """Return the number of hits of these terms together; a chunk counts once for each of them."""
        return sum(self.frequencies[term] for term in terms)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Chunks that may match, and how common the terms are."""

    chunks: tuple[int, ...]
    """Their ids, distinct, in no order."""
    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    total: int
    """Number of all chunks."""


class FullText(Protocol):
    """The words of an index's chunks, as they are now, for one query.

    The methods that score return the `limit` best chunks, in no order. Among near ties (see `score_band`) with
    the last of them, they return the newest, or all of them.
    """

    @property
    def limits(self) -> ProposalLimits:
        """How much may be scored for one query."""
        ...

    def count_terms(self, terms: Sequence[Term]) -> TermCounts:
        """Count the chunks and those that contain each term. Call it first."""
        ...

    def list_matches(self, terms: Sequence[Term]) -> list[int]:
        """Return the chunks that contain any of the terms."""
        ...

    def score_matches(
        self, terms: Sequence[Term], counts: TermCounts, *, limit: int, today: date
    ) -> list[ScoredChunk]:
        """Score chunks that contain any of the terms by BM25 with the weights of FTS5."""
        ...

    def score_chosen(
        self,
        chosen: Sequence[Term],
        weights: Mapping[Term, float],
        counts: TermCounts,
        *,
        limit: int,
        today: date,
    ) -> list[ScoredChunk]:
        """Score the chunks that contain any of `chosen` by BM25 over all terms of `weights`."""
        ...

    def score_closeness(
        self, weights: Mapping[Term, float], counts: TermCounts, *, limit: int, today: date
    ) -> Iterator[list[ScoredChunk]]:
        """Score chunks that contain all these terms by how close together; yield the closest ones first."""
        ...

    def list_newest(self, chunks: Sequence[int], *, limit: int, today: date) -> list[int]:
        """Return the first of these chunks in the order of `newest_first_sql`."""
        ...


def propose(full_text: FullText, terms: Sequence[Term], *, limit: int, today: date = date.max) -> Proposal:
    """Return at most `limit` chunks that contain any of the terms; among nearly equal scores, the newest."""
    counts = full_text.count_terms(terms)
    limit = min(limit, _MAX_ROWS)
    # Equally common terms keep the order of the query, since it decides the order in which scores are summed.
    present = sorted(
        (term for term in counts.frequencies if counts.frequencies[term]), key=counts.frequencies.__getitem__
    )
    found: set[int] = set()
    if present and limit > 0:
        hits = counts.sum_hits(present)
        if hits <= limit and hits <= full_text.limits.exact_hits:
            found.update(full_text.list_matches(present))
        else:
            for scored in _score_in_order(full_text, present, counts, limit, today):
                new = [item for item in scored if item[1] not in found] if found else scored
                found.update(_select_best(full_text, new, limit - len(found), today))
                if len(found) >= limit:
                    break
    return Proposal(tuple(found), counts.frequencies, counts.chunks)


def _score_in_order(
    full_text: FullText, present: Sequence[Term], counts: TermCounts, limit: int, today: date
) -> Iterator[list[ScoredChunk]]:
    """Yield scored chunks, the best kinds first: at least the `limit` best of each kind."""
    limits = full_text.limits
    if counts.sum_hits(present) <= limits.exact_hits:
        yield full_text.score_matches(present, counts, limit=limit, today=today)
        return
    rare, common = _split_by_rarity(present, counts, limits)
    # A beginning is common wherever its word is, and always close to it.
    words = [term for term in common if not term.is_beginning]
    weights = weigh_terms([*rare, *words[:CLOSE_TERMS]], counts.frequencies, counts.chunks)
    if rare:
        yield full_text.score_chosen(rare, weights, counts, limit=limit, today=today)
    for size in range(min(CLOSE_TERMS, len(words)), 1, -1):
        for close in combinations(words[:CLOSE_TERMS], size):
            yield from full_text.score_closeness(
                {term: weights[term] for term in close}, counts, limit=limit, today=today
            )
    left = words or common
    if left and (not rare or counts.frequencies[left[0]] <= limits.exact_hits):
        yield full_text.score_matches(left[:1], counts, limit=limit, today=today)


def _split_by_rarity(
    present: Sequence[Term], counts: TermCounts, limits: ProposalLimits
) -> tuple[Sequence[Term], Sequence[Term]]:
    """Split terms, ordered by frequency, into those that choose alone and the others."""
    hits, most_chunks = 0, max(limits.surely_rare, RARE_SHARE * counts.chunks)
    for position, term in enumerate(present):
        hits += counts.frequencies[term]
        if hits > limits.rare_hits or counts.frequencies[term] > most_chunks:
            return present[:position], present[position:]
    return present, []


def _select_best(full_text: FullText, scored: Sequence[ScoredChunk], limit: int, today: date) -> list[int]:
    """Return the chunks with the highest scores; among near ties with the last, the newest."""
    if len(scored) <= limit:
        return [chunk for _, chunk in scored]
    last = score_band(heapq.nlargest(limit, scored)[-1][0])
    bands = [(score_band(score), chunk) for score, chunk in scored]
    sure = [chunk for band, chunk in bands if band > last]
    tied = [chunk for band, chunk in bands if band == last]
    if len(sure) + len(tied) > limit:
        tied = full_text.list_newest(tied, limit=limit - len(sure), today=today)
    return sure + tied
