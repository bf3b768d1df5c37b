"""Which leases may outlast their fence."""

from bot.cluster.uncontested import UncontestedLeases


def offered_and_kept(leases: UncontestedLeases) -> tuple[set[str], set[str]]:
    return set(leases.offered), set(leases.kept)


def test_a_lease_is_kept_once_the_server_knows_that_it_was_offered() -> None:
    leases = UncontestedLeases()
    assert leases.record_renewal("x", wanted=False, offered=False), "the server must learn of it soon"
    assert offered_and_kept(leases) == ({"x"}, set())
    assert not leases.record_renewal("x", wanted=False, offered=False)
    assert leases.kept == set()
    assert not leases.record_renewal("x", wanted=False, offered=True)
    assert offered_and_kept(leases) == ({"x"}, {"x"})


def test_a_lease_that_another_waits_for_is_kept_no_longer() -> None:
    leases = UncontestedLeases()
    leases.record_renewal("x", wanted=False, offered=False)
    leases.record_renewal("x", wanted=False, offered=True)
    assert leases.record_renewal("x", wanted=True, offered=True), "the server must learn of it soon"
    assert offered_and_kept(leases) == (set(), set())
    assert not leases.record_renewal("x", wanted=True, offered=False)
    assert leases.record_renewal("x", wanted=False, offered=False), "nobody waits any more"


def test_a_lease_is_kept_at_the_start_without_an_offer() -> None:
    leases = UncontestedLeases()
    leases.keep_at_start("x")
    assert offered_and_kept(leases) == (set(), {"x"})
    assert leases.record_renewal("x", wanted=False, offered=False)


def test_discarding_one_lease_leaves_the_others() -> None:
    leases = UncontestedLeases()
    for name in ("x", "y"):
        leases.record_renewal(name, wanted=False, offered=False)
        leases.record_renewal(name, wanted=False, offered=True)
    before = leases.offered
    leases.discard("x")
    leases.discard("never held")
    assert offered_and_kept(leases) == ({"y"}, {"y"})
    assert before == {"x", "y"}, "what a renewal was sent with does not change"
