"""Who had a channel before this instance, and until when it may have answered there."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from bot.cluster.lease import Lease, LeaseState
from bot.cluster.times import LeaseTimes

CLOCK_SLACK = timedelta(seconds=2)
"""What two clocks may differ by, and what was heard at the last moment."""


class PreviousHolder:
    """Looked at for as long as the lease is not ours, and asked once it is."""

    def __init__(
        self,
        name: str,
        *,
        workspace: str,
        states: Callable[[], Sequence[LeaseState]],
        times: LeaseTimes | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`name`: the lease's; `workspace`: the id of ours; `states` gives all leases as last seen."""
        self._name = name
        self._ours = workspace
        self._states = states
        self._life = timedelta(seconds=(times or LeaseTimes()).life)
        self._now = now
        self._workspace = ""
        self._until: datetime | None = None

    def observe(self, lease: Lease) -> None:
        """Note who has the lease, or had it last."""
        if lease.is_held:
            return
        self._workspace = lease.last_workspace
        until = next((each.until for each in self._states() if each.name == self._name), None)
        self._until = until or self._until

    def answered_until(self) -> datetime | None:
        """From when on nobody may have answered; None where it was this very workspace, or nobody knows.

        Whoever died did so after its last renewal, and what it may have answered in between is answered once more.
        """
        if self._workspace in ("", self._ours) or self._until is None:
            return None
        now = self._now()
        if now < self._until:  # it was given up, not left to run out
            return now - CLOCK_SLACK
        return self._until - self._life - CLOCK_SLACK
