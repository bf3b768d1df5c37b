"""The index on a PostgreSQL server: tsvector finds chunks, pgvector finds segments, tables hold their passages."""

from memory.index.postgres.generation import GenerationIndex
from memory.index.postgres.shadow import PostgresShadow


class PostgresIndex(GenerationIndex):
    """`Index` in one database, for any number of instances."""

    def shadow(self) -> PostgresShadow:
        """See `Index.shadow`."""
        self._ensure_schema()
        return PostgresShadow(
            self._server,
            fingerprint=self._fingerprint,
            user=self._user,
            member=self._member,
            wanted=self._wanted,
        )
