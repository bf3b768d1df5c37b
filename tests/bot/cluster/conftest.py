"""Several services with one bot, one database and one model; on Telegram, where a file does not say otherwise."""

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.bot.cluster.several_services import EchoServer, House
from tests.fakes.bot_api.server import BotApi


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api


@pytest.fixture
def channel(api: BotApi) -> Mapping[str, str]:
    """Where the services find the channel, as variables of the environment."""
    return {"COMMONPLACE_TELEGRAM__TOKEN": api.token, "COMMONPLACE_TELEGRAM__API_BASE": api.url}


@pytest.fixture
async def model() -> AsyncIterator[EchoServer]:
    async with EchoServer() as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, channel: Mapping[str, str], model: EchoServer, database: str) -> Iterator[House]:
    house = House(
        tmp_path,
        {
            **channel,
            "COMMONPLACE_INDEX__URL": database,
            "COMMONPLACE_PROVIDERS__OPENAI__BASE_URL": model.base_url,
            "COMMONPLACE_PROVIDERS__OPENAI__API_KEY": model.key,
        },
    )
    try:
        yield house
    finally:
        for each in house.services:
            each.close()
