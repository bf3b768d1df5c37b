"""The words of chunks in the index file, matched and scored by FTS5.

FTS5's bm25() costs about 1 µs per hit, so a word in half of a hundred thousand chunks takes a tenth of a
second; matching costs a thirtieth of that, NEAR little more.
"""

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from operator import neg

import apsw

from memory.index.proposals import ProposalLimits, ScoredChunk, TermCounts
from memory.index.sqlite_schema import SqliteTables, check_bytes
from memory.ranking import bm25
from memory.ranking.ties import band_floor, newest_first_sql, score_band
from memory.tokenizer import Term

LIMITS = ProposalLimits(exact_hits=10_000, rare_hits=5_000, surely_rare=1_000)
"""bm25() of ten thousand hits takes at most 10 ms."""

READ_AHEAD = 2_000
"""Hits whose scores are read before all of them are known to be needed: 2 ms at most."""

FIRST_HITS = 64
"""Hits of each term that are always read; their scores show whether the term is common."""

FAR, NEAR = 50, 20
"""Maximum distance in words, a few lines. `NEAR` applies if many chunks are expected to pass."""

MANY_TOGETHER = 5_000
"""Expected number of chunks with all common terms, if they were independent, above which `NEAR` applies."""

WINDOW = 60
"""Length in words of the window that is scored. Measured, 60 to 150 are about equally good, 40 is worse."""

_LEAST_CERTAIN_WEIGHT = 10 * bm25.LEAST_FTS5_WEIGHT
"""The number of chunks can be derived from a weight in bm25() that is higher than this."""

_TIE_ROWS = 10
"""How many rows beyond the wanted ones are read at once, so that ties can be broken."""

_MATCHING = "FROM chunk_words@ WHERE chunk_words@ MATCH ?"
_BY_BM25 = f"SELECT rowid AS row, bm25(chunk_words@) AS score {_MATCHING}"
_BY_BM25_UP_TO = f"SELECT row, score FROM ({_BY_BM25}) WHERE score <= ?"  # noqa: S608 - nothing but our own
_BY_RELEVANCE = f"SELECT rowid, relevance(chunk_words@, ?, ?) {_MATCHING}"
_BY_CLOSENESS = f"SELECT rowid, closeness(chunk_words@, ?, ?) {_MATCHING}"
_RELEVANCE_OF_ONE = f"SELECT relevance(chunk_words@, 0, '1') {_MATCHING} AND rowid = ?"
_NEWEST = (
    "SELECT chunks@.id FROM json_each(?1) CROSS JOIN chunks@ ON chunks@.id = value"  # noqa: S608 - only our own
    " CROSS JOIN notes@ ON notes@.id = chunks@.note ORDER BY "
    + newest_first_sql(
        day="chunks@.day", mtime_ns="mtime_ns", path="notes@.path", first="chunks@.first", today="?2"
    )
    + " LIMIT ?3"
)

_Hits = list[tuple[int, float]]
"""Chunk rows with their bm25(), which is negative; lower is better."""


def register_functions(db: apsw.Connection) -> None:
    """Register the SQL functions that `SqliteFullText` scores by. Call once for each connection."""
    db.register_fts5_function("relevance", _score_relevance)
    db.register_fts5_function("closeness", _score_closeness)


def merge_deleted_words(tables: SqliteTables) -> None:
    """Remove the words of deleted chunks from the file; FTS5 only marks them as deleted."""
    tables.run("INSERT INTO chunk_words@ (chunk_words@) VALUES ('optimize')")


class SqliteFullText:
    """`FullText` in the index file. Use it within a transaction; methods raise apsw's errors and `UnexpectedType`."""

    _by_closeness = _BY_CLOSENESS

    def __init__(self, tables: SqliteTables) -> None:
        """Read nothing yet."""
        self._tables = tables
        self._read: dict[Term, _Hits] | None = {}
        """The scored hits of all terms that were counted, if all are rare."""
        self._left = READ_AHEAD

    @property
    def limits(self) -> ProposalLimits:
        """See `FullText.limits`."""
        return LIMITS

    def count_terms(self, terms: Sequence[Term]) -> TermCounts:
        """See `FullText.count_terms`.

        If all terms are rare, their hits are read too: bm25() of several terms is the sum over the terms, and
        reading the hits of a rare term costs no more than counting them.
        """
        chunks = count_chunks(self._tables)
        frequencies: dict[Term, int] = {}
        for term in terms:
            if self._read is None:
                frequencies[term] = _count_matches(self._tables, term)
                continue
            hits, is_whole = _read_first_hits(self._tables, term, chunks, self._left)
            if is_whole:
                frequencies[term], self._read[term] = len(hits), hits
                self._left -= len(hits)
            else:
                frequencies[term] = _frequency_from_score(self._tables, term, *hits[0], chunks)
                self._read = None
        return TermCounts(frequencies, chunks)

    def list_matches(self, terms: Sequence[Term]) -> list[int]:
        """See `FullText.list_matches`."""
        if self._read is not None:
            return list(dict.fromkeys(row for term in terms for row, _ in self._read[term]))
        return [row for (row,) in self._tables.run(f"SELECT rowid {_MATCHING}", (any_of_query(terms),))]

    def score_matches(
        self, terms: Sequence[Term], counts: TermCounts, *, limit: int, today: date
    ) -> list[ScoredChunk]:
        """See `FullText.score_matches`."""
        if self._read is not None:
            sums = _sum_scores([self._read[term] for term in terms])
            return list(zip(map(neg, sums.values()), sums, strict=True))
        expression = any_of_query(terms)
        # By the function's name, not by `rank`, for which FTS5 would prepare a statement each time.
        rows = list(self._tables.run(f"{_BY_BM25} ORDER BY score LIMIT ?", (expression, limit + _TIE_ROWS)))
        if len(rows) == limit + _TIE_ROWS:
            band = score_band(-rows[limit - 1][1])
            if score_band(-rows[-1][1]) == band:
                rows = list(self._tables.run(_BY_BM25_UP_TO, (expression, -band_floor(band))))
        return [(-score, row) for row, score in rows]

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
        expression = f"({any_of_query(chosen)}) AND ({any_of_query(weights)})"
        return run_scored(self._tables, _BY_RELEVANCE, len(chosen), weights.values(), expression)

    def score_closeness(
        self, weights: Mapping[Term, float], counts: TermCounts, *, limit: int, today: date
    ) -> Iterator[list[ScoredChunk]]:
        """See `FullText.score_closeness`: by the best `WINDOW`; chunks with all terms near each other first."""
        expected = counts.chunks * math.prod(counts.frequencies[term] / counts.chunks for term in weights)
        distance = FAR if expected <= MANY_TOGETHER else NEAR
        near = f"NEAR({' '.join(map(phrase_query, weights))}, {distance})"
        for expression in (near, " AND ".join(map(phrase_query, weights))):
            yield run_scored(self._tables, self._by_closeness, limit, weights.values(), expression)

    def list_newest(self, chunks: Sequence[int], *, limit: int, today: date) -> list[int]:
        """See `FullText.list_newest`."""
        values = (json.dumps(chunks), today.toordinal(), limit)
        return [row for (row,) in self._tables.run(_NEWEST, values)]


def _read_first_hits(tables: SqliteTables, term: Term, total: int, limit: int) -> tuple[_Hits, bool]:
    """Return hits of a term, and whether they are all; only a few are read if the term seems to be common."""
    cursor = tables.run(_BY_BM25, (phrase_query(term),))
    hits: _Hits = list(islice(cursor, FIRST_HITS))
    if len(hits) < FIRST_HITS:
        return hits, True
    is_whole = False
    if 2 * bm25.fts5_frequency(-sum(score for _, score in hits) / len(hits), total) <= limit:
        hits += islice(cursor, max(0, limit - len(hits)))
        is_whole = next(cursor, None) is None
    cursor.close()
    return hits, is_whole


def _frequency_from_score(tables: SqliteTables, term: Term, row: int, score: float, total: int) -> int:
    """Derive a term's number of chunks from its bm25() in one chunk.

    FTS5 has counted them already, and counting is all that is slow; doing it again would cost as much.
    """
    relevance = tables.run(_RELEVANCE_OF_ONE, (phrase_query(term), row)).fetchone()
    weight = -score / relevance[0] if relevance and relevance[0] else 0.0
    frequency = bm25.fts5_frequency(weight, total)
    if weight < _LEAST_CERTAIN_WEIGHT or abs(frequency - round(frequency)) > 0.01:
        return _count_matches(tables, term)
    return round(frequency)


def _sum_scores(parts: Sequence[_Hits]) -> dict[int, float]:
    """Sum the scores in the order of the parts, as FTS5 does."""
    sums = dict(parts[0])
    for part in parts[1:]:
        for row, score in part:
            sums[row] = sums[row] + score if row in sums else score
    return sums


def count_chunks(tables: SqliteTables) -> int:
    """Return the number of rows from the first number of FTS5's averages record; 0 in an empty table.

    Counting rows would read the whole table. See "Averages Record Format" in https://www.sqlite.org/fts5.html.
    """
    row = tables.run("SELECT block FROM chunk_words@_data WHERE id = 1").fetchone()
    return read_varint(check_bytes(row and row[0]))


def read_varint(record: bytes) -> int:
    """Return the number at the beginning of one of FTS5's records; 0 if it is empty."""
    number = 0
    for byte in record:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return number


def _count_matches(tables: SqliteTables, term: Term) -> int:
    return tables.count(f"SELECT count(*) {_MATCHING}", (phrase_query(term),))


def run_scored(
    tables: SqliteTables, sql: str, first: int, weights: Iterable[float], expression: str, *more: float
) -> list[ScoredChunk]:
    """Run a statement with a scoring function, which gets `first`, the weights and `more` of its arguments."""
    found = tables.run(sql, (first, " ".join(map(repr, weights)), *more, expression))
    return [(score, row) for row, score in found]


def _score_relevance(api: apsw.FTS5ExtensionApi, *arguments: object) -> float:
    """Compute BM25 over the phrases from a given number on, with the given weights.

    A third argument is the average length of the chunks that are searched, if these are not all.
    """
    if api.aux_data is None:
        first, packed, *given = arguments
        weights = [float(weight) for weight in str(packed).split(" ")]
        phrases = range(int(str(first)), int(str(first)) + len(weights))
        average = float(str(given[0])) if given else api.column_total_size() / api.row_count
        api.aux_data = (phrases, weights, average)
    phrases, weights, average = api.aux_data
    offsets = api.phrase_column_offsets
    counts = [len(offsets(phrase, 0)) for phrase in phrases]
    return bm25.score(weights, counts, bm25.length_norm(api.column_size(), average))


def _score_closeness(api: apsw.FTS5ExtensionApi, *arguments: object) -> float:
    """Return the highest weight of phrases within any `WINDOW` words; 0 if it cannot be among the best."""
    if api.aux_data is None:
        most, packed = arguments
        api.aux_data = (int(str(most)), [float(weight) for weight in str(packed).split(" ")], [])
    most, weights, best = api.aux_data
    places = [api.phrase_column_offsets(phrase, 0) for phrase in range(len(weights))]
    highest = bm25.score(weights, map(len, places), bm25.AVERAGE_NORM)
    if len(best) >= most and highest < best[0]:
        return 0.0
    score = _best_window_score(places, weights, highest)
    if len(best) < most:
        heapq.heappush(best, score)
    elif score > best[0]:
        heapq.heapreplace(best, score)
    return score


def _best_window_score(places: Sequence[Sequence[int]], weights: Sequence[float], highest: float) -> float:
    """Return the best score of a window; `highest` is the score of all positions together."""
    events = sorted((offset, phrase) for phrase, offsets in enumerate(places) for offset in offsets)
    if events[-1][0] - events[0][0] <= WINDOW:
        return highest
    counts = [0] * len(weights)
    densest, start = 0.0, 0
    for offset, phrase in events:
        # A window is as good as it gets before it loses its first word.
        if events[start][0] < offset - WINDOW:
            densest = max(densest, bm25.score(weights, counts, bm25.AVERAGE_NORM))
            while events[start][0] < offset - WINDOW:
                counts[events[start][1]] -= 1
                start += 1
        counts[phrase] += 1
    return max(densest, bm25.score(weights, counts, bm25.AVERAGE_NORM))


def any_of_query(terms: Iterable[Term]) -> str:
    """Return an FTS5 query for any of the terms. Tokens are letters, digits and marks, so quoting is enough."""
    return " OR ".join(map(phrase_query, terms))


def phrase_query(term: Term) -> str:
    """Return an FTS5 query for one term."""
    return f'"{" ".join(term.tokens)}"{"*" * term.is_beginning}'
