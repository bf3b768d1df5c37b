"""What `/status` tells of the instances in a chat beside them, which is none of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.access import Standing
from bot.cluster.instance import load_instance
from bot.cluster.leases import Leases
from bot.cluster.read_status import read_status
from bot.commands.command import CommandCall
from bot.commands.general import show_status
from bot.config.reload import LiveSettings
from bot.config.settings import Settings
from memory.postgres.server import Server
from tests.fakes.harness import Harness, open_harness
from tests.fakes.turns import message


def shared(folder: Path, url: str) -> Settings:
    return Settings.model_validate({"workspace": folder, "index": {"url": url}, "timezone": "Asia/Kathmandu"})


@asynccontextmanager
async def held(folder: Path, url: str, *names: str) -> AsyncIterator[None]:
    """By an instance called attic."""
    private = folder / "attic"
    private.mkdir()
    server = Server(url)
    async with Leases(server, instance=load_instance(private, name="attic"), private=private) as leases:
        for name in names:
            await asyncio.wait_for(leases.want(name).wait_until_held(), 10)
        yield
    server.close()


async def status(house: Harness, settings: Settings) -> list[str]:
    """What the owner is told beyond what a chat alone tells."""
    call, services = CommandCall(message("/status"), Standing.OWNER, {}, "k"), house.assistant.services
    usual = (await show_status(call, services)).splitlines()
    beside = replace(services, live_settings=LiveSettings(settings), now=settings.now)
    told = (await show_status(call, beside)).splitlines()
    return [line for line in told if line not in usual]


@pytest.mark.thorough
async def test_a_chat_beside_the_service_tells_who_does_what(tmp_path: Path, database: str) -> None:
    settings = shared(tmp_path, database)
    async with open_harness(tmp_path) as house:
        assert await status(house, settings) == ["No instance is running."]
        async with held(tmp_path, database, "channel:telegram:3fa8b1c2", "job:backup"):
            time = f"{settings.now():%H:%M}"
            first, second = await status(house, settings)
        assert first.startswith("Telegram (3fa8): attic, since ")
        assert second.startswith("Backup of the notes: attic, since ")
        told = {first.rpartition(" ")[2], second.rpartition(" ")[2]}
        assert told <= {time, f"{settings.now():%H:%M}"}, "on the owner's clock"


async def test_while_the_server_is_away_that_is_told_and_not_where_it_is(tmp_path: Path) -> None:
    settings = shared(tmp_path, "postgresql://me:s3cret@127.0.0.1:9/none")
    async with open_harness(tmp_path) as house:
        (line,) = await status(house, settings)
        assert line.startswith(
            "I can't tell what other instances are doing because the index server can't be reached"
        )
        assert "127.0.0.1" not in line
    found = await read_status(settings)
    assert found
    assert "127.0.0.1" in found.problem, "whoever may know is told"
    assert "s3cret" not in found.problem


async def test_without_a_server_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    assert await read_status(Settings(workspace=tmp_path)) is None
