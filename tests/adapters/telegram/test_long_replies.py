"""Replies that are too long to read in a chat, and the sending of long ones, on Telegram."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.long_reply import LONGEST_IN_CHAT
from adapters.telegram.pace import Pace
from bot import phrases
from tests.adapters.telegram.life import QUICK, Life, life
from tests.adapters.text.story import story as told
from tests.fakes.bot_api.chats import Message
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi

UNHURRIED = replace(QUICK, chat_seconds=0.7)


def documents(messages: list[Message]) -> list[tuple[str, str]]:
    return [(each.document.name, each.document.data.decode()) for each in messages if each.document]


@pytest.fixture
def anna(api: BotApi) -> Person:
    return api.person(2, "Anna")


@pytest.fixture
async def here(api: BotApi, tmp_path: Path) -> AsyncIterator[Life]:
    async with life(api, tmp_path) as here:
        yield here


async def quiet(here: Life) -> None:
    await here.api.confirmed()
    await here.house.quiet()


async def test_a_reply_that_can_be_read_in_a_chat_comes_as_messages(here: Life, anna: Person) -> None:
    story = told(LONGEST_IN_CHAT - 500)
    here.model.enqueue(story)
    await anna.say("Tell me")
    await anna.chat.answer()
    await quiet(here)
    assert "".join(anna.chat.texts).replace("\n", "") == story.replace("\n", "")
    assert documents(anna.chat.replies) == []


async def test_a_longer_one_is_its_beginning_a_note_and_a_file(here: Life, anna: Person) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue(story)
    await anna.say("Tell me")
    await anna.chat.answer(containing="All of it is in the file")
    await quiet(here)
    beginning, note, file = anna.chat.replies
    assert story.startswith(beginning.text)
    assert f"{len(story):,} characters" in note.text
    assert documents([file]) == [("reply.md", f"{story}\n")]
    assert await here.house.history(f"telegram:{anna.id}") == ["Tell me", story]


async def test_a_file_that_could_not_be_sent_at_first_adds_nothing_to_its_beginning(
    api: BotApi, here: Life, anna: Person
) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue(story)
    api.fail("sendDocument", Fault.refuse(502, "Bad Gateway"), times=10)
    await anna.say("Tell me")
    await anna.chat.watch(lambda: documents(anna.chat.replies), what="the file", within=30)
    await quiet(here)
    assert len(anna.chat.replies) == 3
    assert sum("All of it is in the file" in each for each in anna.chat.texts) == 1


async def test_what_had_grown_of_it_by_then_stays(here: Life, anna: Person) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue([story[:10_000], story[10_000:]], delay=1.0)
    await anna.say("Tell me")
    await anna.chat.answer(containing="All of it is in the file")
    await quiet(here)
    *grown, _, file = anna.chat.replies
    assert len(grown) >= 2
    assert story.replace("\n", "").startswith("".join(each.text for each in grown).replace("\n", ""))
    assert documents([file]) == [("reply.md", f"{story}\n")]
    assert not any(each.deleted for each in anna.chat.messages)


async def test_where_files_are_refused_it_says_that_there_is_more(
    api: BotApi, here: Life, anna: Person
) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue(story)
    api.fail("sendDocument", Fault.refuse(400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN"), times=None)
    await anna.say("Tell me")
    await anna.chat.answer(containing="only the beginning")
    await quiet(here)
    *texts, _ = anna.chat.texts
    assert story.replace("\n", "").startswith("".join(texts).replace("\n", ""))
    assert LONGEST_IN_CHAT * 0.9 < sum(map(len, texts)) <= LONGEST_IN_CHAT
    assert await here.house.history(f"telegram:{anna.id}") == ["Tell me", story]


async def test_stop_ends_the_sending_of_a_long_reply_and_nothing_of_it_is_lost(
    api: BotApi, tmp_path: Path, anna: Person
) -> None:
    story = told(LONGEST_IN_CHAT - 500)
    async with life(api, tmp_path, pace=Pace(UNHURRIED)) as here:
        here.model.enqueue(story)
        await anna.say("Tell me")
        await anna.chat.watch(lambda: len(anna.chat.texts) == 1, what="the first part")
        await anna.say("/stop")
        await anna.chat.answer(containing=phrases.STOPPED)
        await anna.chat.watch(lambda: documents(anna.chat.replies), what="the file")
        await quiet(here)
        parts = [each for each in anna.chat.replies if each.text.startswith("This is line")]
        assert len(parts) < 4, "five would be all of it"
        assert [each.text for each in anna.chat.replies if "stopped;" in each.text] == [
            phrases.SENDING_STOPPED.strip("*")
        ]
        assert documents(anna.chat.replies) == [("reply.md", f"{story}\n")]
        assert await here.house.history(f"telegram:{anna.id}") == ["Tell me", story]


async def test_after_a_stop_the_chat_goes_on(api: BotApi, tmp_path: Path, anna: Person) -> None:
    async with life(api, tmp_path, pace=Pace(UNHURRIED)) as here:
        here.model.enqueue(told(LONGEST_IN_CHAT - 500))
        here.model.enqueue("Good night.")
        await anna.say("Tell me")
        await anna.chat.watch(lambda: len(anna.chat.texts) == 1, what="the first part")
        await anna.say("/stop")
        await anna.say("Thank you")
        await anna.chat.answer(containing="Good night.", within=30)
        await quiet(here)
        assert anna.chat.texts[-1] == "Good night."
