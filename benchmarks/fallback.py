"""Time until the next model answers after the first one fails: `python benchmarks/fallback.py [--calls 4]`.

Two models on local servers: the first fails in various ways, the second answers at once. Waits between
retries are the defaults; timeouts are shortened. All ways are tried concurrently, each with a chain, a server
and breakers of its own, several calls one after the other.
"""

import argparse
import asyncio
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
from model_servers import KEY, model_servers

from bot.models.candidate import FallbackHooks, ModelCandidate, Route
from bot.models.connection_pool import ConnectionPool
from bot.models.errors import ModelError
from bot.models.fallback import FallbackModel
from bot.models.health import RouteName
from bot.models.openai import open_openai
from bot.models.options import ModelOptions
from bot.models.protocol import ModelRequest, TextDelta, UserMessage
from bot.models.retry import RetryPolicy
from bot.models.routing import Routing
from bot.models.timeouts import Timeouts

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.model_server import ModelServer, ReceivedRequest, Reply

SCALE = 30
USUAL = Timeouts()
LIMITS = Timeouts(*(seconds / SCALE for seconds in (USUAL.first_token, USUAL.idle, USUAL.begin, USUAL.total)))
JITTER = 1.25
"""Maximum factor by which jitter lengthens a wait."""
SLACK = 0.3
"""Seconds allowed for everything else."""
APART = 0.1
"""Seconds between the starts of two cases."""
ANSWER = "Here I am."
KEYS = (KEY, "another-benchmark-key")
SHOWN = (1, 2, 4)
"""Calls shown in the table: after three failures a breaker is open."""
BACK_OFF = (1.0, 2.0)
"""Seconds before the second and the third attempt."""


@dataclass(frozen=True, slots=True)
class Case:
    """A way to fail, and the limits for calls that meet it."""

    name: str
    requests: tuple[int, int, int]
    """Requests to the first model by the first, second and fourth call."""
    waits: tuple[float, ...] = ()
    """Seconds that the first call waits, without jitter; keys wait concurrently."""
    silence: float = 0.0
    """Seconds of silence that a call must tolerate."""
    keys: int = 1

    @property
    def seconds(self) -> tuple[float, float]:
        """Minimum and maximum seconds of the first call."""
        return sum(self.waits) + self.silence, JITTER * sum(self.waits) + self.silence + SLACK


CASES = (
    Case("429", (3, 3, 0), BACK_OFF),
    Case("429, Retry-After: 3", (3, 0, 0), (3.0, 3.0)),
    Case("429, Retry-After: 30", (1, 0, 0)),
    Case("500", (3, 3, 0), BACK_OFF),
    Case("529", (3, 3, 0), BACK_OFF),
    Case("503, HTML of a proxy", (3, 3, 0), BACK_OFF),
    Case("401", (1, 1, 0)),
    Case("402", (1, 1, 0)),
    Case("404", (1, 1, 0)),
    Case("400", (1, 1, 1)),
    Case("400, context length", (1, 1, 1)),
    Case("refused connection", (3, 3, 0), BACK_OFF),
    Case("reset", (3, 3, 0), BACK_OFF),
    Case("no such host", (3, 3, 0), BACK_OFF),
    Case("hang before the head", (1, 0, 0), silence=LIMITS.first_token),
    Case("hang before the first token", (1, 0, 0), silence=LIMITS.first_token),
    Case("silence after some text", (1, 0, 0), silence=LIMITS.idle),
    Case("cut after some text", (1, 1, 0)),
    Case("empty answer", (2, 2, 0)),
    Case("unreadable answer", (2, 2, 0)),
    Case("two keys: 401 for one", (2, 2, 1), keys=2),
    Case("two keys: 402 for one", (2, 2, 1), keys=2),
    Case("two keys: 429 for one", (2, 2, 1), keys=2),
    Case("two keys: 429 for both", (6, 6, 0), BACK_OFF, keys=2),
    Case("two keys: hang", (1, 0, 0), silence=LIMITS.first_token, keys=2),
)


# -- the servers -------------------------------------------------------------------------------------------


def servers() -> dict[str, "ModelServer"]:
    """Return the servers by case name; "" answers at once."""
    from tests.fakes.model_server import ModelAnswer, hangs, proxy_error, streams
    from tests.fakes.openai_server import OpenAIServer

    fails = OpenAIServer().fails
    replies: Mapping[str, Reply | ModelAnswer] = {
        "": ModelAnswer(ANSWER),
        "429": fails(429, code="rate_limit_exceeded"),
        "429, Retry-After: 3": fails(429, headers={"Retry-After": "3"}),
        "429, Retry-After: 30": fails(429, headers={"Retry-After": "30"}),
        "500": fails(500),
        "529": fails(529),
        "503, HTML of a proxy": proxy_error(503),
        "401": fails(401, code="invalid_api_key"),
        "402": fails(402),
        "404": fails(404, code="model_not_found"),
        "400": fails(400),
        "400, context length": fails(400, code="context_length_exceeded"),
        "reset": _resets,
        "hang before the head": hangs(),
        "hang before the first token": streams(ends=False),
        "silence after some text": ModelAnswer(["Let me", " see"], hang_after=2),
        "cut after some text": ModelAnswer(["Let me", " see"], cut_after=2),
        "empty answer": ModelAnswer(),
        "unreadable answer": streams(b"data: {nonsense\n\n"),
        "two keys: 401 for one": _for_one_key(fails(401, code="invalid_api_key")),
        "two keys: 402 for one": _for_one_key(fails(402)),
        "two keys: 429 for one": _for_one_key(fails(429)),
        "two keys: 429 for both": fails(429),
        "two keys: hang": hangs(),
    }
    found: dict[str, ModelServer] = {}
    for name, reply in replies.items():
        found[name] = server = OpenAIServer(key=KEY)
        server.always(reply)
    return found


async def _resets(request: "web.Request", _: "ReceivedRequest") -> "web.StreamResponse":
    from aiohttp import web

    assert request.transport
    connection: socket.socket = request.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
    return web.Response()


def _for_one_key(reply: "Reply") -> "Reply":
    """Fail for the first key only; the other is answered."""
    from tests.fakes.model_server import ModelAnswer, streams
    from tests.fakes.openai_server import OpenAIServer

    async def by_key(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        if asked.headers["Authorization"] == f"Bearer {KEYS[0]}":
            return await reply(request, asked)
        return await streams(*OpenAIServer().events(asked, ModelAnswer(ANSWER)))(request, asked)

    return by_key


def an_address_where_nobody_listens() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


# -- calls -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Told:
    """Result of one call."""

    seconds: float = 0.0
    """From the request to the first text of the final answer."""
    requests: int = 0
    """Requests to the first model."""
    waits: list[float] = field(default_factory=list)


async def calls(case: Case, addresses: Mapping[str, str], count: int, *, after: float) -> list[Told]:
    """After a delay make this many calls, one after the other, with breakers of their own."""
    await asyncio.sleep(after)
    told: list[Told] = []

    async def sent(_: httpx.Request) -> None:
        told[-1].requests += 1

    async def sleep(seconds: float) -> None:
        told[-1].waits.append(seconds)
        await asyncio.sleep(seconds)

    first, second = (
        ConnectionPool(url, connect_seconds=LIMITS.connect) for url in (addresses[case.name], addresses[""])
    )
    first.client.event_hooks = {"request": [sent]}
    plan = Routing(
        (
            candidate("first/gpt-test", first, addresses[case.name], KEYS[: case.keys]),
            candidate("second/gpt-test", second, addresses[""], KEYS[:1]),
        ),
        retry=RetryPolicy(),
    )
    model = FallbackModel(plan, hooks=FallbackHooks(_say_nothing, _say_nothing), sleep=sleep)
    for _ in range(count):
        told.append(Told())
        began = time.monotonic()
        async with aclosing(model.stream(ModelRequest("", (UserMessage("Where are you?"),)))) as events:
            async for event in events:
                if event == TextDelta(ANSWER):
                    told[-1].seconds = time.monotonic() - began
    await asyncio.gather(first.close(), second.close())
    return told


def candidate(name: str, connection: ConnectionPool, base_url: str, keys: Sequence[str]) -> ModelCandidate:
    options = [ModelOptions(name, base_url=base_url, key=key, limits=LIMITS) for key in keys]
    routes = tuple(Route(open_openai(each, connection), RouteName(name, each.key)) for each in options)
    return ModelCandidate(name, routes)


def _say_nothing(_: str, __: object, ___: ModelError) -> None:
    pass


# -- the table ---------------------------------------------------------------------------------------------


def faults(case: Case, told: Sequence[Told]) -> list[str]:
    """Return the violations of a case."""
    found = []
    for number, wanted in zip(SHOWN, case.requests, strict=True):
        if number > len(told):
            break
        call = told[number - 1]
        least, most = case.seconds if wanted == case.requests[0] else (0.0, SLACK)
        if not least <= call.seconds <= most:
            found.append(f"{call.seconds:.2f} s for call {number}")
        if call.requests != wanted:
            found.append(f"{call.requests} requests by call {number}")
    if not sum(case.waits) <= sum(told[0].waits) <= JITTER * sum(case.waits):
        found.append(f"waits of {sum(told[0].waits):.2f} s")
    return found


def row(case: Case, told: Sequence[Told]) -> str:
    least, most = case.seconds
    waits = " + ".join(f"{wait:.1f}" for wait in told[0].waits if wait > 0.2) or "-"
    text = f"  {case.name:28}{told[0].seconds:6.2f} ({least:.1f} to {most:.2f})".ljust(54)
    text += f"{told[0].requests} ({case.requests[0]})".ljust(11) + f"{waits:11}"
    for number, wanted in zip(SHOWN[1:], case.requests[1:], strict=True):
        if number <= len(told):
            text += f"{told[number - 1].seconds:6.2f}, {told[number - 1].requests} ({wanted})".ljust(17)
    return text


async def measure(count: int) -> list[str]:
    """Try every way to fail; return the violations."""
    failed = []
    with model_servers(servers) as addresses:
        everywhere = {
            **addresses,
            "refused connection": an_address_where_nobody_listens(),
            "no such host": "http://name.invalid/v1",
        }
        told = await asyncio.gather(
            *(calls(case, everywhere, count, after=APART * place) for place, case in enumerate(CASES))
        )
    for case, found in zip(CASES, told, strict=True):
        wrong = faults(case, found)
        print(row(case, found).rstrip() + ("  NOT KEPT" if wrong else ""))
        failed += [f"{case.name}: {each}" for each in wrong]
    return failed


def main() -> None:
    """Print a line for each way to fail; exit with 1 if one costs too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--calls", type=int, default=SHOWN[-1], choices=SHOWN, help="how many after each other"
    )
    arguments = parser.parse_args()
    usual = RetryPolicy()
    print(
        f"Limits, {SCALE} times shorter than by default: {LIMITS.first_token:g} s until the first token,"
        f" {LIMITS.idle:g} s of silence\nRetries as by default: {usual.max_retries}, the first after"
        f" {usual.retry_delay:g} s\nSeconds until the next model's text, and requests to the first model; (wanted)"
    )
    print(f"  {'':28}{'first call':24}{'requests':11}{'waits':11}{'second call':17}fourth call".rstrip())
    failed = asyncio.run(measure(arguments.calls))
    print(f"not as promised: {'; '.join(failed) or 'nothing'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
