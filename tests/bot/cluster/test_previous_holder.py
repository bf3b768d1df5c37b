from datetime import UTC, datetime, timedelta

from bot.cluster.lease import Lease, LeaseState
from bot.cluster.lease_table import LeaseRow
from bot.cluster.previous_holder import CLOCK_SLACK, PreviousHolder
from bot.cluster.times import LeaseTimes
from tests.fakes.table_test import table_test

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LIFE = timedelta(seconds=LeaseTimes().life)


async def never(_: Lease) -> None:
    raise AssertionError


def lease(*, workspace: str, until: datetime | None) -> Lease:
    seen = Lease("channel", holder_name="us", give_up=never)
    row = LeaseRow(
        name="channel",
        holder="somebody",
        holder_name="them",
        workspace=workspace,
        token=1,
        beat=1,
        strict=True,
        since=None,
        until=until,
        expired=False,
        renewed=False,
        wanted=False,
        company=True,
        clock=0.0,
    )
    seen.update(row, free=False)
    return seen


def since(*looks: tuple[str, datetime | None]) -> datetime | None:
    """What is told after looks that found a workspace's lease to end then."""
    states: list[LeaseState] = []
    before = PreviousHolder("channel", workspace="ours", states=lambda: states, now=lambda: NOW)
    for workspace, until in looks:
        states[:] = [LeaseState("channel", "them", None, until, ours=False)]
        before.observe(lease(workspace=workspace, until=until))
    return before.answered_until()


def test_what_was_said_since_the_last_renewal_of_one_that_died_may_have_no_answer() -> None:
    until = NOW - timedelta(seconds=1)
    assert since(("theirs", until)) == until - LIFE - CLOCK_SLACK


def test_what_was_said_before_it_was_given_up_has_its_answer() -> None:
    assert since(("theirs", NOW + timedelta(seconds=9)), ("theirs", None)) == NOW - CLOCK_SLACK


@table_test("looks", [[], [("", None)], [("theirs", None)], [("ours", NOW - timedelta(hours=1))]])
def test_where_nobody_else_had_it_or_nobody_knows_when_nothing_is_told(
    looks: list[tuple[str, datetime | None]],
) -> None:
    assert since(*looks) is None


def test_what_another_had_before_ours_was_the_last_does_not_count() -> None:
    assert since(("theirs", NOW - timedelta(hours=2)), ("ours", NOW - timedelta(hours=1))) is None
