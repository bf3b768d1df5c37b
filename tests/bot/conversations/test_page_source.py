"""The pages of state.db: whatever is done to conversations, they are what a first look would find."""

import asyncio
import json
import random
import tracemalloc
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import apsw
import pytest

from bot.conversations.conversation import Conversation
from bot.conversations.page_source import PageSource, PageStamp
from bot.conversations.pages import PAGE_ENTRIES
from bot.messages import ChatId, PersonId
from bot.models.protocol import AssistantMessage, Image, ToolCall, ToolResult, UserMessage
from bot.state import chat_migration, flushes, forgetting
from bot.state.database import State
from bot.state.forgetting import ENTRIES
from memory.errors import IndexUnavailable, NoteMissing
from memory.forgetting import FORGOTTEN
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.stored_conversation import open_conversation

HERE = ChatId("telegram", "1")
ROOM = ChatId("telegram", "-5")
ANNA = PersonId("telegram", "1")
GONE = json.dumps({"text": FORGOTTEN})
START = datetime(2026, 11, 21, 22, 30, tzinfo=ZoneInfo("Europe/Berlin"))


class Talks:
    """state.db, as the assistant fills it, and a source that has been looking since the beginning."""

    def __init__(self, file: Path, state: State) -> None:
        self.file, self.state = file, state
        self.source = self.fresh()
        self.known: dict[str, PageStamp] = {}
        """What an index would hold."""

    now = START

    def fresh(self, **kept: int) -> PageSource:
        return PageSource(self.file, now=lambda: type(self).now, **kept)

    async def say(self, *said: str, chat: ChatId = HERE) -> None:
        """Say lines in turns; the first one is the person's."""
        talk = Conversation(self.state, chat)
        await talk.load()
        for number, text in enumerate(said):
            if number % 2:
                await talk.append(AssistantMessage(text))
            else:
                await talk.add_user_messages([(UserMessage(text), ANNA)])

    def sync(self) -> list[str]:
        """Bring `known` up to date; return the pages that were read."""
        listing = self.source.walk(known=self.known)
        self.known = {path: self.known[path] for path in listing.unchanged}
        for stat in listing.notes:
            stat = self.source.load(stat.path).stat
            self.known[stat.path] = (stat.size, stat.mtime_ns, stat.ctime_ns)
        return [stat.path for stat in listing.notes]

    def texts(self, source: PageSource | None = None) -> dict[str, str]:
        source = source or self.fresh()
        return {stat.path: source.load(stat.path).text for stat in source.walk().notes}


@pytest.fixture
async def talks(tmp_path: Path) -> AsyncIterator[Talks]:
    Talks.now = START
    file = copy_fresh_state(tmp_path / "state.db")
    async with State(file, now=lambda: Talks.now) as state:
        talks = Talks(file, state)
        yield talks
        talks.source.close()


async def test_pages_are_of_a_chat_a_conversation_and_a_day(talks: Talks) -> None:
    await talks.say("The boiler hums", "I see.")
    Talks.now += timedelta(hours=2)
    await talks.say("It hums still")
    await talks.say("Who comes?", chat=ROOM)
    assert talks.texts() == {
        "telegram:1/c1/m1/2026-11-21.md": "- You: The boiler hums\n- Assistant: I see.",
        "telegram:1/c1/m3/2026-11-22.md": "- You: It hums still",
        "telegram:-5/c2/m1/2026-11-22.md": "- You: Who comes?",
    }


async def test_a_message_changes_the_last_page_alone(talks: Talks) -> None:
    await talks.say(*["word"] * (PAGE_ENTRIES + 3))
    assert len(talks.sync()) == 2
    assert talks.sync() == []
    await talks.say("one more")
    assert talks.sync() == [f"telegram:1/c1/m{PAGE_ENTRIES + 1}/2026-11-21.md"]
    await talks.say("elsewhere", chat=ROOM)
    assert talks.sync() == ["telegram:-5/c2/m1/2026-11-21.md"]


async def test_a_later_process_reads_only_what_is_new(talks: Talks) -> None:
    for chat in (HERE, ROOM):
        await talks.say(*["word"] * (2 * PAGE_ENTRIES), chat=chat)
    talks.sync()
    talks.source.close()
    talks.source = talks.fresh()
    assert talks.sync() == []
    await talks.say("one more")
    talks.source = talks.fresh()
    assert talks.sync() == [f"telegram:1/c1/m{2 * PAGE_ENTRIES + 1}/2026-11-21.md"]


async def test_an_answer_that_is_retracted_leaves_the_page_before(talks: Talks) -> None:
    await talks.say(*["word"] * (PAGE_ENTRIES - 1), "a wrong answer")
    talks.sync()
    talk = Conversation(talks.state, HERE)
    assert await talk.retract()
    await talk.append(AssistantMessage("a right answer"))
    assert len(talks.sync()) == 2
    told = "\n".join(talks.texts(talks.source).values())
    assert "a right answer" in told
    assert "a wrong answer" not in told


async def test_what_is_forgotten_is_in_no_page(talks: Talks) -> None:
    await talks.say("a secret", "I see.", "tea", "I see.")
    talks.sync()
    rows = await talks.state.read(partial(forgetting.read_texts, place=ENTRIES, after=0, limit=1))
    change = [(rows[0], GONE)]
    await talks.state.change(partial(forgetting.replace_texts, place=ENTRIES, changes=change))
    assert talks.sync() == ["telegram:1/c1/m1/2026-11-21.md"]
    assert list(talks.texts(talks.source).values()) == [
        "- Assistant: I see.\n- You: tea\n- Assistant: I see."
    ]


async def test_a_chat_with_a_new_id_takes_its_pages_along(talks: Talks) -> None:
    await talks.say("before", chat=ROOM)
    talks.sync()
    moved = ChatId("telegram", "-100/7")
    await talks.state.change(lambda db: chat_migration.move_rows(db, ROOM, moved))
    assert talks.sync() == ["telegram:-100%2F7/c1/m1/2026-11-21.md"]
    with pytest.raises(NoteMissing):
        talks.source.load("telegram:-5/c1/m1/2026-11-21.md")
    assert set(talks.known) == {"telegram:-100%2F7/c1/m1/2026-11-21.md"}


async def test_old_pages_leave_with_their_day(talks: Talks) -> None:
    talks.source = talks.fresh(retention_days=7)
    await talks.say("old")
    Talks.now += timedelta(days=7)
    await talks.say("new")
    talks.sync()
    assert len(talks.known) == 2
    Talks.now += timedelta(days=1)
    talks.sync()
    assert list(talks.known) == ["telegram:1/c1/m2/2026-11-28.md"]
    assert len(talks.texts()) == 2, "the conversation itself stays"


async def test_pages_that_a_wrong_clock_made_too_old_come_back(talks: Talks) -> None:
    talks.source = talks.fresh(retention_days=7)
    await talks.say("old")
    Talks.now += timedelta(days=5)
    await talks.say("new")
    talks.sync()
    assert len(talks.known) == 2
    for days in (4, -4):
        Talks.now += timedelta(days=days)
        talks.source.close()
        talks.source = talks.fresh(retention_days=7)
        talks.sync()
    assert len(talks.known) == 2


async def test_another_state_db_in_the_same_place_is_noticed(talks: Talks, tmp_path: Path) -> None:
    await talks.say("before")
    talks.sync()
    other = copy_fresh_state(tmp_path / "other" / "state.db")
    async with State(other, now=lambda: START) as state:
        await Talks(other, state).say("after", chat=ROOM)
    await talks.state.read(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    talks.source.close()
    other.replace(talks.file)
    assert talks.sync() == ["telegram:-5/c1/m1/2026-11-21.md"]
    assert len(talks.known) == 1


async def test_without_state_db_there_is_nothing(tmp_path: Path) -> None:
    source = PageSource(tmp_path / "state.db", now=lambda: START)
    assert source.walk(known={"a": (1, 1, 1)}).unchanged == []
    assert source.read_page("telegram:1/c1/m1/2026-11-21.md") is None
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_cannot_be_read_is_no_reason_to_empty_the_index(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"no database" * 1000)
    source = PageSource(tmp_path / "state.db", now=lambda: START)
    for _ in range(2):
        with pytest.raises(IndexUnavailable, match="the conversations cannot be read"):
            source.walk()
    (tmp_path / "state.db").unlink()
    (tmp_path / "state.db").mkdir()
    with pytest.raises(IndexUnavailable):
        source.walk()


async def test_nothing_is_read_again_while_nothing_changes(talks: Talks) -> None:
    await talks.say(*["word"] * 200)
    talks.sync()
    read: list[object] = []
    db = talks.source._db
    assert db is not None
    db.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: read.append(event["sql"]))
    assert talks.sync() == []
    assert len(read) == 1, "one pragma"


async def test_a_message_is_read_with_those_around_it(talks: Talks) -> None:
    talk = Conversation(talks.state, HERE)
    await talk.load()
    for number in range(40):
        call = ToolCall(f"call{number:05}", "memory_search", "{}")
        await talk.append(
            UserMessage(f"question {number}"),
            AssistantMessage("", (call,)),
            *[ToolResult(call.id, "memory_search", "{}")] * 20,
            AssistantMessage(f"answer {number}"),
        )
    seq = 20 * 23 + 1

    def around(seq: int, before: int, after: int) -> list[str]:
        found = talks.source.read_around(1, seq, before=before, after=after)
        return [each.text for each in found[1]] if found else []

    assert around(seq, 1, 2) == ["answer 19", "question 20", "answer 20", "question 21"]
    assert around(1, 5, 1) == ["question 0", "answer 0"]
    assert around(40 * 23, 2, 5) == ["answer 38", "question 39", "answer 39"]
    assert len(around(seq, 500, 500)) == 80
    assert around(2, 1, 1) == [], "a tool call is no message"
    assert around(99_999, 1, 1) == []
    assert talks.source.read_around(2, 1, before=1, after=1) is None


@pytest.mark.parametrize("seed", range(6))
async def test_what_was_followed_is_what_a_first_look_finds(talks: Talks, seed: int) -> None:
    """Whatever happens to conversations, in whatever order, between two looks."""
    chance = random.Random(seed)
    chats = [HERE, ROOM, ChatId("discord", "9")]
    for step in range(60):
        chat = chance.choice(chats)
        match chance.choice(["say", "say", "say", "long", "retry", "forget", "end", "move", "wait", "tools"]):
            case "say":
                await talks.say(f"question {step}", f"answer {step}", chat=chat)
            case "long":
                await talks.say(*["word"] * chance.randrange(80), chat=chat)
            case "retry":
                talk = Conversation(talks.state, chat)
                if await talk.retract():
                    await talk.append(*[AssistantMessage(f"again {step}")] * chance.randrange(3))
            case "tools":
                talk = Conversation(talks.state, chat)
                await talk.load()
                call = ToolCall("abcdefgh1", "x", "{}")
                await talk.append(AssistantMessage("hm", (call,)), ToolResult(call.id, "x", "{}"))
            case "forget":
                rows = await talks.state.read(
                    partial(forgetting.read_texts, place=ENTRIES, after=0, limit=9999)
                )
                change = [
                    (each, GONE) for each in chance.sample(rows, min(2, len(rows))) if each.kind == "user"
                ]
                await talks.state.change(partial(forgetting.replace_texts, place=ENTRIES, changes=change))
            case "end":
                number = await open_conversation(talks.state, str(chat))
                if number is not None:
                    at = talks.state.at()
                    await talks.state.change(partial(flushes.close, conversation=number, at=at))
            case "move":
                new = chance.choice(chats)
                if new != chat:
                    await talks.state.change(partial(chat_migration.move_rows, old=chat, new=new))
            case "wait":
                Talks.now += timedelta(hours=chance.randrange(30))
        if chance.random() < 0.6:
            talks.sync()
        if chance.random() < 0.15:  # the program is started again
            talks.source.close()
            talks.source = talks.fresh()
    talks.sync()
    clean = talks.fresh()
    assert talks.known == {s.path: (s.size, s.mtime_ns, s.ctime_ns) for s in clean.walk().notes}
    assert talks.texts(talks.source) == talks.texts(clean)
    clean.close()


async def test_looking_from_several_threads_at_once(talks: Talks) -> None:
    await talks.say(*["word"] * 100)

    def look() -> int:
        return len([talks.source.load(stat.path) for stat in talks.source.walk().notes])

    assert await asyncio.gather(*[asyncio.to_thread(look) for _ in range(8)]) == [4] * 8


async def test_pictures_are_not_read(talks: Talks) -> None:
    """Each may be of many megabytes, and around a message there may be hundreds."""
    talk = Conversation(talks.state, HERE)
    picture = Image("image/png", bytes(3_000_000))
    for number in range(12):
        said = UserMessage(f"lighthouse {number}", images=(picture,), speaker="Ben")
        await talk.add_user_messages([(said, ANNA)])
    tracemalloc.start()
    try:
        assert talks.sync() == ["telegram:1/c1/m1/2026-11-21.md"]
        found = talks.source.read_around(1, 6, before=30, after=30)
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
    assert found
    assert [(each.name, each.text) for each in found[1]] == [("Ben", f"lighthouse {n}") for n in range(12)]
    assert talks.sync() == []
