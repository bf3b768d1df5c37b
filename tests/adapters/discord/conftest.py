"""What holds for all tests of Discord."""

import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from discord.gateway import KeepAliveHandler

from tests.fakes.discord_api.chats import Channel
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi


@pytest.fixture(autouse=True)
def no_heart_goes_on_beating() -> Iterator[None]:
    """The library's heartbeat is a thread, which would beat on into other tests, and for ever in the service."""
    yield
    hearts = [thread for thread in threading.enumerate() if isinstance(thread, KeepAliveHandler)]
    for heart in hearts:
        heart.join(1)  # one that was told to stop takes a moment
    beating = [heart for heart in hearts if heart.is_alive()]
    for heart in beating:
        heart.stop()
    assert beating == []


@pytest.fixture
async def api() -> AsyncIterator[DiscordApi]:
    async with DiscordApi() as api:
        yield api


@pytest.fixture
def anna(api: DiscordApi) -> Person:
    return api.person("anna")


@pytest.fixture
def general(api: DiscordApi, anna: Person) -> Channel:
    return api.guild("Home", anna, api.bot).text("general")
