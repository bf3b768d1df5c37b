"""A server on a real socket that speaks every embedding service's protocol, and fails on request."""

import asyncio
import base64
import hashlib
import json
import math
import random
import sys
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web

KEY = "test-key-1234567890"
PREFIXES = {
    "openai": "/openai/v1",
    "llm": "/llm/v1",
    "voyage": "/voyage/v1",
    "zhipu": "/zhipu/api/paas/v4",
    "gemini": "/gemini",
    "ollama": "/ollama",
}
"""Path of `base_url` by provider: with the version, or the host alone."""

MAX_TEXTS = {"openai": 2048, "llm": 2048, "voyage": 1000, "zhipu": 64, "gemini": 100}
MAX_TOKENS = {"openai": 300_000, "voyage": 120_000}
MAX_TEXT_TOKENS = {"openai": 8192, "ollama": 8192}
DIMENSIONS = {"openai": 1536, "llm": 1536, "voyage": 1024, "zhipu": 2048, "gemini": 3072, "ollama": 768}


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """One request, as the service understood it."""

    provider: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    texts: tuple[str, ...]
    purpose: str
    dimensions: int
    base64: bool


Reply = Callable[[web.Request, EmbeddingRequest], Awaitable[web.StreamResponse | None]]
"""How to handle a request; None as result answers it normally."""


@dataclass(slots=True)
class EmbeddingServer:
    """Start with `async with`. `enqueue` scripts the next requests; after those all are answered normally."""

    key: str = KEY
    requests: list[EmbeddingRequest] = field(default_factory=list)
    """Every request, in order."""
    refused_texts: set[str] = field(default_factory=set)
    """Requests with a text that contains one of these get 400."""
    breaking_texts: set[str] = field(default_factory=set)
    """Requests with a text that contains one of these get 500."""
    nan_texts: set[str] = field(default_factory=set)
    """Texts that contain one of these get a vector with NaN."""
    most_bytes: int = 0
    """Larger bodies get 413, as from a proxy; 0 for no limit."""
    base64: str = "offered"
    """How `encoding_format: base64` is handled: "offered", "ignored", "refused"."""
    dimensions: dict[str, int] = field(default_factory=lambda: dict(DIMENSIONS))
    installed: list[str] = field(default_factory=lambda: ["nomic-embed-text:latest"])
    """Ollama's installed models, as `/api/tags` names them."""
    tags: str = ""
    """What `/api/tags` answers instead."""
    listings: int = 0
    """Number of requests for `/api/tags`."""
    refused_paths: list[str] = field(default_factory=list)
    """Requests for paths that the real service lacks, in order: method and path."""
    is_silent: bool = False
    """Whether nothing is answered on any path, although connections are accepted."""
    pings: int = 0
    """Number of requests for Ollama's version."""
    delay: float = 0
    most_at_once: int = 0
    """Maximum number of concurrent requests."""
    _here: int = 0
    _next: deque[Reply] = field(default_factory=deque)
    _always: Reply | None = None
    _runner: web.AppRunner | None = None
    _root: str = ""

    async def __aenter__(self) -> "EmbeddingServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def start(self, port: int = 0) -> str:
        """Listen on a local port; return the root URL."""
        app = web.Application(client_max_size=64 << 20, middlewares=[self._note_refused_paths])
        for provider in ("openai", "llm", "voyage", "zhipu"):
            app.router.add_post(f"{PREFIXES[provider]}/embeddings", self._route(provider, _read_openai))
        app.router.add_post(
            "/gemini/v1beta/models/{model}:batchEmbedContents", self._route("gemini", _read_gemini)
        )
        app.router.add_post("/ollama/api/embed", self._route("ollama", _read_ollama))
        app.router.add_get("/ollama/api/tags", self._tags)
        app.router.add_get("/ollama/api/version", self._version)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        host, bound = self._runner.addresses[0][:2]
        self._root = f"http://{host}:{bound}"
        return self._root

    def base_url(self, provider: str) -> str:
        return self._root + PREFIXES.get(provider, "")

    async def wait_for_requests(self, times: int = 1) -> None:
        """Wait until this many requests have arrived."""
        async with asyncio.timeout(20):
            while len(self.requests) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    def enqueue(self, *replies: Reply) -> None:
        """Script the next requests, one reply each."""
        self._next.extend(replies)

    def always(self, reply: Reply | None) -> None:
        """Set the reply to all requests without an enqueued one; None answers them normally."""
        self._always = reply

    @web.middleware
    async def _note_refused_paths(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            response = await handler(request)
            if self.is_silent:
                await asyncio.sleep(3600)
            return response
        except web.HTTPNotFound:
            self.refused_paths.append(f"{request.method} {request.path}")
            return web.Response(status=404, text="404 page not found")

    async def _tags(self, _: web.Request) -> web.Response:
        self.listings += 1
        if self.tags:
            return web.Response(text=self.tags, content_type="application/json")
        return web.json_response({"models": [{"name": name, "model": name} for name in self.installed]})

    async def _version(self, _: web.Request) -> web.Response:
        self.pings += 1
        return web.json_response({"version": "0.13.0"})

    def _route(
        self, provider: str, read: Callable[[str, web.Request, dict[str, Any]], EmbeddingRequest]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            self._here += 1
            self.most_at_once = max(self.most_at_once, self._here)
            try:
                content = await request.read()
                asked = read(provider, request, json.loads(content))
                self.requests.append(asked)
                await asyncio.sleep(self.delay)
                reply = self._next.popleft() if self._next else self._always
                if reply and (response := await reply(request, asked)) is not None:
                    return response
                return self._answer(asked, len(content))
            finally:
                self._here -= 1

        return handle

    def _answer(self, asked: EmbeddingRequest, size: int) -> web.Response:
        provider = asked.provider
        if self.most_bytes and size > self.most_bytes:
            return web.Response(
                status=413, text="<html>413 Request Entity Too Large</html>", content_type="text/html"
            )
        if provider != "ollama" and not self._knows_key(asked):
            return error(asked, 401)
        if provider == "ollama" and _with_tag(asked.body["model"]) not in self.installed:
            return error(asked, 404)
        if len(asked.texts) > MAX_TEXTS.get(provider, 10_000):
            return error(asked, 400, "too many texts")
        if sum(map(_tokens, asked.texts)) > MAX_TOKENS.get(provider, sys.maxsize):
            return error(asked, 400, "too many tokens", code="max_tokens_per_request")
        if (
            max(map(_tokens, asked.texts)) > MAX_TEXT_TOKENS.get(provider, sys.maxsize)
            and provider != "ollama"
        ):
            return error(asked, 400, "maximum context length")
        if any(not text.strip() for text in asked.texts) or self._has(asked, self.refused_texts):
            return error(asked, 400, "a text that is not taken")
        if self._has(asked, self.breaking_texts):
            return error(asked, 500)
        if asked.base64 and self.base64 == "refused":
            return error(asked, 400, "base64 encoding is not supported")
        dimensions = asked.dimensions or self.dimensions[provider]
        vectors = [vector_of(text, dimensions) for text in asked.texts]
        for vector, text in zip(vectors, asked.texts, strict=True):
            if any(bad in text for bad in self.nan_texts):
                vector[0] = math.nan
        return answer(asked, vectors, as_base64=asked.base64 and self.base64 == "offered")

    def _knows_key(self, asked: EmbeddingRequest) -> bool:
        if asked.provider == "gemini":
            return asked.headers.get("x-goog-api-key") == self.key
        return asked.headers.get("Authorization") == f"Bearer {self.key}"

    @staticmethod
    def _has(asked: EmbeddingRequest, words: set[str]) -> bool:
        return any(word in text for word in words for text in asked.texts)


def vector_of(text: str, dimensions: int) -> "array[float]":
    """Return the unit vector of a text, which is always the same."""
    return _vector_of(text, dimensions)[:]


@cache
def _vector_of(text: str, dimensions: int) -> "array[float]":
    seed = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    numbers = [byte - 127.5 for byte in random.Random(seed).randbytes(dimensions)]
    length = math.hypot(*numbers)
    return array("f", [number / length for number in numbers])


def answer(
    asked: EmbeddingRequest, vectors: "list[array[float]]", *, as_base64: bool = False
) -> web.Response:
    """Return an answer in the service's format."""
    body: dict[str, Any]
    if asked.provider == "gemini":
        # Like the real service, which does not normalise shortened vectors.
        body = {"embeddings": [{"values": [3 * number for number in vector]} for vector in vectors]}
    elif asked.provider == "ollama":
        body = {"model": asked.body["model"], "embeddings": [vector.tolist() for vector in vectors]}
    else:
        packed = [base64.b64encode(vector.tobytes()).decode() for vector in vectors] if as_base64 else None
        data = [
            {"object": "embedding", "index": index, "embedding": packed[index] if packed else vector.tolist()}
            for index, vector in enumerate(vectors)
        ]
        data.reverse()  # allowed: each vector has its index
        body = {"object": "list", "data": data, "model": asked.body["model"], "usage": {"total_tokens": 1}}
    return web.json_response(body)


def error(
    asked: EmbeddingRequest,
    status: int,
    message: str = "",
    *,
    code: str = "",
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """Return an error in the service's format."""
    message = message or f"something with status {status}"
    body: dict[str, Any]
    match asked.provider:
        case "openai" | "llm":
            body = {
                "error": {
                    "message": message,
                    "type": code or "some_error",
                    "param": None,
                    "code": code or None,
                }
            }
        case "voyage":
            body = {"detail": message}
        case "ollama":
            model = asked.body["model"]
            body = {"error": f'model "{model}" not found, try pulling it first' if status == 404 else message}
        case "zhipu":
            known = {401: "1000", 400: "1214", 429: "1302", 500: "500"}
            body = {"error": {"code": code or known.get(status, "1230"), "message": message}}
        case _:
            status, body = _gemini_error(status, message)
    return web.json_response(body, status=status, headers=headers)


def _gemini_error(status: int, message: str) -> tuple[int, dict[str, Any]]:
    kind = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}.get(
        status, ""
    )
    details: list[dict[str, Any]] = []
    if status == 401:  # the service treats a wrong key as an invalid argument
        status, kind = 400, "INVALID_ARGUMENT"
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    if status == 429:
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}]
    return status, {"error": {"code": status, "message": message, "status": kind, "details": details}}


def fails(
    status: int, message: str = "", *, code: str = "", headers: Mapping[str, str] | None = None
) -> Reply:
    """Reply with an error in the service's own format."""

    async def reply(_: web.Request, asked: EmbeddingRequest) -> web.StreamResponse:
        return error(asked, status, message, code=code, headers=headers)

    return reply


def limited(retry_after: str = "") -> Reply:
    """Reply with 429 and the given Retry-After: seconds, or a date."""
    return fails(429, headers={"Retry-After": retry_after} if retry_after else None)


def says(content: bytes | str, *, status: int = 200, kind: str = "application/json") -> Reply:
    """Reply with the given content."""

    async def reply(_: web.Request, __: EmbeddingRequest) -> web.StreamResponse:
        data = content.encode() if isinstance(content, str) else content
        return web.Response(status=status, body=data, content_type=kind)

    return reply


def proxy_error(status: int = 503) -> Reply:
    """Reply as a proxy in between does: with HTML."""
    page = "<html><head><title>503 Service Temporarily Unavailable</title></head><body>nginx</body></html>"
    return says(page, status=status, kind="text/html")


def redirect(to: str) -> Reply:
    async def reply(_: web.Request, __: EmbeddingRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": to})

    return reply


def hangs() -> Reply:
    """Never reply."""

    async def reply(_: web.Request, __: EmbeddingRequest) -> web.StreamResponse:
        await asyncio.sleep(3600)
        raise AssertionError

    return reply


def waits_for(event: asyncio.Event) -> Reply:
    """Reply normally, but only after the event."""

    async def reply(_: web.Request, __: EmbeddingRequest) -> None:
        await event.wait()

    return reply


def cuts() -> Reply:
    """Close the connection in the middle of the body."""

    async def reply(request: web.Request, _: EmbeddingRequest) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Length": "100000", "Content-Type": "application/json"}
        )
        await response.prepare(request)
        await response.write(b'{"data": [')
        assert request.transport
        request.transport.close()
        return response

    return reply


def drops() -> Reply:
    """Close the connection without a reply."""

    async def reply(request: web.Request, _: EmbeddingRequest) -> web.StreamResponse:
        assert request.transport
        request.transport.close()
        return web.Response()

    return reply


def floods() -> Reply:
    """Send endless JSON."""

    async def reply(request: web.Request, _: EmbeddingRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b"[")
        while True:
            await response.write(b"0," * (1 << 19))

    return reply


def drips(seconds: float) -> Reply:
    """Send an endless body, one space at a time, each within the timeout."""

    async def reply(request: web.Request, _: EmbeddingRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(seconds)

    return reply


def wrong_dimensions(dimensions: int = 7) -> Reply:
    return _with_vectors(lambda texts: [vector_of(text, dimensions) for text in texts])


def too_few() -> Reply:
    return _with_vectors(lambda texts: [vector_of(text, 1536) for text in texts[1:]])


def not_a_number(number: float = math.nan) -> Reply:
    return _with_vectors(lambda texts: [array("f", [number] * 1536) for _ in texts])


def zeros() -> Reply:
    return not_a_number(0.0)


def _with_vectors(make: "Callable[[tuple[str, ...]], list[array[float]]]") -> Reply:
    async def reply(_: web.Request, asked: EmbeddingRequest) -> web.StreamResponse:
        return answer(asked, make(asked.texts), as_base64=asked.base64)

    return reply


def _read_openai(provider: str, request: web.Request, body: dict[str, Any]) -> EmbeddingRequest:
    texts = (body["input"],) if isinstance(body["input"], str) else tuple(body["input"])
    return EmbeddingRequest(
        provider,
        request.path_qs,
        request.headers.copy(),
        body,
        texts,
        body.get("input_type", ""),
        body.get("dimensions") or body.get("output_dimension") or 0,
        body.get("encoding_format") == "base64",
    )


def _read_gemini(provider: str, request: web.Request, body: dict[str, Any]) -> EmbeddingRequest:
    [model] = {entry["model"] for entry in body["requests"]}
    assert model == f"models/{request.match_info['model']}"
    [purpose] = {entry.get("taskType", "") for entry in body["requests"]}
    [dimensions] = {entry.get("outputDimensionality", 0) for entry in body["requests"]}
    texts = tuple(part["text"] for entry in body["requests"] for part in entry["content"]["parts"])
    return EmbeddingRequest(
        provider, request.path_qs, request.headers.copy(), body, texts, purpose, dimensions, False
    )


def _read_ollama(provider: str, request: web.Request, body: dict[str, Any]) -> EmbeddingRequest:
    dimensions = body.get("dimensions", 0)
    return EmbeddingRequest(
        provider, request.path_qs, request.headers.copy(), body, tuple(body["input"]), "", dimensions, False
    )


def _with_tag(model: str) -> str:
    """Return an Ollama model's name with its tag, `latest` if it has none."""
    return model if ":" in model else f"{model}:latest"


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // 4


async def _serve() -> None:
    async with EmbeddingServer() as server:
        print(server.base_url(""), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":  # a process of its own, so that the client's CPU time can be measured
    asyncio.run(_serve())
