"""A server that lists its models in each provider's format, given the key."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.model_server import KEY
from tests.fakes.openai_server import not_found


class ModelList:
    """Start with `async with`. `status` and `body` replace every answer; `date` is sent with each."""

    def __init__(self, *models: str, key: str = KEY) -> None:
        self.models = models
        self.key = key
        self.status = 0
        self.body: Mapping[str, Any] | str = ""
        self.date = ""
        self.asked: list[str] = []
        """Method and path of each request."""
        self.accepted_packings: list[str] = []
        """Accept-Encoding of each request."""
        self.root = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> "ModelList":
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.root = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        self.asked.append(f"{request.method} {request.path}")
        self.accepted_packings.append(request.headers.get("Accept-Encoding", ""))
        answer = self._answer(request)
        if self.date:
            answer.headers["Date"] = self.date
        return answer

    def _answer(self, request: web.Request) -> web.Response:
        error: dict[str, Any]
        if (request.method, request.path) not in (("GET", "/v1/models"), ("GET", "/v1beta/models")):
            return _not_found(request)
        if self.status:
            if isinstance(self.body, str):
                return web.Response(status=self.status, text=self.body, content_type="text/html")
            return web.json_response(self.body, status=self.status)
        match request.path:
            case "/v1/models" if "anthropic-version" in request.headers:
                if request.headers.get("x-api-key") != self.key:
                    error = {"type": "authentication_error", "message": "invalid x-api-key"}
                    return web.json_response({"type": "error", "error": error}, status=401)
                rows = [{"type": "model", "id": model} for model in self.models]
                return web.json_response({"data": rows, "has_more": False})
            case "/v1/models":
                if request.headers.get("Authorization") != f"Bearer {self.key}":
                    said = f"Incorrect API key provided: {request.headers.get('Authorization')}"
                    return web.json_response(
                        {"error": {"message": said, "code": "invalid_api_key"}}, status=401
                    )
                return web.json_response({"object": "list", "data": [{"id": model} for model in self.models]})
            case "/v1beta/models":
                if request.headers.get("x-goog-api-key") != self.key:
                    error = {
                        "code": 400,
                        "message": "API key not valid. Please pass a valid API key.",
                        "status": "INVALID_ARGUMENT",
                        "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
                    }
                    return web.json_response({"error": error}, status=400)
                return web.json_response({"models": [{"name": f"models/{model}"} for model in self.models]})
        return _not_found(request)


def _not_found(request: web.Request) -> web.Response:
    """Answer an unknown path as the service that the client expects would."""
    if "anthropic-version" in request.headers:
        error = {"type": "not_found_error", "message": "Not Found"}
        return web.json_response({"type": "error", "error": error}, status=404)
    if "x-goog-api-key" in request.headers:
        return web.Response(status=404, content_type="text/html")
    return not_found(request)
