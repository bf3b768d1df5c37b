from functools import partial
from pathlib import Path

from bot.state.access import Asking, keep_asking
from bot.state.counts import Counts, counts
from bot.state.database import State
from tests.fakes.kept_conversation import end_conversation

DAY = "2026-11-21T{}:00.000+00:00"


async def test_conversations_and_those_who_ask_are_counted(tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        for chat in ("telegram:1", "telegram:2"):
            await state.append(None, chat, [("user", "{}")], after=0)
        await end_conversation(state, "telegram:2")
        await state.append(None, "telegram:2", [("user", "{}")], after=0)
        for person, at in (("telegram:8", "09:00"), ("telegram:9", "11:30"), ("telegram:10", "23:00")):
            asking = Asking(person, f"CODE{person[-1]}", "", "", "", DAY.format(at))
            await state.change(partial(keep_asking, stranger=asking))
        since, now = DAY.format("11:00"), DAY.format("12:00")
        told = await state.read(lambda db: counts(db, asked_since=since, now=now))
        assert told == Counts(conversations=2, ended=1, asking=1)
