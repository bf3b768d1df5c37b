"""Cost of our model clients compared with raw httpx: `python benchmarks/model_clients.py [--quick]`.

Servers in a process of their own answer at once, one event per piece of text. The same call is made by our
client; with httpx alone, decoding its lines as JSON, as any client must; and with httpx alone, discarding the
bytes. They alternate, over a kept connection. Then what `FallbackModel` adds, and the time from a first
token's arrival to the caller. All figures are CPU time, user and system.
"""

import argparse
import asyncio
import json
import selectors
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from model_servers import KEY, model_servers

from bot.models.anthropic import AnthropicChatDialect, open_anthropic
from bot.models.breakers import Breakers
from bot.models.candidate import ModelCandidate, Route
from bot.models.connection_pool import ConnectionPool
from bot.models.dialect import ChatDialect
from bot.models.fallback import FallbackModel
from bot.models.gemini import GeminiChatDialect, open_gemini
from bot.models.health import RouteName
from bot.models.openai import OpenAIChatDialect, open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import (
    Answer,
    AssistantMessage,
    LanguageModel,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from bot.models.routing import Routing
from bot.state.database import State

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.model_server import ModelServer, ReceivedRequest, Reply

MAX_RATIO = 1.6
MAX_ADDED_MS = 0.3
MAX_FIRST_TOKEN_MS = 2.0
TURNS = {10: 80, 100: 40, 400: 20}
"""Number of requests for an answer with this many events."""
APART = 50
"""Number of events of the answer that comes as a model writes it, each after a pause, and not at once."""
PAUSE = 0.002
SILENCE = 0.03
"""Seconds before and after a first token."""
STAMP = "12345.678901"
"""Placeholder where the server writes when it sent the first token, on the clock that all processes share."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A protocol, with our client's parts."""

    model: str
    dialect: Callable[[ModelOptions], ChatDialect]
    open: Callable[[ModelOptions, ConnectionPool], LanguageModel]

    @property
    def kind(self) -> str:
        return self.model.partition("/")[0]


PROVIDERS = (
    Provider("openai/gpt-test", OpenAIChatDialect, open_openai),
    Provider("anthropic/claude-sonnet-4-5", AnthropicChatDialect, open_anthropic),
    Provider("gemini/gemini-2.5-flash", GeminiChatDialect, open_gemini),
)


# -- the servers -------------------------------------------------------------------------------------------


def servers() -> dict[str, "ModelServer"]:
    """Return servers by provider and answer length, and one for the first token."""
    from tests.fakes.anthropic_server import AnthropicServer
    from tests.fakes.gemini_server import GeminiServer
    from tests.fakes.model_server import ModelAnswer
    from tests.fakes.openai_server import OpenAIServer

    found: dict[str, ModelServer] = {}
    for kind, open_server in (
        ("openai", OpenAIServer),
        ("anthropic", AnthropicServer),
        ("gemini", GeminiServer),
    ):
        for count in TURNS:
            found[f"{kind} {count}"] = server = open_server(key=KEY)
            server.always(ModelAnswer([f"word{number} " for number in range(count)]))
        found[f"{kind} apart"] = server = open_server(key=KEY)
        server.always(ModelAnswer([f"word{number} " for number in range(APART)], delay=PAUSE))
        found[f"{kind} late"] = server = open_server(key=KEY)
        server.always(_late(server))
    return found


def _late(server: "ModelServer") -> "Reply":
    """Send the head at once; after a silence the first token with its time; after another silence the rest."""
    from aiohttp import web

    from tests.fakes.model_server import ModelAnswer

    async def reply(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in server.events(asked, ModelAnswer([STAMP, " later"])):
            if STAMP.encode() in event:
                await asyncio.sleep(SILENCE)
                sent = f"{time.monotonic():.6f}".encode()
                await response.write(event.replace(STAMP.encode(), sent))
                await asyncio.sleep(SILENCE)
            else:
                await response.write(event)
        return response

    return reply


def a_request() -> ModelRequest:
    """Return a typical conversation: instructions, six tools, twenty exchanges, a tool call."""
    words = "The quick brown fox jumps over the lazy dog, and nobody minds. "
    said: list[UserMessage | AssistantMessage | ToolResult] = []
    for _ in range(20):
        said += [UserMessage(words * 2), AssistantMessage(words * 6)]
    call = ToolCall("a1b2c3d4e", "tool_0", '{"query": "fox"}')
    said += [
        UserMessage(words),
        AssistantMessage("", (call,)),
        ToolResult(call.id, call.name, f'["{words * 10}"]'),
        AssistantMessage(words),
        UserMessage(words),
    ]
    properties = {"query": {"type": "string", "description": words}, "limit": {"type": "integer"}}
    parameters: Mapping[str, Any] = {"type": "object", "properties": properties, "required": ["query"]}
    return ModelRequest(
        words * 60, tuple(said), tuple(ToolSpec(f"tool_{n}", words * 3, parameters) for n in range(6))
    )


# -- measuring ---------------------------------------------------------------------------------------------


class Report:
    """Prints figures and remembers those beyond their limits."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def figure(self, text: str, value: float, *, limit: float | None = None) -> None:
        """Print a line that ends in a value, and its limit."""
        kept = limit is None or value <= limit
        wanted = f"  (wanted: <= {limit:g})" if limit is not None else ""
        print(f"  {text}{value:9.2f}{wanted}{'' if kept else '  NOT KEPT'}", flush=True)
        if not kept:
            self.failed.append(f"{text.split('   ')[0]}: {value:.2f}")


Work = Callable[[], Awaitable[None]]


async def by_turns(works: Sequence[Work], turns: int) -> list[list[float]]:
    """Return the CPU ms of each piece of work in each turn, after one warm-up."""
    spent: list[list[float]] = [[] for _ in works]
    for turn in range(turns + 1):
        order = list(zip(works, spent, strict=True))
        for work, found in order if turn % 2 else reversed(order):  # the order may matter
            began = time.process_time()
            await work()
            if turn:
                found.append(1000 * (time.process_time() - began))
    return spent


async def ask(model: LanguageModel, request: ModelRequest) -> None:
    async with aclosing(model.stream(request)) as events:
        async for _ in events:
            pass


def options_of(provider: Provider, base_url: str) -> ModelOptions:
    return ModelOptions(provider.model, base_url=base_url, key=KEY)


# -- our client and httpx ----------------------------------------------------------------------------------


async def clients(report: Report, addresses: Mapping[str, str], *, quick: bool) -> None:
    """Measure every provider and every length."""
    print("CPU ms a call, medians; times: ours / lines decoded as JSON")
    print(f"  {'':24}{'bytes':>9}{'lines':>9}{'ours':>9}{'/ bytes':>9}{'times':>9}")
    for provider in PROVIDERS:
        for count, turns in TURNS.items():
            name = f"{provider.kind}, {count} events"
            await one_client(
                report, name, provider, addresses[f"{provider.kind} {count}"], turns // (5 if quick else 1)
            )
        name = f"{provider.kind}, {APART}, apart"
        await one_client(report, name, provider, addresses[f"{provider.kind} apart"], 2 if quick else 8)


async def one_client(report: Report, name: str, provider: Provider, base_url: str, turns: int) -> None:
    """Alternate ours and httpx; each has a connection of its own, made in the same way."""
    options = options_of(provider, base_url)
    dialect, request = provider.dialect(options), a_request()
    fields = dialect.body(request)
    ours, theirs = (ConnectionPool(base_url, connect_seconds=10) for _ in range(2))
    model = provider.open(options, ours)
    client = theirs.client

    def post() -> AbstractAsyncContextManager[httpx.Response]:
        content = json.dumps(fields, ensure_ascii=False).encode()
        return client.stream("POST", dialect.url, content=content, headers=dialect.headers)

    async def read_bytes() -> None:
        async with post() as response:
            async for _ in response.aiter_bytes():
                pass

    async def read_lines() -> None:
        async with post() as response:
            async for line in response.aiter_lines():
                if line.startswith("data:") and line != "data: [DONE]":
                    json.loads(line[5:])

    async def read_with_ours() -> None:
        await ask(model, request)

    spent = await by_turns((read_bytes, read_lines, read_with_ours), turns)
    await asyncio.gather(ours.close(), theirs.close())
    text = f"{name:24}" + "".join(f"{statistics.median(found):9.2f}" for found in spent)
    # Compare turn by turn, since the speed of a shared machine varies.
    to_bytes, to_lines = (
        statistics.median(own / other for own, other in zip(spent[2], others, strict=True))
        for others in spent[:2]
    )
    report.figure(f"{text}{to_bytes:9.2f}", to_lines, limit=MAX_RATIO)


# -- FallbackModel -----------------------------------------------------------------------------------------


class Instant:
    """A model that answers at once, without a network."""

    def __init__(self, name: str = "instant/model") -> None:
        self.name = name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Answer, None]:
        yield TextDelta("Yes.")
        yield Answer(AssistantMessage("Yes.", model=self.name), Usage(3000, 3), first_token_seconds=0.001)


def chain_of(*models: LanguageModel) -> Routing:
    return Routing(
        tuple(ModelCandidate(model.name, (Route(model, RouteName(model.name)),), 200_000) for model in models)
    )


async def fallback(report: Report, addresses: Mapping[str, str], *, quick: bool) -> None:
    """Compare the same model alone and in a chain, alternating; its health is stored in a state.db."""
    print("FallbackModel with HealthBook and state.db: CPU ms that it adds to a call, medians")
    request = a_request()
    provider = PROVIDERS[0]
    base_url = addresses["openai 10"]
    connection = ConnectionPool(base_url, connect_seconds=10)
    client = provider.open(options_of(provider, base_url), connection)
    instant = Instant()
    fifth = chain_of(*(Instant(f"instant/{number}") for number in range(5)))
    turns = 40 if quick else 400
    with tempfile.TemporaryDirectory() as folder:
        async with State(Path(folder, "state.db")) as state:
            book = Breakers(state)

            for name, model, work in (
                ("openai, 10 events", client, FallbackModel(chain_of(client), health=book)),
                ("a model without a network", instant, FallbackModel(chain_of(instant), health=book)),
                ("the first of five such", instant, FallbackModel(fifth, health=book)),
            ):
                added = await added_ms(model, work, request, turns)
                report.figure(f"{name:60}", added, limit=MAX_ADDED_MS)
            await books(report, state, request, turns // 4)
            await book.write()
    await connection.close()


async def books(report: Report, state: State, request: ModelRequest, turns: int) -> None:
    """Measure what was left out above because many calls share it."""
    book = Breakers(state)
    model = FallbackModel(chain_of(Instant()), health=book)

    async def call_and_write() -> None:
        await ask(model, request)
        await book.write()

    reading, writing, bare = await by_turns(
        (lambda: Breakers(state).refresh(), call_and_write, lambda: ask(model, request)), turns
    )
    report.figure(f"{'reading what others have learnt, every 2 s at most':60}", statistics.median(reading))
    written = statistics.median(ours - theirs for ours, theirs in zip(writing, bare, strict=True))
    report.figure(f"{'writing, after the answer, once a second at most':60}", written)
    await book.write()


async def added_ms(model: LanguageModel, chain: LanguageModel, request: ModelRequest, turns: int) -> float:
    spent, bare = await by_turns((lambda: ask(chain, request), lambda: ask(model, request)), turns)
    return statistics.median(ours - theirs for ours, theirs in zip(spent, bare, strict=True))


# -- the first token ---------------------------------------------------------------------------------------


class Wakings(selectors.DefaultSelector):
    """A selector that records the process's CPU time at its latest wake-up."""

    woke_at = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout)
        if ready and timeout != 0:
            self.woke_at = time.process_time()
        return ready


async def first_token(report: Report, addresses: Mapping[str, str], wakings: Wakings, *, quick: bool) -> None:
    """Measure from a first token's arrival in the process to the reader of `FallbackModel.stream`."""
    print(
        "From the arrival of the first token to whoever asked, CPU ms: median, then the longest of all calls"
    )
    request = a_request()
    for provider in PROVIDERS:
        base_url = addresses[f"{provider.kind} late"]
        connection = ConnectionPool(base_url, connect_seconds=10)
        model = FallbackModel(chain_of(provider.open(options_of(provider, base_url), connection)))
        spent, late = [], []
        for turn in range((5 if quick else 20) + 1):
            async with aclosing(model.stream(request)) as events:
                first = await anext(events)
                used, now = time.process_time() - wakings.woke_at, time.monotonic()
                assert isinstance(first, TextDelta)
                async for _ in events:
                    pass
            if turn:
                spent.append(1000 * used)
                late.append(1000 * (now - float(first.text)))
        await connection.close()
        # Otherwise the token was buffered until more came, and the process woke for that.
        assert statistics.median(late) < 1000 * SILENCE / 2, late
        text = f"{provider.kind:12}({statistics.median(late):.2f} ms on the clock after it was sent)"
        report.figure(f"{text:51}{statistics.median(spent):9.2f}", max(spent), limit=MAX_FIRST_TOKEN_MS)


async def measure(wakings: Wakings, *, quick: bool) -> list[str]:
    """Measure everything, with separate servers; return the violations."""
    report = Report()
    with model_servers(servers) as addresses:
        await clients(report, addresses, quick=quick)
        await fallback(report, addresses, quick=quick)
        await first_token(report, addresses, wakings, quick=quick)
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns, rougher figures")
    arguments = parser.parse_args()
    wakings = Wakings()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(wakings)) as runner:
        failed = runner.run(measure(wakings, quick=arguments.quick))
    print(f"not as promised: {'; '.join(failed) or 'nothing'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
