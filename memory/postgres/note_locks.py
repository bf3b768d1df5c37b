"""Locks of notes among instances: advisory locks, which the server releases when their session ends."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memory.deadline import Deadline
from memory.errors import IndexCorrupted, IndexUnavailable, NoteUnwritable
from memory.locks import LOCK_SECONDS, SharedLock, name_key
from memory.postgres.errors import ServerClosed, ServerUnreachable, translate_errors
from memory.postgres.lock_keys import lock_key
from memory.postgres.server import Server
from memory.postgres.timeouts import cut_after
from memory.translatable import Translatable

if TYPE_CHECKING:
    from psycopg import Connection

ANSWER_SECONDS = 5.0
"""Seconds after which a server that does not answer such a small query counts as unreachable."""

_POLL_SECONDS = 0.01
# The server ends the session of a vanished host within half a minute; its default is two hours.
_SESSION = (
    "SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
_TAKE = "SELECT pg_try_advisory_lock(%s)"
_RELEASE = "SELECT pg_advisory_unlock(%s)"
# Also detects that a connection pooler gave our statements to another backend.
_IS_OURS = (
    "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"
    " AND classid::bigint = %s AND objid::bigint = %s AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)


class NoteLocks:
    """`SharedLocks` in one session on a server, for any thread; opened when needed.

    A session can take a lock twice, so the caller must exclude its own threads.
    """

    def __init__(self, server: Server, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Connect to nothing yet; `answer_seconds` limits each query."""
        self._server = server
        self._answer_seconds = answer_seconds
        self._turn = threading.Lock()
        self._session: _Session | None = None
        self._closed = False

    @contextmanager
    def held(self, path: str, *, timeout: float = LOCK_SECONDS) -> Iterator[SharedLock]:
        """See `SharedLocks.held`."""
        lock = _NoteLock(self, lock_key("note", name_key(path)))
        deadline = Deadline.after(timeout)
        while not lock.acquire():
            if deadline.has_passed:
                raise NoteUnwritable(
                    "{path} has been locked by another instance for more than {seconds:g} seconds; try "
                    "again.",
                    path=path,
                    seconds=timeout,
                )
            # Jitter, so that waiting instances do not poll in step.
            time.sleep(_POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311
        try:
            yield lock
        finally:
            lock.release()

    def close(self) -> None:
        """Close the session, which releases all its locks. Later writes behave as without the server."""
        with self._turn:
            self._closed = True
            self._close_session()

    def _query(self, statement: str, *values: int, session: "_Session | None") -> "tuple[_Session, bool]":
        """Run a query in `session`, or in any if that is None; return the session and the answer.

        Raises `IndexUnavailable`, and `ServerClosed` after `close`.
        """
        with self._turn:
            if self._closed:
                raise ServerClosed
            if session and session is not self._session:
                raise ServerUnreachable("the connection to {server} was lost", server=self._server.shown)
            asked = self._session = self._session or _Session(self._server)
            try:
                return asked, asked.query(statement, values, seconds=self._answer_seconds)
            except (IndexUnavailable, IndexCorrupted):
                self._close_session()
                raise

    def _close_session(self) -> None:
        session, self._session = self._session, None
        if session:
            session.close()


class _NoteLock:
    """`SharedLock`, held or unavailable; `explain_lost` says which."""

    def __init__(self, locks: NoteLocks, key: int) -> None:
        self._locks = locks
        self._key = key
        self._session: _Session | None = None
        self._problem = ""

    def acquire(self) -> bool:
        """Return False if somebody else holds the lock.

        True does not mean that it is ours if the server is unreachable.
        """
        for left in (1, 0):
            try:
                self._session, taken = self._locks._query(_TAKE, self._key, session=None)
            except (IndexUnavailable, IndexCorrupted) as error:
                # The first failure may only mean that the session has expired.
                if not left or not isinstance(error, ServerUnreachable):
                    self._session, self._problem = None, _describe_error(error)
            else:
                if not taken:
                    self._session = None
                return taken
        return True

    def explain_lost(self) -> str:
        """See `SharedLock.explain_lost`."""
        if self._session:
            # pg_locks shows the key as two unsigned halves.
            high, low = (self._key >> 32) & 0xFFFFFFFF, self._key & 0xFFFFFFFF
            try:
                ours = self._locks._query(_IS_OURS, high, low, session=self._session)[1]
                self._problem = (
                    ""
                    if ours
                    else Translatable(
                        "its lock was lost (locks do not work through a pooler in transaction mode)"
                    )
                )
            except (IndexUnavailable, IndexCorrupted) as error:
                self._problem = _describe_error(error)
            if self._problem:
                self._session = None
        return self._problem

    def release(self) -> None:
        """Release the lock."""
        if self._session:
            # If the session is lost, so is the lock.
            with suppress(IndexUnavailable, IndexCorrupted):
                self._locks._query(_RELEASE, self._key, session=self._session)


def _describe_error(error: IndexUnavailable | IndexCorrupted) -> str:
    """Return the message without the server's address, since chats and models see what became of a note."""
    match error:
        case ServerClosed():
            return error.text
        case ServerUnreachable():
            return Translatable("the index server does not answer")
        case _:
            return Translatable("the index server cannot be used")


class _Session:
    """A connection that stays open."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._opened = ExitStack()
        self._connection: Connection[tuple[Any, ...]] = self._opened.enter_context(server.session())
        try:
            self.query(_SESSION, ())
        except BaseException:
            self.close()
            raise

    def query(self, statement: str, values: tuple[int, ...], *, seconds: float = ANSWER_SECONDS) -> bool:
        """Return whether the first column of the answer is true."""
        with translate_errors(self._server.shown), cut_after(self._connection, seconds):
            found = self._connection.execute(statement.encode(), values).fetchone()
        return bool(found and found[0])

    def close(self) -> None:
        """Close the connection. That it was lost does not mean that the server is unreachable."""
        with suppress(IndexUnavailable, IndexCorrupted):
            self._opened.close()
