"""Addresses at which a platform hands over what happened there."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web

from bot.web.request_body import defer_expect, read_body


@dataclass(frozen=True, slots=True)
class WebhookRoute:
    """One such address. It has no check but its own: whoever calls it knows none of our tokens."""

    path: str
    receive: Callable[[Mapping[str, str], bytes], Awaitable[int]]
    """Given headers (their names in any case) and body, it returns the HTTP status to answer with."""
    admits: Callable[[Mapping[str, str]], bool] = lambda headers: True
    """Given headers, it returns whether the body may be read at all; if not, the answer is 404."""


def add_webhooks(app: web.Application, hooks: Iterable[WebhookRoute]) -> None:
    """Have each hook answer to POST at its path."""
    for hook in hooks:
        app.router.add_post(hook.path, _make_receiver(hook), expect_handler=defer_expect)


def _make_receiver(hook: WebhookRoute) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def receive(request: web.Request) -> web.Response:
        if not hook.admits(request.headers):
            return web.Response(status=404)
        body = await read_body(request)
        return web.Response(status=await hook.receive(request.headers, body))

    return receive
