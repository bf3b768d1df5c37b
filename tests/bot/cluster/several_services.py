"""Several services with one database and one folder of notes, as processes; and a model that shows what it was told."""

import asyncio
import contextlib
import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from urllib.error import HTTPError
from urllib.request import urlopen

import apsw
import pytest
from aiohttp import web

from tests.fakes.commonplace import Commonplace
from tests.fakes.free_port import free_port
from tests.fakes.model_server import ModelAnswer
from tests.fakes.openai_server import OpenAIServer

TAKE_OVER_SECONDS = 30.0
HANDED_OVER_SECONDS = 2.0
BEAT_SECONDS = 3.0
CONFIG = """
[access]
owners = ["telegram:1"]
allow = ["telegram:*", "discord:*"]
[models]
chain = ["openai/gpt-test"]
[memory.embedding]
provider = "none"
"""


class EchoServer(OpenAIServer):
    """A model that names all numbers that it has been told in the conversation."""

    hangs = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = [
            number
            for message in body["messages"]
            if message["role"] == "user"
            for number in re.findall(r"m\d+\b", str(message["content"]))
        ]
        self.always(
            ModelAnswer(
                ["I know ", *(f"{number} " for number in said), "(all)"], hang_after=1 if self.hangs else None
            )
        )
        try:
            return await super().handle(request)
        except ConnectionResetError:  # whoever asked was killed
            return web.Response()


class Service:
    """`commonplace run` with a workspace of its own, whose notes are those of all."""

    def __init__(
        self,
        folder: Path,
        *,
        environment: dict[str, str],
        config: str,
        notes: Path,
        workspace: Path | None = None,
    ) -> None:
        folder.mkdir()
        if workspace:
            (folder / "workspace").symlink_to(workspace)
        else:
            (folder / "workspace").mkdir()
            (folder / "workspace" / "memory").symlink_to(notes)
        (folder / "config.toml").write_text(config)
        self.folder = folder
        self.workspace = folder / "workspace"
        self.port = free_port()
        self._commonplace = Commonplace(folder)
        self._commonplace.environment |= environment | {
            "COMMONPLACE_SERVER__PORT": str(self.port),
            "COMMONPLACE_INSTANCE__NAME": folder.name,
        }
        self._process: subprocess.Popen[str] | None = None
        self._log = folder / "log"

    def use_webhook(self) -> None:
        """Have Telegram bring its updates to this very process."""
        self._commonplace.environment |= {
            "COMMONPLACE_TELEGRAM__MODE": "webhook",
            "COMMONPLACE_TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{self.port}",
        }

    def start(self) -> None:
        with self._log.open("a") as log:
            self._process = self._commonplace.start("run", "--config", "config.toml", stderr=log.fileno())

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        assert self._process
        assert self._process.poll() is None, self.log
        self._process.send_signal(how)
        if how is signal.SIGKILL:
            self._process.communicate()

    async def leave(self) -> float:
        """Tell it to leave; how many seconds it took."""
        assert self._process
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(self._process.communicate, None, 20)
        assert self._process.returncode == 0, self.log
        return time.monotonic() - began

    async def say(self, text: str) -> str:
        """Say something in the terminal of its workspace, in a process beside it; what is answered."""
        said = await asyncio.to_thread(self._commonplace, "chat", "--config", "config.toml", "-m", text)
        return said.stdout

    @property
    def log(self) -> str:
        return self._log.read_text()

    def close(self) -> None:
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
                self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=15)
            self._process.kill()
            self._process.communicate()

    async def health(self) -> dict[str, object]:
        """What `/healthz` says; nothing where nobody answers."""
        return await asyncio.to_thread(self._health)

    def _health(self) -> dict[str, object]:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5) as answer:
                return dict(json.load(answer))
        except HTTPError as error:
            return dict(json.load(error))
        except OSError:
            return {}

    async def is_standby(self, *, within: float = 20) -> None:
        """Wait until it says that it is one."""

        async def found() -> bool:
            return (await self.health()).get("role") == "standby"

        await until(found, within=within, what=f"{self.folder.name} a standby", told=lambda: self.log)

    async def has_delivered(self, *, within: float = 20) -> None:
        """Wait until it has noted that every reply has arrived."""

        def found() -> bool:
            with contextlib.closing(apsw.Connection(str(self.workspace / ".commonplace" / "state.db"))) as db:
                return not db.execute("SELECT count(*) FROM inbox WHERE state != 'delivered'").get

        await until(found, within=within, what=f"{self.folder.name} delivers", told=lambda: self.log)

    async def is_in(self, channel: str, *states: str, within: float = 20) -> None:
        """Wait until one of its channels is in a state, or in one of several."""

        async def found() -> bool:
            channels = (await self.health()).get("channels")
            return isinstance(channels, dict) and channels.get(channel) in states

        what = f"{self.folder.name} {channel} {' or '.join(states)}"
        await until(found, within=within, what=what, told=lambda: self.log)


async def until(found: Callable[[], object], *, within: float, what: str, told: Callable[[], str]) -> None:
    deadline = time.monotonic() + within
    while True:
        is_found = found()
        if asyncio.iscoroutine(is_found):
            is_found = await is_found
        if is_found:
            return
        if time.monotonic() > deadline:
            pytest.fail(f"{what}\n{told()}")
        await asyncio.sleep(0.1)


class House:
    """The services of one test."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.services: list[Service] = []

    def service(
        self,
        name: str,
        *,
        take_over: tuple[Service, ...] = (),
        config: str = CONFIG,
        workspace: Service | None = None,
    ) -> Service:
        folders = [str(each.workspace) for each in take_over]
        service = Service(
            self._folder / name,
            environment=self._environment,
            config=f"{config}\n[instance]\ntake_over = {json.dumps(folders)}\n",
            notes=self.notes,
            workspace=workspace.workspace if workspace else None,
        )
        self.services.append(service)
        return service

    async def active_and_standby(self) -> tuple[Service, Service]:
        """Two with a workspace each; the first has Telegram's channel, and the second waits for it."""
        first, second = self.service("first"), self.service("second")
        first.start()
        await first.is_in("telegram", "up")
        second.start()
        await second.is_in("telegram", "standby")
        return first, second

    @property
    def log(self) -> str:
        return "\n".join(f"== {each.folder.name}\n{each.log}" for each in self.services)


def known(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"m(\d+)\b", text)]


class Shown(Protocol):
    """A chat, as its people see it."""

    @property
    def texts(self) -> list[str]:
        """What the bot's messages say now."""
        ...


async def answered(chat: Shown, number: int, *, house: House, within: float = TAKE_OVER_SECONDS) -> float:
    """Wait until the last word that somebody said is answered; seconds."""
    began = time.monotonic()

    def found() -> bool:
        return any(known(text)[-1:] == [number] and text.endswith("(all)") for text in chat.texts)

    await until(found, within=within, what=f"m{number} in {chat.texts}", told=lambda: house.log)
    return time.monotonic() - began
