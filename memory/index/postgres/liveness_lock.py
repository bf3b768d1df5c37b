"""A lock that shows that a process is alive: the server releases it as soon as the process's session ends."""

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.postgres.errors import translate_errors
from memory.postgres.server import Server
from memory.postgres.timeouts import cut_after

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]

ANSWER_SECONDS = 5.0
_DIGITS = 16

IS_GONE = (
    f"('x' || left(holder, {_DIGITS}))::bit(64)::bigint NOT IN"  # noqa: S608 - nothing but our own
    " (SELECT classid::bigint << 32 | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
    " AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)
"""SQL: true if no live process has the name in the column `holder`."""


class LivenessLock:
    """A process's lock, under a random name; for one thread."""

    def __init__(self, server: Server) -> None:
        """Connect to nothing yet."""
        self.name = uuid4().hex
        self._server = server
        self._opened: ExitStack | None = None
        self._session: Db | None = None

    def show(self) -> None:
        """Hold the lock until `end`, or until the connection is lost. Raises `IndexUnavailable`."""
        if self._session:
            try:
                self._ask("SELECT 1")
                return
            except (IndexUnavailable, IndexCorrupted):
                self.end()  # an old session says nothing about the server
        self._opened = ExitStack()
        try:
            self._session = self._opened.enter_context(self._server.session())
            key = int.from_bytes(bytes.fromhex(self.name[:_DIGITS]), "big", signed=True)
            # Shared: the server may not have noticed yet that an earlier session of ours was lost, which
            # still holds it.
            self._ask("SELECT pg_advisory_lock_shared(%s)", key)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Release the lock."""
        opened, self._opened, self._session = self._opened, None, None
        if opened:
            with suppress(IndexUnavailable, IndexCorrupted):
                opened.close()

    def _ask(self, statement: str, *values: int) -> None:
        assert self._session
        with translate_errors(self._server.shown), cut_after(self._session, ANSWER_SECONDS):
            self._session.execute(statement.encode(), values)
