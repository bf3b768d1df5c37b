"""Builds the HTTP application: its routes and authentication."""

import logging
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web, web_protocol, web_response
from aiohttp.typedefs import Middleware

from bot.log.throttle import Throttle
from bot.log.tracebacks import error_location
from bot.messages import ChannelHealth
from bot.services import Services
from bot.web.auth import FailedLogins, guard, wrong_key
from bot.web.connections import track_request
from bot.web.context import services_key, token_of
from bot.web.error_pages import show_error_pages
from bot.web.health import HEALTH, HealthSources, health_sources_key, healthz
from bot.web.language import speak_to_readers
from bot.web.local_routes import is_local_route
from bot.web.mcp.route import MCP, add_mcp, is_mcp
from bot.web.metrics import METRICS, add_metrics
from bot.web.page.backups import add_backups
from bot.web.page.conversation_routes import add_conversations
from bot.web.page.models import add_models
from bot.web.page.note_days import add_note_days
from bot.web.page.note_edit import add_note_edit
from bot.web.page.note_files import add_note_files
from bot.web.page.note_move import add_note_move
from bot.web.page.note_new import add_new_note
from bot.web.page.note_tasks import add_note_tasks
from bot.web.page.note_trash import add_note_trash
from bot.web.page.notes import add_notes
from bot.web.page.people_routes import add_people
from bot.web.page.routes import add_page
from bot.web.page.settings import add_settings
from bot.web.refused_form import SIGN_IN
from bot.web.request_body import MAX_BODY_BYTES, PROTOCOL_ERRORS
from bot.web.rpc.route import RPC, add_rpc
from bot.web.security_headers import add_headers
from bot.web.session_cookie import add_session_cookie
from bot.web.sign_in import add_sign_in, refuse
from bot.web.webhooks import WebhookRoute, add_webhooks
from memory.memory import Memory

SHUTDOWN_SECONDS = 1.0
"""How long responses may take to finish when the service stops."""

QUEUED_REQUESTS = 1
"""Pipelined requests to read while another is answered; the head of each may take half a megabyte."""
HTTP_LOG = "bot.web.http"


def build_web_app(
    *,
    channels: Callable[[], Mapping[str, ChannelHealth]],
    memory: Memory,
    timeout_seconds: float = 1.0,
    hooks: Iterable[WebhookRoute] = (),
    services: Services | None = None,
) -> web.Application:
    """Build the application. `channels` returns the health of each configured channel by name.

    A health check waits `timeout_seconds` seconds for the memory. `hooks`: webhooks of platforms.
    `services`: for everything that needs authentication; None to serve only health check and webhooks.
    """
    hooks = tuple(hooks)
    public_paths = frozenset({HEALTH, SIGN_IN, *(hook.path for hook in hooks)})
    guards: list[Middleware] = []
    if services:
        is_mcp_now = is_mcp(services)

        def is_public(path: str) -> bool:
            return path in public_paths or is_mcp_now(path)

        guards = [
            show_error_pages(is_public=is_public),
            guard(token_of(services), is_public=is_public, refuse=refuse, is_local=is_local_route),
        ]
    middlewares = [track_request, *guards]
    if services:
        for_programs = {HEALTH, METRICS, RPC, MCP, *(hook.path for hook in hooks)}
        # Before the guard, whose refusals are pages too.
        middlewares.insert(1, speak_to_readers(services, is_for_programs=for_programs.__contains__))
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=middlewares)
    app[health_sources_key] = (
        HealthSources(
            channels, memory, timeout_seconds, services.instance, lambda: services.supervisor.failures
        )
        if services
        else HealthSources(channels, memory, timeout_seconds)
    )
    app.on_response_prepare.append(add_headers)
    app.on_response_prepare.append(add_session_cookie)
    app.router.add_get(HEALTH, healthz)
    add_webhooks(app, hooks)
    if services:
        app[services_key] = services
        app[wrong_key] = FailedLogins(proxies=services.settings.server.proxies)
        add_sign_in(app)
        add_metrics(app)
        add_rpc(app)
        add_mcp(app)
        add_page(app)
        add_models(app)
        add_settings(app)
        add_backups(app)
        add_notes(app)
        add_conversations(app)
        add_people(app)
        add_note_days(app)
        add_note_files(app)
        add_note_edit(app)
        add_new_note(app)
        add_note_move(app)
        add_note_tasks(app)
        add_note_trash(app)
    return app


def web_runner(app: web.Application) -> web.AppRunner:
    """Return a runner for the application, for use with `HttpListener`."""
    # aiohttp answers invalid requests itself, and would reveal versions in their Server header.
    web_response.SERVER_SOFTWARE = "commonplace"  # type: ignore[attr-defined]
    web_protocol.MAX_MSG_QUEUE_SIZE = QUEUED_REQUESTS
    return web.AppRunner(app, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS)


def make_http_logger() -> logging.Logger:
    """Return a logger for errors in handlers: without invalid requests, and each error only once a minute."""
    log, repeats = logging.getLogger(HTTP_LOG), Throttle()

    def is_news(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, PROTOCOL_ERRORS):
            return False
        if error is None:
            return True
        if (before := repeats.check(error_location(error))) is None:
            return False
        record.msg = f"{record.msg}{before}"
        return True

    log.filters = [is_news]
    return log
