"""What a standby says over HTTP while another process serves its workspace: that it is well, and its few numbers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot import phrases
from bot.web.bodies import LARGEST_BODY, expect_later
from bot.web.connections import note_request
from bot.web.guard import Network, WrongTokens, guard, wrong_key
from bot.web.headers import add_headers
from bot.web.health import HEALTH, tasks_health
from bot.web.metrics import METRICS
from bot.web.rpc.route import RPC, rpc_refused

if TYPE_CHECKING:
    from bot.instances.status import InstanceStatus
    from bot.supervision import TaskFailure


def build_standby_app(
    status: "Callable[[], InstanceStatus]",
    *,
    token: str,
    proxies: Sequence[Network] = (),
    task_failures: "Callable[[], Sequence[TaskFailure]]" = tuple,
) -> web.Application:
    """Build it; `status` tells how this instance stands to the others, the rest is as in `Services`."""

    async def healthz(request: web.Request) -> web.Response:
        """The same shape as of who serves."""
        del request
        missing = ["leases"] if status().problem else []
        tasks = tasks_health(task_failures())
        document: dict[str, Any] = {
            "status": "unavailable" if missing else "degraded" if tasks else "ok",
            "channels": {},
            "memory": {"status": "standby"},
            "role": "standby",
            "leases": "unknown" if missing else "ok",
            **tasks,
        }
        if missing:
            document["missing"] = missing
        return web.json_response(document, status=503 if missing else 200)

    async def metrics(request: web.Request) -> web.Response:
        from bot.web.metric_families import StandbyFacts, exposition

        text, content_type = exposition(StandbyFacts(status()), accept=request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def elsewhere(request: web.Request) -> web.Response:
        return _not_here(request, status())

    def refuse(request: web.Request, code: int, why: str) -> web.Response:
        # Who may come in to all the rest is for the other to say.
        if request.path == METRICS:
            return web.Response(status=code, text=f"{why}\n")
        return _not_here(request, status())

    app = web.Application(
        client_max_size=LARGEST_BODY,
        middlewares=[note_request, guard(token, open_paths=[HEALTH], refuse=refuse)],
    )
    app[wrong_key] = WrongTokens(proxies=proxies)
    app.on_response_prepare.append(add_headers)
    app.router.add_get(HEALTH, healthz)
    app.router.add_get(METRICS, metrics)
    app.router.add_route("*", "/{rest:.*}", elsewhere, expect_handler=expect_later)
    return app


def _not_here(request: web.Request, status: "InstanceStatus") -> web.Response:
    why = phrases.STANDBY_UNKNOWN if status.problem else phrases.STANDBY
    answer = rpc_refused(503, why) if request.path == RPC else web.Response(status=503, text=f"{why}\n")
    answer.headers["Retry-After"] = "10"
    return answer
