"""What comes with a request, read as a whole: bounded in bytes and in time, and refused where it is broken."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

LARGEST_BODY: Final = 1024 * 1024
"""Bytes, after what was packed is unpacked."""
LARGEST_FORM: Final = 64 * 1024
MOST_FIELDS: Final = 20
BODY_SECONDS = 30.0
"""For a body to arrive."""
FORM: Final = "application/x-www-form-urlencoded"

NOT_HTTP: Final = (RequestPayloadError, HttpProcessingError)
"""What the library raises where something else was sent: the sender's doing, and no fault of ours."""


async def read_body(request: web.Request, *, most: int = LARGEST_BODY) -> bytes:
    """All of it; raises an HTTPException (400, 408, 413) where there is more, or it does not come whole."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > most:
                    raise web.HTTPRequestEntityTooLarge(most, len(body), text="")
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="") from None
    except (*NOT_HTTP, ConnectionError):
        raise web.HTTPBadRequest(text="") from None
    return bytes(body)


async def read_form(request: web.Request) -> dict[str, str]:
    """The fields of a form such as our pages have, none where it is something else; raises as `read_body` does."""
    if request.content_type != FORM:
        return {}
    text = (await read_body(request, most=LARGEST_FORM)).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise web.HTTPBadRequest(text="") from None
