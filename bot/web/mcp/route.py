"""`/mcp`: MCP over HTTP. It exists only while the settings have a program's token, and only such a token opens it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.mcp.library import LibraryMissing
from bot.web.auth import (
    FailedLogins,
    given_token,
    is_cross_site,
    is_token,
    names_this_machine,
    wrong_program_key,
)
from bot.web.context import services_key, token_of
from bot.web.mcp.client_servers import CannotServe, ClientServers, warn_without_library
from bot.web.request_body import defer_expect, read_body
from bot.web.rpc.route import rpc_error_response
from bot.web.sign_in import refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.services import Services

MCP = "/mcp"


def is_mcp(services: "Services") -> Callable[[str], bool]:
    """Return a function that tells whether a path is that of the route, which has a check of its own."""
    return lambda path: path == MCP and bool(services.settings.mcp.tokens)


def add_mcp(app: web.Application) -> None:
    """Add `/mcp` to the application; what it needs is imported with the first request."""
    services = app[services_key]
    app[wrong_program_key] = FailedLogins(proxies=services.settings.server.proxies)
    servers = ClientServers(services)

    async def answer(request: web.Request) -> web.StreamResponse:
        tokens = {name: each.token.get_secret_value() for name, each in services.settings.mcp.tokens.items()}
        if not tokens:
            raise web.HTTPNotFound
        if not token_of(services) and not names_this_machine(request):
            return refuse(request, 403, phrases.WEB_FOREIGN_HOST)
        if is_cross_site(request, safe_methods=()):
            return refuse(request, 403, phrases.WEB_FOREIGN_SITE)
        if not (given := given_token(request)):
            return _refuse_token(request, 401, phrases.WEB_SIGN_IN_FIRST)
        if reason := request.app[wrong_program_key].refusal(request, given, *tokens.values()):
            return _refuse_token(request, 429 if reason == phrases.WEB_TOO_MANY else 401, reason)
        name = next(name for name, token in tokens.items() if is_token(given, token))
        try:
            body = await read_body(request) if request.method == "POST" else b""
            return await servers.answer(name, request, body)
        except (CannotServe, LibraryMissing) as fault:
            unavailable = rpc_error_response(503, str(fault))
            unavailable.headers["Retry-After"] = "10"
            return unavailable

    async def run(app: web.Application) -> "AsyncIterator[None]":
        del app
        if services.settings.mcp.tokens:
            warn_without_library()
        unsubscribe = services.live_settings.on_change("mcp", take=servers.follow)
        yield
        unsubscribe()

    async def close(app: web.Application) -> None:
        del app
        await servers.close()

    # The last one for all others: whatever the method is, only a program with a token gets an answer.
    for method in ("GET", "POST", "DELETE", "*"):
        app.router.add_route(method, MCP, answer, expect_handler=defer_expect)
    app.cleanup_ctx.append(run)
    app.on_shutdown.append(close)  # before the server waits for open responses


def _refuse_token(request: web.Request, status: int, why: str) -> web.StreamResponse:
    """Reject a program, which never gets the sign-in form."""
    answer = rpc_error_response(status, why)
    answer.headers["WWW-Authenticate" if status == 401 else "Retry-After"] = (
        "Bearer" if status == 401 else "60"
    )
    return answer
