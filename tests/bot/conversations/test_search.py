"""What was said is found: at once, by the right people, and never once it is gone."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.conversations.index_file import INDEX_NAME, delete_index
from bot.conversations.page_source import PageSource
from bot.conversations.search import ConversationHit, MessageMissing, Moment
from bot.messages import ChatId
from bot.models.protocol import AssistantMessage
from bot.state import forgetting
from bot.state.database import State
from bot.state.forgetting import ENTRIES
from bot.supervisor import Supervisor
from memory.embeddings.factory import open_embedding
from memory.settings import EmbeddingSettings, MemorySettings
from tests.fakes.chats import HERE, ROOM, START, ChatClock, Chats, open_chats
from tests.fakes.embedding_server import KEY, EmbeddingServer


@pytest.fixture
async def chats(tmp_path: Path) -> AsyncIterator[Chats]:
    async with open_chats(tmp_path) as chats:
        yield chats


# -- finding ------------------------------------------------------------------------------------------------


async def test_what_was_said_is_found_at_once(chats: Chats) -> None:
    await chats.name_chat(HERE, "Anna")
    await chats.say("The boiler was serviced by Mr Lang", "I see.")
    hit, *_ = await chats.find("who serviced the boiler?")
    assert hit == ConversationHit(
        ref="1:1",
        chat="telegram:1",
        chat_name="Anna",
        app="",
        who="Anna",
        day=date(2026, 11, 21),
        snippet="The boiler was serviced by Mr Lang",
        score=hit.score,
    )
    assert 0 < hit.score <= 1
    assert await chats.snippets("landlord") == []
    await chats.say("The landlord is Mr Okafor", "Noted.")
    assert await chats.snippets("landlord") == ["The landlord is Mr Okafor"]


async def test_what_the_assistant_said_is_found_as_its_words(chats: Chats) -> None:
    await chats.say("How tall is it?", "The tower has 324 metres.")
    (hit,) = await chats.find("tower")
    assert (hit.who, hit.snippet, hit.ref) == ("Robin", "The tower has 324 metres.", "1:2")


async def test_each_message_is_a_hit_of_its_own(chats: Chats) -> None:
    for speaker in ("Ben", "Eva", "Ida"):
        await chats.say("zebra crossing", chat=ROOM, speaker=speaker)
    told = [(hit.who, hit.snippet) for hit in await chats.find("zebra crossing")]
    assert told == [(speaker, "zebra crossing") for speaker in ("Ben", "Eva", "Ida")]
    assert len(await chats.find("zebra crossing", limit=2)) == 2


async def test_a_long_message_is_shown_around_the_words(chats: Chats) -> None:
    await chats.say("first line\n\n" + "word " * 3000 + "xylophagous beetle " + "word " * 3000)
    (hit,) = await chats.find("xylophagous")
    assert "xylophagous beetle" in hit.snippet
    assert len(hit.snippet) <= 700


async def test_only_the_given_chats_are_searched(chats: Chats) -> None:
    await chats.say("the boat in the private chat")
    await chats.say("the boat in the room", chat=ROOM, speaker="Ben")
    assert await chats.snippets("boat", {"telegram:1"}) == ["the boat in the private chat"]
    assert await chats.snippets("boat", {"telegram:-5"}) == ["the boat in the room"]
    assert await chats.snippets("boat", {"telegram:-50", "telegram"}) == []
    assert await chats.snippets("boat", ()) == []
    assert len(await chats.snippets("boat", None)) == 2


async def test_a_question_does_not_find_itself(chats: Chats) -> None:
    await chats.say("The spare key is under the stone", "I see.")
    await chats.say("Where is the spare key?")
    await chats.say("It was under the stone.", "So it was.")

    async def refs(before: Moment) -> list[str]:
        return [hit.ref for hit in await chats.find("Where is the spare key?", before=before)]

    assert await refs(Moment(1, 3)) == ["1:1", "1:2"], "an answer may stand without the words beside them"
    assert {"1:1", "1:3"} <= set(await refs(Moment(2, 1)))


async def test_questions_asked_before_do_not_hide_what_was_said(chats: Chats) -> None:
    await chats.say("我昨天把雨伞忘在地铁上了", "好的。")
    for number, question in enumerate(
        ("雨伞在哪里？", "Where did I park?", "Где мой зонт?", "雨伞在哪里？", "Was?")
    ):
        await chats.say(question, chat=ChatId("telegram", f"1/{number % 2}"))
    assert (await chats.snippets("雨伞在哪里？"))[0] == "我昨天把雨伞忘在地铁上了"
    assert (await chats.snippets("雨伞在哪里？", limit=1)) == ["我昨天把雨伞忘在地铁上了"]


async def test_a_question_that_was_asked_often_is_found_once(chats: Chats) -> None:
    for number in range(4):
        await chats.say("When is Bob's wedding?", chat=ChatId("telegram", f"1/{number}"))
    await chats.say(
        "Did I say that? Bob's wedding is on 14 December, and the guests sleep in a barn in Gouda."
    )
    found = await chats.find("Bob's wedding")
    assert [hit.snippet[:9] for hit in found] == ["Did I say", "When is B"]
    assert found[0].score > found[1].score


async def test_dates_and_the_newest_first_as_in_notes(tmp_path: Path) -> None:
    clock = ChatClock()
    async with open_chats(tmp_path, clock=clock) as chats:
        await chats.say("we met at the harbour")
        clock.time += timedelta(days=10)
        await chats.say("we met at the harbour")
        clock.time += timedelta(days=1)
        days = [hit.day for hit in await chats.find("harbour")]
        assert days == [date(2026, 12, 1), date(2026, 11, 21)]
        (first, *_) = await chats.find("what did we say on 21 November?")
        assert first.day == date(2026, 11, 21)


async def test_meaning_finds_what_shares_no_word(tmp_path: Path) -> None:
    async with EmbeddingServer() as server:
        settings = EmbeddingSettings(
            provider="openai", dimensions=64, api_key=SecretStr(KEY), base_url=server.base_url("openai")
        )
        made = open_embedding(settings, sections={}, environment={}, chat=None)
        memory = MemorySettings(embedding=settings)
        async with open_chats(tmp_path, embedding=made, memory=memory) as chats:
            await chats.say("a word")
            assert set(chats.search.background_tasks()) == {"conversation index"}
            await chats.snippets("word")
        assert server.requests == [], "nothing is sent anywhere by default"
        async with open_chats(tmp_path, embedding=made, memory=memory, vectors=True) as chats:
            tasks = chats.search.background_tasks()
            assert set(tasks) == {"conversation index", "conversation vectors"}
            await chats.search.sync()
            filling = asyncio.ensure_future(tasks["conversation vectors"]())
            async with asyncio.timeout(10):
                await server.wait_for_requests()
            filling.cancel()
            await asyncio.wait([filling])
        assert any("a word" in text for text in server.requests[0].texts)
        assert made.embedder
        await made.embedder.close()


# -- reading around -------------------------------------------------------------------------------------------


async def test_reading_around_a_hit(chats: Chats) -> None:
    await chats.name_chat(ROOM, "Family")
    for number in range(10):
        await chats.say(f"question {number}", f"answer {number}", chat=ROOM, speaker="Ben")
    found = await chats.search.get("1:9", chats={"telegram:-5"}, before=1, after=2)
    assert (found.chat, found.chat_name) == ("telegram:-5", "Family")
    assert [(each.ref, each.who, each.text) for each in found.messages] == [
        ("1:8", "Robin", "answer 3"),
        ("1:9", "Ben", "question 4"),
        ("1:10", "Robin", "answer 4"),
        ("1:11", "Ben", "question 5"),
    ]
    assert found.messages[0].at == START
    assert found.messages[0].at.tzinfo == START.tzinfo
    assert len((await chats.search.get("1:9", chats=None)).messages) == 9


async def test_a_message_of_another_chat_is_as_one_that_does_not_exist(chats: Chats) -> None:
    await chats.say("a secret", chat=ROOM)
    for ref in ("1:1", "1:2", "7:1", "x", "", "1:1:1", "9" * 30):
        with pytest.raises(MessageMissing, match="There is no message"):
            await chats.search.get(ref, chats={"telegram:1"})


# -- what is gone ---------------------------------------------------------------------------------------------


async def forget_first(state: State) -> None:
    rows = await state.read(partial(forgetting.read_texts, place=ENTRIES, after=0, limit=1))
    change = [(rows[0], '{"text": "[forgotten]"}')]
    await state.change(partial(forgetting.replace_texts, place=ENTRIES, changes=change))


async def test_what_was_forgotten_is_not_shown_even_if_the_index_still_has_it(tmp_path: Path) -> None:
    """As after a kill between the two files: the index is that of before."""
    async with open_chats(tmp_path) as chats:
        await chats.say("the xylophagous beetle", "I see.")
        await chats.say("the xylophagous worm", "I see.")
        assert len(await chats.find("xylophagous")) == 2
        stale = _bytes_of(tmp_path)
        await forget_first(chats.state)
        assert await chats.snippets("xylophagous") == ["the xylophagous worm"]
        await chats.search.purge()
        assert b"beetle" not in _bytes_of(tmp_path)
        assert b"beetle" in stale


async def test_a_retracted_answer_is_not_found(chats: Chats) -> None:
    talk = await chats.say("Which tower?", "The Eiffel tower")
    assert await chats.snippets("Eiffel")
    assert await talk.retract()
    await talk.append(AssistantMessage("The Olympic tower"))
    assert await chats.snippets("Eiffel") == []
    assert await chats.snippets("Olympic") == ["The Olympic tower"]


async def test_retention_limits_what_is_found_and_nothing_else(tmp_path: Path) -> None:
    clock = ChatClock()
    async with open_chats(tmp_path, clock=clock, retention_days=30) as chats:
        await chats.say("the old boat")
        clock.time += timedelta(days=31)
        await chats.say("the new boat")
        assert await chats.snippets("boat") == ["the new boat"]
        assert (await chats.search.get("1:1", chats=None)).messages[0].text == "the old boat"
    async with open_chats(tmp_path, clock=clock) as chats:
        await chats.search.sync()
        assert await chats.snippets("boat") == ["the new boat", "the old boat"]


# -- its file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["deleted", "garbage", "truncated", "outdated"])
async def test_a_lost_damaged_or_outdated_index_is_built_anew(tmp_path: Path, damage: str) -> None:
    index = tmp_path / ".commonplace" / INDEX_NAME
    async with open_chats(tmp_path) as chats:
        await chats.say("the boat")
        assert await chats.snippets("boat") == ["the boat"]
    match damage:
        case "deleted":
            index.unlink()
        case "garbage":
            index.write_bytes(b"garbage" * 5000)
        case "truncated":
            index.write_bytes(index.read_bytes()[:5000])
        case "outdated":
            with sqlite3.connect(index) as db:
                db.execute("UPDATE about SET value = 'of old' WHERE key = 'fingerprint'")
            db.close()
    async with open_chats(tmp_path) as chats:
        assert await chats.snippets("boat") == ["the boat"]
        await chats.say("the new boat")
        assert len(await chats.snippets("boat")) == 2


async def test_an_index_that_disappears_under_a_running_search_is_built_anew(chats: Chats) -> None:
    await chats.say("the boat")
    assert await chats.snippets("boat")
    delete_index(chats.base / ".commonplace")
    assert await chats.snippets("boat") == ["the boat"]


async def test_two_processes_find_what_the_other_was_told(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as one, open_chats(tmp_path) as other:
        await one.say("said in one")
        await other.say("said in the other", chat=ROOM)
        async with asyncio.timeout(2):
            while len(await one.find("said")) < 2 or len(await other.find("said")) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_the_index_is_as_private_as_the_conversations(chats: Chats) -> None:
    await chats.say("the boat")
    await chats.search.sync()
    files = list((chats.base / ".commonplace").glob(f"{INDEX_NAME}*"))
    assert files
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    delete_index(chats.base / ".commonplace")
    assert list((chats.base / ".commonplace").glob(f"{INDEX_NAME}*")) == []


# -- in the background ----------------------------------------------------------------------------------------


async def test_what_was_said_is_indexed_without_a_search(chats: Chats) -> None:
    supervisor = Supervisor()
    ((name, follow),) = chats.search.background_tasks().items()
    task = supervisor.start(name, follow)
    await chats.say("the boat")
    async with asyncio.timeout(5):
        while b"boat" not in _bytes_of(chats.base):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    task.cancel()
    await asyncio.wait([task])


def _bytes_of(base: Path) -> bytes:
    found = b""
    for file in (base / ".commonplace").glob(f"{INDEX_NAME}*"):
        with suppress(FileNotFoundError):  # a journal may go at any time
            found += file.read_bytes()
    return found


async def test_a_failure_in_the_background_is_seen_and_ends(tmp_path: Path) -> None:
    supervisor = Supervisor(pauses=(0.01,))
    async with open_chats(tmp_path) as chats:
        (tmp_path / ".commonplace" / INDEX_NAME).mkdir()
        ((name, follow),) = chats.search.background_tasks().items()
        task = supervisor.start(name, follow)
        async with asyncio.timeout(5):
            while not (supervisor.failures and chats.search.problem):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        (tmp_path / ".commonplace" / INDEX_NAME).rmdir()
        async with asyncio.timeout(5):
            while chats.search.problem:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])


DAMAGES = {
    "its time": "at = 'never'",
    "a time beyond the calendar": "at = '9999-12-31T23:59:59.000+00:00'",
    "bytes that are no UTF-8": "payload = CAST(x'7b2274657874223a2022ff227d' AS TEXT)",
    "a model that is no text": """payload = '{"text": "two", "calls": [], "model": null}'""",
    "a speaker that is no text": """kind = 'user', payload = '{"text": "two", "documents": [], "speaker": 5}'""",
    "half a character": """kind = 'user', payload = '{"text": "two \\ud800", "documents": []}'""",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_message_hides_no_other(chats: Chats, damage: str) -> None:
    await chats.say("the harbour one", "two", "the harbour three")
    await chats.state.change(lambda db: db.execute(f"UPDATE entries SET {damage} WHERE seq = 2"))
    assert set(await chats.snippets("harbour")) == {"the harbour one", "the harbour three"}
    excerpt = await chats.search.get("1:1", chats=None)
    texts = [each.text for each in excerpt.messages]
    assert (texts[0], texts[-1]) == ("the harbour one", "the harbour three")
    assert all(text.encode() for text in texts), (
        "what cannot be encoded could not be stored in a tool's result"
    )
    file = chats.base / ".commonplace" / "state.db"
    source = PageSource(file, now=lambda: START)
    listed = source.walk().notes
    assert [source.load(each.path).stat for each in listed] == listed, "or each search would read it again"
    source.close()


async def test_what_is_too_old_is_not_found_while_the_index_is_rebuilt_for_that(tmp_path: Path) -> None:
    clock = ChatClock()
    async with open_chats(tmp_path, clock=clock) as chats:
        await chats.say("the harbour long ago")
        clock.time += timedelta(days=20)
        await chats.say("the harbour today")
        assert len(await chats.snippets("harbour")) == 2
    async with open_chats(tmp_path, clock=clock, retention_days=7) as chats:
        assert await chats.snippets("harbour") == ["the harbour today"]
