"""What the local servers of chat platforms share: how they run, fail, and are waited for."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from aiohttp import web

T = TypeVar("T")


class Watched(ABC):
    """Something whose changes tests wait for."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def notify_waiters(self) -> None:
        """Wake those who wait for a condition."""
        for event in self._waiting:
            event.set()

    async def wait_until(
        self, condition: Callable[[], Any], *, within: float = 15.0, what: str = "what was waited for"
    ) -> Any:
        """Wait until `condition` is true and return its value; else fail with a report of what happened."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            async with asyncio.timeout(within):
                while not (value := condition()):
                    event.clear()
                    try:
                        # Check regularly too, since the condition may depend on something else.
                        async with asyncio.timeout(0.02):
                            await event.wait()
                    except TimeoutError:
                        pass
                return value
        except TimeoutError:
            raise AssertionError(f"{what} did not happen within {within} s\n{self.report()}") from None
        finally:
            self._waiting.discard(event)

    @abstractmethod
    def report(self) -> str:
        """Describe what happened, for readers of a failed test."""


class LocalServer(ABC):
    """Start with `async with`, or `start` and `stop`; data survives a stop."""

    def __init__(self) -> None:
        self.url = ""
        """`http://127.0.0.1:port`."""
        self._port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: web.ServerRunner | None = None
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.001, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port or self._port, reuse_address=True).start()
        self._port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Close all connections and refuse new ones; `start` uses the same port again."""
        self._stopping.set()
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Stop the server for a while. What happens meanwhile waits for the bots."""
        await self.stop()
        try:
            yield
        finally:
            await self.start()

    def do(self, work: Coroutine[Any, Any, T], *, within: float = 20.0) -> T:
        """Run a coroutine in the server's thread, called from another thread."""
        assert self._loop
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within)

    def call(self, work: Callable[[], T], *, within: float = 20.0) -> T:
        """Run a plain function in the server's thread, as in `api.call(lambda: home.text("news"))`."""

        async def there() -> T:
            return work()

        return self.do(there(), within=within)

    @abstractmethod
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse: ...
