"""Who held a channel before this instance, and until when it may have answered there."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from bot.cluster.lease import Lease, LeaseState
from bot.cluster.times import LeaseTimes

CLOCK_SLACK = timedelta(seconds=2)
"""Allowance for the difference of two clocks, and for messages received at the last moment."""


class PreviousHolder:
    """Observes a lease until it is ours, and then says until when the previous holder answered."""

    def __init__(
        self,
        name: str,
        *,
        workspace: str,
        states: Callable[[], Sequence[LeaseState]],
        times: LeaseTimes | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`name`: the lease's; `workspace`: our id; `states` returns all leases as last seen."""
        self._name = name
        self._ours = workspace
        self._states = states
        self._life = timedelta(seconds=(times or LeaseTimes()).life)
        self._now = now
        self._workspace = ""
        self._until: datetime | None = None

    def observe(self, lease: Lease) -> None:
        """Record who holds the lease or held it last."""
        if lease.is_held:
            return
        self._workspace = lease.last_workspace
        until = next((each.until for each in self._states() if each.name == self._name), None)
        self._until = until or self._until

    def answered_until(self) -> datetime | None:
        """Return until when another workspace answered; None if it was this workspace or is unknown.

        A holder that died did so after its last renewal; messages it may have answered after that are answered
        again.
        """
        if self._workspace in ("", self._ours) or self._until is None:
            return None
        now = self._now()
        if now < self._until:  # given up, not expired
            return now - CLOCK_SLACK
        return self._until - self._life - CLOCK_SLACK
