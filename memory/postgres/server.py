"""The server that instances share: transactions on connections from a pool, and sessions of one's own."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from memory.errors import IndexUnavailable
from memory.postgres.errors import ServerClosed, ServerUnreachable, translate_errors
from memory.postgres.timeouts import SILENT_SECONDS, cut_after, make_watched_connection
from memory.postgres.url import format_url

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

MOST_CONNECTIONS = 6
"""At once, for searching, indexing, rebuilding and leases; sessions of one's own come on top."""
CONNECT_SECONDS = 3
REST_SECONDS = 2.0
"""For so long a server that was away is not asked again: searches look into the files meanwhile, without delay."""
STATEMENT_MS = 120_000
LOCK_MS = 10_000

# A host that has vanished without a word is noticed within half a minute.
_KEEPALIVES: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "connect_timeout": CONNECT_SECONDS,
}


class Server:
    """One database, for any thread. It is asked for the first time when somebody wants a connection.

    Every error of its connections is an `IndexUnavailable` (`ServerUnreachable` where it cannot be reached,
    `ServerClosed` once this was closed) or `IndexCorrupted`. A server that hangs in the middle of a statement is waited
    for for `silent_seconds`, a third of that and up to twelve more; twice as long where only this connection of it
    does.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "commonplace",
        most: int = MOST_CONNECTIONS,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """Connect to nobody yet. `name` is what the server's own lists show of us; `most` connections in the pool."""
        self._url = url
        self._silent_seconds = silent_seconds
        self._name = name[:63]
        self._most = most
        self._pool: ConnectionPool[Connection[tuple[Any, ...]]] | None = None
        self._class: type[Connection[tuple[Any, ...]]] | None = None
        self._processes: WeakKeyDictionary[Connection[tuple[Any, ...]], int] = WeakKeyDictionary()
        """The server's own, of each connection."""
        self._opening = threading.Lock()
        self._away: tuple[float, str] = (0.0, "")
        self._closed = False

    @property
    def shown(self) -> str:
        """Its address, without secrets."""
        return format_url(self._url)

    @property
    def problem(self) -> str:
        """Why it cannot be used, as last seen; "" while it can, or was not asked yet."""
        return self._away[1]

    @contextmanager
    def transaction(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """One transaction: committed at the end, rolled back where the block raises."""
        pool = self._open_pool()
        with self._track_health(), pool.connection() as connection:
            yield connection

    @contextmanager
    def session(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """A connection of one's own, where each statement is committed by itself: for LISTEN and advisory locks."""
        self._check()
        with self._track_health(), self._connect() as connection:
            if self._closed:
                raise ServerClosed
            connection.autocommit = True
            yield connection

    def close(self) -> None:
        """Let go of all connections; nothing may be asked after."""
        with self._opening:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool:
            pool.close()

    def _open_pool(self) -> "ConnectionPool[Connection[tuple[Any, ...]]]":
        """The pool, once the server has let us in."""
        self._check()
        with self._opening:
            if self._closed:
                raise ServerClosed
            if self._pool and not self._away[1]:
                return self._pool
            # Asked directly first: a pool tells that nobody came in time, and not why.
            with self._track_health():
                self._connect().close()
            if self._pool is None:
                self._pool = self._new_pool()
            return self._pool

    def _new_pool(self) -> "ConnectionPool[Connection[tuple[Any, ...]]]":
        try:
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise missing_library_error() from error

        return ConnectionPool(
            self._url,
            connection_class=self._connection_class(),
            kwargs=self._options(),
            configure=self._configure,
            check=_check_connection,
            min_size=0,
            max_size=self._most,
            timeout=CONNECT_SECONDS + 2,
            max_idle=300,
            num_workers=1,
            reconnect_timeout=30,
            open=True,
        )

    def _connect(self) -> "Connection[tuple[Any, ...]]":
        try:
            connection = self._connection_class().connect(self._url, **self._options())
        except ImportError as error:
            raise missing_library_error() from error
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connection_class(self) -> "type[Connection[tuple[Any, ...]]]":
        self._class = self._class or make_watched_connection(self._is_working, after=self._silent_seconds)
        return self._class

    def _configure(self, connection: "Connection[tuple[Any, ...]]") -> None:
        """Nothing waits for ever, and times are what they say."""
        row = connection.execute(
            "SELECT pg_backend_pid(), set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false),"
            " set_config('TimeZone', 'UTC', false)",
            (str(STATEMENT_MS), str(LOCK_MS), str(STATEMENT_MS)),
        ).fetchone()
        connection.commit()
        if row:
            self._processes[connection] = row[0]  # a pooler in between tells another number of its own

    def _is_working(self, asked: "Connection[tuple[Any, ...]]") -> bool:
        """Whether the server's process has something to do; raises OperationalError where nobody answers."""
        import psycopg

        process = self._processes.get(asked, asked.info.backend_pid)
        sql = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND coalesce(state, '') NOT LIKE 'idle%%'"
        try:
            with (
                psycopg.connect(self._url, **self._options()) as connection,
                cut_after(connection, CONNECT_SECONDS),
            ):
                return connection.execute(sql, [process]).fetchone() is not None
        except psycopg.OperationalError as error:
            # That it has no place left for a connection is an answer too.
            if "FATAL" in str(error):
                return True
            raise

    def _options(self) -> dict[str, Any]:
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self._url)
        mine = {**_KEEPALIVES, "application_name": self._name}
        return {key: value for key, value in mine.items() if key not in given}

    def _check(self) -> None:
        if self._closed:
            raise ServerClosed
        until, why = self._away
        if time.monotonic() < until:
            raise ServerUnreachable(why)

    @contextmanager
    def _track_health(self) -> Iterator[None]:
        """Note whether the server answers."""
        try:
            with translate_errors(self.shown):
                yield
        except ServerUnreachable as error:
            self._away = (time.monotonic() + REST_SECONDS, str(error))
            raise
        else:
            if self._away[1]:
                self._away = (0.0, "")


def check_library() -> None:
    """Raise IndexUnavailable where psycopg is not there; its import takes a tenth of a second."""
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise missing_library_error() from error


def missing_library_error() -> IndexUnavailable:
    """What is said where psycopg is not there."""
    return IndexUnavailable(
        "the library for PostgreSQL is not installed: pip install 'commonplace[postgres]' (from a clone: make postgres)"
    )


def _check_connection(connection: "Connection[tuple[Any, ...]]") -> None:
    """See that a connection from the pool still answers; one to a server that hangs would be waited at for ever."""
    from psycopg_pool import ConnectionPool

    with cut_after(connection, CONNECT_SECONDS):
        ConnectionPool.check_connection(connection)
