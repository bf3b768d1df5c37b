"""A server on this machine that behaves like Telegram's Bot API.

    async with BotApi() as api:
        anna = api.person(7, "Anna", language="de")
        ...  # a bot with api.token at api.url
        await anna.say("hi")
        assert (await anna.chat.answer()).text == "Hello."

A part of a test that runs in another thread than the server has its coroutines run by `api.do(...)`.
"""

import asyncio
import inspect
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web

from tests.fakes.bot_api.chats import Bot, Message
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.limits import Limits
from tests.fakes.bot_api.methods import METHODS
from tests.fakes.bot_api.refusals import NOT_FOUND, Refusal, bad_request
from tests.fakes.bot_api.requests import Parameters, read_parameters
from tests.fakes.bot_api.world import World
from tests.fakes.faults import PlannedFault, drip, reset
from tests.fakes.local_platform import LocalServer

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """One request of a bot."""

    method: str
    """In its usual spelling, as sent by the bot; `file` for a download; the path if nothing is served there."""
    parameters: Parameters
    time: float
    """`time.monotonic` at arrival."""
    bot: Bot | None = None
    status: int = 0
    """Status of the response; 0 if there is none."""
    description: str = ""
    """Why it was rejected."""
    result: Any = None
    faulty: bool = False
    """Whether it failed on demand."""
    seconds: float = 0.0
    """Until the response."""


class BotApi(LocalServer, World):
    """The server; `url` is the bot's api_base."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.time,
        drafts: bool = True,
        webhook_pause: float = 0.05,
    ) -> None:
        """`drafts`: whether sendMessageDraft exists.

        `webhook_pause`: seconds before an update is offered to a failed webhook again.
        """
        LocalServer.__init__(self)
        World.__init__(self, limits=limits, clock=clock)
        self.knows_drafts = drafts
        self.webhook_pause = webhook_pause
        self.calls: list[Call] = []
        self._planned: list[PlannedFault[Fault]] = []
        self._bringing: set[asyncio.Task[None]] = set()

    @property
    def token(self) -> str:
        """Token of the first bot."""
        return self.bot.token

    async def start(self, port: int = 0) -> None:
        await super().start(port)
        for bot in self.bots.values():
            self._bring(bot)

    async def stop(self) -> None:
        self._stopping.set()
        for task in self._bringing:
            task.cancel()
        await asyncio.gather(*self._bringing, return_exceptions=True)
        await super().stop()

    def add_bot(self, token: str, username: str, *, name: str = "Commonplace", privacy: bool = True) -> Bot:
        bot = super().add_bot(token, username, name=name, privacy=privacy)
        if self._runner:
            self._bring(bot)
        return bot

    def _bring(self, bot: Bot) -> None:
        task = asyncio.ensure_future(bot.inbox.deliver_to_webhook(pause=self.webhook_pause))
        self._bringing.add(task)
        task.add_done_callback(self._bringing.discard)

    # -- for tests -------------------------------------------------------------------------------------------

    def fail(
        self, method: str, fault: Fault, *, times: int | None = 1, chat: int | None = None, after: int = 0
    ) -> None:
        """Make the next calls fail; `*` for any method, `file` for downloads, times=None until `clear_faults`.

        `chat`: only calls for it. `after`: number of calls to let through first.
        """
        self._planned.append(PlannedFault(method.lower(), fault, times, chat, after))

    def clear_faults(self) -> None:
        """Cancel all requested faults."""
        self._planned.clear()

    def calls_of(self, *methods: str, chat: int | None = None) -> list[Call]:
        """Return the calls of these methods, in order."""
        wanted = {one.lower() for one in methods}
        return [
            call
            for call in self.calls
            if call.method.lower() in wanted and (chat is None or call.parameters.get("chat_id") == chat)
        ]

    @property
    def refusals(self) -> list[Call]:
        """Return the calls that were rejected for their content, not on demand or for rate limits."""
        return [
            call for call in self.calls if 400 <= call.status < 500 and call.status != 429 and not call.faulty
        ]

    async def wait_until_polling(self, *, within: float = 15.0) -> None:
        """Wait until a bot polls for updates."""
        await self.wait_until(
            lambda: any(bot.inbox.poll for bot in self.bots.values()), within=within, what="a poll"
        )

    async def wait_until_confirmed(self, *, within: float = 15.0) -> None:
        """Wait until all updates are confirmed."""
        await self.wait_until(
            lambda: not any(bot.inbox.pending for bot in self.bots.values()),
            within=within,
            what="the confirmation of all updates",
        )

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
            f"  {one.method} {_short(one.parameters)} → {one.status} {one.description}" for one in self.calls
        ]
        return "\n".join([super().report(), f"calls ({len(calls)}):", *calls[-15:]])

    # -- HTTP ------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        began = time.monotonic()
        if request.method not in ("GET", "POST"):
            self.calls.append(Call(request.path, {}, began, status=405, description="Method Not Allowed"))
            return web.Response(status=405)
        if request.path.startswith("/file/bot"):
            return await self._download(request, began)
        # Everything after the token is the method, including slashes, as in Telegram.
        token, slash, name = request.path.removeprefix("/bot").partition("/")
        if not request.path.startswith("/bot") or not slash:
            self.calls.append(Call(request.path, {}, began, status=404, description=NOT_FOUND.description))
            return _answer(NOT_FOUND)
        try:
            parameters = await read_parameters(request)
        except (ValueError, UnicodeDecodeError):
            return _answer(bad_request("can't parse the request"))
        call = Call(name, parameters, began, self.bots.get(token))
        self.calls.append(call)
        try:
            return await self._respond(request, call, lambda: self._perform(token, call))
        finally:
            call.seconds = time.monotonic() - began
            self.notify_waiters()

    async def _respond(
        self, request: web.BaseRequest, call: Call, work: Callable[[], Awaitable[web.Response]]
    ) -> web.StreamResponse:
        """Respond, or fail on demand."""
        planned = next(
            (one for one in self._planned if one.fits(call.method.lower(), call.parameters.get("chat_id"))),
            None,
        )
        if planned is None:
            return await work()
        fault = planned.fault
        call.faulty = fault.kind != "delay"
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
        response = await work() if fault.done else None
        if fault.kind == "delay" and response is not None:
            return response
        call.status = fault.code
        if fault.kind == "hang":
            self.notify_waiters()
            await self._stopping.wait()
        if fault.kind == "drip":
            return await drip(request, fault.seconds)
        if fault.refusal:
            call.description = fault.refusal.description
            return _answer(fault.refusal)
        if fault.kind == "answer":
            body = fault.body.encode() if isinstance(fault.body, str) else fault.body
            return web.Response(status=fault.code, body=body, content_type=fault.content_type)
        return reset(request)

    async def _perform(self, token: str, call: Call) -> web.Response:
        try:
            call.result = await self._result(token, call)
        except Refusal as refusal:
            call.status, call.description = refusal.status, refusal.description
            return _answer(refusal)
        call.status = 200
        return web.json_response({"ok": True, "result": call.result})

    async def _result(self, token: str, call: Call) -> Any:
        if ":" not in token:
            raise NOT_FOUND
        if call.bot is None:
            raise Refusal(401, "Unauthorized")
        method = METHODS.get(call.method.lower())
        if method is None or (call.method.lower() == "sendmessagedraft" and not self.knows_drafts):
            raise Refusal(404, "Not Found: method not found")
        result = method(self, call.bot, call.parameters)
        return await result if inspect.isawaitable(result) else result

    async def _download(self, request: web.BaseRequest, began: float) -> web.StreamResponse:
        token, _, path = request.path.removeprefix("/file/bot").partition("/")
        call = Call("file", {"path": path}, began, self.bots.get(token))
        self.calls.append(call)

        async def work() -> web.Response:
            file = self.files.by_path.get(path)
            if call.bot is None or file is None:
                call.status = 404 if call.bot else 401
                return _answer(Refusal(call.status, "Not Found" if call.bot else "Unauthorized"))
            call.status = 200
            return web.Response(body=file.data, content_type="application/octet-stream")

        return await self._respond(request, call, work)


def _answer(refusal: Refusal) -> web.Response:
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
    return web.json_response(refusal.as_json(), status=refusal.status, headers=headers)


def _short(parameters: Parameters) -> str:
    text = json.dumps(parameters, ensure_ascii=False, default=repr)
    return text if len(text) < 200 else f"{text[:200]}…"
