"""The HTTP application of a standby, with only a health check and a few metrics."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bot import phrases
from bot.web.auth import FailedLogins, Network, guard, wrong_key
from bot.web.connections import track_request
from bot.web.health import HEALTH, tasks_health
from bot.web.metrics import METRICS
from bot.web.request_body import MAX_BODY_BYTES, defer_expect
from bot.web.rpc.route import RPC, rpc_error_response
from bot.web.security_headers import add_headers

if TYPE_CHECKING:
    from bot.cluster.status import InstanceStatus
    from bot.supervisor import TaskFailure


def build_standby_app(
    status: "Callable[[], InstanceStatus]",
    *,
    token: str,
    proxies: Sequence[Network] = (),
    task_failures: "Callable[[], Sequence[TaskFailure]]" = tuple,
) -> web.Application:
    """Build the application. `status` returns the state among other instances; the rest is as in `Services`."""

    async def healthz(request: web.Request) -> web.Response:
        """Answer in the same shape as the active instance."""
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
        from bot.web.prometheus import StandbyCollector, exposition

        text, content_type = exposition(StandbyCollector(status()), accept=request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def elsewhere(request: web.Request) -> web.Response:
        return _unavailable(request, status())

    def refuse(request: web.Request, code: int, why: str) -> web.Response:
        # For everything else, the active instance decides about access.
        if request.path == METRICS:
            return web.Response(status=code, text=f"{why}\n")
        return _unavailable(request, status())

    app = web.Application(
        client_max_size=MAX_BODY_BYTES,
        middlewares=[track_request, guard(token, is_public=lambda path: path == HEALTH, refuse=refuse)],
    )
    app[wrong_key] = FailedLogins(proxies=proxies)
    app.on_response_prepare.append(add_headers)
    app.router.add_get(HEALTH, healthz)
    app.router.add_get(METRICS, metrics)
    app.router.add_route("*", "/{rest:.*}", elsewhere, expect_handler=defer_expect)
    return app


def _unavailable(request: web.Request, status: "InstanceStatus") -> web.Response:
    why = phrases.STANDBY_UNKNOWN if status.problem else phrases.STANDBY
    answer = (
        rpc_error_response(503, why) if request.path == RPC else web.Response(status=503, text=f"{why}\n")
    )
    answer.headers["Retry-After"] = "10"
    return answer
