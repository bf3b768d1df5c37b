"""Decide when another holder's lease may be taken, from what can be seen remotely; no I/O."""

from collections.abc import Iterable

from bot.cluster.instance import Instance
from bot.cluster.lease_table import LeaseRow
from bot.cluster.times import LeaseTimes

MAX_CLOCK_JUMP = 1.0
"""Difference in seconds between two comparisons of the server's clock with ours that counts as the clock having been
set."""


class ExpiryWatch:
    """What one process has seen of every lease, and since when, by its own clock.

    A lease may be taken if nobody holds it, or if it was not renewed for its whole life. Its life is measured by
    the server's clock, or by ours from when we first saw the lease in its current state. Only our clock counts if
    the server's clock was set. It is also the only one if the holder may continue past its fence because it knew of
    nobody waiting (`strict` is false): the holder then had all that time to reconnect and learn of us.
    """

    def __init__(self, us: Instance, times: LeaseTimes) -> None:
        self._us = us
        self._life = times.life
        self._first_seen: dict[str, tuple[tuple[int, int], float]] = {}
        self._in_touch_since: float | None = None
        self._last = 0.0
        self._ahead: tuple[float, float] | None = None
        """Minimum and maximum seconds by which the server's clock is ahead of ours."""
        self._mistrusted_until = float("-inf")

    def mark_unreachable(self) -> None:
        """Note that the server did not answer."""
        self._in_touch_since = None

    def find_expired(self, rows: Iterable[LeaseRow], *, begun: float, ended: float) -> set[str]:
        """Record `rows`, and return the names of the leases that may be taken now.

        The rows were queried at `begun` and received at `ended`, by our clock.
        """
        rows = list(rows)
        if self._in_touch_since is None or begun - self._last > self._life / 2:
            self._in_touch_since = ended
        self._last = ended
        if rows:
            self._compare_clocks(rows[0].clock, begun, ended)
        before = self._first_seen
        self._first_seen = {}
        for row in rows:
            state = (row.token, row.beat)
            was, since = before.get(row.name, (state, ended))
            self._first_seen[row.name] = (state, since if was == state else ended)
        return {row.name for row in rows if self._is_free(row, begun)}

    def _compare_clocks(self, server: float, begun: float, ended: float) -> None:
        least, most = server - ended, server - begun
        if self._ahead and (
            least > self._ahead[1] + MAX_CLOCK_JUMP or most < self._ahead[0] - MAX_CLOCK_JUMP
        ):
            self._mistrusted_until = ended + self._life
        self._ahead = least, most

    def _is_free(self, row: LeaseRow, now: float) -> bool:
        if not row.holder:
            return True
        if row.holder == self._us.id:
            return False
        since = self._first_seen[row.name][1]
        ours_of_old = row.workspace == self._us.workspace and row.holder_name == self._us.name
        if row.strict or ours_of_old:
            return now - since >= self._life or (row.expired and now >= self._mistrusted_until)
        assert self._in_touch_since is not None
        return now - max(since, self._in_touch_since) >= self._life
