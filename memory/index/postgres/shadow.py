"""The index under construction: the other generation of tables in the same database."""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memory.embeddings.protocol import ModelId
from memory.errors import IndexUnavailable, RebuildRunning
from memory.index.postgres import active_instances
from memory.index.postgres.generation import GenerationIndex, ServerTransaction
from memory.index.postgres.notes import count_uses
from memory.index.postgres.schema import (
    GENERATIONS,
    SHADOW_LOCK,
    IndexState,
    PostgresTables,
    lock_index,
    read_snapshot_state,
    read_state,
)
from memory.postgres.errors import translate_errors
from memory.postgres.lock_keys import lock_key
from memory.postgres.notifications import notify_change
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

WAIT_MS = 60_000
"""How many milliseconds it waits for other writers."""


class PostgresShadow(GenerationIndex):
    """`Shadow`. It writes on the connection that holds its lock, so that losing the lock prevents writing.

    Uses of texts are counted on promotion: counting them earlier too would double the writes.
    """

    _is_live = False

    def __init__(
        self, server: Server, *, fingerprint: str, user: str, member: str, wanted: ModelId | None
    ) -> None:
        """Start empty. Raises `IndexUnavailable` if another process has a shadow or other settings."""
        super().__init__(server, fingerprint=fingerprint, user=user, member=member)
        self.track_model(wanted)
        self._is_prepared = True
        self._identity = ""
        self._open = contextlib.ExitStack()
        self._db: Db = self._open.enter_context(server.session())
        try:
            with translate_errors(server.shown):
                self._db.execute(f"SET lock_timeout = {WAIT_MS}".encode())
                self._db.execute("SET statement_timeout = 0")
                key = lock_key("index", SHADOW_LOCK)
                row = self._db.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
                if not (row and row[0]):
                    raise RebuildRunning("another process is rebuilding the index")
                with self._db.transaction():
                    state = read_state(self._db)
                    if state is None:
                        raise IndexUnavailable("the index was started over just now")
                    active_instances.check_nobody_else(self._db, self._user, self._fingerprint)
                    active_instances.record_use(self._db, self._user, self._fingerprint)
                    self._identity = state.identity
                    self._tables(self._db, state).empty()
        except BaseException:
            self._identity = ""
            self.close()
            raise

    def shadow(self) -> "PostgresShadow":
        """Raise `IndexUnavailable`: there is only one shadow at a time."""
        raise IndexUnavailable("this process is rebuilding the index")

    def promote(self) -> None:
        """See `Shadow.promote`."""
        with translate_errors(self._server.shown), self._db.transaction():
            # Readers go on while uses are counted, and wait only for the swap itself.
            lock_index(self._db, "SHARE ROW EXCLUSIVE")
            state = read_state(self._db)
            if state is None:
                raise IndexUnavailable("the index was started over during the rebuild")
            mine = self._tables(self._db, state)
            count_uses(mine)
            lock_index(self._db, "ACCESS EXCLUSIVE")
            active_instances.check_nobody_else(self._db, self._user, self._fingerprint)
            self._db.execute(
                "UPDATE commonplace.index_state SET generation = %s, fingerprint = %s,"
                " renewals = renewals + 1, changes = changes + 1, last_indexed_at = now()",
                (mine.generation, self._fingerprint),
            )
            PostgresTables(self._db, state.generation).empty()
            notify_change(self._db, self._member)
        self._identity = ""
        self.close()

    def is_outdated(self) -> bool:
        """Return False: it is filled from scratch."""
        return False

    def reset(self) -> None:
        """Start empty again."""
        with self._open_write() as tx:
            tx.tables.empty()

    def close(self) -> None:
        """Close the shadow; its tables are emptied unless it was promoted."""
        if self._identity:
            # The next shadow removes what cannot be removed now.
            with contextlib.suppress(IndexUnavailable), self._open_write() as tx:
                tx.tables.empty()
            self._identity = ""
        super().close()
        with contextlib.suppress(Exception):  # the server may end a session and its locks a little later
            self._db.execute("SELECT pg_advisory_unlock_all()")
        with contextlib.suppress(Exception):
            self._open.close()

    @contextlib.contextmanager
    def _open_read(self) -> Iterator[ServerTransaction]:
        with translate_errors(self._server.shown), self._db.transaction():
            state = read_snapshot_state(self._db)
            if state is None:
                raise IndexUnavailable("the index was started over during the rebuild")
            yield ServerTransaction(self._db, state, self._tables(self._db, state))

    @contextlib.contextmanager
    def _open_write(self) -> Iterator[ServerTransaction]:
        with translate_errors(self._server.shown), self._db.transaction():
            lock_index(self._db, "ROW EXCLUSIVE")
            state = read_state(self._db)
            if state is None:
                raise IndexUnavailable("the index was started over during the rebuild")
            yield ServerTransaction(self._db, state, self._tables(self._db, state))
            # Otherwise an instance with the settings of the old index could take it over during a long rebuild.
            active_instances.record_use(self._db, self._user, self._fingerprint)

    def _tables(self, db: "Db", state: IndexState) -> PostgresTables:
        if state.identity != self._identity:
            raise IndexUnavailable("the index was started over during the rebuild")
        return PostgresTables(db, GENERATIONS[state.generation == GENERATIONS[0]])

    def claim(self, paths: Sequence[str]) -> Collection[str]:
        """Return all paths: nobody else writes here."""
        return paths

    def release(self, paths: Collection[str]) -> None:
        """Do nothing, since nothing was claimed."""

    def _filter_claimed(self, db: "Db", paths: Sequence[str]) -> set[str]:
        """Return all paths: nobody else writes here, and claims are those of the index itself."""
        return set(paths)

    def _record_use(self) -> None:
        """Do nothing, since each write records it."""
