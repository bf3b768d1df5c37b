"""What notes cannot answer is looked for in chats, and said so; what they answer is not."""

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pytest

from bot import phrases
from bot.conversations.index_file import INDEX_NAME
from bot.conversations.search import ConversationSearch
from bot.messages import ChatId
from bot.said_in_chats import format_said
from bot.search_sources import MAX_UNASKED, FoundPassages, SearchSource, search_sources
from bot.sources_json import encode_sources
from memory.errors import IndexUnavailable
from memory.memory import Memory
from memory.settings import MemorySettings
from tests.fakes.chats import HERE, ROOM, START, Chats, open_chats

TODAY = START.date()


@dataclass
class Sources:
    """Notes and chats of one workspace."""

    memory: Memory
    chats: Chats
    conversations: ConversationSearch | None

    def note(self, text: str, path: str = "a.md") -> None:
        file = self.chats.base / "memory" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        self.memory._index.note_written()

    async def search(
        self,
        query: str,
        source: SearchSource | None = None,
        *,
        chats: Collection[str] | None = ("telegram:1",),
        limit: int | None = None,
    ) -> FoundPassages:
        async def allowed() -> Collection[str] | None:
            return chats

        return await search_sources(
            self.memory, self.conversations, query, source=source, chats=allowed, today=TODAY, limit=limit
        )

    async def told(
        self, query: str, source: SearchSource | None = None, limit: int | None = None
    ) -> list[str]:
        found = await self.search(query, source, limit=limit)
        return [*(hit.snippet for hit in found.notes.hits), *(hit.snippet for hit in found.conversations)]


@pytest.fixture
async def sources(tmp_path: Path) -> AsyncIterator[Sources]:
    async with (
        open_chats(tmp_path) as chats,
        Memory(MemorySettings(), workspace=tmp_path, now=lambda: START) as memory,
    ):
        yield Sources(memory, chats, chats.search)


# -- falling through ----------------------------------------------------------------------------------------


async def test_what_notes_tell_is_not_looked_for_in_chats(sources: Sources) -> None:
    sources.note("- Anna's passport is in the blue folder\n")
    await sources.chats.say("Anna's passport is in the blue folder, I said")
    found = await sources.search("Where is Anna's passport?")
    assert (found.conversations, found.is_unasked) == ((), False)
    assert [hit.snippet for hit in found.notes.hits] == ["- Anna's passport is in the blue folder"]


async def test_what_no_note_mentions_is_looked_for_in_chats(sources: Sources) -> None:
    sources.note("- Ben likes tea\n")
    await sources.chats.say("Anna's passport is in the blue folder", "I see.")
    found = await sources.search("Where is Anna's passport?")
    assert found.is_unasked
    assert found.conversations[0].snippet == "Anna's passport is in the blue folder"


async def test_what_notes_tell_of_something_else_does_not_hide_what_was_said(sources: Sources) -> None:
    """The note has Anna and the passport the rare word."""
    sources.note("- Anna likes tea\n- Anna plays chess\n")
    await sources.chats.say("Anna's passport is in the blue folder")
    found = await sources.search("Where is Anna's passport?")
    assert found.is_unasked
    assert [hit.snippet for hit in found.conversations] == ["Anna's passport is in the blue folder"]
    assert found.notes.hits, "and the notes are told all the same"


async def test_chats_that_have_no_more_of_it_add_nothing(sources: Sources) -> None:
    sources.note("- Anna likes tea\n")
    await sources.chats.say("Anna will come")
    found = await sources.search("Where is Anna's passport?")
    assert (found.conversations, found.is_unasked) == ((), False)


async def test_what_was_only_asked_before_adds_nothing(sources: Sources) -> None:
    await sources.chats.say("Where is Anna's passport?")
    assert await sources.told("Where is Anna's passport?") == []
    sources.note("- Anna has a new passport from Delft\n")
    await sources.chats.say("Where does Anna keep her passport now?")
    found = await sources.search("Where did Anna keep her passport?")
    assert found.notes.hits
    assert (found.conversations, found.is_unasked) == ((), False)


async def test_few_messages_are_added_to_notes_and_as_many_as_asked_for_where_there_are_none(
    sources: Sources,
) -> None:
    for number in range(8):
        await sources.chats.say(f"Anna's passport, time {number}", "I see.")
    assert len((await sources.search("Anna passport", limit=7)).conversations) == 7
    sources.note("- Anna likes tea\n")
    assert len((await sources.search("Anna passport", limit=7)).conversations) == MAX_UNASKED


async def test_a_question_about_a_day_without_notes_is_answered_from_chats(sources: Sources) -> None:
    await sources.chats.say("we painted the fence")
    found = await sources.search("what happened on 21 November 2026?")
    assert [hit.snippet for hit in found.conversations] == ["we painted the fence"]


async def test_only_chats_that_the_person_may_search_are_looked_at(sources: Sources) -> None:
    await sources.chats.say("the secret harbour", chat=ROOM)
    for source in (None, "conversations", "all"):
        assert await sources.told("harbour", source) == []
        assert not (await sources.search("harbour", source, chats=())).conversations
        assert (await sources.search("harbour", source, chats=None)).conversations


async def test_a_search_that_nobody_asked_for_fails_quietly(sources: Sources) -> None:
    sources.note("- Ben likes tea\n")
    (sources.chats.base / ".commonplace" / INDEX_NAME).mkdir()
    assert (await sources.search("Ben's passport")).notes.hits
    assert sources.chats.search.problem
    with pytest.raises(IndexUnavailable):
        await sources.search("passport", "conversations")
    found = await sources.search("Ben's passport", "all")
    assert found.notes.hits
    assert found.notice == sources.chats.search.problem


async def test_a_search_that_nobody_asked_for_does_not_wait_long(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while conversations are indexed for the first time."""
    monkeypatch.setattr("bot.search_sources.UNASKED_SECONDS", 0.05)
    await sources.chats.say("the passport")
    go_on = asyncio.Event()
    loop = asyncio.get_running_loop()

    def busy(index: object) -> None:
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()

    working = asyncio.ensure_future(sources.chats.search._index.run(busy))
    found = await sources.search("passport")
    assert not found.conversations
    go_on.set()
    await working
    monkeypatch.setattr("bot.search_sources.UNASKED_SECONDS", 60)
    assert (await sources.search("passport")).conversations


async def test_what_was_taken_back_in_the_notes_does_not_come_back_from_chats(sources: Sources) -> None:
    await sources.chats.say("Remember that the plumber comes on Friday", "Noted.")
    written = await sources.memory.write("The plumber comes on Friday")
    await sources.memory.edit(written.path, "- The plumber comes on Friday\n", "")
    assert await sources.told("When does the plumber come?") == []
    assert await sources.told("When does the plumber come?", "conversations"), "unless it is asked for"
    await sources.chats.say("The plumber comes on Monday")
    assert (await sources.told("When does the plumber come?"))[0] == "The plumber comes on Monday"


# -- asking for a source ------------------------------------------------------------------------------------


async def test_each_source_by_its_name(sources: Sources) -> None:
    sources.note("- the boat is noted\n")
    await sources.chats.say("the boat is said")
    assert await sources.told("boat") == ["- the boat is noted"]
    assert await sources.told("boat", "notes") == ["- the boat is noted"]
    assert await sources.told("boat", "conversations") == ["the boat is said"]
    assert sorted(await sources.told("boat", "all")) == ["- the boat is noted", "the boat is said"]
    assert len(await sources.told("boat", "all", limit=1)) == 1
    assert await sources.told("xylophagous", "notes") == []


async def test_where_conversations_are_not_searched_that_is_said_if_asked(sources: Sources) -> None:
    sources.conversations = None
    sources.note("- the boat is noted\n")
    await sources.chats.say("the boat is said")
    for source in ("conversations", "all"):
        assert (await sources.search("boat", source)).notice == phrases.CONVERSATIONS_OFF
    assert await sources.told("boat", "all") == ["- the boat is noted"]
    found = await sources.search("passport")
    assert (found.notice, found.notes.hits) == ("", ())


async def test_the_results_of_both_as_json(sources: Sources) -> None:
    sources.note("- the boat is noted\n")
    await sources.chats.name_chat(HERE, "Anna")
    await sources.chats.say("the boat is said")
    document = encode_sources(await sources.search("boat", "all"))
    assert document["query"] == "boat"
    said = next(hit for hit in document["results"] if hit["source"] == "conversation")
    assert said == {
        "source": "conversation",
        "ref": "1:1",
        "chat": "telegram:1",
        "chat_name": "Anna",
        "who": "Anna",
        "date": "2026-11-21",
        "snippet": "the boat is said",
        "score": said["score"],
    }
    scores = [hit["score"] for hit in document["results"]]
    assert scores == sorted(scores, reverse=True)


# -- showing it ---------------------------------------------------------------------------------------------


async def test_what_was_said_is_shown_below_its_chat_and_day(sources: Sources) -> None:
    await sources.chats.name_chat(HERE, "Anna")
    await sources.chats.name_chat(ROOM, "Family")
    await sources.chats.say("the boat\nis blue", "A blue boat.")
    found = await sources.search("boat", "conversations")
    assert format_said(found.conversations, chat=HERE, today=TODAY) == (
        "From our chat on 21 November:\n\n> **Anna:** the boat\n> is blue\n\n> **Robin:** A blue boat."
    )
    assert format_said(found.conversations[:1], chat=ROOM, today=date(2027, 1, 1)) == (
        "From Anna (Telegram) on 21 November 2026:\n\n> **Anna:** the boat\n> is blue"
    )
    imported = replace(found.conversations[0], chat="imported:telegram:1", chat_name="Paint", app="ChatGPT")
    assert format_said([imported], chat=HERE, today=TODAY).startswith("From Paint (ChatGPT) on 21 November:")
    assert format_said((), chat=ChatId("telegram", "1"), today=TODAY) == ""
