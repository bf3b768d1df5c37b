"""Read once which instance does what, from a process that is none of them; changes nothing."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.cluster.lease import LeaseState
from bot.cluster.lease_table import list_held
from bot.cluster.status import InstanceStatus
from memory.errors import MemoryFault
from memory.postgres.server import Server, check_library
from memory.postgres.timeouts import cut_after

if TYPE_CHECKING:
    from bot.config.settings import Settings

ANSWER_SECONDS = 3.0


async def read_status(settings: "Settings") -> InstanceStatus | None:
    """Return the instances' status, or the problem that prevents reading it; None without `index.url`."""
    if not settings.index.url.get_secret_value():
        return None
    try:
        return InstanceStatus("", leases=await asyncio.to_thread(read_held_leases, settings))
    except MemoryFault as error:
        return InstanceStatus("", str(error))


def read_held_leases(settings: "Settings") -> Sequence[LeaseState]:
    """Return each held lease; blocks. Raises MemoryFault if the server of `index.url` cannot be queried."""
    check_library()
    server = Server(settings.index.url.get_secret_value(), name="commonplace status", max_connections=1)
    try:
        with server.session() as session, cut_after(session, ANSWER_SECONDS):
            return [LeaseState(*row, ours=False) for row in list_held(session)]
    finally:
        server.close()
