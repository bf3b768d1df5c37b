"""A server in its own thread, for tests whose main thread runs the program."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from tests.fakes.model_server import ModelServer

Server = TypeVar("Server", bound=ModelServer)


@contextmanager
def run_in_thread(server: Server) -> Iterator[Server]:
    """Run the server; changes to it (`enqueue`, `always`) take effect with the next request."""
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
