import time

from memory.deadline import Deadline


def test_a_deadline_passes_and_then_no_time_is_left() -> None:
    ahead = Deadline.after(60.0)
    assert not ahead.has_passed
    assert 59.0 < ahead.left <= 60.0
    for passed in (Deadline.after(0.0), Deadline(time.monotonic() - 5.0)):
        assert passed.has_passed
        assert passed.left == 0.0
