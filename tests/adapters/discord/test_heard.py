"""How far all is taken in."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from discord.utils import snowflake_time

from adapters.discord.heard import Heard
from bot.channel_store import ChannelStore
from bot.state.database import State


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ChannelStore]:
    async with State(tmp_path / "state.db", now=lambda: datetime.now(UTC)) as state:
        yield ChannelStore(state, "discord")


async def test_from_the_first_start_on_nothing_is_missed_however_early_that_run_ends(
    store: ChannelStore,
) -> None:
    began = datetime.now(UTC)
    first = Heard(store, slack=timedelta(seconds=60))
    await first.load()
    second = Heard(store, slack=timedelta(seconds=60))
    await second.load()
    assert second.mark == first.mark > 0
    assert abs(snowflake_time(second.mark) - began) < timedelta(seconds=5)
