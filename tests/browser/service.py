"""The service as people run it, in a process of its own, with all that it speaks to beside it."""

import asyncio
import json
import math
import random
import re
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from aiohttp import web

from bot.messages import ChatId, PersonId
from bot.models.errors import Overloaded
from bot.models.factory import fingerprint
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import Usage
from bot.reminders import ReminderRequest, Reminders
from bot.state import access
from bot.state.access import PairingRequest
from bot.state.database import State, format_timestamp
from memory.tokenizer import parse_query
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.embedding_server import KEY, EmbeddingRequest, EmbeddingServer, answer, vector_of
from tests.fakes.openai_server import OpenAIServer

TOKEN = "correct-horse-battery-staple"
START_SECONDS = 60.0
CHAIN = ("anthropic/claude-sonnet-4-5", "openai/gpt-4.1", "builtin/notebook")
ALIKE = {("heating",): "boiler", ("repair", "maintenance"): "service", ("railway",): "train"}
"""Words that mean about the same to the fake that makes the vectors."""
NOBODY = "http://127.0.0.1:9/v1"
"""Where no model answers."""


class Outside:
    """Telegram, Discord, a model and somebody who makes vectors, on this machine, in a thread of their own."""

    def __init__(self) -> None:
        self.telegram = BotApi()
        self.discord = DiscordApi()
        self.model = OpenAIServer(model=CHAIN[0].partition("/")[2])
        self.vectors = EmbeddingServer()
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()

    @contextmanager
    def running(self) -> Iterator["Outside"]:
        thread = threading.Thread(target=self._loop.run_forever, name="outside", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(5)
            self._loop.close()

    async def _start(self) -> None:
        for server in (self.telegram, self.discord, self.model, self.vectors):
            await self._stack.enter_async_context(server)
        self.discord.guild("Home", self.discord.person("anna")).text("general")
        self.vectors.always(_by_words)

    async def _stop(self) -> None:
        await self._stack.aclose()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def settings(self, *, answers: bool) -> dict[str, dict[str, object]]:
        """Those that lead there; `answers`: whether the first model does, else the second one has two keys in vain."""
        model, keys = (self.model.base_url, [KEY]) if answers else (NOBODY, [KEY, f"{KEY}-2"])
        return {
            "access": {"allow": ["telegram:*"]},
            "models": {"chain": CHAIN, "max_retries": 0},
            "providers.anthropic": {"kind": "openai", "base_url": model, "api_key": KEY},
            "providers.openai": {"kind": "openai", "base_url": NOBODY, "api_keys": keys},
            "telegram": {"token": self.telegram.token, "api_base": self.telegram.url},
            "discord": {"token": self.discord.token, "api_base": self.discord.api_base},
            "memory.embedding": {
                "provider": "openai",
                "base_url": self.vectors.base_url("openai"),
                "api_key": KEY,
            },
        }


async def _by_words(_: web.Request, asked: EmbeddingRequest) -> web.StreamResponse:
    """Vectors that lie the nearer, the more words two texts share: what a model does, only worse."""
    vectors = []
    alike = {_stems(word)[0]: _stems(means)[0] for words, means in ALIKE.items() for word in words}
    for text in asked.texts:
        words = {alike.get(word, word) for word in _stems(text)}
        parts = [vector_of(word, 1536) for word in sorted(words) or [text]]
        summed = [sum(numbers) for numbers in zip(*parts, strict=True)]
        length = math.hypot(*summed)
        vectors.append(array("f", [number / length for number in summed]))
    return answer(asked, vectors, as_base64=asked.base64)


def _stems(text: str) -> list[str]:
    return [token for term in parse_query(text) for token in term.tokens]


async def write_past(private: Path, now: float) -> None:
    """A day of the models, as the service itself would have noted it; `now` in seconds since 1970."""
    chance = random.Random(7)
    outcomes = []
    for hour in reversed(range(24)):
        busy = 9 if 6 <= time.gmtime(now - 3600 * hour).tm_hour < 23 else 1
        for number, model in enumerate(CHAIN[:2]):
            route = RouteName(model, fingerprint(KEY))
            for _ in range(max(chance.randrange(busy + 1) // (1 + 2 * number), hour == 0)):
                failed = hour and chance.random() < 0.06 + 0.1 * number
                error = Overloaded("Overloaded, try again later", model=model) if failed else None
                waited = chance.lognormvariate(-0.4 + number, 0.4)
                outcomes.append(
                    CallOutcome(route, now - 3600 * hour, error, Usage(900, 180), waited, waited + 3)
                )
    async with State(private / "state.db") as state:
        await state.record_outcomes(outcomes)


async def write_upcoming(private: Path, now: datetime) -> None:
    """Reminders of the household's chats, and somebody who waits to be let in; `now` in the owner's time zone."""
    anna = PersonId("telegram", "7")
    async with State(private / "state.db") as state:
        reminders = Reminders(state, now=lambda: now, zone=str(now.tzinfo))
        for line, chat, room in (
            ("in 3 hours take the bread out of the oven", "7", ""),
            ("tomorrow 9:00 call the dentist about Thursday", "7", ""),
            ("every monday 8:00 put the bins out", "-100", "Family"),
        ):
            when, text = reminders.parse(line)
            request = ReminderRequest(line, ChatId("telegram", chat), anna, "Anna", room, bool(room))
            await reminders.add(request, when, text)
    await write_waiting(private, now, "Ingrid", "CDFHJKMN", number=41)


async def write_waiting(private: Path, now: datetime, name: str, code: str, *, number: int) -> None:
    """Somebody who waits to be let in, as if they had just written."""
    at, person = format_timestamp(now), f"discord:{150_000_000_000_000_000 + number}"
    async with State(private / "state.db") as state:
        waits = PairingRequest(person, code, person, name, at, at)
        await state.change(lambda db: access.save_pairing_request(db, waits))


@dataclass(slots=True)
class Service:
    """One that runs, or ran."""

    commonplace: Commonplace
    token: str
    address: str = ""
    """`http://127.0.0.1:port`, the same after another start."""
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.commonplace.folder / "service.log"

    @property
    def memory(self) -> Path:
        return self.commonplace.memory

    def start(self) -> None:
        """Returns once it says that all is well."""
        with self.log.open("ab") as log:
            self._process = self.commonplace.start("run", stderr=log.fileno())
        ends = time.monotonic() + START_SECONDS
        while not self._is_well():
            if self._process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"the service did not start:\n{self.log.read_text('utf-8')}")
            time.sleep(0.05)
        self.commonplace.environment["COMMONPLACE_SERVER__PORT"] = self.address.rpartition(":")[2]

    def stop(self) -> None:
        if self._process is None:
            return
        with self._process as process:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self._process = None

    @contextmanager
    def slowed(self) -> Iterator[None]:
        """Meanwhile it has a tenth of the time, as on a slower machine."""
        process, over = self._process, threading.Event()
        assert process

        def slow() -> None:
            while not over.is_set():
                process.send_signal(signal.SIGSTOP)
                over.wait(0.045)
                process.send_signal(signal.SIGCONT)
                over.wait(0.005)

        thread = threading.Thread(target=slow, name="slowing", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def rest(self) -> None:
        """Wait until no rebuild of an earlier test runs any more; for a service without a token."""
        ends = time.monotonic() + START_SECONDS
        while b'data-runs="yes"' in self._get("/progress"):
            assert time.monotonic() < ends, "the rebuild does not end"
            time.sleep(0.05)

    def _get(self, path: str) -> bytes:
        """What it answers; nothing where it does not."""
        try:
            with build_opener(ProxyHandler({})).open(self.address + path, timeout=5) as told:
                return bytes(told.read())
        except (URLError, ConnectionError, TimeoutError):
            return b""

    def _is_well(self) -> bool:
        found = re.findall(r"listening on (http://\S+)", self.log.read_text("utf-8"))
        if not found:
            return False
        self.address = found[-1]
        health: dict[str, Any] = json.loads(self._get("/healthz") or "{}")
        notes = [path for path in self.memory.rglob("*.md") if path.name.isprintable()]
        return health.get("status") == "ok" and health["memory"].get("files") == len(notes)


@contextmanager
def serving(
    folder: Path, tables: Mapping[str, Mapping[str, object]], *, token: str = "", zone: str = "UTC"
) -> Iterator[Service]:
    """Start the service on the workspace in `folder`; `tables`: settings by table, such as `memory.embedding`."""
    commonplace = Commonplace(folder)
    if sys.version_info < (3, 13):  # discord.py's own
        commonplace.command[1:1] = ["-W", "ignore:'audioop' is deprecated"]
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = "0"
    lines = [f"timezone = {json.dumps(zone)}"]
    for name, values in {"server": {"token": token}, **tables}.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    (folder / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")
    service = Service(commonplace, token)
    try:
        service.start()
        yield service
    finally:
        service.stop()
