"""Which instance does what, for a process that is none of them: asked once, and nothing is changed."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.instances.lease import LeaseState
from bot.instances.lease_table import held
from bot.instances.status import InstanceStatus
from memory.errors import MemoryFault
from memory.postgres.answers import answered_within
from memory.postgres.server import Server, check_library

if TYPE_CHECKING:
    from bot.config.settings import Settings

ANSWER_SECONDS = 3.0


async def look_on(settings: "Settings") -> InstanceStatus | None:
    """How the instances stand, or why that is not known; None without `index.url`."""
    if not settings.index.url.get_secret_value():
        return None
    try:
        return InstanceStatus("", leases=await asyncio.to_thread(leases_held, settings))
    except MemoryFault as error:
        return InstanceStatus("", str(error))


def leases_held(settings: "Settings") -> Sequence[LeaseState]:
    """Each lease that somebody holds; blocks. Raises MemoryFault where the server of `index.url` cannot be asked."""
    check_library()
    server = Server(settings.index.url.get_secret_value(), name="commonplace status", most=1)
    try:
        with server.session() as session, answered_within(session, ANSWER_SECONDS):
            return [LeaseState(*row, ours=False) for row in held(session)]
    finally:
        server.close()
