"""Search within some top-level folders of the index on the server, as if it held nothing else."""

from collections.abc import Sequence

from memory.folder_scope import FolderScope
from memory.index.postgres.full_text import PostgresFullText, Statements, to_lexemes
from memory.index.postgres.lexemes import format_tsquery
from memory.index.postgres.schema import PostgresTables
from memory.index.proposals import TermCounts
from memory.tokenizer import Term

_NOTES = (
    "SELECT n.id FROM unnest(%s::text[], %s::text[]) AS folder (first, past)"
    " JOIN commonplace.notes@ AS n ON n.path >= folder.first AND n.path < folder.past"
)
_SUMS = "SELECT count(*), coalesce(sum(length), 0)::bigint FROM commonplace.chunks@ WHERE note = ANY(%s)"
_COUNTS = (
    "SELECT (SELECT count(*) FROM commonplace.chunks@ WHERE words @@ term.query AND note = ANY(%s))"
    " FROM unnest(%s::text[]::tsquery[]) WITH ORDINALITY AS term (query, number) ORDER BY number"
)


class PostgresScope:
    """The notes and texts of some folders in one state of the index."""

    def __init__(self, tables: PostgresTables, folders: FolderScope) -> None:
        """Find the notes."""
        self.folders = folders
        ranges = folders.path_ranges()
        self.notes = [
            row[0]
            for row in tables.run(_NOTES, [[first for first, _ in ranges], [past for _, past in ranges]])
        ]
        """Their ids."""
        [(self.chunks, words)] = tables.run(_SUMS, [self.notes])
        self.average_length = max(1.0, words / max(1, self.chunks))
        self._texts: list[int] | None = None

    def full_text(self, tables: PostgresTables) -> PostgresFullText:
        """Return the words of the chunks. `tables` must be in the same state."""
        return ScopedPostgresFullText(tables, self)

    def texts(self, tables: PostgresTables) -> list[int]:
        """Return the ids of the texts to embed, in order. `tables` must be in the same state."""
        if self._texts is None:
            sql = "SELECT DISTINCT text FROM commonplace.segments@ WHERE note = ANY(%s) ORDER BY text"
            self._texts = [row[0] for row in tables.run(sql, [self.notes])]
        return self._texts


class ScopedPostgresFullText(PostgresFullText):
    """`FullText` of the chunks of a scope. Words are counted in them, since the stored counts are of all chunks."""

    _statements = Statements.of(" AND note = ANY(%(notes)s)")

    def __init__(self, tables: PostgresTables, scope: PostgresScope) -> None:
        """Read nothing yet."""
        super().__init__(tables)
        self._scope = scope
        self._values = {"notes": scope.notes}

    def count_terms(self, terms: Sequence[Term]) -> TermCounts:
        """See `FullText.count_terms`."""
        queries = [format_tsquery(lexeme) for lexeme in to_lexemes(terms)]
        counts = [row[0] for row in self._tables.run(_COUNTS, [self._scope.notes, queries])]
        return TermCounts(
            dict(zip(terms, counts, strict=True)), self._scope.chunks, self._scope.average_length
        )
