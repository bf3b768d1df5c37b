"""Where no database is shared: every lease is held at once, for ever."""

from collections.abc import Sequence
from typing import Self

from bot.instances.lease import Lease, LeaseState, Leave

FOR_EVER = float("inf")


class Alone:
    """The same as `Leases`, for a process that nobody shares anything with."""

    problem = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def want(self, name: str, *, leave: Leave | None = None) -> Lease:
        """Hold it, until it is given up."""
        lease = Lease(name, holder_name="", give_up=_give_up, leave=leave)
        lease.hold(until=FOR_EVER, token=1)
        return lease

    def all(self) -> Sequence[LeaseState]:
        """Nothing that could be told of."""
        return ()

    def held_by_others(self) -> Sequence[LeaseState]:
        """None ever."""
        return ()


async def _give_up(lease: Lease) -> None:
    lease.drop()
