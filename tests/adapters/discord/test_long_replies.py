"""Replies that are too long to read in a chat, where Discord takes no files."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.long_reply import MAX_CHARS_IN_CHAT
from tests.adapters.discord.life import Life, life
from tests.adapters.markdown.story import story as told
from tests.fakes.discord_api.chats import Channel
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi


@pytest.fixture
async def here(api: DiscordApi, tmp_path: Path, anna: Person, general: Channel) -> AsyncIterator[Life]:
    async with life(api, tmp_path, allow=[anna]) as here:
        yield here


async def test_where_files_are_refused_it_says_that_there_is_more(
    here: Life, anna: Person, general: Channel
) -> None:
    story = told(MAX_CHARS_IN_CHAT * 3)
    here.model.enqueue(story)
    general.deny(here.api.bot, "attach_files")
    await anna.ask("Tell me", general)
    await general.answer(containing="only the beginning")
    await here.house.wait_until_idle()
    *texts, _ = general.texts
    assert story.replace("\n", "").startswith("".join(texts).replace("\n", ""))
    assert MAX_CHARS_IN_CHAT * 0.9 < sum(map(len, texts)) <= MAX_CHARS_IN_CHAT
