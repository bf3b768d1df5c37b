"""Search within some top-level folders of the index file, as if it held nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import count

from memory.folder_scope import FolderScope
from memory.index.proposals import ScoredChunk, TermCounts
from memory.index.sqlite_full_text import (
    SqliteFullText,
    any_of_query,
    count_chunks,
    phrase_query,
    read_varint,
    run_scored,
)
from memory.index.sqlite_schema import SqliteTables, check_bytes, check_integer
from memory.ranking import bm25
from memory.tokenizer import Term

_NUMBERS = count(1)
_CREATE = "CREATE TABLE IF NOT EXISTS temp.scope_chunks (id INTEGER PRIMARY KEY)"
_FILL = (
    "INSERT INTO temp.scope_chunks SELECT chunks@.id FROM notes@ CROSS JOIN chunks@ ON chunks@.note = notes@.id"
    " WHERE path >= ? AND path < ?"
)
_LENGTHS = (
    "SELECT sz, count(*) FROM temp.scope_chunks AS scope CROSS JOIN chunk_words@_docsize AS size"
    " ON size.id = scope.id GROUP BY sz"
)
_TEXTS = (
    "SELECT text FROM notes@ CROSS JOIN segments@ ON segments@.id >= notes@.id << 24"
    " AND segments@.id < (notes@.id + 1) << 24 WHERE path >= ? AND path < ?"
)
# CROSS JOIN, or FTS5 might be asked once for each chunk of the scope.
_MATCHING = (
    "FROM chunk_words@ CROSS JOIN temp.scope_chunks AS scope ON scope.id = chunk_words@.rowid"
    " WHERE chunk_words@ MATCH ?"
)
_COUNT = f"SELECT count(*) {_MATCHING}"
_LIST = f"SELECT scope.id {_MATCHING}"
_BY_RELEVANCE = f"SELECT scope.id, relevance(chunk_words@, ?, ?, ?) {_MATCHING}"
_BY_CLOSENESS = f"SELECT scope.id, closeness(chunk_words@, ?, ?) {_MATCHING}"


class SqliteScope:
    """The chunks and texts of some folders in one state of the index.

    The chunks are in a temporary table of the connection, which holds those of one scope at a time.
    """

    def __init__(self, tables: SqliteTables, folders: FolderScope, state: str) -> None:
        """Find the chunks; `state` is an id of the index's state."""
        self.folders = folders
        self._state = state
        self._number = next(_NUMBERS)
        tables.run(_CREATE)
        tables.run("DELETE FROM temp.scope_chunks")
        # A mark, by which `is_of` recognizes the table; no chunk has a negative id.
        tables.run("INSERT INTO temp.scope_chunks VALUES (?)", (-self._number,))
        tables.run_each(_FILL, folders.path_ranges())
        lengths = [(read_varint(check_bytes(size)), check_integer(n)) for size, n in tables.run(_LENGTHS)]
        self.chunks = sum(n for _, n in lengths)
        self._has_all_chunks = self.chunks == count_chunks(tables)
        self.average_length = sum(length * n for length, n in lengths) / max(1, self.chunks)
        self._texts: list[int] | None = None

    def is_of(self, tables: SqliteTables, folders: FolderScope, state: str) -> bool:
        """Return whether it is of these folders in this state, and its table is still there.

        A transaction that fails undoes the table, and another connection never had it.
        """
        if (self.folders, self._state) != (folders, state):
            return False
        tables.run(_CREATE)
        mark = "SELECT count(*) FROM temp.scope_chunks WHERE id = ?"
        return tables.count(mark, (-self._number,)) == 1

    def full_text(self, tables: SqliteTables) -> SqliteFullText:
        """Return the words of the chunks. `tables` must be in the same state."""
        # FTS5's own functions, where they can be used, take a third of the time.
        return SqliteFullText(tables) if self._has_all_chunks else ScopedSqliteFullText(tables, self)

    def texts(self, tables: SqliteTables) -> list[int]:
        """Return the ids of the texts to embed, in order. `tables` must be in the same state."""
        if self._texts is None:
            rows = tables.run_each(_TEXTS, self.folders.path_ranges())
            self._texts = sorted({check_integer(text_id) for (text_id,) in rows})
        return self._texts


class ScopedSqliteFullText(SqliteFullText):
    """`FullText` of the chunks of a scope. FTS5's own bm25() cannot be used, since it counts all chunks."""

    _by_closeness = _BY_CLOSENESS

    def __init__(self, tables: SqliteTables, scope: SqliteScope) -> None:
        """Read nothing yet."""
        super().__init__(tables)
        self._scope = scope

    def count_terms(self, terms: Sequence[Term]) -> TermCounts:
        """See `FullText.count_terms`."""
        frequencies = {term: self._tables.count(_COUNT, (phrase_query(term),)) for term in terms}
        return TermCounts(frequencies, self._scope.chunks, self._scope.average_length)

    def list_matches(self, terms: Sequence[Term]) -> list[int]:
        """See `FullText.list_matches`."""
        return [row for (row,) in self._tables.run(_LIST, (any_of_query(terms),))]

    def score_matches(
        self, terms: Sequence[Term], counts: TermCounts, *, limit: int, today: date
    ) -> list[ScoredChunk]:
        """See `FullText.score_matches`."""
        weights = [bm25.fts5_weight(counts.frequencies[term], counts.chunks) for term in terms]
        return self._score(any_of_query(terms), 0, weights)

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
        return self._score(expression, len(chosen), weights.values())

    def _score(self, expression: str, first: int, weights: Iterable[float]) -> list[ScoredChunk]:
        average = self._scope.average_length
        return run_scored(self._tables, _BY_RELEVANCE, first, weights, expression, average)
