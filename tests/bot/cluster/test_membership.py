"""What one instance does for all, and who does it where nobody can tell."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest

from bot.cluster.instance import load_instance
from bot.cluster.leases import Leases
from bot.cluster.membership import Membership
from bot.cluster.ownership import Ownership
from bot.cluster.status import channel_lease_name
from bot.cluster.takeover import Takeovers
from bot.cluster.times import LeaseTimes
from bot.maintenance.background import BACKUP, REINDEX
from bot.messages import Adapter, ChannelHealth
from memory.postgres.server import Server
from tests.bot.cluster.relay import Relay

TIMES = LeaseTimes(beat=0.1, look=0.1, life=2.5, fence=1.2, want=5, answer=0.5, opening=0.6)


async def opened(stack: AsyncExitStack, folder: Path, url: str, name: str) -> tuple[Leases, Takeovers]:
    private = folder / name
    private.mkdir()
    server = Server(url)
    stack.callback(server.close)
    leases = await stack.enter_async_context(
        Leases(server, instance=load_instance(private, name=name), private=private, times=TIMES)
    )
    return leases, Takeovers([], name=name, command=lambda _: [], want=lambda _: None)


async def until(told: str, post: Membership) -> None:
    async with asyncio.timeout(10):
        while True:
            if post.other_holder(BACKUP) == told:
                return
            await asyncio.sleep(0.02)


async def test_what_another_does_is_done_here_too_while_the_server_is_away(
    tmp_path: Path, database: str
) -> None:
    relay = Relay(database)
    async with AsyncExitStack() as stack:
        first, none = await opened(stack, tmp_path, database, "first")
        Membership(first, none, first.want("workspace:1"))
        await asyncio.wait_for(first.want("job:backup").wait_until_held(), 10)
        second, none = await opened(stack, tmp_path, await relay.open(), "second")
        post = Membership(second, none, second.want("workspace:2"))
        await until("first", post)
        relay.cut()
        await until("", post)
        assert second.problem
        await relay.close()


@pytest.mark.thorough
async def test_who_makes_no_backups_keeps_nobody_from_it(tmp_path: Path, database: str) -> None:
    async with AsyncExitStack() as stack:
        first, none = await opened(stack, tmp_path, database, "first")
        Membership(first, none, first.want("workspace:1"), jobs=[REINDEX])
        await asyncio.wait_for(first.want("job:schedule").wait_until_held(), 10)
        second, none = await opened(stack, tmp_path, database, "second")
        post = Membership(second, none, second.want("workspace:2"))
        await asyncio.wait_for(second.want("job:backup").wait_until_held(), 10)
        assert post.other_holder(BACKUP) == ""
        assert post.other_holder(REINDEX) == "first"


@pytest.mark.thorough
async def test_a_house_is_over_once_its_workspace_was_lost_even_if_it_is_ours_again(
    tmp_path: Path, database: str
) -> None:
    async with AsyncExitStack() as stack:
        leases, none = await opened(stack, tmp_path, database, "first")
        workspace = leases.want("workspace:1")
        await asyncio.wait_for(workspace.wait_until_held(), 10)
        post = Membership(leases, none, workspace)
        assert post.is_uninterrupted
        workspace.drop()
        assert not post.is_uninterrupted
        await asyncio.wait_for(workspace.wait_until_held(), 10)
        assert not post.is_uninterrupted
        assert Membership(leases, none, workspace).is_uninterrupted


async def test_it_tells_for_whom_a_second_process_of_ours_serves_a_channel(
    tmp_path: Path, database: str
) -> None:
    theirs = tmp_path / "cellar"
    (theirs / ".commonplace").mkdir(parents=True)
    dead = load_instance(theirs / ".commonplace", name="first for cellar")

    def serves(_: Path) -> list[str]:
        return [sys.executable, "-c", "import sys; sys.stdin.read()"]

    async with AsyncExitStack() as stack:
        server = Server(database)
        stack.callback(server.close)
        name = channel_lease_name("telegram", "1:a")
        died = Leases(server, instance=dead, private=theirs / ".commonplace", times=TIMES)
        async with died:
            await asyncio.wait_for(died.want(name).wait_until_held(), 10)
        ours, _ = await opened(stack, tmp_path, database, "first")
        stand_ins = await stack.enter_async_context(
            Takeovers([theirs], name="first", command=serves, want=lambda _: None)
        )
        post = Membership(ours, stand_ins, ours.want("workspace:1"), jobs=[])
        channel = post.channel("telegram", "1:a", opens=never_opened, resume=nothing)
        await until_found(lambda: stand_ins.is_left_to_takeover(ours.want(name)))
        again = await stack.enter_async_context(
            Leases(server, instance=dead, private=theirs / ".commonplace", times=TIMES)
        )
        await asyncio.wait_for(again.want(name).wait_until_held(), 10)  # as the second process does
        await until_found(lambda: post.status().stands_in)
        (told,) = post.status().stands_in
        assert (told.channel, told.workspace, told.folder) == ("telegram", dead.workspace, "cellar")
        assert told.since
        assert channel.health == ChannelHealth("stand-in", "a second process here serves it for cellar")


def never_opened(_: Ownership) -> AbstractAsyncContextManager[Adapter]:
    raise AssertionError


async def nothing() -> None: ...


async def until_found(found: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while True:
            if found():
                return
            await asyncio.sleep(0.02)
