"""POST /rpc: JSON-RPC over HTTP."""

from functools import cache
from typing import TYPE_CHECKING

from aiohttp import web

from bot.web.context import services_key
from bot.web.request_body import content_type, defer_expect, read_body

if TYPE_CHECKING:
    from bot.web.rpc.protocol import Run

RPC = "/rpc"
JSON_TYPES = ("application/json", "application/json-rpc", "application/jsonrequest")
"""The types of JSON-RPC over HTTP. A form on another site cannot send any of them."""


def add_rpc(app: web.Application) -> None:
    """Add `/rpc` to the application; its modules are imported at the first call."""
    services = app[services_key]

    @cache
    def run() -> "Run":
        from bot.web.rpc.methods import make_runner, rpc_methods

        return make_runner(rpc_methods(services))

    async def receive(request: web.Request) -> web.Response:
        from bot.web.rpc.protocol import answer_request

        kind, charset = content_type(request)
        if kind not in JSON_TYPES or charset not in ("", "utf-8", "utf8"):
            return _error_response(415, "send it as Content-Type: application/json, in UTF-8")
        try:
            body = await read_body(request)
        except web.HTTPException as refused:
            return _error_response(refused.status, _reason_text(refused))
        response = await answer_request(body, run())
        return web.Response(status=204) if response is None else _json_response(response)

    app.router.add_post(RPC, receive, expect_handler=defer_expect)


def rpc_error_response(status: int, why: str) -> web.Response:
    """Return an error response for when no call can be answered."""
    from bot.web.rpc.protocol import SERVER_ERROR, encode_error

    return _json_response(encode_error(SERVER_ERROR, why), status=status)


def _reason_text(refused: web.HTTPException) -> str:
    if isinstance(refused, web.HTTPUnsupportedMediaType):
        return "send it without Content-Encoding, not compressed"
    return refused.reason.lower()


def _error_response(status: int, why: str) -> web.Response:
    from bot.web.rpc.protocol import INVALID_REQUEST, encode_error

    return _json_response(encode_error(INVALID_REQUEST, f"Invalid request: {why}."), status=status)


def _json_response(text: str, *, status: int = 200) -> web.Response:
    return web.Response(status=status, text=text, content_type="application/json")
