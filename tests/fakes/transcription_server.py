"""A server for speech transcription like OpenAI's, Groq's and Mistral's, as strict as the strictest."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self

from aiohttp import BodyPartReader, web

from tests.fakes.openai_server import not_found

KEY = "speech-key-1234567890"
MODEL = "gpt-4o-mini-transcribe"
FIELDS = {"file", "model", "language"}
ENDINGS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")


@dataclass(frozen=True, slots=True)
class TranscriptionRequest:
    """One request."""

    headers: Mapping[str, str]
    fields: Mapping[str, str]
    file_name: str
    audio: bytes


Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TranscriptionServer:
    """Start with `async with`. `enqueue` scripts the next requests; all others are answered with `words`."""

    def __init__(self, *, words: str = "Hello there.", keys: tuple[str, ...] = (KEY,)) -> None:
        self.words = words
        self.keys = keys
        self.requests: list[TranscriptionRequest] = []
        self.strays: list[str] = []
        """Requests for paths that the real services lack: method and path."""
        self.base_url = ""
        self._next: deque[Reply] = deque()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/audio/transcriptions", self._handle)
        app.router.add_route("*", "/{path:.*}", self._stray)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner
        await self._runner.cleanup()

    def enqueue(self, *replies: Reply) -> None:
        self._next.extend(replies)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        fields: dict[str, str] = {}
        file_name, audio = "", b""
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name == "file":
                file_name, audio = part.filename or "", bytes(await part.read())
            else:
                fields[part.name or ""] = await part.text()
        self.requests.append(TranscriptionRequest(request.headers.copy(), fields, file_name, audio))
        if self._next:
            return await self._next.popleft()(request)
        return self._objection() or web.json_response({"text": self.words, "usage": {"type": "duration"}})

    async def _stray(self, request: web.Request) -> web.Response:
        self.strays.append(f"{request.method} {request.path}")
        return not_found(request)

    def _objection(self) -> web.Response | None:
        heard = self.requests[-1]
        if heard.headers.get("Authorization") not in {f"Bearer {key}" for key in self.keys}:
            return error(401, f"Incorrect API key provided: {heard.headers.get('Authorization')}.")
        if unknown := heard.fields.keys() - FIELDS:
            return error(422, f"Extra inputs are not permitted: {unknown}")
        if heard.fields.get("model") != MODEL:
            return error(404, "The model does not exist.", code="model_not_found")
        if heard.file_name.rpartition(".")[2] not in ENDINGS:
            return error(400, f"Invalid file format. Supported formats: {ENDINGS}")
        return None


def error(
    status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return an error in OpenAI's format."""
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


def fails(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None) -> Reply:
    """Reply with an error."""

    async def reply(_: web.Request) -> web.StreamResponse:
        return error(status, message, headers=headers)

    return reply


def answers(body: bytes, *, kind: str = "application/json") -> Reply:
    """Reply with the given content."""

    async def reply(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=kind)

    return reply


def hangs() -> Reply:
    """Never reply."""

    async def reply(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3600)
        raise AssertionError

    return reply


def drops() -> Reply:
    """Close the connection without a reply."""

    async def reply(request: web.Request) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        return web.Response()

    return reply
