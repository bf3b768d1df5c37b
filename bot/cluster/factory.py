"""Open the leases and the takeovers as the settings say."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cannot_start import CannotStart
from bot.cluster.instance import load_instance
from bot.cluster.lease import Lease
from bot.cluster.leases import Leases
from bot.cluster.membership import foreign_notes_problem
from bot.cluster.status import workspace_lease_name
from bot.cluster.takeover import Takeovers, takeover_command
from memory.disk import reason
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.supervisor import Supervisor

CONNECTIONS = 2

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_leases(settings: "Settings", supervisor: "Supervisor") -> AsyncIterator[tuple[Leases, Lease]]:
    """Start holding leases, that of the workspace first, on separate connections that no search delays.

    Raises CannotStart if the private folder cannot be used.
    """
    private = settings.private_folder
    try:
        instance = load_instance(private, name=settings.instance.name)
    except OSError as error:
        raise CannotStart(
            f"{private} cannot be used ({reason(error)}): fix that, or set workspace to another folder"
        ) from error
    async with AsyncExitStack() as stack:
        server = Server(
            settings.index.url.get_secret_value(), name="commonplace leases", max_connections=CONNECTIONS
        )
        stack.callback(server.close)
        leases = await stack.enter_async_context(
            Leases(server, instance=instance, private=private, supervisor=supervisor)
        )
        yield leases, leases.want(workspace_lease_name(instance.workspace))


def open_takeovers(settings: "Settings", leases: Leases, supervisor: "Supervisor") -> Takeovers:
    """Build the takeovers of dead instances' conversations; the caller enters them."""

    def notes(folder: Path) -> str:
        return foreign_notes_problem(settings.memory_folder, folder / settings.memory.path)

    def want(workspace: str) -> None:
        leases.want(workspace_lease_name(workspace), leave=lambda _: True)

    ours, others = settings.private_folder, []
    for each in map(Path, settings.instance.take_over):
        if (each / ours.name).resolve() == ours.resolve():
            log.warning("instance.take_over names this instance's own workspace, %s; ignoring it", each)
        else:
            others.append(each)
    return Takeovers(
        others,
        name=leases.instance.name,
        command=partial(takeover_command, settings.file),
        want=want,
        notes=notes,
        supervisor=supervisor,
    )
