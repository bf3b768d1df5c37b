"""How far all is taken in."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from discord.utils import snowflake_time

from adapters.discord.read_cursor import ReadCursor
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
    first = ReadCursor(store, slack=timedelta(seconds=60))
    await first.load()
    second = ReadCursor(store, slack=timedelta(seconds=60))
    await second.load()
    assert second.mark == first.mark > 0
    assert abs(snowflake_time(second.mark) - began) < timedelta(seconds=5)


async def test_what_another_instance_has_answered_meanwhile_is_not_looked_for(store: ChannelStore) -> None:
    first = ReadCursor(store)
    await first.load()
    old = first.mark
    await first.save({7: old - 5, 8: old - 5})
    since = datetime.now(UTC) + timedelta(hours=1)
    second = ReadCursor(store, since=since)
    await second.load()
    assert snowflake_time(second.mark) - since < timedelta(milliseconds=1)
    assert set(second.behind.values()) == {second.mark}
    third = ReadCursor(store, since=since - timedelta(hours=2))
    await third.load()
    assert third.mark == second.mark, "what this one has taken in since then counts"
