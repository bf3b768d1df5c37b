"""Choose the chunks that may answer a query: by rare words with BM25, by common ones with closeness.

If every word of a query is common, chunks differ less by how often the words occur than by how close together
they are. The same for every database: it only counts, matches and scores.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from operator import itemgetter
from typing import Protocol

from memory.ranking.query import weigh_terms
from memory.ranking.ties import score_band
from memory.tokenizer import Term, find_beginnings, word_beginning

RARE_SHARE = 0.05
"""A term in a larger share of the chunks never chooses alone, unless it has few hits.

It would exclude terms that are hardly more common.
"""

SCARCE = 10
"""A word in fewer chunks is also looked for by its beginning, since the notes may contain another form of it.

Beginnings are common even where words are rare. Looking for those of all words would cost ten times what the words
cost and, measured, finds no more. Those of other words still count in the chunks that are found.
"""

ASSUMED_SHARE = 0.05
"""Share of the chunks that a beginning is assumed to be in unless it is counted, which is slow."""

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
    """Number of chunks that contain each term; for beginnings that were not counted, an assumed one."""
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
        """Count the chunks and those that contain each term. Call it first; it may be called for more terms."""
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
    limit = min(limit, _MAX_ROWS)
    counts = _count_terms(full_text, terms, limit)
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
    return Proposal(tuple(found), _assume_frequencies(terms, counts), counts.chunks)


def _count_terms(full_text: FullText, terms: Sequence[Term], limit: int) -> TermCounts:
    """Count the terms that choose chunks: all words, and the beginnings of those that need other forms."""
    words = [term for term in terms if not term.is_beginning]
    beginnings = [term for term in terms if term.is_beginning]
    counts = full_text.count_terms(words)
    if counts.sum_hits(words) >= limit:
        needed = set(find_beginnings([word for word in words if counts.frequencies[word] < SCARCE]))
        beginnings = [term for term in beginnings if term in needed]
    if not beginnings:
        return counts
    more = full_text.count_terms(beginnings)
    return replace(counts, frequencies={**counts.frequencies, **more.frequencies})


def _assume_frequencies(terms: Sequence[Term], counts: TermCounts) -> dict[Term, int]:
    """Return the frequencies of all terms: a beginning that was not counted is at least as common as its words."""
    frequencies = dict(counts.frequencies)
    if len(frequencies) == len(terms):
        return frequencies
    least: dict[str | None, int] = {}
    for term, frequency in counts.frequencies.items():
        beginning = word_beginning(term.tokens[0])
        least[beginning] = max(frequency, least.get(beginning, 0))
    assumed = round(ASSUMED_SHARE * counts.chunks)
    for term in terms:
        if term not in frequencies:
            frequencies[term] = max(assumed, least.get(term.tokens[0], 0))
    return frequencies


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
    ranked = sorted(scored, key=itemgetter(0), reverse=True)
    last = score_band(ranked[limit - 1][0])
    first, end = limit - 1, limit
    while first and score_band(ranked[first - 1][0]) == last:
        first -= 1
    while end < len(ranked) and score_band(ranked[end][0]) == last:
        end += 1
    chunks = [chunk for _, chunk in ranked[:end]]
    if end == limit:
        return chunks
    return chunks[:first] + full_text.list_newest(chunks[first:], limit=limit - first, today=today)
