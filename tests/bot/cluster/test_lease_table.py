"""What arrives late at the server does nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bot.cluster.instance import Instance
from bot.cluster.lease_table import LeaseRow, prepare, release, renew, take, want
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.cluster.lease_table import Session

A = Instance(name="a", id="1", workspace="w1")
B = Instance(name="b", id="2", workspace="w2")
SAME_WORKSPACE = Instance(name="a", id="3", workspace="w1")


@pytest.fixture
def session(database: str) -> "Iterator[Session]":
    server = Server(database)
    with server.session() as session:
        prepare(session)
        yield session
    server.close()


def seen(session: "Session", us: Instance = B) -> LeaseRow:
    """The lease as it is, with nothing renewed."""
    (row,) = renew(session, us, [], beat=0, alone=(), seconds=15)
    return row


def taken(session: "Session", us: Instance, *, beat: int, seconds: float = 15) -> int:
    """The token, where it could be taken as it is now; 0 where not."""
    want(session, us, ["x"], seconds=60)
    return take(session, us, [seen(session, us)], beat=beat, seconds=seconds).get("x", 0)


def test_a_token_grows_with_each_holder(session: "Session") -> None:
    assert taken(session, A, beat=1) == 1
    release(session, A, ["x"], beat=2)
    assert taken(session, B, beat=1) == 2
    release(session, B, ["x"], beat=2)
    assert taken(session, A, beat=3) == 3


def test_only_what_is_as_it_was_seen_is_taken(session: "Session") -> None:
    want(session, A, ["x"], seconds=60)
    free = seen(session)
    assert take(session, A, [free], beat=1, seconds=15) == {"x": 1}
    assert take(session, B, [free], beat=1, seconds=15) == {}
    held = seen(session)
    renew(session, A, ["x"], beat=2, alone=(), seconds=15)
    assert take(session, B, [held], beat=2, seconds=15) == {}, "it was renewed since"
    held = seen(session)
    release(session, A, ["x"], beat=3)
    assert take(session, B, [held], beat=3, seconds=15) == {"x": 2}, "it was given up since"


@pytest.mark.thorough
def test_a_renewal_that_comes_late_does_nothing(session: "Session") -> None:
    taken(session, A, beat=1)
    (row,) = renew(session, A, ["x"], beat=5, alone=["x"], seconds=15)
    assert row.renewed
    assert not seen(session).strict
    before = seen(session)
    (row,) = renew(session, A, ["x"], beat=3, alone=(), seconds=60)
    assert not row.renewed
    assert replace(seen(session), clock=0) == replace(before, clock=0)
    assert not renew(session, B, ["x"], beat=9, alone=(), seconds=60)[0].renewed
    assert not renew(session, SAME_WORKSPACE, ["x"], beat=9, alone=(), seconds=60)[0].renewed


@pytest.mark.thorough
def test_a_release_that_comes_late_does_nothing(session: "Session") -> None:
    taken(session, A, beat=1)
    release(session, A, ["x"], beat=2)
    assert taken(session, A, beat=4) == 2
    release(session, A, ["x"], beat=3)
    assert seen(session).holder == A.id
    release(session, B, ["x"], beat=9)
    release(session, SAME_WORKSPACE, ["x"], beat=9)
    assert seen(session).holder == A.id


@pytest.mark.thorough
def test_a_renewal_after_the_release_does_nothing(session: "Session") -> None:
    taken(session, A, beat=1)
    release(session, A, ["x"], beat=3)
    assert not renew(session, A, ["x"], beat=2, alone=(), seconds=15)[0].renewed
    assert not renew(session, A, ["x"], beat=4, alone=(), seconds=15)[0].renewed
    assert seen(session).workspace == A.workspace, "who had it last is still known"


def test_it_is_told_who_else_waits(session: "Session") -> None:
    taken(session, A, beat=1)
    assert not seen(session, A).wanted
    assert not seen(session, A).company
    want(session, SAME_WORKSPACE, ["x"], seconds=60)
    assert seen(session, A).wanted
    assert not seen(session, A).company, "our own last process is no company"
    want(session, B, ["x"], seconds=60)
    assert seen(session, A).company
    release(session, SAME_WORKSPACE, ["x"], beat=1)
    release(session, B, ["x"], beat=1)
    assert not seen(session, A).wanted
    want(session, B, ["x"], seconds=-1)
    assert not seen(session, A).wanted, "that is over"


@pytest.mark.thorough
def test_it_ends_by_the_clock_of_the_server(session: "Session") -> None:
    taken(session, A, beat=1, seconds=-0.001)
    assert seen(session).expired
    renew(session, A, ["x"], beat=2, alone=(), seconds=15)
    assert not seen(session).expired


@pytest.mark.thorough
def test_what_the_server_confirms_is_on_its_disk(session: "Session") -> None:
    session.execute("SET synchronous_commit = off")
    prepare(session)
    assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
    session.execute("SET synchronous_commit = remote_apply")
    prepare(session)
    assert session.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)
