"""Ollama's chat on a real socket: OpenAI's protocol under `/v1`, without a key."""

from collections.abc import Sequence

from aiohttp import web

from tests.fakes.model_server import ReceivedRequest
from tests.fakes.openai_server import OpenAIServer


class OllamaServer(OpenAIServer):
    """`base_url` has no path, as Ollama itself prints it."""

    def __init__(self, *, model: str = "qwen3", installed: Sequence[str] = ()) -> None:
        """`installed`: names in its list of models."""
        super().__init__(key="", model=model)
        self.installed = installed

    def add_routes(self, app: web.Application) -> None:
        super().add_routes(app)
        app.router.add_get("/v1/models", self._list)

    async def _list(self, request: web.Request) -> web.Response:
        rows = [{"id": name, "object": "model", "owned_by": "library"} for name in self.installed]
        return web.json_response({"object": "list", "data": rows})

    @property
    def base_url(self) -> str:
        return self.root

    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        if (model := asked.body.get("model")) != self.model:
            error = {
                "message": f"model '{model}' not found",
                "type": "not_found_error",
                "param": None,
                "code": None,
            }
            return web.json_response({"error": error}, status=404)
        return super().objection(asked)

    def not_found(self, request: web.Request) -> web.Response:
        return web.Response(status=404, text="404 page not found")
