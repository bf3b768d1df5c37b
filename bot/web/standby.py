"""What a standby says over HTTP while another process serves its workspace: that it is well, and nothing else."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from bot import phrases
from bot.web.app import HEALTH
from bot.web.bodies import LARGEST_BODY
from bot.web.headers import add_headers


def build_standby_app(problem: Callable[[], str]) -> web.Application:
    """Build it; `problem` tells why nobody can say who serves the workspace, "" where that can be said."""

    async def healthz(request: web.Request) -> web.Response:
        """The same shape as of who serves."""
        del request
        missing = ["leases"] if problem() else []
        document: dict[str, Any] = {
            "status": "unavailable" if missing else "ok",
            "channels": {},
            "memory": {"status": "standby"},
            "role": "standby",
        }
        if missing:
            document["missing"] = missing
        return web.json_response(document, status=503 if missing else 200)

    async def elsewhere(request: web.Request) -> web.Response:
        del request
        return web.Response(status=503, text=f"{phrases.STANDBY}\n", headers={"Retry-After": "10"})

    app = web.Application(client_max_size=LARGEST_BODY)
    app.on_response_prepare.append(add_headers)
    app.router.add_get(HEALTH, healthz)
    app.router.add_route("*", "/{rest:.*}", elsewhere)
    return app
