"""A server on this machine that behaves like Discord: its API and its gateway.

    async with DiscordApi() as api:
        anna = api.person("anna")
        home = api.guild("Home", anna)
        general = home.text("general")
        ...  # a bot with api.token at api.api_base
        await anna.ask("hi", general)
        assert (await general.answer()).content == "Hello."

A part of a test that runs in another thread than the server has its coroutines run by `api.do(...)`.
"""

import asyncio
import hashlib
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from tests.fakes.discord_api.api_call import ApiRequest, ApiResponse
from tests.fakes.discord_api.chats import Bot, Message
from tests.fakes.discord_api.faults import BAN_PAGE, Fault
from tests.fakes.discord_api.gateway import Connection
from tests.fakes.discord_api.limits import Flood, Limits, Meter, too_many
from tests.fakes.discord_api.refusals import NOT_FOUND, UNAUTHORIZED, Refusal
from tests.fakes.discord_api.requests import Body, read_body
from tests.fakes.discord_api.routes import NAMES, NO_TOKEN, Route, find_route
from tests.fakes.discord_api.wire import attachment_path
from tests.fakes.discord_api.world import RESUME_PATH, World
from tests.fakes.faults import PlannedFault, drip, reset
from tests.fakes.local_platform import LocalServer

T = TypeVar("T")

VERSION = "/api/v10"
GATEWAY_PATHS = ("/", RESUME_PATH)
FILE_PATHS = ("/attachments/", "/ephemeral-attachments/")
VIA = {"Via": "1.1 google"}
"""Header of Discord's own responses, missing in Cloudflare's."""


@dataclass(slots=True)
class Call:
    """One request of a bot."""

    name: str
    """As in routes.py, such as `create_message`."""
    method: str
    path: str
    ids: dict[str, Any]
    query: dict[str, str]
    given: Any
    """The JSON body."""
    files: dict[int, Any]
    time: float
    """`time.monotonic` at arrival."""
    bot: Bot | None = None
    status: int = 0
    """Status of the response; 0 if there is none."""
    code: int = 0
    """Discord's own error code."""
    description: str = ""
    """Why it was rejected."""
    reasons: list[str] = field(default_factory=list)
    """Errors in the form, such as `content: BASE_TYPE_MAX_LENGTH`."""
    result: Any = None
    faulty: bool = False
    """Whether it failed on demand."""
    seconds: float = 0.0
    """Until the response."""

    @property
    def fields(self) -> dict[str, Any]:
        return self.given if isinstance(self.given, dict) else {}


class DiscordApi(LocalServer, World):
    """The server; `api_base` is the bot's."""

    def __init__(self, *, limits: Limits | None = None, clock: Callable[[], float] = time.time) -> None:
        LocalServer.__init__(self)
        World.__init__(self, limits=limits, clock=clock)
        self.calls: list[Call] = []
        self._meters: dict[int, Meter] = {}
        self._planned: list[PlannedFault[Fault]] = []

    @property
    def token(self) -> str:
        """Token of the first bot."""
        return self.bot.token

    @property
    def api_base(self) -> str:
        return f"{self.url}{VERSION}"

    @property
    def gateway_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/"

    async def stop(self) -> None:
        self._stopping.set()
        for connection in self.gateway.open:
            connection.abort()
        await super().stop()

    # -- for tests -------------------------------------------------------------------------------------------

    def fail(
        self, name: str, fault: Fault, *, times: int | None = 1, channel: int | None = None, after: int = 0
    ) -> None:
        """Make the next calls fail; `*` for any, `connect` for a websocket, times=None until `clear_faults`.

        `channel`: only calls for it. `after`: number of calls to let through first.
        """
        assert name == "*" or name in NAMES, f"no call is named {name}"
        self._planned.append(PlannedFault(name, fault, times, channel, after))

    def clear_faults(self) -> None:
        """Cancel all requested faults."""
        self._planned.clear()

    def calls_of(self, *names: str, channel: int | None = None) -> list[Call]:
        """Return the calls of these names, in order."""
        assert NAMES.issuperset(names), f"no call is named {set(names) - NAMES}"
        return [
            call
            for call in self.calls
            if call.name in names and (channel is None or call.ids.get("channel") == channel)
        ]

    @property
    def refusals(self) -> list[Call]:
        """Return the calls that were rejected for their content, not on demand or for rate limits."""
        return [
            call for call in self.calls if 400 <= call.status < 500 and call.status != 429 and not call.faulty
        ]

    @property
    def invalid(self) -> dict[int, int]:
        """Return how often 401, 403 and 429 were sent, without those that do not count towards a ban."""
        counts: dict[int, int] = {}
        for meter in self._meters.values():
            for status, count in meter.counts.items():
                counts[status] = counts.get(status, 0) + count
        return counts

    async def wait_until_connected(self, *, count: int = 1, within: float = 15.0) -> None:
        """Wait until this many connections have a session."""
        await self.wait_until(lambda: len(self.gateway.open) >= count, within=within, what="a connection")

    async def wait_until_unchanged(
        self, message: Message, *, quiet: float = 0.3, within: float = 10.0
    ) -> Message:
        """Wait until a message has not changed for `quiet` seconds."""

        def still() -> bool:
            changed = message.edits[-1].time if message.edits else message.time
            return self.clock() - changed >= quiet

        await self.wait_until(still, within=within, what="an end of edits")
        return message

    def report(self) -> str:
        calls = [
            f"  {one.name} {_short(one.given)} → {one.status} {one.description} {one.reasons or ''}"
            for one in self.calls
        ]
        return "\n".join([super().report(), f"calls ({len(calls)}):", *calls[-15:]])

    # -- HTTP ------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = Call(
            "", request.method, request.path, {}, dict(request.query), None, {}, time.monotonic()
        )  # fmt: skip
        try:
            if request.headers.get("Upgrade", "").lower() == "websocket" and request.path in GATEWAY_PATHS:
                return await self._connect(request, call)
            if request.method in ("GET", "HEAD") and request.path.startswith(FILE_PATHS):
                call.name = "attachment"
                return await self._respond(request, call, lambda: self._download(request, call))
            return await self._ask(request, call)
        finally:
            call.seconds = time.monotonic() - call.time
            self.notify_waiters()

    async def _connect(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        call.name = "connect"
        self.calls.append(call)
        planned = next((one for one in self._planned if one.fits("connect", None)), None)
        if planned is not None and planned.fault.kind != "delay":
            return await self._fail(request, call, planned.fault)
        if planned is not None:
            await asyncio.sleep(planned.fault.seconds)
        call.status = 101
        connection = Connection(self.gateway, request)
        self.gateway.connections.append(connection)
        return await connection.serve()

    async def _ask(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        self.calls.append(call)
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        bot = next((one for one in self.bots.values() if kind == "Bot" and one.token == token), None)
        call.bot = bot
        path = str(request.rel_url.raw_path)
        try:
            if not path.startswith(f"{VERSION}/"):
                raise NOT_FOUND
            route, call.ids = find_route(request.method, path.removeprefix(VERSION))
            call.name = route.name
            body = await read_body(request)
        except Refusal as refusal:
            return self._refuse(call, refusal)
        call.given, call.files = body.given, dict(body.files)
        return await self._respond(request, call, lambda: self._perform(route, call, body))

    async def _respond(
        self, request: web.BaseRequest, call: Call, work: Callable[[], Awaitable[web.Response]]
    ) -> web.StreamResponse:
        """Respond, or fail on demand."""
        planned = next((one for one in self._planned if one.fits(call.name, call.ids.get("channel"))), None)
        if planned is None:
            return await work()
        fault = planned.fault
        call.faulty = fault.kind != "delay"
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return await work()
        if fault.done:
            await work()
        return await self._fail(request, call, fault)

    async def _fail(self, request: web.BaseRequest, call: Call, fault: Fault) -> web.StreamResponse:
        call.faulty, call.status = True, fault.code
        if fault.kind == "hang":
            self.notify_waiters()
            await self._stopping.wait()
        if fault.kind == "drip":
            return await drip(request, fault.seconds)
        if fault.scope is not None:
            return self._flood(call, Flood(time.monotonic(), call.name, 0, fault.scope, fault.seconds))
        if fault.refusal is not None:
            return self._refuse(call, fault.refusal)
        if fault.kind == "answer":
            if fault.code in (401, 403, 429):
                self._meter(call).count_invalid(fault.code)
            headers = {**({} if fault.banned else VIA), **fault.headers}
            body = fault.body.encode() if isinstance(fault.body, str) else fault.body
            return web.Response(
                status=fault.code, body=body, content_type=fault.content_type, headers=headers
            )
        return reset(request)

    async def _perform(self, route: Route, call: Call, body: Body) -> web.Response:
        meter = self._meter(call)
        if meter.banned:
            call.status, call.description = 429, BAN_PAGE
            return web.Response(status=429, text=BAN_PAGE, headers={"Retry-After": "600"})
        place = call.ids.get("channel") or call.ids.get("guild") or _number(call.ids.get("token", ""))
        flood = meter.take(route.name, place)
        if flood is not None:
            self.floods.append(flood)
            if meter.enforced:
                return self._flood(call, flood)
        bot = call.bot or (self._bot_of(call) if route.name in NO_TOKEN else None)
        if bot is None:
            return self._refuse(call, UNAUTHORIZED)
        try:
            result = route.handler(self, ApiRequest(bot, call.ids, call.query, body))
            call.result = await result if inspect.isawaitable(result) else result
        except Refusal as refusal:
            return self._refuse(call, refusal)
        call.status = 200
        headers = {**VIA, **meter.headers(route.name, place)}
        if isinstance(call.result, ApiResponse):
            call.status, call.result = call.result.status, call.result.given
        if call.result is None:
            call.status = 204
            return web.Response(status=204, headers=headers)
        return _json(call.result, status=call.status, headers=headers)

    def _bot_of(self, call: Call) -> Bot:
        interaction = self.interactions.get(call.ids.get("token", ""))
        return interaction.bot if interaction else self.bot

    def _meter(self, call: Call) -> Meter:
        number = call.bot.id if call.bot else 0
        if number not in self._meters:
            self._meters[number] = Meter(self.limits, self.enforces_limits)
        return self._meters[number]

    def _refuse(self, call: Call, refusal: Refusal) -> web.Response:
        call.status, call.code, call.description = refusal.status, refusal.code, refusal.message
        call.reasons = refusal.reasons
        self._meter(call).count_invalid(refusal.status)
        return _json(refusal.as_json(), status=refusal.status, headers=VIA)

    def _flood(self, call: Call, flood: Flood) -> web.Response:
        body, headers = too_many(flood)
        call.status, call.description = 429, f"{flood.scope} limit, {flood.retry_after:.3f} s"
        meter = self._meter(call)
        meter.count_invalid(429, shared=flood.scope == "shared")
        place = call.ids.get("channel") or call.ids.get("guild") or _number(call.ids.get("token", ""))
        bucket = {} if flood.scope == "global" else meter.headers(call.name, place)
        return _json(body, status=429, headers={**VIA, **bucket, **headers})

    async def _download(self, request: web.BaseRequest, call: Call) -> web.Response:
        """Serve an attachment; its URL is valid for a day and renewed by fetching the message again."""
        parts = request.path.split("/")
        number = int(parts[3]) if len(parts) > 3 and parts[3].isdecimal() else 0
        file = self.files.get(number)
        call.ids = {"channel": file.channel_id} if file else {}
        try:
            until = int(request.query.get("ex", ""), 16)
        except ValueError:
            until = 0
        good = (
            file is not None
            and request.path == attachment_path(file)
            and until > self.clock()
            and f"hm={request.query.get('hm')}&" in self.signature(file, until)
        )
        if file is None or not good:
            call.status = 404
            return web.Response(status=404, text="This content is no longer available.")
        call.status = 200
        return web.Response(body=file.data, headers={"Content-Type": file.media_type})


def _json(given: Any, *, status: int, headers: Mapping[str, str]) -> web.Response:
    """Return JSON without a charset in its type, which discord.py requires."""
    body = json.dumps(given, ensure_ascii=False).encode()
    return web.Response(body=body, status=status, headers={**headers, "Content-Type": "application/json"})


def _number(token: str) -> int:
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:6]) if token else 0


def _short(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False, default=repr)
    return text if len(text) < 200 else f"{text[:200]}…"
