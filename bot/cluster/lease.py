"""One lease, as this process sees it: whether it is held is read from the clock, and asks nobody."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from bot.cluster.lease_table import LeaseRow
from bot.cluster.times import boot_time

POLL_SECONDS = 1.0
"""So often at least who waits for a loss looks at the clock: a machine that slept has not counted its timers on."""


@dataclass(frozen=True, slots=True)
class LeaseState:
    """A lease as last seen on the server, for status; times by the server's clock, in UTC."""

    name: str
    holder: str
    """The name of the instance that holds it; "" nobody."""
    since: datetime | None
    """When its last holder got it; None where it was never held."""
    until: datetime | None
    """When it ends, or has ended, if it is not renewed; None where it was given up, or never held."""
    ours: bool
    """Whether this very process holds it now."""


class Lease:
    """A lease that this process wants. Made by `Leases.want`; what it tells may be asked in any thread."""

    def __init__(
        self,
        name: str,
        *,
        holder_name: str,
        give_up: "Callable[[Lease], Awaitable[None]]",
        leave: "LeaveToOthers | None" = None,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        """Not held yet. `holder_name`: what we are called."""
        self.name = name
        self.leave = leave
        self._holder_name = holder_name
        self._give_up = give_up
        self._clock = clock
        self._fence = 0.0
        self._tenure = 0
        """How often it was lost: it may be ours again before who waits for that comes to look."""
        self._token = 0
        self._seen: LeaseRow | None = None
        self._is_free = False
        self._changed = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether it is ours at this very moment. Asks the clock alone: false from the fence on, whatever hangs."""
        return self._clock() < self._fence

    @property
    def is_free(self) -> bool:
        """Whether nobody held it when the server was last seen; then it is ours soon, unless `leave` says otherwise."""
        return self._is_free

    @property
    def token(self) -> int:
        """Grows with each change of holder; 0 where it was never seen."""
        return self._token

    @property
    def holder(self) -> str:
        """The name of the instance that has it, as last seen; "" nobody."""
        if self.is_held:
            return self._holder_name
        return self._seen.holder_name if self._seen and not self._is_free else ""

    @property
    def last_workspace(self) -> str:
        """The id of the workspace that holds it, or held it last; "" where it was never held."""
        return self._seen.workspace if self._seen else ""

    @property
    def epoch(self) -> int:
        """Another number after each loss, also one that ended before anybody looked; only to be compared."""
        return self._tenure

    async def wait_until_held(self) -> None:
        """Wait until it is held."""
        while not self.is_held:
            await self._changed.wait()

    async def wait_until_lost(self) -> None:
        """Wait until it is not held any more, if only for a moment."""
        tenure = self._tenure
        while self._tenure == tenure and (left := self._fence - self._clock()) > 0:
            try:
                await asyncio.wait_for(self._changed.wait(), min(left, POLL_SECONDS))
            except TimeoutError:
                continue

    async def give_up(self) -> None:
        """Let go of it at once, want it no longer, and have the others told. Never raises."""
        await self._give_up(self)

    # -- for who keeps it -----------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """Whether the server has ever told of it."""
        return self._seen is not None

    def update(self, row: LeaseRow, *, free: bool) -> None:
        """Take in what the server tells of it, and whether it could be taken."""
        self._seen, self._token, self._is_free = row, row.token, free

    def hold_until(self, *, until: float, token: int | None = None) -> None:
        """Hold it until then, by the clock."""
        was_held = self.is_held
        if self._fence and not was_held:  # it ran out, if only for a moment: as when the machine slept
            self._tenure += 1
        # The token first: whoever sees in another thread that it is held sees by which token.
        self._token = self._token if token is None else token
        self._fence = until
        if was_held != self.is_held:
            self._is_free = False
            self._notify()

    def drop(self) -> None:
        """Hold it no longer, from this moment on."""
        if self._fence:
            self._fence = 0.0
            self._tenure += 1
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


LeaveToOthers = Callable[[Lease], bool]
"""Whether a lease that could be taken is left to somebody else for now."""
