"""Webhooks: URLs that platforms call."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web

from bot.web.request_body import defer_expect, read_body


@dataclass(frozen=True, slots=True)
class WebhookRoute:
    """A URL that a platform calls. It needs a check of its own, since the platform does not know our token."""

    path: str
    receive: Callable[[Mapping[str, str], bytes], Awaitable[int]]
    """Return the HTTP status for a request with these headers (names in any case) and this body."""
    admits: Callable[[Mapping[str, str]], bool] = lambda headers: True
    """Return whether the body of a request with these headers may be read; if not, the status is 404."""


def add_webhooks(app: web.Application, hooks: Iterable[WebhookRoute]) -> None:
    """Add a POST route for each webhook."""
    for hook in hooks:
        app.router.add_post(hook.path, _make_receiver(hook), expect_handler=defer_expect)


def _make_receiver(hook: WebhookRoute) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def receive(request: web.Request) -> web.Response:
        if not hook.admits(request.headers):
            return web.Response(status=404)
        body = await read_body(request)
        return web.Response(status=await hook.receive(request.headers, body))

    return receive
