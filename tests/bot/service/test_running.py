"""What goes on in the background of a service fails by a fault in state.db, is reported, and works again after it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import bot.assistant
from bot.config.settings import Settings
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.service.assembly import Parts
from bot.service.channels import open_channels
from bot.service.http import inside_of
from bot.service.opening import open_assistant
from bot.service.running import run_channels
from bot.supervision import Supervisor
from bot.web.app import build_web_app
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.first_start import laid_state

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

OWNER = PersonId("terminal", "owner")


class Service:
    """A service that runs in this process, with Discord for its channel."""

    def __init__(
        self, parts: Parts, settings: Settings, client: TestClient[web.Request, web.Application]
    ) -> None:
        self.parts = parts
        self.client = client
        self.file = settings.private_folder / "state.db"

    def rename(self, table: str, to: str) -> None:
        """Take a table of state.db away, or bring it back, as another program might."""
        db = apsw.Connection(str(self.file))
        db.set_busy_timeout(5000)
        db.execute(f"ALTER TABLE {table} RENAME TO {to}")
        db.close()

    async def health(self) -> tuple[int, dict[str, object]]:
        answer = await self.client.get("/healthz")
        return answer.status, await answer.json()

    async def until_health(self, status: str, tasks: set[str]) -> tuple[int, dict[str, object]]:
        async with asyncio.timeout(20):
            while True:
                code, told = await self.health()
                found = told.get("tasks", {})
                if told["status"] == status and isinstance(found, dict) and set(found) == tasks:
                    return code, told
                await asyncio.sleep(0.01)

    async def status(self) -> str:
        """What an owner reads after /status."""
        said = IncomingMessage(
            "1", ChatId("terminal", "x"), OWNER, "/status", self.parts.current.settings.now()
        )
        text = ""
        async for part in self.parts.assistant.answer(said):
            text = part.text
        return text


@asynccontextmanager
async def serving(folder: Path, api: DiscordApi, *, without: str = "") -> AsyncIterator[Service]:
    """Run it; `without`: a table that is not there at the start."""
    settings = Settings.model_validate(
        {"workspace": folder, "discord": {"token": api.token, "api_base": api.api_base}}
    )
    laid_state(settings.private_folder / "state.db")
    supervisor = Supervisor(pauses=(0.2,), steady_seconds=0.5, now=settings.now)
    leaving = asyncio.Event()
    async with (
        open_assistant(settings, alone=True, supervisor=supervisor) as parts,
        open_channels(parts, at_terminal=False) as channels,
        TestClient(
            TestServer(
                build_web_app(channels=parts.channels.health, memory=parts.memory, inside=inside_of(parts))
            )
        ) as client,
    ):
        service = Service(parts, settings, client)
        if without:
            service.rename(without, "away")
        parts.reminders._check_seconds = 0.05
        running = asyncio.create_task(run_channels(channels.adapters, parts, leaving, patience=lambda: 0))
        try:
            yield service
            assert not running.done()
        finally:
            leaving.set()
            await running


@pytest.fixture
async def api() -> AsyncIterator[DiscordApi]:
    async with DiscordApi() as api:
        yield api


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("task", "table"), [("inbox", "outbox"), ("conversations", "flushes"), ("reminders", "reminders")]
)
async def test_a_background_task_that_fails_is_seen_everywhere_and_works_again(
    task: str,
    table: str,
    tmp_path: Path,
    api: DiscordApi,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(bot.assistant, "ROUND_SECONDS", 0.05)
    async with serving(tmp_path, api) as service:
        code, told = await service.until_health("ok", set())
        assert (code, told["channels"]) == (200, {"discord": "up"})
        service.rename(table, "away")
        code, told = await service.until_health("degraded", {task})
        assert (code, told["channels"]) == (200, {"discord": "up"})
        page = await (await service.client.get("/")).text()
        assert f"The background task “{task}” failed" in page
        service.rename("away", table)
        assert f"The background task “{task}” failed" in await service.status()
        await service.until_health("ok", set())
        assert "background task" not in await service.status()
    failures = [
        record for record in caplog.records if f"background task {task} failed" in record.getMessage()
    ]
    assert failures
    assert all(record.levelno == logging.ERROR and record.exc_info for record in failures)


async def test_a_channel_that_fails_is_down_and_comes_up_once_it_can(
    tmp_path: Path, api: DiscordApi, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, api, without="channel_facts") as service:
        code, told = await service.until_health("unavailable", {"discord"})
        async with asyncio.timeout(10):
            while told["channels"] != {"discord": "down"}:  # between two starts it is
                code, told = await service.health()
                await asyncio.sleep(0.01)
        assert (code, told["missing"]) == (503, ["channel discord"])
        assert "The background task “discord” failed" in await service.status()
        service.rename("away", "channel_facts")
        code, told = await service.until_health("ok", set())
        assert (code, told["channels"]) == (200, {"discord": "up"})
    assert any("background task discord failed" in record.getMessage() for record in caplog.records)
