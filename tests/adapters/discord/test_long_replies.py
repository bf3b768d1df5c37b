"""Replies that are too long to read in a chat, and the sending of long ones, on Discord."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.long_reply import LONGEST_IN_CHAT
from bot import phrases
from tests.adapters.discord.life import Life, life
from tests.adapters.text.story import story as told
from tests.fakes.discord_api.chats import Channel, Message
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi


@pytest.fixture
async def here(api: DiscordApi, tmp_path: Path, anna: Person, general: Channel) -> AsyncIterator[Life]:
    async with life(api, tmp_path, allow=[anna]) as here:
        yield here


def documents(messages: list[Message]) -> list[tuple[str, str]]:
    return [(file.name, file.text) for each in messages for file in each.attachments]


async def test_a_reply_that_can_be_read_in_a_chat_comes_as_messages(here: Life, anna: Person) -> None:
    story = told(LONGEST_IN_CHAT - 500)
    here.model.enqueue(story)
    await anna.say("Tell me")
    await anna.dm.answer()
    await here.house.quiet()
    assert "".join(anna.dm.texts).replace("\n", "") == story.replace("\n", "")
    assert documents(anna.dm.replies) == []


async def test_a_longer_one_is_its_beginning_a_note_and_a_file(here: Life, anna: Person) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue(story)
    await anna.say("Tell me")
    await anna.dm.answer(containing="All of it is in the file")
    await here.house.quiet()
    beginning, note, file = anna.dm.replies
    assert story.startswith(beginning.content)
    assert f"{len(story):,} characters" in note.content
    assert documents([file]) == [("reply.md", f"{story}\n")]
    assert await here.house.history(f"discord:@{anna.id}") == ["Tell me", story]


async def test_where_files_are_refused_it_says_that_there_is_more(
    here: Life, anna: Person, general: Channel
) -> None:
    story = told(LONGEST_IN_CHAT * 3)
    here.model.enqueue(story)
    general.deny(here.api.bot, "attach_files")
    await anna.ask("Tell me", general)
    await general.answer(containing="only the beginning")
    await here.house.quiet()
    *texts, _ = general.texts
    assert story.replace("\n", "").startswith("".join(texts).replace("\n", ""))
    assert LONGEST_IN_CHAT * 0.9 < sum(map(len, texts)) <= LONGEST_IN_CHAT


async def test_stop_ends_the_sending_of_a_long_reply_and_nothing_of_it_is_lost(
    here: Life, anna: Person
) -> None:
    story = told(LONGEST_IN_CHAT - 500)
    here.model.enqueue(story)
    here.api.fail("create_message", Fault.delay(0.3), times=None, channel=anna.dm.id)
    await anna.say("Tell me")
    await anna.dm.answer()
    await anna.say("/stop")
    await anna.dm.answer(containing=phrases.STOPPED)
    await here.house.quiet()
    parts = [each for each in anna.dm.replies if each.content.startswith("This is line")]
    assert len(parts) < 9, "ten would be all of it"
    assert [text for text in anna.dm.texts if "stopped;" in text] == [phrases.SENDING_STOPPED]
    assert documents(anna.dm.replies) == [("reply.md", f"{story}\n")]
    assert await here.house.history(f"discord:@{anna.id}") == ["Tell me", story]
