"""Replies that are too long to read in a chat, where Telegram takes no files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.long_reply import MAX_CHARS_IN_CHAT
from tests.adapters.markdown.story import story as told
from tests.adapters.telegram.life import Life, life
from tests.fakes.bot_api.chats import Message
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi


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
    await here.api.wait_until_confirmed()
    await here.house.wait_until_idle()


@pytest.mark.thorough
async def test_a_file_that_could_not_be_sent_at_first_adds_nothing_to_its_beginning(
    api: BotApi, here: Life, anna: Person
) -> None:
    story = told(MAX_CHARS_IN_CHAT * 3)
    here.model.enqueue(story)
    api.fail("sendDocument", Fault.refuse(502, "Bad Gateway"), times=10)
    await anna.say("Tell me")
    await anna.chat.watch(lambda: documents(anna.chat.replies), what="the file", within=30)
    await quiet(here)
    assert len(anna.chat.replies) == 3
    assert sum("All of it is in the file" in each for each in anna.chat.texts) == 1


async def test_where_files_are_refused_it_says_that_there_is_more(
    api: BotApi, here: Life, anna: Person
) -> None:
    story = told(MAX_CHARS_IN_CHAT * 3)
    here.model.enqueue(story)
    api.fail("sendDocument", Fault.refuse(400, "Bad Request: CHAT_SEND_DOCS_FORBIDDEN"), times=None)
    await anna.say("Tell me")
    await anna.chat.answer(containing="only the beginning")
    await quiet(here)
    *texts, _ = anna.chat.texts
    assert story.replace("\n", "").startswith("".join(texts).replace("\n", ""))
    assert MAX_CHARS_IN_CHAT * 0.9 < sum(map(len, texts)) <= MAX_CHARS_IN_CHAT
    assert await here.house.history(f"telegram:{anna.id}") == ["Tell me", story]
