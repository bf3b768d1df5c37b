"""Reads request bodies, limited in size and time."""

import asyncio
from collections.abc import Callable
from typing import Final

from aiohttp import HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

MAX_BODY_BYTES: Final = 1024 * 1024
BODY_SECONDS = 30.0
"""Time for a body to arrive."""
START_BYTES = 256
"""Length of the beginning of a body by which its limit may be raised."""
MAX_CONTENT_TYPE_CHARS: Final = 200
"""Python's own parser of this header takes more than a second for a crafted one of 8 kB."""

PROTOCOL_ERRORS: Final = (RequestPayloadError, HttpProcessingError)
"""What aiohttp raises for an invalid request."""


async def read_body(
    request: web.Request,
    *,
    max_bytes: int = MAX_BODY_BYTES,
    raise_limit: Callable[[bytes], int] | None = None,
) -> bytes:
    """Return the body. Raises an HTTPException (400, 408, 413, 415) if it is too large or incomplete.

    `raise_limit` returns the limit of a body that turns out to be larger than `max_bytes`, from its first
    `START_BYTES`. Compressed bodies are rejected: a few kilobytes could expand to megabytes.
    """
    if request.headers.get(hdrs.CONTENT_ENCODING, "identity").strip().lower() != "identity":
        raise web.HTTPUnsupportedMediaType(text="", headers={hdrs.ACCEPT_ENCODING: "identity"})
    length = request.content_length
    if length is not None and length > max_bytes and raise_limit is None:
        raise web.HTTPRequestEntityTooLarge(max_bytes, length, text="")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            if _expects_continue(request):
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                request.writer.output_size = 0  # nothing of the response itself has been sent
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > max_bytes and raise_limit:
                    max_bytes, raise_limit = raise_limit(bytes(body[:START_BYTES])), None
                if len(body) > max_bytes:
                    raise web.HTTPRequestEntityTooLarge(max_bytes, len(body), text="")
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="") from None
    except (*PROTOCOL_ERRORS, ConnectionError):
        raise web.HTTPBadRequest(text="") from None
    return bytes(body)


def content_type(request: web.Request) -> tuple[str, str]:
    """Return media type and charset in lower case, such as `("application/json", "utf-8")`; "" for none.

    An overlong header counts as none.
    """
    header = request.headers.get(hdrs.CONTENT_TYPE, "")
    if len(header) > MAX_CONTENT_TYPE_CHARS:
        return "", ""
    kind, *parameters = header.lower().split(";")
    charset = ""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = value.strip().strip('"')
    return kind.strip(), charset


async def defer_expect(request: web.Request) -> None:
    """Handle `Expect: 100-continue` for a route that reads its body: `read_body` sends the 100, after all checks.

    By default, aiohttp would send it before authentication.
    """
    if request.version == HttpVersion11 and not _expects_continue(request):
        raise web.HTTPExpectationFailed(text="")


def _expects_continue(request: web.Request) -> bool:
    return request.version == HttpVersion11 and request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
