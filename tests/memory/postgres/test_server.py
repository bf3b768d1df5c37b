"""Connections to a real server that goes down and comes back."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.postgres.errors import ServerClosed, ServerUnreachable
from memory.postgres.lock_keys import lock_key
from memory.postgres.migrations import migrate
from memory.postgres.server import REST_SECONDS, Server
from memory.postgres.timeouts import make_watched_connection
from tests.fakes.postgres_server import PostgresServer

if TYPE_CHECKING:
    from psycopg import Connection


@pytest.fixture
def server(database: str) -> Iterator[Server]:
    server = Server(database)
    yield server
    server.close()


def one(server: Server, statement: str) -> object:
    with server.transaction() as connection:
        found = connection.execute(statement.encode()).fetchone()
        assert found
        return found[0]


def test_a_block_that_raises_leaves_nothing_behind(server: Server) -> None:
    with server.transaction() as connection:
        connection.execute("CREATE TABLE t (n integer)")
    with suppress(ZeroDivisionError), server.transaction() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        raise ZeroDivisionError
    assert one(server, "SELECT count(*) FROM t") == 0


@pytest.mark.thorough
def test_no_connection_waits_forever(server: Server) -> None:
    assert one(server, "SHOW statement_timeout") == "2min"
    assert one(server, "SHOW lock_timeout") == "10s"
    assert one(server, "SHOW TimeZone") == "UTC"


@pytest.mark.thorough
def test_parameters_in_the_url_override_our_defaults(database: str) -> None:
    server = Server(f"{database}?application_name=mine")
    assert one(server, "SHOW application_name") == "mine"
    server.close()


def test_an_unreachable_server_is_reported_and_not_retried_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memory.postgres.server.REST_SECONDS", 600.0)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{door.getsockname()[1]}/there"
        server = Server(f"postgresql://me:s3cr3t@{address}")
        with pytest.raises(ServerUnreachable, match="refused") as told, server.transaction():
            pass
        assert "s3cr3t" not in str(told.value)
        assert str(told.value).startswith(f"postgresql://me@{address} does not answer (Connection refused")
        door.listen()
        door.setblocking(False)
        with pytest.raises(ServerUnreachable, match="refused"), server.session():
            pass
        with pytest.raises(BlockingIOError):
            door.accept()
    assert "refused" in server.problem
    server.close()


def test_if_encryption_is_required_nothing_is_sent_unencrypted(database: str) -> None:
    server = Server(f"{database}?sslmode=verify-full&sslrootcert=system")
    with pytest.raises(ServerUnreachable, match="server does not support SSL, but SSL was required"):
        one(server, "SELECT 1")
    server.close()


def test_a_wrong_database_name_is_reported(postgres: PostgresServer) -> None:
    server = Server(postgres.url("nowhere"))
    with pytest.raises(IndexUnavailable, match='/nowhere: database "nowhere" does not exist; create it'):
        one(server, "SELECT 1")
    server.close()


@pytest.mark.thorough
def test_a_server_that_comes_back_is_used_again() -> None:
    postgres = PostgresServer()
    server = Server(postgres.url())
    try:
        assert one(server, "SELECT 1") == 1
        postgres.kill()
        with pytest.raises(ServerUnreachable):
            one(server, "SELECT 1")
        assert server.problem
        postgres.start()
        time.sleep(REST_SECONDS)
        assert one(server, "SELECT 2") == 2
        assert not server.problem
    finally:
        server.close()
        postgres.close()


def test_a_connection_that_was_ended_is_replaced(server: Server, postgres: PostgresServer) -> None:
    assert one(server, "SELECT 1") == 1
    postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test_%'")
    assert one(server, "SELECT 2") == 2


@pytest.mark.thorough
def test_a_closed_server_says_so(server: Server) -> None:
    assert one(server, "SELECT 1") == 1
    server.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        one(server, "SELECT 1")


@pytest.mark.thorough
def test_a_closed_server_opens_no_session_either(server: Server, postgres: PostgresServer) -> None:
    server.close()
    before = sessions(postgres)
    with pytest.raises(ServerClosed), server.session():
        pass
    with pytest.raises(ServerClosed), server.transaction():
        pass
    assert sessions(postgres) == before


def sessions(postgres: PostgresServer) -> int:
    """Return how many sessions there were in total, without those of this query."""
    sql = "SELECT sum(sessions) FROM pg_stat_database WHERE datname LIKE 'test_%'"
    return int(postgres.execute(sql)[0][0] or 0)


@pytest.mark.thorough
def test_a_long_statement_is_not_cut_while_the_server_works(database: str) -> None:
    server = Server(database, silent_seconds=0.2)
    assert one(server, "SELECT count(pg_sleep(0.7))") == 1
    with server.session() as connection:
        connection.execute("CREATE TABLE t (n integer)")
        with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            copy.write_row([1])
            time.sleep(0.3)
            copy.write_row([2])
        assert connection.execute("SELECT sum(n), max(pg_sleep(0.3)::text) FROM t").fetchone() == (3, "")
    server.close()


@pytest.mark.thorough
def test_a_statement_survives_while_the_server_refuses_connections(database: str) -> None:
    import psycopg

    looks: list[int] = []

    def look(connection: "Connection[tuple[Any, ...]]") -> bool:
        looks.append(connection.info.backend_pid)
        if len(looks) == 1:
            raise psycopg.OperationalError("connection timeout expired")
        return True

    with make_watched_connection(look, after=0.2).connect(database) as connection:
        assert connection.execute("SELECT count(pg_sleep(0.7))").fetchone() == (1,)
    assert len(looks) > 1


@pytest.mark.thorough
def test_a_long_statement_behind_a_pooler_is_not_cut(database: str) -> None:
    """A pooler reports its own numbers for the server's processes."""
    key_data = re.compile(rb"(?s)(?<=K\x00\x00\x00\x0c).{4}")
    with lossy(database, change=lambda data: key_data.sub(b"\0\0\0\1", data)) as (through, _):
        server = Server(through, silent_seconds=0.2)
        with server.session() as connection:
            assert connection.info.backend_pid == 1
            assert connection.execute("SELECT count(pg_sleep(0.9))").fetchone() == (1,)
        server.close()


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["transaction", "session"])
def test_a_server_that_hangs_during_a_statement_is_given_up(how: str) -> None:
    postgres = PostgresServer()
    server = Server(postgres.url(), silent_seconds=0.5)
    try:
        assert one(server, "SELECT 1") == 1
        halting = threading.Timer(0.3, postgres.halt)
        halting.start()
        began = time.monotonic()
        with pytest.raises(
            ServerUnreachable, match=r"no answer for [1-9] seconds: the server does not answer"
        ):
            sleep_in(getattr(server, how))
        assert time.monotonic() - began < 10
        assert server.problem
        postgres.resume()
        time.sleep(REST_SECONDS)
        assert one(server, "SELECT 2") == 2
    finally:
        server.close()
        postgres.close()


def sleep_in(
    opened: Callable[[], AbstractContextManager["Connection[tuple[Any, ...]]"]],
    seconds: float = 60,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    with opened() as connection:
        connection.execute("SET statement_timeout = 0")
        meanwhile()
        connection.execute("SELECT pg_sleep(%s)", [seconds])


@pytest.mark.thorough
def test_a_lost_response_is_given_up(database: str) -> None:
    with lossy(database) as (through, lose):
        server = Server(through, silent_seconds=0.3)
        with pytest.raises(ServerUnreachable, match="no answer for 1 seconds: the server is idle"):
            sleep_in(server.session, 0, meanwhile=lose)
        server.close()


@contextmanager
def lossy(
    database: str, *, change: Callable[[bytes], bytes] = lambda data: data
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The same database behind a proxy that alters what it forwards, and drops data of earlier connections.

    Yields its URL, and the function that starts the dropping.
    """
    parts = urlsplit(database)
    dead: set[socket.socket] = set()
    pairs: list[tuple[socket.socket, socket.socket]] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def pass_on(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    if source not in dead:
                        target.sendall(change(data))
                target.shutdown(socket.SHUT_WR)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    ours, _ = listening.accept()
                    theirs = socket.create_connection((parts.hostname, parts.port))
                    pairs.append((ours, theirs))
                    for pair in ((ours, theirs), (theirs, ours)):
                        threading.Thread(target=pass_on, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        port = listening.getsockname()[1]
        try:
            yield (
                database.replace(f":{parts.port}/", f":{port}/"),
                lambda: dead.update(theirs for _, theirs in pairs),
            )
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for pair in pairs:
                for each in pair:
                    each.close()


@pytest.mark.thorough
def test_a_missing_table_means_a_corrupted_index(server: Server) -> None:
    with pytest.raises(IndexCorrupted, match="nothing_here"):
        one(server, "SELECT 1 FROM nothing_here")


@pytest.mark.thorough
def test_each_migration_runs_once_with_many_instances(database: str) -> None:
    steps = ["CREATE TABLE commonplace.a (n integer)", "INSERT INTO commonplace.a VALUES (1)"]
    servers = [Server(database) for _ in range(4)]
    faults: list[IndexUnavailable] = []

    def come(server: Server) -> None:
        try:
            with server.transaction() as connection:
                migrate(connection, "part", steps)
        except IndexUnavailable as error:
            faults.append(error)

    threads = [threading.Thread(target=come, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert one(servers[0], "SELECT count(*) FROM commonplace.a") == 1
    with servers[0].transaction() as connection:
        migrate(connection, "part", [*steps, "INSERT INTO commonplace.a VALUES (2)"])
    assert one(servers[0], "SELECT count(*) FROM commonplace.a") == 2
    with pytest.raises(IndexUnavailable, match="newer version"), servers[0].transaction() as connection:
        migrate(connection, "part", steps)
    for server in servers:
        server.close()


def test_a_user_without_rights_is_told_what_to_grant(postgres: PostgresServer, database: str) -> None:
    postgres.execute("DROP ROLE IF EXISTS poor")
    postgres.execute("CREATE ROLE poor LOGIN")
    server = Server(database.replace("postgres@", "poor@"))
    with pytest.raises(IndexUnavailable, match="grant this user CREATE"), server.transaction() as connection:
        migrate(connection, "part", ["SELECT 1"])
    server.close()


def test_lock_keys_fit_64_bits_and_differ() -> None:
    keys = {lock_key(kind, name) for kind in ("note", "lease") for name in ("a", "b", "ä", "\udcff")}
    assert len(keys) == 8
    assert all(-(2**63) <= key < 2**63 for key in keys)
