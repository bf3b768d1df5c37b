"""What holds for all tests of Discord."""

import threading
from collections.abc import Iterator

import pytest
from discord.gateway import KeepAliveHandler


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
