"""Connections to a real server, which comes and goes."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from memory.errors import IndexBroken, IndexUnavailable
from memory.postgres.faults import ServerAway
from memory.postgres.keys import lock_key
from memory.postgres.migrations import migrate
from memory.postgres.server import REST_SECONDS, Server
from tests.fakes.postgres_server import PostgresServer


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


def test_nothing_waits_for_ever(server: Server) -> None:
    assert one(server, "SHOW statement_timeout") == "2min"
    assert one(server, "SHOW lock_timeout") == "10s"
    assert one(server, "SHOW TimeZone") == "UTC"


def test_what_the_address_says_counts_before_our_own(database: str) -> None:
    server = Server(f"{database}?application_name=mine")
    assert one(server, "SHOW application_name") == "mine"
    server.close()


def test_where_nobody_listens_it_says_why_and_does_not_ask_again_at_once() -> None:
    server = Server("postgresql://me:s3cr3t@127.0.0.1:9/there")
    with pytest.raises(ServerAway, match="refused") as told, server.transaction():
        pass
    assert "s3cr3t" not in str(told.value)
    assert str(told.value).startswith("postgresql://me@127.0.0.1:9/there does not answer (Connection refused")
    began = time.monotonic()
    with pytest.raises(ServerAway, match="refused"), server.session():
        pass
    assert time.monotonic() - began < 0.05
    assert "refused" in server.problem
    server.close()


def test_where_encryption_is_asked_for_nothing_is_said_in_the_clear(database: str) -> None:
    server = Server(f"{database}?sslmode=verify-full&sslrootcert=system")
    with pytest.raises(ServerAway, match="server does not support SSL, but SSL was required"):
        one(server, "SELECT 1")
    server.close()


def test_a_wrong_name_is_told(postgres: PostgresServer) -> None:
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
        with pytest.raises(ServerAway):
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


def test_a_closed_server_says_so(server: Server) -> None:
    assert one(server, "SELECT 1") == 1
    server.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        one(server, "SELECT 1")


def test_a_table_that_is_gone_means_a_broken_index(server: Server) -> None:
    with pytest.raises(IndexBroken, match="nothing_here"):
        one(server, "SELECT 1 FROM nothing_here")


def test_each_step_is_done_once_however_many_come(database: str) -> None:
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


def test_who_may_create_nothing_is_told_what_to_grant(postgres: PostgresServer, database: str) -> None:
    postgres.execute("DROP ROLE IF EXISTS poor")
    postgres.execute("CREATE ROLE poor LOGIN")
    server = Server(database.replace("postgres@", "poor@"))
    with pytest.raises(IndexUnavailable, match="grant this user CREATE"), server.transaction() as connection:
        migrate(connection, "part", ["SELECT 1"])
    server.close()


def test_keys_fit_and_differ() -> None:
    keys = {lock_key(kind, name) for kind in ("note", "lease") for name in ("a", "b", "ä", "\udcff")}
    assert len(keys) == 8
    assert all(-(2**63) <= key < 2**63 for key in keys)
