"""When a lease may be taken: by the server's clock, or by our own where that was set."""

from dataclasses import replace

import pytest

from bot.cluster.expiry import ExpiryWatch
from bot.cluster.instance import Instance
from bot.cluster.lease_table import LeaseRow
from bot.cluster.times import LeaseTimes

US = Instance(name="us", id="1", workspace="w1")
TIMES = LeaseTimes()
HELD = LeaseRow(
    name="x",
    holder="2",
    holder_name="them",
    workspace="w2",
    token=4,
    beat=10,
    strict=True,
    since=None,
    until=None,
    expired=False,
    renewed=False,
    wanted=True,
    company=True,
    clock=0.0,
)
AHEAD = 1_000_000.0
"""The server's clock beside ours."""


def looked(watch: ExpiryWatch, at: float, row: LeaseRow, *, ahead: float = AHEAD) -> bool:
    """Whether it may be taken by what was seen at this second of ours."""
    return watch.find_expired([replace(row, clock=at + ahead)], begun=at - 0.01, ended=at + 0.01) == {"x"}


@pytest.fixture
def watch() -> ExpiryWatch:
    return ExpiryWatch(US, TIMES)


def test_what_nobody_has_is_free_and_what_is_ours_is_not(watch: ExpiryWatch) -> None:
    assert looked(watch, 0, replace(HELD, holder="", holder_name=""))
    assert not looked(watch, 2, replace(HELD, holder=US.id, expired=True))


def test_it_ends_by_the_clock_of_the_server(watch: ExpiryWatch) -> None:
    assert not looked(watch, 0, HELD)
    assert looked(watch, 2, replace(HELD, expired=True))


def test_who_comes_new_takes_what_is_over(watch: ExpiryWatch) -> None:
    assert looked(watch, 0, replace(HELD, expired=True))


def test_where_the_clock_of_the_server_is_set_forward_ours_counts(watch: ExpiryWatch) -> None:
    assert not looked(watch, 0, HELD)
    for second in range(2, 15, 2):
        assert not looked(watch, second, replace(HELD, expired=True), ahead=AHEAD + 60)
    assert looked(watch, 16, replace(HELD, expired=True), ahead=AHEAD + 60)


def test_where_it_is_set_back_ours_counts(watch: ExpiryWatch) -> None:
    assert not looked(watch, 0, HELD)
    assert not looked(watch, 14, HELD, ahead=AHEAD - 3600)
    assert looked(watch, 16, HELD, ahead=AHEAD - 3600)


def test_a_renewal_begins_the_time_anew(watch: ExpiryWatch) -> None:
    assert not looked(watch, 0, HELD)
    assert not looked(watch, 14, replace(HELD, beat=11))
    assert not looked(watch, 28, replace(HELD, beat=11))
    assert looked(watch, 29.1, replace(HELD, beat=11))


def test_a_new_holder_begins_it_anew_too(watch: ExpiryWatch) -> None:
    assert not looked(watch, 0, HELD)
    assert not looked(watch, 16, replace(HELD, holder="3", token=5))


class TestOfAHolderThatMayGoOn:
    """It knew of nobody who waits: it has all of a lease's life to come back and hear of us."""

    LASTING = replace(HELD, strict=False, expired=True)

    def test_it_is_waited_for(self, watch: ExpiryWatch) -> None:
        for second in range(0, 15, 2):
            assert not looked(watch, second, self.LASTING)
        assert looked(watch, 16, self.LASTING)

    def test_while_the_server_was_away_it_could_not_come_back(self, watch: ExpiryWatch) -> None:
        assert not looked(watch, 0, self.LASTING)
        watch.mark_unreachable()
        assert not looked(watch, 20, self.LASTING)
        assert not looked(watch, 26, self.LASTING)
        assert not looked(watch, 32, self.LASTING)
        assert looked(watch, 36, self.LASTING)

    def test_nor_does_it_count_when_we_were_asleep(self, watch: ExpiryWatch) -> None:
        assert not looked(watch, 0, self.LASTING)
        assert not looked(watch, 3600, self.LASTING)

    def test_our_own_last_process_need_not_be_waited_for(self, watch: ExpiryWatch) -> None:
        assert not looked(watch, 0, replace(self.LASTING, workspace="w1", holder_name="copy"))
        assert looked(watch, 2, replace(self.LASTING, workspace="w1", holder_name="us"))
