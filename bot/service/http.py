"""The HTTP server, on sockets opened before anything else."""

import logging
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp.web import Application

    from bot.services import Services
    from bot.web.auth import Network
    from bot.web.webhooks import WebhookRoute

log = logging.getLogger(__name__)


def page_address(sockets: Sequence[socket.socket]) -> str:
    """Return the status page's address on this machine; "" without a server."""
    if not sockets:
        return ""
    host, port = sockets[0].getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - all addresses, including this machine's
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def run_http_server(
    sockets: Sequence[socket.socket], services: "Services", hooks: "Sequence[WebhookRoute]"
) -> AsyncIterator[None]:
    """Serve HTTP on sockets that are already open."""
    from bot.web.app import build_web_app

    app = build_web_app(
        channels=services.channels.health, memory=services.memory, hooks=hooks, services=services
    )
    async with serve_on_sockets(app, sockets, proxies=services.settings.server.proxies):
        yield


@asynccontextmanager
async def serve_on_sockets(
    app: "Application", sockets: Sequence[socket.socket], *, proxies: "Sequence[Network]" = ()
) -> AsyncIterator[None]:
    """Serve an app on sockets that are already open, and leave them open for the next app.

    `proxies`: networks of trusted proxies.
    """
    from bot.web.app import make_http_logger, web_runner
    from bot.web.connections import HttpConnections
    from bot.web.listener import HttpListener

    runner, connections = web_runner(app), HttpConnections(proxies=proxies)
    await runner.setup()
    assert runner.server
    listener = HttpListener(runner.server, sockets, connections, logger=make_http_logger())
    try:
        listener.start()
        for each in sockets:
            host, port = each.getsockname()[:2]
            log.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
        yield
    finally:
        await listener.close()
        await runner.cleanup()
        connections.abort_all()
