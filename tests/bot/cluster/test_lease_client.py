"""Rounds of statements on a real server, over connections that break."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from bot.cluster.instance import Instance
from bot.cluster.lease_client import LeaseClient, RoundAnswer
from bot.cluster.times import LeaseTimes, boot_time
from memory.errors import MemoryFault
from memory.postgres.server import Server
from tests.bot.cluster.relay import Relay

US = Instance(name="a", id="1", workspace="w1")
NONE: frozenset[str] = frozenset()


@pytest.fixture
async def relay(database: str) -> AsyncIterator[Relay]:
    relay = Relay(database)
    yield relay
    await relay.close()


@pytest.fixture
async def client(relay: Relay) -> AsyncIterator[LeaseClient]:
    server = Server(await relay.open())
    client = LeaseClient(
        server, instance=US, times=LeaseTimes(answer=2), clock=boot_time, on_news=lambda: None
    )
    yield client
    await client.close()
    server.close()


async def wait_for_x(client: LeaseClient) -> RoundAnswer:
    return await client.run_round(releasing=NONE, unwritten=["x"], names=frozenset("x"), alone=NONE)


async def renew_x(client: LeaseClient, alone: frozenset[str] = NONE) -> RoundAnswer:
    return await client.run_round(releasing=NONE, unwritten=[], names=frozenset("x"), alone=alone)


async def renew_until_it_answers(client: LeaseClient) -> RoundAnswer:
    """`Server` opens no session for a moment after a failure."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await renew_x(client)
            except MemoryFault:
                await asyncio.sleep(0.05)


async def test_a_lease_is_awaited_taken_renewed_and_released(client: LeaseClient) -> None:
    assert not client.has_connection
    before = boot_time()
    waited = await wait_for_x(client)
    assert before <= waited.begun <= waited.ended <= boot_time()
    (row,) = waited.rows
    assert (row.name, row.holder, row.renewed) == ("x", "", False)
    taken = await client.take(waited.rows)
    assert taken.tokens == {"x": 1}
    assert waited.ended <= taken.begun <= boot_time()
    (row,) = (await renew_x(client)).rows
    assert (row.holder, row.renewed, row.strict) == (US.id, True, True)
    (row,) = (await renew_x(client, alone=frozenset("x"))).rows
    assert row.renewed
    (row,) = (await renew_x(client)).rows
    assert not row.strict, "as the renewal before had it"
    released = await client.run_round(releasing=frozenset("x"), unwritten=[], names=NONE, alone=NONE)
    assert [row.holder for row in released.rows] == [""]


async def test_every_statement_has_a_number_of_its_own(client: LeaseClient) -> None:
    waited = await wait_for_x(client)
    assert client.beat == 2, "one for the release, one for the renewal"
    await client.take(waited.rows)
    assert client.beat == 3
    (row,) = (await renew_x(client)).rows
    assert (row.beat, row.renewed) == (3, True), "the row as it was before this renewal"
    assert client.beat == 5


async def test_a_broken_connection_is_an_error_and_another_is_opened(
    client: LeaseClient, relay: Relay
) -> None:
    waited = await wait_for_x(client)
    await client.take(waited.rows)
    relay.drop()
    with pytest.raises(MemoryFault):
        await renew_x(client)
    assert not client.has_connection
    (row,) = (await renew_until_it_answers(client)).rows
    assert row.renewed
    assert client.has_connection


async def test_closing_ends_the_thread_and_may_be_repeated(client: LeaseClient) -> None:
    await wait_for_x(client)
    threads = [each for each in threading.enumerate() if each.name == "leases"]
    assert threads
    await client.close()
    assert not client.has_connection
    await asyncio.gather(*(asyncio.to_thread(each.join, 5) for each in threads))
    assert not any(each.is_alive() for each in threads)
    await client.close()
