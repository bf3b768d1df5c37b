"""POST /rpc: JSON-RPC over HTTP."""

from functools import cache
from typing import TYPE_CHECKING

from aiohttp import web

from bot.web.bodies import content_type, expect_later, read_body
from bot.web.context import services_key

if TYPE_CHECKING:
    from bot.web.rpc.protocol import Run

RPC = "/rpc"
JSON_TYPES = ("application/json", "application/json-rpc", "application/jsonrequest")
"""As JSON-RPC over HTTP has it. A form on another site can send none of them unasked."""


def add_rpc(app: web.Application) -> None:
    """Have the application answer to calls; what that takes is imported with the first one."""
    services = app[services_key]

    @cache
    def run() -> "Run":
        from bot.web.rpc.methods import rpc_methods, runner

        return runner(rpc_methods(services))

    async def receive(request: web.Request) -> web.Response:
        from bot.web.rpc.protocol import answer

        kind, charset = content_type(request)
        if kind not in JSON_TYPES or charset not in ("", "utf-8", "utf8"):
            return _refused(415, "send it as Content-Type: application/json, in UTF-8")
        try:
            body = await read_body(request)
        except web.HTTPException as refused:
            return _refused(refused.status, _reason(refused))
        told = await answer(body, run())
        return web.Response(status=204) if told is None else _json(told)

    app.router.add_post(RPC, receive, expect_handler=expect_later)


def rpc_refused(status: int, why: str) -> web.Response:
    """Say that no call can be answered just now, in the form of all other errors."""
    from bot.web.rpc.protocol import CANNOT, refusal

    return _json(refusal(CANNOT, why), status=status)


def _reason(refused: web.HTTPException) -> str:
    if isinstance(refused, web.HTTPUnsupportedMediaType):
        return "send it without Content-Encoding, not compressed"
    return refused.reason.lower()


def _refused(status: int, why: str) -> web.Response:
    from bot.web.rpc.protocol import INVALID_REQUEST, refusal

    return _json(refusal(INVALID_REQUEST, f"Invalid request: {why}."), status=status)


def _json(text: str, *, status: int = 200) -> web.Response:
    return web.Response(status=status, text=text, content_type="application/json")
