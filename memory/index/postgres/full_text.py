"""The words of chunks on the server, matched by tsvector and scored by BM25.

PostgreSQL's ranks ignore how rare a word is, and a text's length relative to others. But its rank for a
single lexeme, with all weights 1, reveals how often the lexeme occurs in a chunk: the rank is the sum of 1/n²
up to that number, times 6/π², so its difference from 1 gives the number, up to 256.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from memory.index.postgres.lexemes import format_all_query, format_any_query, format_lexeme, format_tsquery
from memory.index.postgres.schema import PostgresTables
from memory.index.proposals import ProposalLimits, ScoredChunk, TermCounts
from memory.ranking import bm25
from memory.ranking.ties import newest_first_sql, score_band_sql
from memory.tokenizer import Term

LIMITS = ProposalLimits(exact_hits=2_000, rare_hits=1_000, surely_rare=1_000)

MAX_COMMON_HITS = 1_000
"""Maximum number of chunks with common terms that are scored: any of them."""

_COUNT = "round(1 / (1.6449340668482264 * (1 - ts_rank('{1,1,1,1}', c.words, term.query))) - 0.5)"
_BM25 = (
    "(SELECT sum("  # noqa: S608 - nothing but our own
    + bm25.score_sql(weight="term.weight", count="count", length="c.length", average="%(average)s::float8")
    + ") FROM unnest(%(weights)s::float8[], %(queries)s::text[]::tsquery[]) AS term (weight, query),"
    f" LATERAL (SELECT {_COUNT} AS count OFFSET 0) AS counted)"
)
_CLOSENESS = "ts_rank_cd('{1,1,1,1}', c.words, %(wanted)s::tsquery)"
# Values from outside the row are computed once; otherwise each function of the words would compute them.
_HITS = (
    "(SELECT id, note, first, day, length, words || ''::tsvector AS words FROM commonplace.chunks@"
    " WHERE words @@ %(wanted)s::tsquery{condition} {fence}) AS c"
)
_SOME = "LIMIT %(looked_at)s"
_NEWEST = newest_first_sql(
    day="c.day", mtime_ns="n.mtime_ns", path="n.path", first="c.first", today="%(today)s"
)
_BAND = score_band_sql("c.score")
_BEST = (
    "SELECT c.score, c.id FROM (SELECT * FROM"  # noqa: S608 - nothing but our own
    f" (SELECT c.id, c.note, c.first, c.day, {{score}}::float8 AS score FROM {_HITS} OFFSET 0) AS c"
    f" ORDER BY {_BAND} DESC FETCH FIRST %(most)s ROWS WITH TIES) AS c"
    f" JOIN commonplace.notes@ AS n ON n.id = c.note ORDER BY {_BAND} DESC, {_NEWEST} LIMIT %(most)s"
)
_NEWEST_OF = (
    "SELECT c.id FROM commonplace.chunks@ AS c"  # noqa: S608 - nothing but our own
    " JOIN commonplace.notes@ AS n ON n.id = c.note"
    f" WHERE c.id = ANY(%(chunks)s) ORDER BY {_NEWEST} LIMIT %(most)s"
)


@dataclass(frozen=True, slots=True)
class Statements:
    """SQL that finds chunks among all of them, or among those that fulfil a condition."""

    matches: str
    by_bm25: str
    some_by_bm25: str
    some_by_closeness: str

    @classmethod
    def of(cls, condition: str) -> "Statements":
        """Return the statements with a condition on a chunk's row, such as ` AND note = 1`; "" for all chunks."""
        return cls(
            matches=f"SELECT id FROM commonplace.chunks@ WHERE words @@ %(wanted)s::tsquery{condition}",  # noqa: S608
            by_bm25=_BEST.format(score=_BM25, fence="OFFSET 0", condition=condition),
            some_by_bm25=_BEST.format(score=_BM25, fence=_SOME, condition=condition),
            some_by_closeness=_BEST.format(score=_CLOSENESS, fence=_SOME, condition=condition),
        )


class PostgresFullText:
    """`FullText` on the server. Use it within a transaction."""

    _statements = Statements.of("")

    def __init__(self, tables: PostgresTables) -> None:
        """Read nothing yet."""
        self._tables = tables
        self._values: Mapping[str, object] = {}
        """Values of the statements' condition."""

    @property
    def limits(self) -> ProposalLimits:
        """See `FullText.limits`."""
        return LIMITS

    def count_terms(self, terms: Sequence[Term]) -> TermCounts:
        """See `FullText.count_terms`."""
        row = self._tables.run(
            "SELECT chunks, words FROM commonplace.index_sums WHERE generation = %s",
            [self._tables.generation],
        ).fetchone()
        chunks, words = row or (0, 0)
        frequencies = _read_frequencies(self._tables, terms)
        if not chunks:
            return TermCounts(dict.fromkeys(frequencies, 0), 0)
        return TermCounts(frequencies, chunks, max(1.0, words / chunks))

    def list_matches(self, terms: Sequence[Term]) -> list[int]:
        """See `FullText.list_matches`."""
        values = {"wanted": format_any_query(to_lexemes(terms)), **self._values}
        return [row[0] for row in self._tables.run(self._statements.matches, values)]

    def score_matches(
        self, terms: Sequence[Term], counts: TermCounts, *, limit: int, today: date
    ) -> list[ScoredChunk]:
        """See `FullText.score_matches`. Of many matches, only `MAX_COMMON_HITS` are scored."""
        weights = {term: bm25.fts5_weight(counts.frequencies[term], counts.chunks) for term in terms}
        return self.score_chosen(terms, weights, counts, limit=limit, today=today)

    def score_chosen(
        self,
        chosen: Sequence[Term],
        weights: Mapping[Term, float],
        counts: TermCounts,
        *,
        limit: int,
        today: date,
    ) -> list[ScoredChunk]:
        """See `FullText.score_chosen`."""
        is_common = counts.sum_hits(chosen) > LIMITS.exact_hits
        values = {
            "wanted": format_any_query(to_lexemes(chosen)),
            "queries": [format_tsquery(lexeme) for lexeme in to_lexemes(weights)],
            "weights": list(weights.values()),
            "average": counts.average_length,
        }
        sql = self._statements.some_by_bm25 if is_common else self._statements.by_bm25
        return self._list_best(sql, values, limit=limit, today=today)

    def score_closeness(
        self, weights: Mapping[Term, float], counts: TermCounts, *, limit: int, today: date
    ) -> Iterator[list[ScoredChunk]]:
        """See `FullText.score_closeness`. Of many matches, only `MAX_COMMON_HITS` are scored."""
        wanted = format_all_query(to_lexemes(weights))
        sql = self._statements.some_by_closeness
        yield self._list_best(sql, {"wanted": wanted}, limit=limit, today=today)

    def _list_best(
        self, sql: str, values: dict[str, object], *, limit: int, today: date
    ) -> list[ScoredChunk]:
        """Return the best chunks; near ties are broken here, which saves a round trip."""
        values |= {"most": limit, "looked_at": max(limit, MAX_COMMON_HITS), "today": today.toordinal()}
        return self._tables.run(sql, {**values, **self._values}).fetchall()

    def list_newest(self, chunks: Sequence[int], *, limit: int, today: date) -> list[int]:
        """See `FullText.list_newest`."""
        values = {"chunks": list(chunks), "today": today.toordinal(), "most": limit}
        return [row[0] for row in self._tables.run(_NEWEST_OF, values)]


def _read_frequencies(tables: PostgresTables, terms: Sequence[Term]) -> dict[Term, int]:
    """Return each term's number of chunks."""
    if not terms:
        return {}
    lexemes = to_lexemes(terms)
    counts: dict[str, int] = dict(
        tables.run(
            "SELECT word, sum(chunks)::bigint FROM (SELECT word, chunks FROM commonplace.lexemes@ WHERE word = ANY(%s)"
            " UNION ALL SELECT word, chunks FROM commonplace.lexeme_changes@ WHERE word = ANY(%s)) AS found"
            " GROUP BY word",
            [lexemes, lexemes],
        ).fetchall()
    )
    return {term: counts.get(lexeme, 0) for term, lexeme in zip(terms, lexemes, strict=True)}


def to_lexemes(terms: Iterable[Term]) -> list[str]:
    """Return the lexemes to look up for the terms."""
    return [format_lexeme(term) for term in terms]
