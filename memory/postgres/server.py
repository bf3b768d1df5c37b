"""A shared PostgreSQL server: transactions on pooled connections, and separate sessions."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from memory.errors import IndexUnavailable
from memory.installation import how_to_add
from memory.postgres.errors import ServerClosed, ServerUnreachable, translate_errors
from memory.postgres.timeouts import SILENT_SECONDS, cut_after, make_watched_connection
from memory.postgres.url import format_url

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

MAX_CONNECTIONS = 6
"""Maximum pooled connections, for searching, indexing, rebuilding and leases; separate sessions are extra."""
CONNECT_SECONDS = 3
REST_SECONDS = 2.0
"""Seconds for which an unreachable server is not tried again; meanwhile searches scan the files at once."""
STATEMENT_MS = 120_000
LOCK_MS = 10_000

# Detect a vanished host within half a minute.
_KEEPALIVES: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "connect_timeout": CONNECT_SECONDS,
}


class Server:
    """One database, for any thread; connects when first used.

    Every error of its connections is an `IndexUnavailable` (`ServerUnreachable` if it cannot be reached,
    `ServerClosed` after `close`) or `IndexCorrupted`. If the server hangs during a statement, it is given up
    after `silent_seconds`, a third of that and up to twelve seconds more; twice as long if only this
    connection hangs.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "commonplace",
        max_connections: int = MAX_CONNECTIONS,
        silent_seconds: float = SILENT_SECONDS,
    ) -> None:
        """Connect to nothing yet.

        `name` is the application name that the server shows; `max_connections` is the size of the pool.
        """
        self._url = url
        self._silent_seconds = silent_seconds
        self._name = name[:63]
        self._max_connections = max_connections
        self._pool: ConnectionPool[Connection[tuple[Any, ...]]] | None = None
        self._class: type[Connection[tuple[Any, ...]]] | None = None
        self._processes: WeakKeyDictionary[Connection[tuple[Any, ...]], int] = WeakKeyDictionary()
        """The server's process id of each connection."""
        self._opening = threading.Lock()
        self._failure: tuple[float, str] = (0.0, "")
        self._closed = False

    @property
    def shown(self) -> str:
        """The server's address, without secrets."""
        return format_url(self._url)

    @property
    def problem(self) -> str:
        """Why the server is unusable, as last seen; "" while it works, or before its first use."""
        return self._failure[1]

    @contextmanager
    def transaction(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """Run a transaction: committed at the end, rolled back if the block raises."""
        pool = self._open_pool()
        with self._track_health(), pool.connection() as connection:
            yield connection

    @contextmanager
    def session(self) -> "Iterator[Connection[tuple[Any, ...]]]":
        """Open a separate connection in autocommit mode, for LISTEN and advisory locks. Raises `ServerClosed`."""
        self._check()
        with self._track_health(), self._connect() as connection:
            if self._closed:
                raise ServerClosed
            connection.autocommit = True
            yield connection

    def close(self) -> None:
        """Close all connections; the server cannot be used afterwards."""
        with self._opening:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool:
            pool.close()

    def _open_pool(self) -> "ConnectionPool[Connection[tuple[Any, ...]]]":
        """Return the pool, after a first successful connection."""
        self._check()
        with self._opening:
            if self._closed:
                raise ServerClosed
            if self._pool and not self._failure[1]:
                return self._pool
            # A direct connection first: a pool only says that it timed out, and not why.
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
            max_size=self._max_connections,
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
        """Set timeouts and the time zone."""
        row = connection.execute(
            "SELECT pg_backend_pid(), set_config('statement_timeout', %s, false),"
            " set_config('lock_timeout', %s, false), set_config('idle_in_transaction_session_timeout', %s, false),"
            " set_config('TimeZone', 'UTC', false)",
            (str(STATEMENT_MS), str(LOCK_MS), str(STATEMENT_MS)),
        ).fetchone()
        connection.commit()
        if row:
            self._processes[connection] = row[0]  # a pooler in between reports a number of its own

    def _is_working(self, asked: "Connection[tuple[Any, ...]]") -> bool:
        """Return whether the server process is working. Raises OperationalError if the server does not answer."""
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
            # Having no connection slots left is an answer too.
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
        until, why = self._failure
        if time.monotonic() < until:
            raise ServerUnreachable(why)

    @contextmanager
    def _track_health(self) -> Iterator[None]:
        """Record whether the server is reachable."""
        try:
            with translate_errors(self.shown):
                yield
        except ServerUnreachable as error:
            self._failure = (time.monotonic() + REST_SECONDS, error.text)
            raise
        else:
            if self._failure[1]:
                self._failure = (0.0, "")


def check_library() -> None:
    """Raise `IndexUnavailable` if psycopg is missing; its import takes a tenth of a second."""
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise missing_library_error() from error


def missing_library_error() -> IndexUnavailable:
    """Return the error for a missing psycopg."""
    return IndexUnavailable(
        "the library for PostgreSQL is not installed: run {command}", command=how_to_add("postgres")
    )


def _check_connection(connection: "Connection[tuple[Any, ...]]") -> None:
    """Check that a pooled connection still answers, with a timeout in case the server hangs."""
    from psycopg_pool import ConnectionPool

    with cut_after(connection, CONNECT_SECONDS):
        ConnectionPool.check_connection(connection)
