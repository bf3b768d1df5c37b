"""A lease by itself: held by the clock alone."""

import asyncio
from datetime import UTC, datetime

from bot.cluster.lease import Lease
from bot.cluster.lease_table import LeaseRow


class Clock:
    """One that stands still until it is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


async def given_up(lease: Lease) -> None:
    lease.drop()


def lease_by(clock: Clock) -> Lease:
    return Lease("x", holder_name="us", give_up=given_up, clock=clock)


def row(*, holder: str = "2", token: int = 3) -> LeaseRow:
    return LeaseRow(
        name="x",
        holder=holder,
        holder_name="them" if holder else "",
        workspace="w2",
        token=token,
        beat=1,
        strict=True,
        since=datetime.now(UTC),
        until=None,
        expired=False,
        renewed=False,
        wanted=False,
        company=False,
        clock=0.0,
    )


def test_it_ends_by_the_clock_with_nobody_there_to_end_it() -> None:
    clock = Clock()
    lease = lease_by(clock)
    assert not lease.is_held
    lease.hold_until(until=112.0, token=4)
    assert lease.is_held
    clock.now = 111.999
    assert lease.is_held
    clock.now = 112.0
    assert not lease.is_held


def test_a_machine_that_slept_wakes_up_without_it() -> None:
    clock = Clock()
    lease = lease_by(clock)
    lease.hold_until(until=112.0, token=4)
    clock.now += 3600
    assert not lease.is_held
    assert lease.token == 4


def test_an_answer_that_came_too_late_holds_nothing() -> None:
    clock = Clock()
    lease = lease_by(clock)
    clock.now = 130.0
    lease.hold_until(until=112.0, token=4)
    assert not lease.is_held


async def test_whoever_waits_for_its_loss_hears_of_it_even_if_it_is_ours_again_at_once() -> None:
    lease = lease_by(Clock())
    lease.hold_until(until=112.0, token=4)
    lost = asyncio.create_task(lease.wait_until_lost())
    await asyncio.sleep(0)
    lease.hold_until(until=115.0)
    await asyncio.sleep(0.01)
    assert not lost.done(), "a renewal is no loss"
    lease.drop()
    lease.hold_until(until=120.0, token=6)
    await asyncio.wait_for(lost, 1)
    assert lease.is_held


async def test_one_that_ran_out_and_is_renewed_before_anybody_looked_was_lost() -> None:
    clock = Clock()
    lease = lease_by(clock)
    lease.hold_until(until=112.0, token=4)
    lost, tenure = asyncio.create_task(lease.wait_until_lost()), lease.epoch
    await asyncio.sleep(0)
    lease.hold_until(until=115.0)
    assert lease.epoch == tenure, "a renewal is no loss"
    clock.now = 120.0
    lease.hold_until(until=132.0, token=4)
    assert lease.is_held
    assert lease.epoch != tenure
    await asyncio.wait_for(lost, 0.5)


async def test_whoever_waits_for_its_loss_looks_at_a_clock_that_jumped() -> None:
    clock = Clock()
    lease = lease_by(clock)
    lease.hold_until(until=100.05, token=4)
    lost = asyncio.create_task(lease.wait_until_lost())
    await asyncio.sleep(0.1)
    assert not lost.done(), "its own clock stood still"
    clock.now = 5000
    await asyncio.wait_for(lost, 1)


def test_it_tells_who_has_it_as_last_seen() -> None:
    clock = Clock()
    lease = lease_by(clock)
    assert (lease.holder, lease.token, lease.last_workspace, lease.is_free) == ("", 0, "", False)
    lease.update(row(), free=False)
    assert (lease.holder, lease.token, lease.last_workspace, lease.is_free) == ("them", 3, "w2", False)
    lease.update(row(), free=True)
    assert (lease.holder, lease.last_workspace, lease.is_free) == ("", "w2", True)
    lease.hold_until(until=112.0, token=4)
    assert (lease.holder, lease.token, lease.is_free) == ("us", 4, False)
