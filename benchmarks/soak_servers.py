"""Models and an embedding service that fail at random, now and then all at once, for the soak test.

They do what the messages say, see `scripted_models`. Sending `{"well": true}` to the OpenAI-compatible one
makes all of them behave from then on.
"""

import asyncio
import random
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from model_servers import KEY
from scripted_models import ServerLog, Wish, scripted_reply

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.embedding_server import EmbeddingRequest as Embed
    from tests.fakes.model_server import ModelServer, ReceivedRequest, Reply

WELL = {"well": True}
SAID = re.compile(
    r"^(?:[^\n:]{1,40}: )?"  # in groups
    r"(?:(T\d{5}) (say|slow|long|both|edit|remind|three)(?: (\S+))?|Remember that Parcel (T\d{5}) is on the shelf\.)",
    re.MULTILINE,
)
FAILURES = {
    "429": 20,
    "429 for a second": 8,
    "500": 20,
    "503": 10,
    "no answer": 2,
    "silence in the middle": 3,
    "cut": 14,
    "lost": 10,
    "empty": 8,
    "garbled": 5,
}
"""Kinds of failure, by frequency."""
FAILURE_SHARE = 0.07
"""Share of requests to models that fail; of embedding requests twice as many."""
OUTAGE_EVERY = 40.0
OUTAGE_SECONDS = 3.0
"""Duration of an outage of all servers."""


def parse_soak_wishes(text: str) -> list[Wish]:
    """Parse a message of the soak test; what the notebook can also do is written in words."""
    return [
        (token or parcel, kind or "write", argument) for token, kind, argument, parcel in SAID.findall(text)
    ]


@dataclass(slots=True)
class FailurePlan:
    """When failures happen, for all servers together."""

    chance: random.Random
    began: float = field(default_factory=time.monotonic)
    well: bool = False
    happened: dict[str, int] = field(default_factory=dict)

    def next(self, share: float) -> str:
        """Return the failure for a request; "" for none."""
        if self.well:
            return ""
        out = (time.monotonic() - self.began) % OUTAGE_EVERY > OUTAGE_EVERY - OUTAGE_SECONDS
        if not out and self.chance.random() >= share:
            return ""
        what = "500" if out else self.chance.choices(list(FAILURES), list(FAILURES.values()))[0]
        self.happened[what] = self.happened.get(what, 0) + 1
        return what


def failing_servers() -> dict[str, Any]:
    """Return a model server of each protocol, by its name, and `embedding`."""
    from tests.fakes.anthropic_server import AnthropicServer
    from tests.fakes.gemini_server import GeminiServer
    from tests.fakes.openai_server import OpenAIServer

    told, trouble = ServerLog(), FailurePlan(random.Random(1))
    servers: dict[str, ModelServer] = {
        "openai": OpenAIServer(key=KEY),
        "anthropic": AnthropicServer(key=KEY),
        "gemini": GeminiServer(key=KEY),
    }
    for kind, server in servers.items():
        well = scripted_reply(kind, server, told, wishes=parse_soak_wishes, nothing=0.8)
        server.always(_failing_reply(server, well, trouble))
    return {**servers, "embedding": _FailingEmbeddings(trouble)}


def _failing_reply(server: "ModelServer", well: "Reply", trouble: FailurePlan) -> "Reply":
    from aiohttp import web

    from tests.fakes.model_server import ModelAnswer, drops, hangs, streams

    half = ["And then ", "there was ", "something else."]

    async def reply(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        server.requests.clear()
        if "well" in asked.body:
            trouble.well = True
            return web.json_response(trouble.happened)
        if "told" in asked.body:
            return await well(request, asked)
        match trouble.next(FAILURE_SHARE):
            case "":
                return await well(request, asked)
            case "429 for a second":
                return server.error(429, "too many requests", headers={"Retry-After": "1"})
            case "429" | "500" | "503" as status:
                return server.error(int(status), f"status {status}")
            case "no answer":
                return await hangs()(request, asked)
            case "silence in the middle":
                return await server.stream(request, asked, ModelAnswer(half, hang_after=2))
            case "cut":
                return await server.stream(request, asked, ModelAnswer(half, cut_after=2))
            case "empty":
                return await server.stream(request, asked, ModelAnswer(""))
            case "garbled":
                return await streams(b"data: {what is this\n\n")(request, asked)
            case _:
                return await drops()(request, asked)

    return reply


class _FailingEmbeddings:
    """The tests' embedding service in OpenAI's format, failing like the models."""

    def __init__(self, trouble: FailurePlan) -> None:
        from tests.fakes.embedding_server import KEY as EMBEDDING_KEY
        from tests.fakes.embedding_server import EmbeddingServer

        self._server = EmbeddingServer(key=EMBEDDING_KEY)
        self._server.always(self._reply)
        self._trouble = trouble

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.__aexit__()

    @property
    def base_url(self) -> str:
        return self._server.base_url("openai")

    async def _reply(self, request: "web.Request", asked: "Embed") -> "web.StreamResponse | None":
        from tests.fakes import embedding_server as fake

        self._server.requests.clear()
        match self._trouble.next(2 * FAILURE_SHARE):
            case "":
                return None
            case "429" | "429 for a second":
                return await fake.limited("1")(request, asked)
            case "500" | "503" as status:
                return await fake.fails(int(status))(request, asked)
            case "no answer" | "silence in the middle":
                await asyncio.sleep(2)
                return None
            case "cut":
                return await fake.cuts()(request, asked)
            case "empty" | "garbled":
                return await fake.says(b'{"data": [')(request, asked)
            case _:
                return await fake.drops()(request, asked)
