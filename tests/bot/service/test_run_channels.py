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
from adapters.telegram.command_menus import FOR_ALL
from bot.assistant import Assistant
from bot.config.settings import Settings
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.service.channels import open_channels
from bot.service.open_assistant import open_assistant
from bot.service.run_channels import run_channels
from bot.supervisor import Supervisor
from bot.web.app import build_web_app
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.fresh_state import copy_fresh_state

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

OWNER = PersonId("terminal", "owner")


class Service:
    """A service that runs in this process, with one channel."""

    def __init__(
        self, assistant: Assistant, settings: Settings, client: TestClient[web.Request, web.Application]
    ) -> None:
        self.assistant = assistant
        self.client = client
        self.file = settings.private_folder / "state.db"

    def rename(self, table: str, to: str) -> None:
        """Take a table of state.db away, or bring it back, as another program might."""
        self.change(f"ALTER TABLE {table} RENAME TO {to}")

    def change(self, statement: str) -> None:
        """Change state.db as another program might."""
        db = apsw.Connection(str(self.file))
        db.set_busy_timeout(5000)
        db.execute(statement)
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
            "1", ChatId("terminal", "x"), OWNER, "/status", self.assistant.services.settings.now()
        )
        text = ""
        async for part in self.assistant.answer(said):
            text = part.text
        return text


@asynccontextmanager
async def serving(
    folder: Path, api: DiscordApi | BotApi, *, without: str = "", first: str = ""
) -> AsyncIterator[Service]:
    """Run it; `without`: a table that is not there at the start; `first`: what is done to state.db before that."""
    channel = (
        {"telegram": {"token": api.token, "api_base": api.url}}
        if isinstance(api, BotApi)
        else {"discord": {"token": api.token, "api_base": api.api_base}}
    )
    settings = Settings.model_validate({"workspace": folder, "access": {"owners": ["telegram:1"]}, **channel})
    copy_fresh_state(settings.private_folder / "state.db")
    supervisor = Supervisor(pauses=(0.2,), steady_seconds=0.5, now=settings.now)
    leaving = asyncio.Event()
    async with (
        open_assistant(settings, alone=True, supervisor=supervisor) as assistant,
        open_channels(assistant, at_terminal=False) as channels,
        TestClient(
            TestServer(
                build_web_app(
                    channels=assistant.services.channels.health,
                    memory=assistant.services.memory,
                    services=assistant.services,
                )
            )
        ) as client,
    ):
        service = Service(assistant, settings, client)
        if without:
            service.rename(without, "away")
        if first:
            service.change(first)
        assistant.services.reminders._check_seconds = 0.05
        running = asyncio.create_task(
            run_channels(channels.adapters, assistant, leaving, timeout_seconds=lambda: 0)
        )
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


@pytest.fixture
async def telegram() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        api.person(1, "Olga", started=True)
        yield api


def failures_of(task: str, caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """What the log says of them."""
    return [each for each in caplog.records if f"background task {task} failed" in each.getMessage()]


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
    monkeypatch.setattr(bot.assistant, "SCAN_SECONDS", 0.05)
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
    failures = failures_of(task, caplog)
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
    assert failures_of("discord", caplog)


@pytest.mark.thorough
async def test_telegrams_channel_fails_by_what_nobody_has_foreseen_and_comes_up_again(
    tmp_path: Path, telegram: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, telegram) as service:
        await service.until_health("ok", set())
        service.rename("unread", "away")  # where an update is kept that cannot be read
        await telegram.push_raw({"message": "x"})
        code, told = await service.until_health("unavailable", {"telegram"})
        async with asyncio.timeout(10):
            while told["channels"] != {"telegram": "down"}:  # between two starts it is
                code, told = await service.health()
                await asyncio.sleep(0.01)
        assert (code, told["missing"]) == (503, ["channel telegram"])
        service.rename("away", "unread")
        code, told = await service.until_health("ok", set())
        assert (code, told["channels"]) == (200, {"telegram": "up"})
    failures = failures_of("telegram", caplog)
    assert failures
    assert all(each.exc_info for each in failures)


def menu_of(api: BotApi) -> list[str]:
    """The commands that Telegram shows to everybody."""
    return [each["command"] for each in api.bot.commands.get(("default", ""), [])]


async def test_telegrams_menus_that_fail_are_seen_and_set_once_they_can_be(
    tmp_path: Path, telegram: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tmp_path, telegram, without="channel_facts") as service:
        code, told = await service.until_health("degraded", {"telegram menus"})
        assert (code, told["channels"]) == (200, {"telegram": "up"})
        assert "The background task “telegram menus” failed" in await service.status()
        service.rename("away", "channel_facts")
        await service.until_health("ok", set())
        assert menu_of(telegram) == list(FOR_ALL)
    assert failures_of("telegram menus", caplog)


@pytest.mark.thorough
async def test_discords_commands_that_fail_are_seen_and_set_once_they_can_be(
    tmp_path: Path, api: DiscordApi, caplog: pytest.LogCaptureFixture
) -> None:
    odd = f"commands:{api.bot.id}:odd"
    noted = f"INSERT INTO channel_facts (channel, key, value) VALUES ('discord', '{odd}', 'x')"
    async with serving(tmp_path, api, first=noted) as service:
        code, told = await service.until_health("degraded", {"discord commands"})
        assert (code, told["channels"]) == (200, {"discord": "up"})
        assert "The background task “discord commands” failed" in await service.status()
        assert api.bot.commands == {}
        service.change(f"DELETE FROM channel_facts WHERE key = '{odd}'")
        await service.until_health("ok", set())
        assert api.bot.commands
    assert failures_of("discord commands", caplog)


async def test_direct_conversations_that_cannot_be_opened_are_seen_and_opened_once_they_can_be(
    tmp_path: Path, api: DiscordApi, caplog: pytest.LogCaptureFixture
) -> None:
    olga = api.person("olga")
    let_in = f"INSERT INTO people VALUES ('discord:{olga.id}', 'allowed', '', '', '2026-11-23')"
    async with serving(tmp_path, api, first=f"{let_in}; ALTER TABLE people RENAME TO away") as service:
        code, told = await service.until_health("degraded", {"discord direct conversations"})
        assert (code, told["channels"]) == (200, {"discord": "up"})
        assert not api.calls_of("create_dm")
        service.rename("away", "people")
        await service.until_health("ok", set())
        assert api.calls_of("create_dm")
    assert failures_of("discord direct conversations", caplog)
