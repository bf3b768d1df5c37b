import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import apsw
import pytest

from bot.state.conversation_list import (
    ListPlace,
    count_conversations,
    find_conversation,
    list_latest,
    read_chats,
)
from bot.state.database import State
from bot.state.flushes import save_chat
from tests.fakes.stored_conversation import end_conversation

MANY = 100_000
MOST_SECONDS = 0.1


async def test_they_are_listed_by_their_latest_entry_or_their_end(tmp_path: Path) -> None:
    seconds = count()
    async with State(
        tmp_path / "state.db",
        now=lambda: datetime(2026, 11, 21, tzinfo=UTC) + timedelta(seconds=next(seconds)),
    ) as state:
        for chat in ("telegram:1", "telegram:2"):
            await state.append(None, chat, [("user", "{}"), ("assistant", "{}"), ("result", "{}")], after=0)
        await end_conversation(state, "telegram:1")
        await state.append(None, "telegram:1", [("user", "{}")], after=0)
        await state.change(lambda db: save_chat(db, "telegram:2", name="Ben", flush=True))
        listed, more = await state.read(lambda db: list_latest(db, limit=10))
        assert more is None
        assert [(each.number, each.chat, each.chat_name, each.messages) for each in listed] == [
            (3, "telegram:1", "", 1),
            (1, "telegram:1", "", 2),
            (2, "telegram:2", "Ben", 2),
        ]
        assert [bool(each.ended_at) for each in listed] == [False, True, False]
        assert await state.read(read_chats) == ("telegram:1", "telegram:2")
        only = await state.read(lambda db: list_latest(db, chats=["telegram:2"], limit=1))
        assert [each.number for each in only[0]] == [2]
        assert await state.read(lambda db: list_latest(db, chats=[], limit=9)) == ((), None)
        assert await state.read(lambda db: count_conversations(db, chats=["telegram:1"])) == 2
        assert await state.read(lambda db: find_conversation(db, 4)) is None


async def test_page_after_page_each_is_listed_once(tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        await state.change(lambda db: fill(db, 100))
        found: list[int] = []
        place: ListPlace | None = None
        while True:
            listed, place = await state.read(lambda db, at=place: list_latest(db, limit=7, before=at))  # type: ignore[misc]
            found += [each.number for each in listed]
            if place is None:
                break
        assert sorted(found) == list(range(1, 101))


@pytest.mark.thorough
async def test_a_hundred_thousand_are_listed_at_once(tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        await state.change(lambda db: fill(db, MANY))
        for before in (None, ListPlace("2016-01-01", 0)):
            for chats in (None, ["imported:telegram:1"], ["telegram:9"]):
                took = []
                for _ in range(5):
                    began = time.perf_counter()
                    listed = await state.read(
                        lambda db, at=before, of=chats: list_latest(db, chats=of, limit=50, before=at)  # type: ignore[misc]
                    )
                    await state.read(lambda db, of=chats: count_conversations(db, chats=of))  # type: ignore[misc]
                    took.append(time.perf_counter() - began)
                assert listed[0]
                assert min(took) < MOST_SECONDS, (before, chats, took)


def fill(db: apsw.Connection, count: int) -> None:
    """Add ended conversations of ten years, most of them imported, with two messages each."""
    for number in range(1, count + 1):
        at = f"20{10 + number // 11 % 10}-0{1 + number % 9}-1{number % 8}T10:{number % 60:02d}:00.000+00:00"
        chat = "imported:telegram:1" if number % 3 else f"telegram:{number % 900}"
        db.execute("INSERT INTO conversations (chat, started_at, ended_at) VALUES (?, ?, ?)", (chat, at, at))
        for seq, kind in enumerate(("user", "assistant"), 1):
            db.execute("INSERT INTO entries VALUES (?, ?, ?, '{}', ?)", (number, seq, kind, at))
