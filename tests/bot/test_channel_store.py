"""What a channel must know again after a restart."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.channel_store import ChannelStore
from bot.state.channels import MAX_UNREAD
from bot.state.database import State


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(tmp_path / "state.db", now=lambda: datetime(2026, 11, 21, tzinfo=UTC)) as state:
        yield state


async def test_facts_are_kept_by_channel(state: State) -> None:
    telegram, discord = ChannelStore(state, "telegram"), ChannelStore(state, "discord")
    await telegram.put("seen:1", "10")
    await telegram.put("seen:2", "20")
    await telegram.put("seen_1", "no")
    await discord.put("seen:1", "99")
    assert await telegram.get("seen:1") == "10"
    assert await telegram.list_prefix("seen:") == {"seen:1": "10", "seen:2": "20"}
    assert await discord.get("seen:2") == ""


async def test_a_fact_is_replaced_and_forgotten(state: State) -> None:
    store = ChannelStore(state, "telegram")
    await store.put("me", "one")
    await store.put("me", "two")
    assert await store.get("me") == "two"
    await store.put("me", "")
    assert await store.list_prefix("") == {}


async def test_what_cannot_be_read_is_set_aside_once(state: State) -> None:
    store = ChannelStore(state, "telegram")
    assert await store.keep_unreadable("7", "{}", "KeyError")
    assert not await store.keep_unreadable("7", "{}", "KeyError")
    assert await store.count_unreadable() == 1


async def test_only_the_latest_of_what_cannot_be_read_is_kept(state: State) -> None:
    store = ChannelStore(state, "telegram")
    for number in range(MAX_UNREAD + 5):
        await store.keep_unreadable(str(number), "{}", "KeyError")
    assert await store.count_unreadable() == MAX_UNREAD
    assert not await store.keep_unreadable(str(MAX_UNREAD + 4), "{}", "KeyError")
