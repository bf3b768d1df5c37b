"""Full-text candidates: rare words are ranked by BM25, common ones by closeness.

FTS5's bm25() costs about 1 µs per hit, so a word in half of a hundred thousand chunks takes a tenth of a
second; matching costs a thirtieth of that, NEAR little more. If every word of a query is common, chunks
differ less by how often the words occur than by how close together they are.
"""

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations, islice

import apsw

from memory.index.sqlite_schema import SqliteTables, check_bytes
from memory.search import ASSUMED_OTHER_CHUNKS, band_floor, score_band
from memory.tokenizer import Term

READ_AHEAD = 2_000
"""Hits whose scores are read before all of them are known to be needed: 2 ms at most."""

FIRST_LOOK = 64
"""Hits of each term that are always read; their scores show whether the term is common."""

EXACT_HITS = 10_000
"""Terms with at most this many hits together are all ranked by bm25(), which takes at most 10 ms."""

RARE_HITS = 5_000
"""The rarest terms with at most this many hits together choose the candidates alone, if the others add too many."""

RARE_SHARE = 0.05
SURELY_RARE = 1_000
"""A term in more chunks than this, and in more than `RARE_SHARE` of them, never chooses alone.

It would exclude terms that are hardly more common.
"""

CLOSE_TERMS = 3
"""How many common terms, the rarest ones, must occur close together; few chunks contain more of them."""

FAR, NEAR = 50, 20
"""Maximum distance in words, a few lines. `NEAR` applies if many chunks are expected to pass."""

MANY_TOGETHER = 5_000
"""Expected number of chunks with all common terms, if they were independent, above which `NEAR` applies."""

WINDOW = 60
"""Length in words of the window that is scored. Measured, 60 to 150 are about equally good, 40 is worse."""

_K1, _B = 1.2, 0.75
"""The constants of FTS5's bm25(), which cannot be changed."""

_LEAST_IDF = 1e-5
"""In bm25(), a term in half of the chunks or more has .000001, whatever the number of chunks."""

_MOST_ROWS = 1 << 31
_TIED = 10
"""How many rows beyond the wanted ones are read at once, so that ties can be broken."""

_MATCHING = "FROM chunk_words@ WHERE chunk_words@ MATCH ?"
_BY_BM25 = f"SELECT rowid AS row, bm25(chunk_words@) AS score {_MATCHING}"
_BY_BM25_UP_TO = f"SELECT row, score FROM ({_BY_BM25}) WHERE score <= ?"  # noqa: S608 - nothing but our own
_BY_RELEVANCE = f"SELECT rowid, relevance(chunk_words@, ?, ?) {_MATCHING}"
_BY_CLOSENESS = f"SELECT rowid, closeness(chunk_words@, ?, ?) {_MATCHING}"
_RELEVANCE_OF_ONE = f"SELECT relevance(chunk_words@, 0, '1') {_MATCHING} AND rowid = ?"
# The same order as `newest_first` in memory.search.
_NEWEST = (
    "SELECT chunks@.id FROM json_each(?1) CROSS JOIN chunks@ ON chunks@.id = value"
    " CROSS JOIN notes@ ON notes@.id = chunks@.note"
    " ORDER BY coalesce(min(chunks@.day, ?2), ?2) DESC, chunks@.day IS NULL,"
    " CASE WHEN chunks@.day IS NULL THEN mtime_ns END DESC, notes@.path, chunks@.first LIMIT ?3"
)


_Scored = tuple[float, int]
"""A score, higher is better, and a chunk's row."""

_Hits = list[tuple[int, float]]
"""Chunk rows with their bm25(), which is negative; lower is better."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Chunks that may match, and how common the terms are."""

    chunks: tuple[int, ...]
    """Their rows, distinct, in no order."""
    frequencies: Mapping[Term, int]
    """Number of chunks that contain each term."""
    total: int
    """Number of all chunks."""


def register_functions(db: apsw.Connection) -> None:
    """Register the SQL functions that `propose` ranks by. Call once for each connection."""
    db.register_fts5_function("relevance", _score_relevance)
    db.register_fts5_function("closeness", _score_closeness)


def merge_deleted(tables: SqliteTables) -> None:
    """Remove the words of deleted chunks from the file; FTS5 only marks them as deleted."""
    tables.run("INSERT INTO chunk_words@ (chunk_words@) VALUES ('optimize')")


def propose(tables: SqliteTables, terms: Sequence[Term], *, most: int, today: date = date.max) -> Proposal:
    """Return at most `most` chunks that contain any of the terms.

    Among nearly equal scores the newest are chosen. Call within a transaction. Raises apsw's errors and
    `UnexpectedType`.
    """
    total = _count_chunks(tables)
    frequencies, read = _look_up(tables, terms, total)
    most = min(most, _MOST_ROWS)
    # Ties keep the order of the query, since it decides the order in which scores are summed.
    present = sorted((term for term in frequencies if frequencies[term]), key=frequencies.__getitem__)
    if not present or most <= 0:
        return Proposal((), frequencies, total)
    hits = sum(frequencies[term] for term in present)
    if read is not None:
        return Proposal(
            tuple(_best_hits(tables, _sum_scores([read[term] for term in present]), most, today)),
            frequencies,
            total,
        )
    if hits <= EXACT_HITS:
        chunks = (
            _all_matches(tables, present)
            if hits <= most
            else _best_rows(tables, _rank_by_bm25(tables, present, most), most, today)
        )
        return Proposal(tuple(chunks), frequencies, total)
    rare, common = _split_by_rarity(present, frequencies, total)
    common = common[:CLOSE_TERMS]
    found: set[int] = set()
    for scored in _propose_in_order(tables, rare, common, frequencies, total, most):
        new = [item for item in scored if item[1] not in found]
        found.update(_best_rows(tables, new, most - len(found), today))
        if len(found) >= most:
            break
    return Proposal(tuple(found), frequencies, total)


def _propose_in_order(
    tables: SqliteTables,
    rare: Sequence[Term],
    common: Sequence[Term],
    frequencies: Mapping[Term, int],
    total: int,
    most: int,
) -> Iterator[list[_Scored]]:
    """Yield scored chunks, the best kinds first: at least the `most` best of each kind."""
    weights = {term: _term_weight(frequencies[term], total) for term in (*rare, *common)}
    if rare:
        expression = f"({_any_of_query(rare)}) AND ({_any_of_query(weights)})"
        yield _run_scored(tables, _BY_RELEVANCE, len(rare), list(weights.values()), expression)
    for expression, asked in _all_but_one_queries(common, frequencies, total):
        yield _run_scored(tables, _BY_CLOSENESS, most, [weights[term] for term in asked], expression)
    if common and (not rare or frequencies[common[0]] <= EXACT_HITS):
        yield _rank_by_bm25(tables, common[:1], most)


def _look_up(
    tables: SqliteTables, terms: Sequence[Term], total: int
) -> tuple[dict[Term, int], dict[Term, _Hits] | None]:
    """Return each term's number of chunks and, if all terms are rare, their scored hits.

    bm25() of several terms is the sum over the terms, and reading the hits of a rare term costs no more than
    counting them.
    """
    frequencies: dict[Term, int] = {}
    read: dict[Term, _Hits] | None = {}
    left = READ_AHEAD
    for term in terms:
        if read is None:
            frequencies[term] = tables.count(f"SELECT count(*) {_MATCHING}", (_phrase_query(term),))
            continue
        hits, is_whole = _read_first_hits(tables, term, total, left)
        if is_whole:
            frequencies[term], read[term] = len(hits), hits
            left -= len(hits)
        else:
            frequencies[term], read = _frequency_from_score(tables, term, *hits[0], total), None
    return frequencies, read


def _read_first_hits(tables: SqliteTables, term: Term, total: int, most: int) -> tuple[_Hits, bool]:
    """Return hits of a term, and whether they are all; only a few are read if the term seems to be common."""
    cursor = tables.run(_BY_BM25, (_phrase_query(term),))
    hits: _Hits = list(islice(cursor, FIRST_LOOK))
    if len(hits) < FIRST_LOOK:
        return hits, True
    is_whole = False
    if 2 * _frequency_from_idf(-sum(score for _, score in hits) / len(hits), total) <= most:
        hits += islice(cursor, max(0, most - len(hits)))
        is_whole = next(cursor, None) is None
    cursor.close()
    return hits, is_whole


def _frequency_from_score(tables: SqliteTables, term: Term, row: int, score: float, total: int) -> int:
    """Derive a term's number of chunks from its bm25() in one chunk.

    FTS5 has counted them already, and counting is all that is slow; doing it again would cost as much.
    """
    relevance = tables.run(_RELEVANCE_OF_ONE, (_phrase_query(term), row)).fetchone()
    idf = -score / (relevance[0] * (_K1 + 1)) if relevance and relevance[0] else 0.0
    frequency = _frequency_from_idf(idf, total)
    if idf < _LEAST_IDF or abs(frequency - round(frequency)) > 0.01:
        return tables.count(f"SELECT count(*) {_MATCHING}", (_phrase_query(term),))
    return round(frequency)


def _frequency_from_idf(idf: float, total: int) -> float:
    """Return the number of chunks of a term with this inverse document frequency in bm25()."""
    odds = math.exp(idf)
    return (total + 0.5 - 0.5 * odds) / (1 + odds)


def _sum_scores(parts: Sequence[_Hits]) -> dict[int, float]:
    """Sum the scores in the order of the parts, as FTS5 does."""
    sums = dict(parts[0])
    for part in parts[1:]:
        for row, score in part:
            sums[row] = sums[row] + score if row in sums else score
    return sums


def _count_chunks(tables: SqliteTables) -> int:
    """Return the number of rows from the first number of FTS5's averages record; 0 in an empty table.

    Counting rows would read the whole table. https:

    www.sqlite.org/fts5.html, "Averages Record Format".
    """
    row = tables.run("SELECT block FROM chunk_words@_data WHERE id = 1").fetchone()
    count = 0
    for byte in check_bytes(row and row[0]):
        count = count << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return count


def _split_by_rarity(
    present: Sequence[Term], frequencies: Mapping[Term, int], total: int
) -> tuple[list[Term], list[Term]]:
    """Split terms, ordered by frequency, into those that choose alone and the others."""
    hits, most_chunks = 0, max(SURELY_RARE, RARE_SHARE * total)
    for position, term in enumerate(present):
        hits += frequencies[term]
        if hits > RARE_HITS or frequencies[term] > most_chunks:
            return list(present[:position]), list(present[position:])
    return list(present), []


def _all_but_one_queries(
    common: Sequence[Term], frequencies: Mapping[Term, int], total: int
) -> Iterator[tuple[str, Sequence[Term]]]:
    """Yield queries for chunks with all terms, then with all but one, each with its terms."""
    for asked in (choice for count in range(len(common), 1, -1) for choice in combinations(common, count)):
        expected = total * math.prod(frequencies[term] / total for term in asked)
        distance = FAR if expected <= MANY_TOGETHER else NEAR
        yield f"NEAR({' '.join(map(_phrase_query, asked))}, {distance})", asked
        yield " AND ".join(map(_phrase_query, asked)), asked


def _best_hits(tables: SqliteTables, hits: Mapping[int, float], most: int, today: date) -> list[int]:
    if len(hits) <= most:
        return list(hits)
    return _best_rows(tables, [(-score, row) for row, score in hits.items()], most, today)


def _all_matches(tables: SqliteTables, terms: Sequence[Term]) -> list[int]:
    return [row for (row,) in tables.run(f"SELECT rowid {_MATCHING}", (_any_of_query(terms),))]


def _rank_by_bm25(tables: SqliteTables, terms: Sequence[Term], most: int) -> list[_Scored]:
    """Return the best chunks by FTS5's bm25(), and all that nearly tie with the last of them."""
    expression = _any_of_query(terms)
    # By the function's name, not by `rank`, for which FTS5 would prepare a statement each time.
    rows = list(tables.run(f"{_BY_BM25} ORDER BY score LIMIT ?", (expression, most + _TIED)))
    if len(rows) == most + _TIED:
        band = score_band(-rows[most - 1][1])
        if score_band(-rows[-1][1]) == band:
            rows = list(tables.run(_BY_BM25_UP_TO, (expression, -band_floor(band))))
    return [(-score, row) for row, score in rows]


def _term_weight(frequency: int, total: int) -> float:
    """Return a term's weight as in memory.search, where a word in every chunk still counts a little."""
    return math.log1p((total + ASSUMED_OTHER_CHUNKS - frequency + 0.5) / (frequency + 0.5))


def _run_scored(
    tables: SqliteTables, sql: str, first: int, weights: Sequence[float], expression: str
) -> list[_Scored]:
    found = tables.run(sql, (first, " ".join(map(repr, weights)), expression))
    return [(score, row) for row, score in found]


def _best_rows(tables: SqliteTables, scored: list[_Scored], most: int, today: date) -> list[int]:
    """Return the rows with the highest scores; among near ties with the last, the newest."""
    if len(scored) <= most:
        return [row for _, row in scored]
    last = score_band(heapq.nlargest(most, scored)[-1][0])
    bands = [(score_band(score), row) for score, row in scored]
    sure = [row for band, row in bands if band > last]
    tied = [row for band, row in bands if band == last]
    if len(sure) + len(tied) > most:
        values = (json.dumps(tied), today.toordinal(), most - len(sure))
        tied = [row for (row,) in tables.run(_NEWEST, values)]
    return sure + tied


def _score_relevance(api: apsw.FTS5ExtensionApi, *arguments: object) -> float:
    """Compute FTS5's BM25 over the phrases from a given number on, with the given weights."""
    if api.aux_data is None:
        first, packed = arguments
        average = api.column_total_size() / api.row_count
        api.aux_data = (int(str(first)), [float(weight) for weight in str(packed).split(" ")], average)
    phrase, weights, average = api.aux_data
    norm = _K1 * (1 - _B + _B * api.column_size() / average)
    score = 0.0
    for weight in weights:
        count = len(api.phrase_column_offsets(phrase, 0))
        if count:
            score += weight * count / (count + norm)
        phrase += 1
    return score


def _score_closeness(api: apsw.FTS5ExtensionApi, *arguments: object) -> float:
    """Return the highest weight of phrases within any `WINDOW` words; 0 if it cannot be among the best."""
    if api.aux_data is None:
        most, packed = arguments
        api.aux_data = (int(str(most)), [float(weight) for weight in str(packed).split(" ")], [])
    most, weights, best = api.aux_data
    places = [api.phrase_column_offsets(phrase, 0) for phrase in range(len(weights))]
    highest = 0.0
    for weight, offsets in zip(weights, places, strict=True):
        highest += weight * len(offsets) / (len(offsets) + _K1)
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
        counts[phrase] += 1
        while events[start][0] < offset - WINDOW:
            counts[events[start][1]] -= 1
            start += 1
        score = 0.0
        for weight, count in zip(weights, counts, strict=True):
            score += weight * count / (count + _K1)
        densest = max(densest, score)
    return densest


def _any_of_query(terms: Iterable[Term]) -> str:
    """Return an FTS5 query for any of the terms. Tokens are letters, digits and marks, so quoting is enough."""
    return " OR ".join(map(_phrase_query, terms))


def _phrase_query(term: Term) -> str:
    return f'"{" ".join(term.tokens)}"'
