"""What discord.py does not promise is used in one module alone, and looked for at each start."""

import ast
import asyncio
from pathlib import Path
from typing import Any

import discord
import pytest
from discord.gateway import DiscordWebSocket, KeepAliveHandler
from discord.http import HTTPClient

from adapters.discord.private_api import NAMES, TESTED, LibraryChanged, check_library
from tests.adapters.discord.listening import Ear, listening
from tests.fakes.discord_api.server import DiscordApi

FOLDER = Path(__file__).parents[3] / "adapters" / "discord"
FILES = sorted(FOLDER.rglob("*.py"))


def test_every_call_that_is_made_is_looked_for() -> None:
    called = set[str]()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Attribute(value=ast.Call(func=ast.Name(id="http_client")), attr=attr):
                    called.add(f"discord.http:HTTPClient.{attr}")
                case ast.Attribute(value=ast.Name(id="http"), attr=attr) if (
                    file.stem == "command_registration"
                ):
                    called.add(f"discord.http:HTTPClient.{attr}")
                case ast.Attribute(value=ast.Call(func=ast.Name(id="webhooks")), attr=attr):
                    called.add(f"discord.webhook.async_:AsyncWebhookAdapter.{attr}")
    assert len(called) > 10
    assert called <= NAMES.keys()


def test_the_mend_names_the_version_that_is_locked() -> None:
    lock = (FOLDER.parents[1] / "requirements" / "runtime.txt").read_text("utf-8")
    assert f"discord-py=={TESTED} " in lock


async def test_the_library_that_is_installed_has_all_of_it() -> None:
    check_library()


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (HTTPClient, "logs_from", "discord.http.HTTPClient.logs_from"),
        (DiscordWebSocket, "DEFAULT_GATEWAY", "discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY"),
        (KeepAliveHandler, "stop", "discord.gateway.KeepAliveHandler.stop"),
    ],
)
async def test_what_is_missing_is_named_with_the_version(
    owner: type, name: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(owner, name)
    with pytest.raises(LibraryChanged) as error:
        check_library()
    assert f"discord.py {discord.__version__} has no {told}" in str(error.value)
    assert "pip install discord.py==" in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_parameter_that_has_another_name_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def logs_from(self: Any, channel: int, count: int) -> None: ...

    monkeypatch.setattr(HTTPClient, "logs_from", logs_from)
    with pytest.raises(LibraryChanged, match=r"parameter channel_id of discord\.http\.HTTPClient\.logs_from"):
        check_library()


async def test_with_another_library_the_channel_is_down_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(HTTPClient, "logs_from")
    ear = Ear()
    async with DiscordApi() as api, listening(api, tmp_path, ear, is_up=False):
        await ear.until(lambda: ear.state == "down")
        await asyncio.sleep(0)
        assert api.calls == []
    assert f"discord.py {discord.__version__}" in ear.health[-1].detail
    assert [record.exc_info for record in caplog.records if record.name.startswith("adapters")] == [None]
