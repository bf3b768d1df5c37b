"""A day that does not end in the middle of a test."""

import time

_DAY_SECONDS = 86_400
_ENOUGH_SECONDS = 60


def stable_day() -> str:
    """Return today in UTC, as in a daily log's name; near midnight, wait for the next day first."""
    left = _DAY_SECONDS - time.time() % _DAY_SECONDS
    if left < _ENOUGH_SECONDS:
        time.sleep(left + 0.1)
    return time.strftime("%Y-%m-%d", time.gmtime())
