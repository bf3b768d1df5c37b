"""The service as one of several instances: it serves while it holds the workspace, and is a standby otherwise."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from bot.config.reload import LiveSettings, reload_on_hangup
from bot.config.settings import Settings
from bot.index_server import index_server
from bot.log import RecentErrors
from bot.maintenance.background import BACKUP, REINDEX
from bot.service.http import serve_on_sockets
from bot.service.open_assistant import open_assistant
from bot.service.standalone import run_service, start_log
from bot.state.database import StateFault
from bot.supervisor import Supervisor

if TYPE_CHECKING:
    from bot.cluster.lease import Lease
    from bot.cluster.leases import Leases

log = logging.getLogger(__name__)

USUAL_START_SECONDS = 2.0
"""Seconds within which this process gets the workspace if nobody else holds it."""


async def serve_clustered(
    settings: Settings, sockets: Sequence[socket.socket], leaving: asyncio.Event, *, at_terminal: bool
) -> None:
    """Serve the workspace and each channel while its lease is held; otherwise be a standby."""
    from bot.cluster.factory import open_leases, open_takeovers
    from bot.cluster.membership import Membership

    index_server(settings)  # without I/O; raises if the library is missing
    jobs = (REINDEX, *((BACKUP,) if settings.backup.keep else ()))
    recent_errors, supervisor = RecentErrors(), Supervisor(now=settings.now)
    lines = start_log(settings, recent_errors, at_terminal=at_terminal)
    async with (
        open_leases(settings, supervisor) as (leases, workspace),
        open_takeovers(settings, leases, supervisor) as takeovers,
    ):
        while not leaving.is_set():
            if not workspace.is_held:
                await stand_by(settings, sockets, leases, workspace, leaving, supervisor)
                continue
            membership = Membership(leases, takeovers, workspace, jobs=jobs)
            try:
                async with (
                    wait_for_any(leaving.wait(), workspace.wait_until_lost()) as over,
                    open_assistant(
                        settings,
                        alone=True,
                        membership=membership,
                        recent_errors=recent_errors,
                        supervisor=supervisor,
                    ) as assistant,
                ):
                    try:
                        await run_service(
                            assistant, lines, sockets, over, at_terminal=at_terminal, membership=membership
                        )
                    finally:  # the next session starts with the settings read last
                        settings = assistant.services.settings
            except StateFault:
                # After a lost lease the database refuses our writes.
                if membership.is_uninterrupted:
                    raise
            is_kept = membership.is_uninterrupted
            await membership.close()
            if is_kept or leaving.is_set():
                log.info("leaving")
                return
            log.warning("workspace lease lost; another instance may serve it now, so this one is a standby")


async def stand_by(
    settings: Settings,
    sockets: Sequence[socket.socket],
    leases: "Leases",
    workspace: "Lease",
    leaving: asyncio.Event,
    supervisor: Supervisor,
) -> None:
    """Wait until the workspace is ours or the program should leave; report a healthy standby over HTTP."""
    from bot.web.standby import build_standby_app

    async with (
        wait_for_any(leaving.wait(), workspace.wait_until_held()) as over,
        reload_on_hangup(LiveSettings(settings), supervisor),
    ):
        with suppress(TimeoutError):
            async with asyncio.timeout(USUAL_START_SECONDS):
                await over.wait()
                return
        log.info("standby: another process serves this workspace, or its holder is unknown")
        token, proxies = settings.server.token.get_secret_value().strip(), settings.server.proxies
        app = build_standby_app(
            leases.status, token=token, proxies=proxies, task_failures=lambda: supervisor.failures
        )
        async with serve_on_sockets(app, sockets, proxies=proxies):
            await over.wait()


@asynccontextmanager
async def wait_for_any(*awaited: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Event]:
    """Yield an event that is set when the first of the coroutines ends."""
    event = asyncio.Event()
    tasks = [asyncio.ensure_future(each) for each in awaited]
    for task in tasks:
        task.add_done_callback(lambda _: event.set())
    try:
        yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
