"""What the log tells of the instances, from what was seen of their leases; and on a real server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from bot.cluster.instance import Instance, load_instance
from bot.cluster.lease_events import LeaseEvents
from bot.cluster.lease_table import LeaseRow
from bot.cluster.leases import Leases
from bot.cluster.times import LeaseTimes
from memory.postgres.server import Server
from tests.bot.cluster.relay import Relay

US = Instance("attic", "us", "our-workspace")
TIMES = LeaseTimes(beat=0.2, look=0.1, life=2.5, fence=1.2, want=5, answer=0.5, opening=0.6)
DIED = "cellar stopped renewing its leases: it has died or cannot reach the server of index.url"


def row(name: str, holder: str, *, called: str = "cellar", expired: bool = False) -> LeaseRow:
    return LeaseRow(
        name=name,
        holder=holder,
        holder_name=called if holder else "",
        workspace="our-workspace" if called == "attic" else "another",
        token=1,
        beat=1,
        strict=False,
        since=None,
        until=None,
        expired=expired,
        renewed=False,
        wanted=False,
        company=True,
        clock=0.0,
    )


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> "Told":
    caplog.set_level(logging.INFO, logger="bot.cluster")
    return Told(caplog)


class Told:
    """What came into the log since it was last asked."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        self._seen = 0

    def __call__(self) -> list[str]:
        records = self._caplog.records[self._seen :]
        self._seen += len(records)
        return [f"{record.levelname} {record.getMessage()}" for record in records]


def test_a_job_is_told_of_once_each_time_somebody_else_does_it(told: Told) -> None:
    chronicle = LeaseEvents(US)
    for _ in range(3):
        chronicle.log_changes([row("job:backup", "c"), row("channel:telegram:3fa8", "c")], free=())
    assert told() == ["INFO Backup of the notes: now done by cellar"]
    chronicle.log_changes([row("job:backup", "")], free={"job:backup"})
    assert told() == []
    for _ in range(3):
        chronicle.log_changes([row("job:backup", "us", called="attic")], free=())
    assert told() == ["INFO Backup of the notes: now done by this instance"]


def test_a_death_is_told_of_once_whatever_the_dead_one_had_and_so_is_its_return(told: Told) -> None:
    chronicle = LeaseEvents(US)
    alive = [row("channel:telegram:1", "c"), row("workspace:2", "c")]
    chronicle.log_changes(alive, free=())
    assert told() == []
    for _ in range(3):
        chronicle.log_changes(alive, free={"channel:telegram:1", "workspace:2"})
    assert told() == [f"WARNING {DIED}"]
    chronicle.log_changes(alive, free=())
    chronicle.log_changes(alive, free=())
    assert told() == ["INFO cellar is back"]
    chronicle.log_changes(alive, free={"channel:telegram:1"})
    assert told() == [], "what it left behind of its own accord is no death"


def test_who_was_dead_at_the_first_look_is_not_told_of_nor_who_may_have_missed_the_server_as_we_did(
    told: Told,
) -> None:
    chronicle = LeaseEvents(US)
    old = [row("workspace:2", "c", expired=True)]
    chronicle.log_changes([*old, row("job:backup", "c", expired=True)], free=())
    chronicle.log_changes(old, free={"workspace:2"})
    assert told() == []
    chronicle = LeaseEvents(US)
    chronicle.log_changes([row("workspace:2", "c")], free=())
    chronicle.mark_unreachable()
    chronicle.log_changes(old, free=())
    chronicle.log_changes(old, free={"workspace:2"})
    assert told() == []


def test_our_own_earlier_process_is_nobody_to_mourn(told: Told) -> None:
    chronicle = LeaseEvents(US)
    before = [row("workspace:2", "earlier", called="attic")]
    chronicle.log_changes(before, free=())
    chronicle.log_changes(before, free={"workspace:2"})
    assert told() == []


# -- on a real server ---------------------------------------------------------------------------------------


@asynccontextmanager
async def leases(folder: Path, name: str, url: str) -> AsyncIterator[Leases]:
    private = folder / name
    private.mkdir(exist_ok=True)
    server = Server(url)
    try:
        instance = load_instance(private, name=name)
        async with Leases(server, instance=instance, private=private, times=TIMES) as opened:
            yield opened
    finally:
        server.close()


async def until(found: Callable[[], object]) -> None:
    async with asyncio.timeout(15):
        while True:
            if found():
                return
            await asyncio.sleep(0.05)


@pytest.mark.thorough
async def test_the_living_tell_of_the_dead_and_of_what_they_do_instead(
    tmp_path: Path, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="bot.cluster")
    relay = Relay(database)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(relay.close)
        cellar = await stack.enter_async_context(leases(tmp_path, "cellar", await relay.open()))
        await asyncio.wait_for(cellar.want("job:backup").wait_until_held(), 10)
        attic = await stack.enter_async_context(leases(tmp_path, "attic", database))
        attic.want("job:backup")
        await until(lambda: "Backup of the notes: now done by cellar" in caplog.text)
        relay.cut()  # to all others it is dead
        await until(lambda: DIED in caplog.text)
        await asyncio.wait_for(attic.want("job:backup").wait_until_held(), 10)
        await asyncio.sleep(1)
        before, after = caplog.text.split(DIED)
        assert before.count("Backup of the notes: now done by this instance") == 1, "the cellar's"
        assert after.count("Backup of the notes: now done by this instance") == 1, "the attic's"


async def test_who_leaves_while_the_server_is_away_does_not_say_that_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="bot.cluster")
    async with leases(tmp_path, "attic", "postgresql://me@127.0.0.1:9/none") as opened:
        opened.want("job:backup")
        await until(lambda: opened.problem)
    assert "does not answer" in caplog.text
    assert "answers again" not in caplog.text
