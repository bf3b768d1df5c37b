"""The server in its own thread, for tests and benchmarks that are not asynchronous."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.discord_api.server import DiscordApi


@contextmanager
def run_in_thread(api: DiscordApi) -> Iterator[DiscordApi]:
    """Run the server; act there with `api.do(anna.say("hi"))` and `api.call`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake Discord", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(api.start(), loop).result(5)
        yield api
    finally:
        asyncio.run_coroutine_threadsafe(api.stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
