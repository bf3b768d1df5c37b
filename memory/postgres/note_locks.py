"""One lock a note among instances: advisory locks on the server, which itself ends those of a session that is gone."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from memory.errors import IndexCorrupted, IndexUnavailable, NoteUnwritable
from memory.locks import LOCK_SECONDS, SharedLock, name_key
from memory.postgres.errors import ServerClosed, ServerUnreachable, translate_errors
from memory.postgres.lock_keys import lock_key
from memory.postgres.server import Server
from memory.postgres.timeouts import cut_after

if TYPE_CHECKING:
    from psycopg import Connection

ANSWER_SECONDS = 5.0
"""A server that does not answer such a small question in that time counts as away."""

_POLL_SECONDS = 0.01
# The server ends the session of a host that has vanished within half a minute; by itself it would take two hours.
_SESSION = (
    "SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),"
    " set_config('tcp_keepalives_count', '3', false)"
)
_TAKE = "SELECT pg_try_advisory_lock(%s)"
_RELEASE = "SELECT pg_advisory_unlock(%s)"
# Also tells of a pooler that has given our statements another backend.
_IS_OURS = (
    "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"
    " AND classid::bigint = %s AND objid::bigint = %s AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)


class NoteLocks:
    """`SharedLocks` by one session of one server, for any thread; opened when it is first wanted.

    In one session a lock can be had twice: the caller keeps its own threads apart.
    """

    def __init__(self, server: Server, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Ask nobody yet."""
        self._server = server
        self._answer_seconds = answer_seconds
        self._turn = threading.Lock()
        self._session: _Session | None = None
        self._closed = False

    @contextmanager
    def held(self, path: str, *, timeout: float = LOCK_SECONDS) -> Iterator[SharedLock]:
        """See `SharedLocks.held`."""
        lock = _NoteLock(self, lock_key("note", name_key(path)))
        deadline = time.monotonic() + timeout
        while not lock.acquire():
            if time.monotonic() >= deadline:
                raise NoteUnwritable(
                    f"{path} is being written by another instance for more than {timeout:g} seconds; try again."
                )
            # Not in step with the others who wait.
            time.sleep(_POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311
        try:
            yield lock
        finally:
            lock.release()

    def close(self) -> None:
        """Let go of the session, and of all locks with it; who writes after that does so as without the server."""
        with self._turn:
            self._closed = True
            self._close_session()

    def _query(self, statement: str, *values: int, session: "_Session | None") -> "tuple[_Session, bool]":
        """Ask this session, or any where that is None; give back which one it was, and its answer.

        Raises IndexUnavailable, `ServerClosed` once this was closed.
        """
        with self._turn:
            if self._closed:
                raise ServerClosed
            if session and session is not self._session:
                raise ServerUnreachable(f"the connection to {self._server.shown} was lost")
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
    """`SharedLock`: while it is held, or while it cannot be asked for, which `explain_lost` tells."""

    def __init__(self, locks: NoteLocks, key: int) -> None:
        self._locks = locks
        self._key = key
        self._session: _Session | None = None
        self._problem = ""

    def acquire(self) -> bool:
        """Whether somebody else has it not; it need not be ours where the server is away."""
        for left in (1, 0):
            try:
                self._session, taken = self._locks._query(_TAKE, self._key, session=None)
            except (IndexUnavailable, IndexCorrupted) as error:
                # The first time it may only be the session that has grown old.
                if not left or not isinstance(error, ServerUnreachable):
                    self._session, self._problem = None, _describe_error(error)
            else:
                if not taken:
                    self._session = None
                return taken
        return True

    def explain_lost(self) -> str:
        """See `SharedLock.why_not_ours`."""
        if self._session:
            # As in pg_locks: two halves without a sign.
            high, low = (self._key >> 32) & 0xFFFFFFFF, self._key & 0xFFFFFFFF
            try:
                ours = self._locks._query(_IS_OURS, high, low, session=self._session)[1]
                self._problem = (
                    "" if ours else "its lock was lost (locks do not pass a pooler that parts transactions)"
                )
            except (IndexUnavailable, IndexCorrupted) as error:
                self._problem = _describe_error(error)
            if self._problem:
                self._session = None
        return self._problem

    def release(self) -> None:
        """Whoever waits for it may have it."""
        if self._session:
            # Where the session is lost, so is the lock.
            with suppress(IndexUnavailable, IndexCorrupted):
                self._locks._query(_RELEASE, self._key, session=self._session)


def _describe_error(error: IndexUnavailable | IndexCorrupted) -> str:
    """Without where the server is: it is told in chats, and to models, what became of a note."""
    match error:
        case ServerClosed():
            return str(error)
        case ServerUnreachable():
            return "the index's server does not answer"
        case _:
            return "the index's server cannot be used"


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
        """Whether the answer begins with something true."""
        with translate_errors(self._server.shown), cut_after(self._connection, seconds):
            found = self._connection.execute(statement.encode(), values).fetchone()
        return bool(found and found[0])

    def close(self) -> None:
        """End it. That it was lost says nothing of the server, which the next one is to ask."""
        with suppress(IndexUnavailable, IndexCorrupted):
            self._opened.close()
