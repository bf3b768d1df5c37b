"""Waits after failures are short for the first minute of an outage and grow after it."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.backoff import Backoff, BackoffTimes, add_jitter


def test_waits_double_at_first_and_stay_short_for_a_minute_then_grow_with_the_outage() -> None:
    now = 1000.0
    backoff = Backoff(BackoffTimes(), clock=lambda: now)
    delays = dict[float, float]()
    while now - 1000.0 < 3600:
        backoff.record_failure()
        delays[now - 1000.0] = backoff.delay
        now += backoff.delay
    assert list(delays.values())[:5] == [1, 2, 4, 4, 4]
    assert max(delay for at, delay in delays.items() if at <= 60) == 4
    assert list(delays.values()) == sorted(delays.values())
    assert max(delay for at, delay in delays.items() if at <= 300) <= 20
    assert list(delays.values())[-1] == 60


def test_a_success_begins_again_with_the_first_wait() -> None:
    now = 0.0
    backoff = Backoff(BackoffTimes(), clock=lambda: now)
    for _ in range(50):
        backoff.record_failure()
        now += 10
    assert backoff.delay > 4
    assert not backoff.is_recent
    backoff.record_success()
    assert backoff.is_recent
    backoff.record_failure()
    assert backoff.is_recent
    assert backoff.delay == 1


@given(seconds=st.floats(0, 1e6))
def test_jitter_only_lengthens(seconds: float) -> None:
    assert seconds <= add_jitter(seconds) <= seconds * 1.25
