"""A channel between two instances, with leases on a real server: never heard or spoken on by who has it not."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.cluster import leased_channel
from bot.cluster.instance import load_instance
from bot.cluster.lease import Lease
from bot.cluster.leased_channel import LeasedChannel
from bot.cluster.leases import Leases
from bot.cluster.ownership import Ownership
from bot.cluster.previous_holder import PreviousHolder
from bot.cluster.times import LeaseTimes
from bot.messages import (
    AcceptMessage,
    Attachment,
    ChannelFault,
    ChatId,
    IncomingMessage,
    NotAccepted,
    PersonId,
    Reply,
    ReplyPart,
)
from bot.supervisor import Supervisor
from memory.postgres.server import Server
from tests.fakes.fetch_file import fetch_bytes
from tests.fakes.postgres_server import PostgresServer
from tests.fakes.recording_adapter import RecordingAdapter

TIMES = LeaseTimes(beat=0.2, look=0.1, life=2.5, fence=1.2, want=5, answer=0.5, opening=0.6)
NAME = "channel:terminal:0123"
CHAT = ChatId("terminal", "main")


class Heard(RecordingAdapter):
    """Hands over what it is told."""

    accept: AcceptMessage
    is_running = False

    async def run(self, accept: AcceptMessage) -> None:
        self.accept = accept
        self.failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_running = True
        try:
            await self.failing
        finally:
            self.is_running = False

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        return message.text == "deleted"


class Host:
    """An instance with one channel."""

    def __init__(self, leases: Leases, name: str) -> None:
        self.name = name
        self.duties: list[Ownership] = []
        self.happened: list[str] = []
        self.adapter = Heard()
        self.supervisor = Supervisor(pauses=(0.05,), steady_seconds=0.2)
        self.channel = LeasedChannel(
            "terminal",
            leases.want(NAME),
            opens=self._open,
            before=PreviousHolder(
                NAME,
                workspace=leases.instance.workspace,
                states=lambda: tuple(leases.snapshot()),
                times=TIMES,
            ),
            resume=self._take_up,
            problem=lambda: leases.problem,
        )
        self.heard: list[str] = []

    @asynccontextmanager
    async def _open(self, duty: Ownership) -> AsyncIterator[Heard]:
        self.duties.append(duty)
        self.happened.append("opened")
        self.adapter = Heard()
        try:
            yield self.adapter
        finally:
            self.happened.append("closed")

    async def _take_up(self) -> None:
        assert self.channel.serves(CHAT)
        assert not self.adapter.is_running
        self.happened.append("taken up")

    async def accept(self, message: IncomingMessage) -> bool:
        self.heard.append(message.text)
        return True

    @property
    def serves(self) -> bool:
        return self.channel.serves(CHAT) and self.adapter.is_running


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leased_channel, "POLL_SECONDS", 0.1)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def host(stack: AsyncExitStack, folder: Path, url: str, name: str) -> Host:
    private = folder / name
    private.mkdir()
    server = Server(url)
    stack.callback(server.close)
    leases = await stack.enter_async_context(
        Leases(server, instance=load_instance(private, name=name), private=private, times=TIMES)
    )
    made = Host(leases, name)
    await stack.enter_async_context(made.channel)
    running = made.supervisor.start("terminal", lambda: made.channel.run(made.accept))

    async def end() -> None:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    stack.push_async_callback(end)
    return made


async def until(found: Callable[[], object], *, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if found():
                return
            await asyncio.sleep(0.02)


def said(text: str) -> IncomingMessage:
    return IncomingMessage(
        id=text, chat=CHAT, sender=PersonId("terminal", "owner"), text=text, sent_at=datetime.now(UTC)
    )


async def keep(ids: Sequence[str]) -> None:
    del ids


def reply(parts: AsyncIterator[ReplyPart]) -> Reply:
    return Reply(CHAT, said("hello"), "reply-1", parts, keep)


async def slowly() -> AsyncIterator[ReplyPart]:
    yield ReplyPart("so far")
    await asyncio.sleep(30)
    yield ReplyPart("so far, and on", final=True)


async def at_once() -> AsyncIterator[ReplyPart]:
    yield ReplyPart("done", final=True)


async def test_one_has_the_channel_and_the_other_has_it_as_soon_as_that_one_closes(
    stack: AsyncExitStack, tmp_path: Path, database: str
) -> None:
    first = await host(stack, tmp_path, database, "first")
    await until(lambda: first.serves)
    second = await host(stack, tmp_path, database, "second")
    await until(lambda: second.channel.health.detail == "held by first")
    assert second.channel.health.state == "standby"
    assert first.channel.health.state == "up"
    assert first.happened == ["opened", "taken up"]
    assert second.happened == []
    assert second.channel.home_of(PersonId("terminal", "owner")) is None
    with pytest.raises(ChannelFault, match="another instance has this channel"):
        await second.channel.render(reply(at_once()))
    with pytest.raises(ChannelFault, match="another instance has this channel"):
        await fetch_bytes(second.channel, Attachment("picture", "a"), max_bytes=10)
    with pytest.raises(ChannelFault, match="another instance has this channel"):
        await second.channel.is_withdrawn(said("deleted"))
    assert await first.channel.is_withdrawn(said("deleted"))
    assert not await first.channel.is_withdrawn(said("one"))
    assert await second.channel.receive("/hook", {}, b"") == 503
    await first.adapter.accept(said("one"))
    await first.channel.render(reply(at_once()))
    await first.channel.close()
    assert first.happened == ["opened", "taken up", "closed"]
    async with asyncio.timeout(1.0):
        await until(lambda: second.serves)
    assert first.heard == ["one"]
    assert [part.text for _, parts in first.adapter.shown for part in parts] == ["done"]


async def test_a_channel_that_fails_is_opened_again_while_its_lease_is_ours(
    stack: AsyncExitStack, tmp_path: Path, database: str
) -> None:
    first = await host(stack, tmp_path, database, "first")
    await until(lambda: first.serves)
    first.adapter.failing.set_exception(OSError("the library lost its socket"))
    await until(lambda: first.supervisor.failures)
    await until(lambda: first.serves)
    assert first.happened == ["opened", "taken up", "closed", "opened", "taken up"]
    await until(lambda: not first.supervisor.failures)
    await first.adapter.accept(said("one"))
    assert first.heard == ["one"]


@pytest.mark.thorough
async def test_who_is_taken_over_from_stops_in_the_middle_of_a_reply_and_takes_nothing_in(
    stack: AsyncExitStack, tmp_path: Path, database: str, postgres: PostgresServer
) -> None:
    first = await host(stack, tmp_path, database, "first")
    await until(lambda: first.serves)
    adapter = first.adapter
    showing = asyncio.create_task(first.channel.render(reply(slowly())))
    await adapter.began.wait()
    name = database.rpartition("/")[2]
    taken = (
        "UPDATE commonplace.leases SET holder = 'another', holder_name = 'thief', token = token + 1, "
        "until = clock_timestamp() + interval '3 s' WHERE name = %s"
    )
    await asyncio.to_thread(postgres.execute, taken, NAME, database=name)
    with pytest.raises(ChannelFault, match="another instance has this channel"):
        await asyncio.wait_for(showing, 2)
    assert not first.channel.serves(CHAT)
    assert not first.duties[0].is_ours()
    with pytest.raises(NotAccepted):
        await adapter.accept(said("late"))
    await until(lambda: first.happened[-1] == "closed")
    assert first.channel.health.state == "standby"
    assert "thief" in first.channel.health.detail
    assert not adapter.is_running
    assert first.heard == []
    await until(lambda: first.serves)  # the thief does not renew it
    assert first.happened == ["opened", "taken up", "closed", "opened", "taken up"]
    assert first.adapter is not adapter
    await first.adapter.accept(said("again"))
    assert first.heard == ["again"]


@pytest.mark.thorough
async def test_who_gains_the_channel_hears_since_when_nobody_may_have_answered(
    stack: AsyncExitStack, tmp_path: Path, database: str
) -> None:
    first = await host(stack, tmp_path, database, "first")
    await until(lambda: first.serves)
    assert first.duties[0].since is None
    second = await host(stack, tmp_path, database, "second")
    await until(lambda: second.channel.health.state == "standby" and second.channel.health.detail)
    await asyncio.sleep(0.5)
    before = datetime.now(UTC)
    await first.channel.close()
    await until(lambda: second.serves)
    since = second.duties[0].since
    assert since
    assert 0 <= (datetime.now(UTC) - since).total_seconds() < 5
    assert since <= before


class Breaks(RecordingAdapter):
    """Cannot go on once the channel is not ours; another time it can."""

    lease: Lease
    clock: list[float]
    runs = 0

    async def run(self, accept: AcceptMessage) -> None:
        del accept
        self.runs += 1
        if self.runs == 1:
            self.clock[0] += 60  # the machine slept
            assert not self.lease.is_held
            self.lease.hold_until(until=self.clock[0] + 12)
            raise OSError("it is not ours")
        await asyncio.Event().wait()


async def test_what_breaks_because_the_lease_ran_out_does_not_end_the_channel_though_it_is_ours_again() -> (
    None
):
    async def given_up(lease: Lease) -> None:
        lease.drop()

    async def nothing() -> None: ...

    async def accept(_: IncomingMessage) -> bool:
        return True

    adapter = Breaks()
    adapter.clock = [100.0]
    adapter.lease = lease = Lease(NAME, holder_name="us", give_up=given_up, clock=lambda: adapter.clock[0])
    lease.hold_until(until=112.0, token=1)

    @asynccontextmanager
    async def opens(_: Ownership) -> AsyncIterator[Breaks]:
        yield adapter

    before = PreviousHolder(NAME, workspace="w", states=tuple)
    async with LeasedChannel("terminal", lease, opens=opens, before=before, resume=nothing) as channel:
        running = asyncio.create_task(channel.run(accept))
        await until(lambda: adapter.runs == 2 or running.done())
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
