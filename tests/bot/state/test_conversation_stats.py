from functools import partial
from pathlib import Path

from bot.state.access import PairingRequest, save_pairing_request
from bot.state.conversation_stats import ConversationStats, read_conversation_stats
from bot.state.database import State
from tests.fakes.stored_conversation import end_conversation

DAY = "2026-11-21T{}:00.000+00:00"


async def test_conversations_and_those_who_ask_are_counted(tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        for chat in ("telegram:1", "telegram:2"):
            await state.append(None, chat, [("user", "{}")], after=0)
        await end_conversation(state, "telegram:2")
        await state.append(None, "telegram:2", [("user", "{}")], after=0)
        for person, at in (("telegram:8", "09:00"), ("telegram:9", "11:30"), ("telegram:10", "23:00")):
            asking = PairingRequest(person, f"CODE{person[-1]}", "", "", "", DAY.format(at))
            await state.change(partial(save_pairing_request, stranger=asking))
        since, now = DAY.format("11:00"), DAY.format("12:00")
        told = await state.read(lambda db: read_conversation_stats(db, asked_since=since, now=now))
        assert told == ConversationStats(conversations=2, ended=1, asking=1)
