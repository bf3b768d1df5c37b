"""Addresses at which a platform hands over what happened there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from aiohttp import web

LARGEST_BODY = 1024 * 1024
"""Bytes."""
BODY_SECONDS = 30.0
"""For a body to arrive."""


@dataclass(frozen=True, slots=True)
class Hook:
    """One such address. It has no check but its own: whoever calls it knows none of our tokens."""

    path: str
    receive: Callable[[Mapping[str, str], bytes], Awaitable[int]]
    """Given headers (their names in any case) and body, it returns the HTTP status to answer with."""


def add_hooks(app: web.Application, hooks: Iterable[Hook]) -> None:
    """Have each hook answer to POST at its path."""
    for hook in hooks:
        app.router.add_post(hook.path, _receiving(hook))


def _receiving(hook: Hook) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def receive(request: web.Request) -> web.Response:
        body = await _body(request)
        return web.Response(status=413 if body is None else await hook.receive(request.headers, body))

    return receive


async def _body(request: web.Request) -> bytes | None:
    """All of it; None where that is too much."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > LARGEST_BODY:
                    return None
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    return bytes(body)
