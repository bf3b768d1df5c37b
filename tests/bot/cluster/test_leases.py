"""Leases of instances within one process, on a real server that comes and goes."""

import asyncio
import random
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bot.cluster.instance import INSTANCE_FILE, known_peers, load_instance
from bot.cluster.lease import Lease
from bot.cluster.lease_table import take, want
from bot.cluster.leases import Leases
from bot.cluster.times import LeaseTimes, boot_time
from bot.supervisor import Supervisor
from memory.postgres.server import Server
from tests.bot.cluster.relay import Relay
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs

QUICK = LeaseTimes(beat=0.3, look=0.2, life=3.5, fence=1.4, want=5, answer=0.5, opening=0.6)


class Instances:
    """Opens instances by name; each has a folder, and a connection to the database of its own."""

    def __init__(self, stack: AsyncExitStack, folder: Path, url: str) -> None:
        self._stack = stack
        self.folder = folder
        self.url = url
        self._servers: dict[str, Server] = {}

    async def open(self, name: str, *, times: LeaseTimes | None = None, url: str = "") -> Leases:
        """Until the end of the test."""
        return await self._stack.enter_async_context(self.within(name, times=times, url=url))

    @asynccontextmanager
    async def within(
        self,
        name: str,
        *,
        times: LeaseTimes | None = None,
        url: str = "",
        clock: Callable[[], float] = boot_time,
        supervisor: Supervisor | None = None,
    ) -> AsyncIterator[Leases]:
        private = self.folder / name
        server = Server(url or self.url)
        try:
            instance = load_instance(private, name=name)
            async with Leases(
                server, instance=instance, private=private, times=times, clock=clock, supervisor=supervisor
            ) as leases:
                yield leases
        finally:
            server.close()


@pytest.fixture
async def instances(database: str, tmp_path: Path) -> AsyncIterator[Instances]:
    async with AsyncExitStack() as stack:
        yield Instances(stack, tmp_path, database)


@pytest.fixture
def own() -> Iterator[PostgresServer]:
    """A server that may be killed."""
    if not find_programs():
        pytest.skip(NEEDS)
    server = PostgresServer()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
async def relay(database: str) -> AsyncIterator[Relay]:
    relay = Relay(database)
    yield relay
    await relay.close()


async def within(seconds: float, waiting: Awaitable[object]) -> float:
    """Wait for it; give how long it took."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        await waiting
    return time.monotonic() - began


async def until(what: Callable[[], object], seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come in time"
        await asyncio.sleep(0.01)


async def test_one_holds_it_and_the_other_waits(instances: Instances) -> None:
    first, second = await instances.open("first"), await instances.open("second")
    mine = first.want("channel:x")
    await within(2, mine.wait_until_held())
    theirs = second.want("channel:x")
    await until(lambda: theirs.holder)
    assert mine.is_held
    assert (mine.holder, mine.token) == ("first", 1)
    assert not theirs.is_held
    assert not theirs.is_free
    assert (theirs.holder, theirs.token) == ("first", 1)
    assert theirs.last_workspace == first.instance.workspace
    (seen,) = second.snapshot()
    assert (seen.name, seen.holder, seen.ours) == ("channel:x", "first", False)
    assert seen.since
    assert seen.until
    assert 10 < (seen.until - seen.since).total_seconds() < 20
    (seen,) = first.snapshot()
    assert seen.ours
    assert first.problem == second.problem == ""


async def test_what_is_given_up_is_the_others_at_once(instances: Instances) -> None:
    first, second = await instances.open("first"), await instances.open("second")
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    theirs = second.want("x")
    await until(lambda: theirs.holder)
    lost = asyncio.create_task(mine.wait_until_lost())
    await asyncio.sleep(0)
    gained = asyncio.create_task(theirs.wait_until_held())
    took = await within(2, asyncio.gather(mine.give_up(), gained, lost))
    print(f"\ngiven up and taken within {took * 1000:.1f} ms")
    assert took < 0.5
    assert not mine.is_held
    assert theirs.token == 2
    await mine.give_up()
    again = first.want("x")
    assert again is not mine
    assert first.want("x") is again
    await until(lambda: again.holder == "second")
    assert not mine.is_held


async def test_leaving_gives_up_all(instances: Instances) -> None:
    second = await instances.open("second")
    async with instances.within("first") as first:
        mine = [first.want(name) for name in ("x", "y")]
        for each in mine:
            await within(2, each.wait_until_held())
        theirs = [second.want(name) for name in ("x", "y")]
        await until(lambda: all(each.holder == "first" for each in theirs))
    assert not any(each.is_held for each in mine)
    for each in theirs:
        assert await within(2, each.wait_until_held()) < 0.5
    assert second.snapshot()[0].ours


@pytest.mark.thorough
async def test_what_is_given_up_and_wanted_again_is_held_again(instances: Instances) -> None:
    first = await instances.open("first")
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    giving = asyncio.create_task(mine.give_up())
    await asyncio.sleep(0)
    again = first.want("x")
    assert not again.is_held
    await within(2, again.wait_until_held())
    await giving
    assert again.is_held
    assert again.token == 2
    assert not mine.is_held


async def test_it_is_lost_where_somebody_else_took_it(instances: Instances, database: str) -> None:
    first = await instances.open("first", times=QUICK)
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    server = Server(database)
    with server.transaction() as connection:
        connection.execute(
            "UPDATE commonplace.leases SET holder = 'somebody', holder_name = 'else', token = token + 1,"
            " until = now() + interval '1 minute', workspace = 'w'"
        )
    server.close()
    await within(2, mine.wait_until_lost())
    assert not mine.is_held
    assert (mine.holder, mine.token, mine.last_workspace) == ("else", 2, "w")
    await until(lambda: known_peers(instances.folder / "first"))


@pytest.mark.thorough
async def test_a_heartbeat_that_fails_is_reported_and_goes_on_renewing(
    instances: Instances, caplog: pytest.LogCaptureFixture
) -> None:
    broken = False

    def clock() -> float:
        if broken:
            raise OSError("the system tells no time")
        return boot_time()

    supervisor = Supervisor(pauses=(0.1,), steady_seconds=0.5)
    async with instances.within("first", times=QUICK, clock=clock, supervisor=supervisor) as leases:
        mine = leases.want("x")
        await within(2, mine.wait_until_held())
        broken = True
        leases._wake.set()
        await until(lambda: supervisor.failures)
        broken = False
        (failure,) = supervisor.failures
        assert failure.name == "leases"
        await until(lambda: not supervisor.failures)
        tenure = mine.epoch
        await asyncio.sleep(QUICK.fence * 1.5)
        assert (mine.is_held, mine.epoch) == (True, tenure)
    assert any("the background task leases failed" in record.getMessage() for record in caplog.records)


@pytest.mark.thorough
async def test_it_can_be_left_to_somebody_else(instances: Instances) -> None:
    first, second = await instances.open("first", times=QUICK), await instances.open("second", times=QUICK)
    workspace = first.instance.workspace
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    leaving = True
    theirs = second.want("x", leave=lambda lease: leaving and lease.last_workspace == workspace)
    await until(lambda: theirs.holder)
    assert not theirs.is_free
    await mine.give_up()
    await until(lambda: theirs.is_free)
    await asyncio.sleep(QUICK.look * 2)
    assert theirs.is_free
    assert not theirs.is_held
    assert theirs.holder == ""
    assert theirs.last_workspace == workspace
    leaving = False
    await within(2, theirs.wait_until_held())


@pytest.mark.thorough
async def test_whoever_died_is_followed_when_the_lease_is_over(instances: Instances, database: str) -> None:
    dead = load_instance(instances.folder / "dead", name="dead")
    first = await instances.open("first", times=QUICK)
    other = first.want("other")
    await within(2, other.wait_until_held())
    server = Server(database)
    with server.session() as session:
        want(session, dead, ["x"], seconds=1)
        await until(lambda: first.snapshot()[-1].name == "x")
        rows = [row for row in first._rows if row.name == "x"]
        assert take(session, dead, rows, beat=1, seconds=1.0) == {"x": 1}
        assert take(session, dead, rows, beat=2, seconds=1.0) == {}, "it is not as it was seen any more"
    server.close()
    mine = first.want("x")
    took = await within(3, mine.wait_until_held())
    assert 0.5 < took < 1.6
    assert mine.token == 2
    assert mine.last_workspace == dead.workspace


@pytest.mark.thorough
async def test_a_connection_that_is_ended_costs_nothing(instances: Instances, relay: Relay) -> None:
    first = await instances.open("first", url=await relay.open())
    second = await instances.open("second")
    mine, theirs = first.want("x"), second.want("y")
    await within(2, mine.wait_until_held())
    lost = asyncio.create_task(mine.wait_until_lost())
    for _ in range(3):
        relay.drop()
        await asyncio.sleep(0.3)
    await until(lambda: first.problem)
    await until(lambda: not first.problem)
    assert mine.is_held
    assert mine.token == 1
    assert not lost.done()
    assert theirs.is_held
    lost.cancel()


async def cut_off(first: Leases, mine: Lease, relay: Relay) -> None:
    relay.cut()
    await until(lambda: first.problem)
    assert mine.is_held


@pytest.mark.thorough
async def test_who_is_alone_goes_on_without_the_server(instances: Instances, relay: Relay) -> None:
    first = await instances.open("first", times=QUICK, url=await relay.open())
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    await until(lambda: first._uncontested.kept)
    lost = asyncio.create_task(mine.wait_until_lost())
    await cut_off(first, mine, relay)
    until_then = boot_time() + QUICK.life + 1
    while boot_time() < until_then:
        assert mine.is_held
        await asyncio.sleep(0.01)
    relay.is_cut = False
    await until(lambda: not first.problem)
    assert mine.is_held
    assert mine.token == 1
    assert not lost.done()
    lost.cancel()


@pytest.mark.thorough
async def test_where_another_waits_it_ends_at_the_fence(instances: Instances, relay: Relay) -> None:
    first = await instances.open("first", times=QUICK, url=await relay.open())
    second = await instances.open("second", times=QUICK)
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    await until(lambda: first._uncontested.kept)
    theirs = second.want("x")
    await until(lambda: theirs.holder and not first._uncontested.kept and not first._uncontested.offered)
    await asyncio.sleep(2 * QUICK.beat)
    began = boot_time()
    await cut_off(first, mine, relay)
    await within(QUICK.fence + 0.5, mine.wait_until_lost())
    lost_at = boot_time()
    assert not mine.is_held
    await within(QUICK.life + 1, theirs.wait_until_held())
    print(f"\nlost {lost_at - began:.2f} s after the cut, taken after {boot_time() - began:.2f} s")
    assert lost_at - began <= QUICK.fence + 0.05
    relay.is_cut = False
    await until(lambda: mine.holder == "second")
    assert not mine.is_held
    assert mine.token == 2


@pytest.mark.thorough
async def test_who_came_while_the_holder_was_cut_off_waits_longer(instances: Instances, relay: Relay) -> None:
    """A holder that knew of nobody goes on; it is given the time to hear of who has come."""
    first = await instances.open("first", times=QUICK, url=await relay.open())
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    await until(lambda: first._uncontested.kept)
    await cut_off(first, mine, relay)
    await asyncio.sleep(QUICK.life)
    second = await instances.open("second", times=QUICK)
    theirs = second.want("x")
    await asyncio.sleep(QUICK.life / 2)
    assert not theirs.is_held
    assert mine.is_held
    relay.is_cut = False
    await until(lambda: not first.problem)
    await asyncio.sleep(QUICK.life + 0.5)
    assert mine.is_held
    assert not theirs.is_held


@pytest.mark.thorough
async def test_fifty_leases_cost_no_more_than_one(instances: Instances, relay: Relay) -> None:
    first = await instances.open("first", url=await relay.open())
    began = relay.asked
    mine = [first.want(f"x{n}") for n in range(50)]
    await within(3, asyncio.gather(*(each.wait_until_held() for each in mine)))
    taken = relay.asked - began
    await until(lambda: len(first._uncontested.kept) == 50)
    before, beat = relay.asked, first._client.beat
    await until(lambda: first._client.beat > beat, seconds=5)
    await asyncio.sleep(0.1)
    print(f"\n50 leases: {relay.asked - before} round trips to renew them, {taken} to connect and take them")
    assert 1 <= relay.asked - before <= 2


@pytest.mark.thorough
async def test_the_program_can_leave_while_the_server_is_silent(own: PostgresServer, tmp_path: Path) -> None:
    instances = Instances(AsyncExitStack(), tmp_path, own.url())
    async with instances.within("first", times=QUICK) as first:
        await within(2, first.want("x").wait_until_held())
        own.halt()
        leaving = time.monotonic()
    assert time.monotonic() - leaving < 5
    own.resume()


@pytest.mark.thorough
async def test_before_the_server_was_ever_met_nothing_is_held(tmp_path: Path) -> None:
    instances = Instances(AsyncExitStack(), tmp_path, "postgresql://127.0.0.1:9/nobody")
    async with instances.within("first", times=QUICK) as first:
        mine = first.want("x")
        await until(lambda: first.problem)
        await asyncio.sleep(0.3)
        assert not mine.is_held
        assert "refused" in first.problem
        assert await within(2, mine.give_up()) < 1


@pytest.mark.thorough
@pytest.mark.parametrize(("company", "held"), [(False, True), (True, False)])
async def test_only_who_is_alone_begins_without_the_server(
    company: bool, held: bool, tmp_path: Path, instances: Instances
) -> None:
    async with instances.within("first", times=QUICK) as first:
        await within(2, first.want("x").wait_until_held())
        await until(lambda: known_peers(instances.folder / "first") is False)
        if company:
            other = await instances.open("second", times=QUICK)
            other.want("x")
            await until(lambda: known_peers(instances.folder / "first"))
    async with instances.within("first", times=QUICK, url="postgresql://127.0.0.1:9/nobody") as first:
        mine = first.want("x")
        await until(lambda: first.problem)
        await asyncio.sleep(0.2)
        assert mine.is_held == held
        assert [state.ours for state in first.snapshot()] == [True] * held


@pytest.mark.thorough
async def test_who_began_without_the_server_hears_that_another_has_it(
    instances: Instances, relay: Relay
) -> None:
    async with instances.within("first", times=QUICK) as first:
        await within(2, first.want("x").wait_until_held())
        await until(lambda: known_peers(instances.folder / "first") is False)
    second = await instances.open("second", times=QUICK)
    await within(2, second.want("x").wait_until_held())
    url = await relay.open()
    relay.is_cut = True
    first = await instances.open("first", times=QUICK, url=url)
    mine = first.want("x")
    await within(3, mine.wait_until_held())
    relay.is_cut = False
    await within(5, mine.wait_until_lost())
    assert mine.holder == "second"
    await until(lambda: '"company": true' in (instances.folder / "first" / INSTANCE_FILE).read_text())


@pytest.mark.thorough
async def test_who_takes_it_while_it_is_being_renewed_has_it(instances: Instances, database: str) -> None:
    """The renewal waits for the other's end, and was begun before it: it still sees the lease as its own."""
    first = await instances.open("first", times=LeaseTimes(beat=0.8))
    mine = first.want("x")
    await within(2, mine.wait_until_held())
    await until(lambda: first._uncontested.kept)
    beat = first._client.beat
    await until(lambda: first._client.beat > beat)
    server = Server(database)
    with server.transaction() as connection:
        connection.execute(
            "UPDATE commonplace.leases SET holder = 'somebody', holder_name = 'else', token = token + 1,"
            " until = now() + interval '1 minute', workspace = 'w'"
        )
        await asyncio.sleep(0.9)  # a renewal waits for it by now, and the next is far
        assert mine.is_held
    server.close()
    await within(0.35, mine.wait_until_lost())
    assert not mine.is_held


@pytest.mark.thorough
async def test_what_is_wanted_and_given_up_all_the_time_never_has_two_holders(instances: Instances) -> None:
    chance = random.Random(9)
    all_of_them = [await instances.open(f"instance{n}", times=QUICK) for n in range(4)]
    wanted = [each.want("x") for each in all_of_them]
    of_before: list[Lease] = []
    tokens: dict[int, int] = {}
    giving: list[asyncio.Task[None]] = []
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < 6 or (len(tokens) <= 30 and passed < 60):
        n = chance.randrange(len(wanted))
        if chance.random() < 0.1:
            giving.append(asyncio.create_task(wanted[n].give_up()))
            await asyncio.sleep(0)
            if chance.random() < 0.5:
                await asyncio.sleep(chance.uniform(0, 0.003))
            of_before.append(wanted[n])
            wanted[n] = all_of_them[n].want("x")
        holders = [n for n, each in enumerate(wanted) if each.is_held]
        assert len(holders) <= 1
        assert not any(each.is_held for each in of_before)
        for n in holders:
            assert tokens.setdefault(wanted[n].token, n) == n
        await asyncio.sleep(chance.uniform(0, 0.004))
    await asyncio.gather(*giving)
    print(f"\n{len(giving)} times given up, {len(tokens)} holders")
    assert len(tokens) > 30


@pytest.mark.thorough
async def test_it_costs_next_to_nothing(instances: Instances) -> None:
    first, second = await instances.open("first"), await instances.open("second")
    await within(2, first.want("x").wait_until_held())
    waiting = second.want("x")
    await until(lambda: waiting.holder)
    await asyncio.sleep(7)
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    await asyncio.sleep(30)
    after, took = resource.getrusage(resource.RUSAGE_SELF), time.monotonic() - began
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\na holder and a standby: {used / took * 100:.3f} % of a core, both together")
    assert used / took / 2 < 0.001
