"""What most tests of Telegram begin with."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.bot_api.server import BotApi


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api
