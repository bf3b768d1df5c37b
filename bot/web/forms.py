"""HTML forms: their routes, and their fields."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_hex
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web

from bot.web.request_body import content_type, defer_expect, read_body

MAX_FORM_BYTES: Final = 64 * 1024
MAX_TEXT_FORM_BYTES: Final = 4 * 1024 * 1024
"""For who is signed in: a form with a whole note, each byte of which may take three in the form."""
MAX_FIELDS: Final = 20
FORM: Final = "application/x-www-form-urlencoded"
SENT_WITHOUT_ASKING: Final = ("", FORM, "multipart/form-data", "text/plain")
"""The types that a browser sends to another site without asking it first."""

FORM_FIELD: Final = "form_token"
"""The hidden field that each form has; see `bot.web.session`."""

ONCE_FIELD: Final = "once"
"""The hidden field of a form that must have its effect once, even if it is sent twice."""
_ONCE = re.compile("[0-9a-f]{32}")

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_fields_key = web.RequestKey("fields", dict[str, str])
_typed_key = web.AppKey("typed_fields", dict[_Handler, tuple[str, ...]])


def add_form(app: web.Application, path: str, handler: _Handler, *, typed: tuple[str, ...] = ()) -> None:
    """Add the route that a form is sent to. `typed`: the fields with what a person writes, which is never lost."""
    app.router.add_post(path, handler, expect_handler=defer_expect)
    app.setdefault(_typed_key, {})[handler] = typed


def may_be_form(request: web.Request) -> bool:
    """Return whether a form may have sent a request that is not safe."""
    return content_type(request)[0] in SENT_WITHOUT_ASKING


def new_once() -> str:
    """Return a value for `ONCE_FIELD`, new for each page."""
    return token_hex(16)


def request_key(fields: Mapping[str, str]) -> str:
    """Return the key of what a form asks for: the same if it is sent again, a new one without `ONCE_FIELD`."""
    once = fields.get(ONCE_FIELD, "")
    return f"page/{once if _ONCE.fullmatch(once) else new_once()}"


async def read_form(
    request: web.Request,
    *,
    max_bytes: int = MAX_FORM_BYTES,
    raise_limit: Callable[[bytes], int] | None = None,
) -> dict[str, str]:
    """Return the fields of an HTML form, none for any other content. The rest is as for `read_body`.

    It reads the request once; later calls return the same fields.
    """
    if _fields_key not in request:
        request[_fields_key] = {}  # of a form that cannot be read
        request[_fields_key] = await _read_fields(request, max_bytes, raise_limit)
    return request[_fields_key]


def fields_read(request: web.Request) -> Mapping[str, str]:
    """Return the fields that `read_form` has returned, none if it was not called or failed."""
    fields: Mapping[str, str] = request.get(_fields_key, {})
    return fields


def typed_names(request: web.Request) -> tuple[str, ...]:
    """Return the names of the fields with what a person writes, as the request's route was added."""
    return request.app.get(_typed_key, {}).get(request.match_info.handler, ())


async def _read_fields(
    request: web.Request, max_bytes: int, raise_limit: Callable[[bytes], int] | None = None
) -> dict[str, str]:
    if content_type(request)[0] != FORM:
        return {}
    body = await read_body(request, max_bytes=max_bytes, raise_limit=raise_limit)
    if len(body) <= MAX_FORM_BYTES:
        return _parse(body)
    return await asyncio.to_thread(_parse, body)  # a megabyte takes a tenth of a second


def _parse(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise web.HTTPBadRequest(text="") from None
    return dict(fields)
