"""Full-text candidates: rare words are ranked by BM25, common ones by closeness.

PostgreSQL's ranks ignore how rare a word is, and a text's length relative to others. But its rank for a
single lexeme, with all weights 1, reveals how often the lexeme occurs in a chunk: the rank is the sum of 1/n²
up to that number, times 6/π², so its difference from 1 gives the number, up to 256.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations

from memory.index.postgres.lexemes import format_all_query, format_any_query, format_lexeme, format_tsquery
from memory.index.postgres.schema import PostgresTables
from memory.search import ASSUMED_OTHER_CHUNKS, NEAR_TIE
from memory.tokenizer import Term

EXACT_HITS = 2_000
"""Terms with at most this many hits together are all ranked."""

RARE_HITS = 1_000
"""The rarest terms with at most this many hits together choose the candidates alone, if the others add too many."""

RARE_SHARE = 0.05
"""A term in a larger share of the chunks never chooses alone, unless it has few hits.

It would exclude terms that are hardly more common.
"""

CLOSE_TERMS = 3
"""How many common terms, the rarest ones, must occur close together; few chunks contain more of them."""

MAX_CLOSENESS_HITS = 1_000
"""Maximum number of chunks with common terms whose closeness is computed."""

_K1, _B = 1.2, 0.75
_LEAST_IDF = 1e-6
_MOST_ROWS = 1 << 31

_FREQUENCY = "round(1 / (1.6449340668482264 * (1 - ts_rank('{1,1,1,1}', c.words, term.query))) - 0.5)"
_SCORE = (
    "(SELECT sum(term.weight * often * %(more)s"  # noqa: S608 - nothing but our own
    " / (often + %(k1)s * (1 - %(b)s + %(b)s * c.length / %(average)s)))"
    " FROM unnest(%(weights)s::float8[], %(queries)s::text[]::tsquery[]) AS term (weight, query),"
    f" LATERAL (SELECT {_FREQUENCY} AS often OFFSET 0) AS counted)"
)
# Values from outside the row are computed once; otherwise each function of the words would compute them.
_HITS = (
    "(SELECT id, note, first, day, length, words || ''::tsvector AS words FROM commonplace.chunks@"
    " WHERE words @@ %(wanted)s::tsquery OFFSET 0) AS c"
)
_SOME_HITS = _HITS.replace("OFFSET 0", "LIMIT %(looked_at)s")
# The same order as `score_band` and `newest_first` in memory.search.
_BEST = (
    "SELECT best.id FROM (SELECT id, note, first, day, floor(ln(greatest(score, 1e-30)) / %(near_tie)s) AS band FROM"
    " (SELECT c.id, c.note, c.first, c.day, {score} AS score FROM {hits}) AS scored"
    " ORDER BY band DESC FETCH FIRST %(most)s ROWS WITH TIES) AS best"
    " JOIN commonplace.notes@ AS n ON n.id = best.note"
    " ORDER BY band DESC, least(best.day, %(today)s) DESC, best.day IS NULL,"
    " CASE WHEN best.day IS NULL THEN n.mtime_ns END DESC, n.path, best.first LIMIT %(most)s"
)
_BY_RELEVANCE = _BEST.format(score=_SCORE, hits=_HITS)
_BY_CLOSENESS = _BEST.format(score="ts_rank_cd('{1,1,1,1}', c.words, %(wanted)s::tsquery)", hits=_SOME_HITS)


@dataclass(frozen=True, slots=True)
class PostgresProposal:
    """Chunks that may match, and how common the terms are."""

    chunks: tuple[int, ...]
    """Their ids, distinct, in no order."""
    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    total: int
    """Number of all chunks."""


def propose(
    tables: PostgresTables, terms: Sequence[Term], *, most: int, today: date = date.max
) -> PostgresProposal:
    """Return at most `most` chunks that contain any of the terms; among near ties, the newest."""
    row = tables.run(
        "SELECT chunks, words FROM commonplace.index_sums WHERE generation = %s", [tables.generation]
    ).fetchone()
    total, words = row or (0, 0)
    frequencies = _read_frequencies(tables, terms)
    most = min(most, _MOST_ROWS)
    present = sorted((term for term in frequencies if frequencies[term]), key=frequencies.__getitem__)
    if not present or most <= 0 or not total:
        return PostgresProposal((), frequencies, total)
    hits = sum(frequencies[term] for term in present)
    average = max(1.0, words / total)
    if hits <= EXACT_HITS:
        chunks = (
            _all_matches(tables, present)
            if hits <= most
            else _rank_by_relevance(
                tables,
                present,
                format_any_query(_to_lexemes(present)),
                frequencies,
                total,
                average,
                most,
                today,
            )
        )
        return PostgresProposal(tuple(chunks), frequencies, total)
    found: dict[int, None] = {}
    for some in _propose_in_order(tables, present, frequencies, total, average, most, today):
        found |= dict.fromkeys(some[: most - len(found)])
        if len(found) >= most:
            break
    return PostgresProposal(tuple(found), frequencies, total)


def _propose_in_order(
    tables: PostgresTables,
    present: Sequence[Term],
    frequencies: Mapping[Term, int],
    total: int,
    average: float,
    most: int,
    today: date,
) -> Iterator[list[int]]:
    """Yield chunks, the best kinds first: the `most` best of each kind."""
    rare, common = _split_by_rarity(present, frequencies, total)
    common = common[:CLOSE_TERMS]
    if rare:
        yield _rank_by_relevance(
            tables,
            [*rare, *common],
            format_any_query(_to_lexemes(rare)),
            frequencies,
            total,
            average,
            most,
            today,
        )
    for count in range(len(common), 0, -1):
        for asked in combinations(common, count):
            yield _rank_by_closeness(tables, asked, most, today)


def _split_by_rarity(
    present: Sequence[Term], frequencies: Mapping[Term, int], total: int
) -> tuple[list[Term], list[Term]]:
    """Split terms, ordered by frequency, into those that choose alone and the others."""
    hits, most_chunks = 0, max(RARE_HITS, RARE_SHARE * total)
    for position, term in enumerate(present):
        hits += frequencies[term]
        if hits > RARE_HITS or frequencies[term] > most_chunks:
            return list(present[:position]), list(present[position:])
    return list(present), []


def _read_frequencies(tables: PostgresTables, terms: Sequence[Term]) -> dict[Term, int]:
    """Return each term's number of chunks."""
    if not terms:
        return {}
    lexemes = _to_lexemes(terms)
    counts: dict[str, int] = dict(
        tables.run(
            "SELECT word, sum(chunks)::bigint FROM (SELECT word, chunks FROM commonplace.lexemes@ WHERE word = ANY(%s)"
            " UNION ALL SELECT word, chunks FROM commonplace.lexeme_changes@ WHERE word = ANY(%s)) AS found"
            " GROUP BY word",
            [lexemes, lexemes],
        ).fetchall()
    )
    return {term: counts.get(lexeme, 0) for term, lexeme in zip(terms, lexemes, strict=True)}


def _all_matches(tables: PostgresTables, terms: Sequence[Term]) -> list[int]:
    rows = tables.run(
        "SELECT id FROM commonplace.chunks@ WHERE words @@ %s::tsquery",
        [format_any_query(_to_lexemes(terms))],
    )
    return [row[0] for row in rows]


def _rank_by_relevance(
    tables: PostgresTables,
    terms: Sequence[Term],
    wanted: str,
    frequencies: Mapping[Term, int],
    total: int,
    average: float,
    most: int,
    today: date,
) -> list[int]:
    """Return the best chunks by FTS5's BM25."""
    weigh = _idf if len(terms) and sum(frequencies[term] for term in terms) <= EXACT_HITS else _term_weight
    rows = tables.run(
        _BY_RELEVANCE,
        {
            "wanted": wanted,
            "queries": [format_tsquery(lexeme) for lexeme in _to_lexemes(terms)],
            "weights": [weigh(frequencies[term], total) for term in terms],
            "average": average,
            "k1": _K1,
            "b": _B,
            "more": _K1 + 1,
            **_tie_parameters(most, today),
        },
    )
    return [row[0] for row in rows]


def _rank_by_closeness(tables: PostgresTables, terms: Sequence[Term], most: int, today: date) -> list[int]:
    """Return chunks with all the terms, those where they are closest together first."""
    values = {
        "wanted": format_all_query(_to_lexemes(terms)),
        "looked_at": max(most, MAX_CLOSENESS_HITS),
        **_tie_parameters(most, today),
    }
    return [row[0] for row in tables.run(_BY_CLOSENESS, values)]


def _tie_parameters(most: int, today: date) -> dict[str, float]:
    """Return the parameters with which `_BEST` breaks ties."""
    return {"most": most, "today": today.toordinal(), "near_tie": math.log1p(NEAR_TIE)}


def _idf(frequency: int, total: int) -> float:
    return max(_LEAST_IDF, math.log((total - frequency + 0.5) / (frequency + 0.5)))


def _term_weight(frequency: int, total: int) -> float:
    """Return a term's weight as in memory.search, where a word in every chunk still counts a little."""
    return math.log1p((total + ASSUMED_OTHER_CHUNKS - frequency + 0.5) / (frequency + 0.5))


def _to_lexemes(terms: Iterable[Term]) -> list[str]:
    return [format_lexeme(term) for term in terms]
