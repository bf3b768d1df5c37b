"""One lease as this process sees it; whether it is held depends on the clock alone, without I/O."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from bot.cluster.lease_table import LeaseRow
from bot.cluster.times import boot_time

POLL_SECONDS = 1.0
"""Maximum seconds between two looks at the clock while waiting for a loss: timers do not advance while a machine
sleeps."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """A lease as last seen on the server, for status; times are UTC by the server's clock."""

    name: str
    holder: str
    """Name of the instance that holds it; "" for nobody."""
    since: datetime | None
    """When its last holder took it; None if it was never held."""
    until: datetime | None
    """When it ends or ended without renewal; None if it was given up or never held."""
    ours: bool
    """Whether this process holds it now."""


class Lease:
    """A lease that this process wants, made by `Leases.want`; its properties may be read in any thread."""

    def __init__(
        self,
        name: str,
        *,
        holder_name: str,
        give_up: "Callable[[Lease], Awaitable[None]]",
        leave: "LeaveToOthers | None" = None,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        """Start without holding it. `holder_name`: the name of this instance."""
        self.name = name
        self.leave = leave
        self._holder_name = holder_name
        self._give_up = give_up
        self._clock = clock
        self._fence = 0.0
        self._epoch = 0
        """Number of losses: the lease may be ours again before a waiting task runs."""
        self._token = 0
        self._seen: LeaseRow | None = None
        self._is_free = False
        self._changed = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether this process holds it now; compares the clock with the fence and never blocks."""
        return self._clock() < self._fence

    @property
    def is_free(self) -> bool:
        """Whether nobody held it when last seen; this process takes it next unless `leave` says otherwise."""
        return self._is_free

    @property
    def token(self) -> int:
        """Number that grows with each change of holder; 0 if the lease was never seen."""
        return self._token

    @property
    def holder(self) -> str:
        """Name of the instance that holds it, as last seen; "" for nobody."""
        if self.is_held:
            return self._holder_name
        return self._seen.holder_name if self._seen and not self._is_free else ""

    @property
    def last_workspace(self) -> str:
        """Id of the workspace that holds it or held it last; "" if it was never held."""
        return self._seen.workspace if self._seen else ""

    @property
    def epoch(self) -> int:
        """Number that changes with each loss, even one too short to be noticed; only for comparison."""
        return self._epoch

    async def wait_until_held(self) -> None:
        while not self.is_held:
            await self._changed.wait()

    async def wait_until_lost(self) -> None:
        """Wait until it is lost, if only for a moment."""
        epoch = self._epoch
        while self._epoch == epoch and (left := self._fence - self._clock()) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), min(left, POLL_SECONDS))
            except TimeoutError:
                continue

    async def give_up(self) -> None:
        """Release it at once, stop wanting it and notify the other instances. Never raises."""
        await self._give_up(self)

    # -- for `Leases` ----------------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """Whether the server has ever reported it."""
        return self._seen is not None

    def update(self, row: LeaseRow, *, free: bool) -> None:
        """Record the server's row, and whether the lease may be taken."""
        self._seen, self._token, self._is_free = row, row.token, free

    def hold_until(self, *, until: float, token: int | None = None) -> None:
        """Hold it until `until`, by the clock."""
        was_held = self.is_held
        if self._fence and not was_held:  # expired, if only for a moment, such as while the machine slept
            self._epoch += 1
        # The token first: a thread that sees the lease as held must also see its token.
        self._token = self._token if token is None else token
        self._fence = until
        if was_held != self.is_held:
            self._is_free = False
            self._notify()

    def drop(self) -> None:
        """Stop holding it now."""
        if self._fence:
            self._fence = 0.0
            self._epoch += 1
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


LeaveToOthers = Callable[[Lease], bool]
"""Return whether a lease that could be taken is left to another process for now."""
