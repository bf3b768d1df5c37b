"""A server in a thread of its own, for tests whose own thread is busy running the program."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tests.fakes.model_server import ModelServer

Server = TypeVar("Server", bound=ModelServer)


@contextmanager
def run_in_thread(server: Server) -> Iterator[Server]:
    """Have it run; what it is told (`enqueue`, `always`) counts from the next request on."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake server", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(5)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
