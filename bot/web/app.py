"""The HTTP server: its routes, and who may come in."""

import logging
from collections.abc import Callable, Iterable, Mapping

from aiohttp import web, web_protocol, web_response

from bot.log.faults import where
from bot.log.repeats import Repeats
from bot.messages import ChannelHealth
from bot.services import Services
from bot.web.bodies import LARGEST_BODY, NOT_HTTP
from bot.web.connections import note_request
from bot.web.context import services_key, token_of
from bot.web.guard import WrongTokens, guard, wrong_key
from bot.web.headers import add_headers
from bot.web.health import HEALTH, Watched, healthz, watched_key
from bot.web.hooks import Hook, add_hooks
from bot.web.metrics import add_metrics
from bot.web.page.notes import add_notes
from bot.web.page.routes import add_page
from bot.web.rpc.route import add_rpc
from bot.web.sign_in import SIGN_IN, add_sign_in, refuse
from memory.memory import Memory

LEAVE_SECONDS = 1.0
"""That answers on their way get when the service leaves."""

QUEUED_REQUESTS = 1
"""Read of a connection ahead of the one that is being answered; each may have a head of half a megabyte."""
HTTP_LOG = "bot.web.http"


def build_web_app(
    *,
    channels: Callable[[], Mapping[str, ChannelHealth]],
    memory: Memory,
    patience: float = 1.0,
    hooks: Iterable[Hook] = (),
    services: Services | None = None,
) -> web.Application:
    """Build the application; `channels` tells how each configured channel fares, by its name.

    A health check waits `patience` seconds for the memory. `hooks`: where platforms hand over what happened.
    `services`: what else is served, to who may come in; None for nothing.
    """
    hooks = tuple(hooks)
    open_paths = [HEALTH, SIGN_IN, *(hook.path for hook in hooks)]
    guards = [guard(token_of(services), open_paths=open_paths, refuse=refuse)] if services else []
    app = web.Application(client_max_size=LARGEST_BODY, middlewares=[note_request, *guards])
    app[watched_key] = (
        Watched(channels, memory, patience, services.instance, lambda: services.supervisor.failures)
        if services
        else Watched(channels, memory, patience)
    )
    app.on_response_prepare.append(add_headers)
    app.router.add_get(HEALTH, healthz)
    add_hooks(app, hooks)
    if services:
        app[services_key] = services
        app[wrong_key] = WrongTokens(proxies=services.settings.server.proxies)
        add_sign_in(app)
        add_metrics(app)
        add_rpc(app)
        add_page(app)
        add_notes(app)
    return app


def web_runner(app: web.Application) -> web.AppRunner:
    """Give what serves the application, to a `Listener`."""
    # Answers to broken requests are made below the application and would tell versions in their Server header.
    web_response.SERVER_SOFTWARE = "commonplace"  # type: ignore[attr-defined]
    web_protocol.MAX_MSG_QUEUE_SIZE = QUEUED_REQUESTS
    return web.AppRunner(app, handle_signals=False, shutdown_timeout=LEAVE_SECONDS)


def http_log() -> logging.Logger:
    """Give the log of errors in handlers: without those that a broken request brings about, each once a minute."""
    log, repeats = logging.getLogger(HTTP_LOG), Repeats()

    def is_news(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, NOT_HTTP):
            return False
        if error is None:
            return True
        if (before := repeats.due(where(error))) is None:
            return False
        record.msg = f"{record.msg}{before}"
        return True

    log.filters = [is_news]
    return log
