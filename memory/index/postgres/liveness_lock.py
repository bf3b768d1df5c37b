"""That a process is there: a lock on a session of its own, which the server ends with the process, at once."""

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
"""SQL: whether nobody is there any more who is called so, in a column `holder`."""


class LivenessLock:
    """One who may be seen to be there, by a name of its own; for one thread."""

    def __init__(self, server: Server) -> None:
        """Ask nobody yet."""
        self.name = uuid4().hex
        self._server = server
        self._opened: ExitStack | None = None
        self._session: Db | None = None

    def show(self) -> None:
        """Be there from now on, until `end`, or until the connection is lost. Raises IndexUnavailable."""
        if self._session:
            try:
                self._ask("SELECT 1")
                return
            except (IndexUnavailable, IndexCorrupted):
                self.end()  # a session that has grown old says nothing of the server
        self._opened = ExitStack()
        try:
            self._session = self._opened.enter_context(self._server.session())
            key = int.from_bytes(bytes.fromhex(self.name[:_DIGITS]), "big", signed=True)
            # Shared: where a session was lost, and the server has not noticed yet, it still has the lock.
            self._ask("SELECT pg_advisory_lock_shared(%s)", key)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Be there no more."""
        opened, self._opened, self._session = self._opened, None, None
        if opened:
            with suppress(IndexUnavailable, IndexCorrupted):
                opened.close()

    def _ask(self, statement: str, *values: int) -> None:
        assert self._session
        with translate_errors(self._server.shown), cut_after(self._session, ANSWER_SECONDS):
            self._session.execute(statement.encode(), values)
