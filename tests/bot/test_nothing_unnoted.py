"""Whatever shortens a conversation: what people said in it is flushed before, unless the memory was off."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.config.settings import FlushSettings
from bot.models.errors import ContextTooLong
from tests.fakes.harness import Harness, open_harness
from tests.fakes.turns import NOW

LONG = "All about flower pots, one after the other. " * 12
KEY = "Anna's key lies under the third flower pot."
ANNA: dict[str, Any] = {"chat": "telegram:2", "sender": "telegram:2", "alone": False}
IN_ROOM: dict[str, Any] = {"chat": "telegram:-5", "sender": "telegram:1", "alone": False, "in_room": True}
FLUSH = FlushSettings(token_threshold=60)


async def say(house: Harness, text: str, *, answers: int = 6, **where: Any) -> None:
    """Say something; every question to the model is answered alike, also those about what is to be kept."""
    for _ in range(answers - house.model.left):
        house.model.enqueue("- There was talk of flower pots.")
    await house.accept(text, **(where or ANNA))
    await house.wait_until_idle()
    house.model.clear()


async def find_unnoted(house: Harness) -> list[str]:
    """Return what was said up to the latest summary and is part of no flush."""

    def read(db: Any) -> list[str]:
        return [
            json.loads(payload)["text"]
            for (payload,) in db.execute(
                "SELECT payload FROM entries AS said WHERE kind = 'user' AND seq <= (SELECT "
                "max(payload ->> '$.upto') FROM entries WHERE kind = 'summary' AND conversation = said.conversation) "
                "AND NOT EXISTS (SELECT 1 FROM flushes WHERE conversation = said.conversation "
                "AND seq > after AND seq <= upto) ORDER BY conversation, seq"
            )
        ]

    return await house.state.read(read)


async def count_summaries(house: Harness) -> int:
    count: int = await house.state.read(
        lambda db: db.execute("SELECT count(*) FROM entries WHERE kind = 'summary'").get
    )
    return count


async def retry(house: Harness) -> None:
    await say(house, LONG)
    await say(house, "/retry")


async def edit(house: Harness) -> None:
    await say(house, LONG)
    await say(house, f"{LONG} And the fourth.", **ANNA, edit_of=house.sent[-1].id)


async def edit_while_it_is_answered(house: Harness) -> None:
    await say(house, LONG)
    asked = len(house.model.history)
    house.model.enqueue("I see.", held=True)
    said = await house.accept(LONG, **ANNA)
    await house.wait_until_asked(asked + 1)
    await say(house, f"{LONG} And the fourth.", **ANNA, edit_of=said.id)


async def stop(house: Harness) -> None:
    await say(house, LONG)
    asked = len(house.model.history)
    house.model.enqueue("I see.", hang=True)
    said = await house.accept(LONG, **ANNA)
    await house.wait_until_asked(asked + 1)
    house.model.enqueue("- There was talk of flower pots.")
    assert await house.assistant.stop(said.chat)
    await house.wait_until_idle()
    house.model.clear()


async def overflow(house: Harness) -> None:
    house.model.enqueue(error=ContextTooLong("too long", model="scripted/model"))
    await say(house, "And the fourth?", answers=7)


async def recalled_passages(house: Harness) -> None:
    await house.memory.write("The spare flower pots are in the cellar of Tom's aunt.")
    await say(house, "Where are the spare flower pots of Tom's aunt?")
    recalled = "SELECT count(*) FROM entries WHERE kind = 'passages'"
    assert await house.state.read(lambda db: db.execute(recalled).get)
    await say(house, LONG)


async def by_hand(house: Harness) -> None:
    await say(house, "And the fourth?")
    await say(house, "/compact")


async def new(house: Harness) -> None:
    await say(house, LONG)
    await say(house, "/new")


@pytest.mark.parametrize(
    "shorten",
    [retry, edit, edit_while_it_is_answered, stop, overflow, recalled_passages, by_hand, new],
    ids=lambda each: each.__name__,
)
async def test_nothing_is_summed_up_unnoted(
    tmp_path: Path, shorten: Callable[[Harness], Awaitable[None]]
) -> None:
    async with open_harness(tmp_path, flush=FLUSH) as house:
        await say(house, KEY)
        await shorten(house)
        await say(house, LONG)
        await say(house, LONG)
        assert await count_summaries(house)
        assert await find_unnoted(house) == []


async def test_nothing_is_summed_up_unnoted_that_lies_idle(tmp_path: Path) -> None:
    clock = [NOW]

    def now() -> datetime:
        return clock[0]

    flush = FlushSettings(token_threshold=200, idle_minutes=2)
    async with open_harness(tmp_path, flush=flush, now=now) as house:
        for text in (KEY, LONG):
            await say(house, text)
        clock[0] += timedelta(minutes=5)
        await house.compactor.flush_idle(house.assistant._dispatcher.lock_chat)
        await say(house, LONG)
        assert await count_summaries(house)
        assert await find_unnoted(house) == []


async def test_of_a_room_only_what_was_summed_up_while_its_memory_was_off_is_unnoted(tmp_path: Path) -> None:
    async with open_harness(tmp_path, flush=FLUSH) as house:
        await say(house, "/memory on", **IN_ROOM)
        await say(house, KEY, **IN_ROOM)
        await say(house, "/memory off", **IN_ROOM)
        for number in range(3):
            await say(house, f"{number} {LONG}", **IN_ROOM)
        off = await find_unnoted(house)
        assert off
        assert KEY not in off
        await say(house, "/memory on", **IN_ROOM)
        for number in range(3, 6):
            await say(house, f"{number} {LONG}", **IN_ROOM)
        house.model.enqueue(f"- {KEY}")
        await house.compactor.resume()
        assert await find_unnoted(house) == off
        assert KEY in (tmp_path / "memory" / f"{NOW:%Y-%m-%d}.md").read_text()
        first = "SELECT after, stage FROM flushes ORDER BY conversation, after LIMIT 1"
        assert await house.state.read(lambda db: db.execute(first).fetchone()) == (0, "done")
