"""A server in its own thread, for tests and benchmarks whose main thread runs the program."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar


class Startable(Protocol):
    """Any of the servers here."""

    def start(self) -> Coroutine[Any, Any, object]: ...

    def stop(self) -> Coroutine[Any, Any, object]: ...


Server = TypeVar("Server", bound=Startable)


@contextmanager
def run_in_thread(server: Server) -> Iterator[Server]:
    """Run the server.

    Changes to a model's server (`enqueue`, `always`) take effect with the next request; act on a platform's with
    `api.do(anna.say("hi"))` and `api.call`.
    """
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
