"""Notifications of other instances, over a real server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress

import pytest

from memory.postgres.notifications import ChangeNotifications, notify_change
from memory.postgres.server import Server
from tests.fakes.postgres_server import PostgresServer

NUMBER = "SELECT n FROM numbers"


@pytest.fixture
def server(database: str) -> Iterator[Server]:
    server = Server(database)
    with server.transaction() as connection:
        connection.execute("CREATE TABLE numbers (n integer)")
        connection.execute("INSERT INTO numbers VALUES (0)")
    yield server
    server.close()


def change(server: Server, *, by: str | None) -> None:
    with server.transaction() as connection:
        connection.execute("UPDATE numbers SET n = n + 1")
        if by is not None:
            notify_change(connection, by)


class Heard:
    """Counts notifications since the last check."""

    def __init__(self) -> None:
        self.times = 0

    async def within(self, seconds: float) -> int:
        await until(lambda: self.times > 0, seconds)
        heard, self.times = self.times, 0
        return heard


async def until(done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return done()


@asynccontextmanager
async def listening(
    server: Server, *, poll: float = 60.0, number: str = NUMBER
) -> AsyncIterator[tuple[Heard, ChangeNotifications]]:
    news, heard = ChangeNotifications(server, number=number, mine="me".__eq__, poll=poll), Heard()

    async def listen() -> None:
        async with aclosing(news.changes()) as changes:
            async for _ in changes:
                heard.times += 1

    task = asyncio.create_task(listen())
    try:
        assert await heard.within(5) == 1  # changes before it listened were missed
        yield heard, news
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_changes_by_others_are_reported_at_once_and_our_own_are_not(server: Server) -> None:
    async with listening(server) as (heard, news):
        assert news.state.listening
        await asyncio.to_thread(change, server, by="me")
        assert await heard.within(0.3) == 0
        await asyncio.to_thread(change, server, by="another")
        assert await heard.within(10) == 1, "it looks by itself after a minute"


async def test_an_unannounced_change_is_noticed_by_its_number(server: Server) -> None:
    async with listening(server, poll=0.1) as (heard, _):
        await asyncio.to_thread(change, server, by=None)
        assert await heard.within(2) == 1
        assert await heard.within(0.3) == 0


@pytest.mark.thorough
async def test_a_rolled_back_change_is_not_announced(server: Server) -> None:
    def fail() -> None:
        with suppress(ZeroDivisionError), server.transaction() as connection:
            notify_change(connection, "another")
            raise ZeroDivisionError

    async with listening(server) as (heard, _):
        await asyncio.to_thread(fail)
        assert await heard.within(0.3) == 0


@pytest.mark.thorough
async def test_a_lost_session_is_reopened_and_missed_changes_are_reported(
    server: Server, postgres: PostgresServer, database: str
) -> None:
    async with listening(server) as (heard, news):
        name = database.rpartition("/")[2]
        await asyncio.to_thread(
            postgres.execute,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            name,
        )
        assert await heard.within(10) == 1
        assert news.state.listening
        await asyncio.to_thread(change, Server(database), by="another")
        assert await heard.within(2) == 1


@pytest.mark.thorough
async def test_while_the_server_is_unreachable_the_state_says_why() -> None:
    postgres = PostgresServer()
    server = Server(postgres.url())
    try:
        async with listening(server, number="SELECT 1") as (heard, news):
            await asyncio.to_thread(postgres.kill)
            assert await until(lambda: not news.state.listening, 5)
            assert "does not answer" in news.state.problem
            await asyncio.to_thread(postgres.start)
            assert await heard.within(10) == 1
            assert news.state.problem == ""
        assert await until(lambda: not news.state.listening, 2)
    finally:
        server.close()
        postgres.close()
