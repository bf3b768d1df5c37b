"""A database session in its own thread, which can be aborted when the server does not answer."""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from os import dup
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from bot.cluster.lease_table import prepare
from memory.postgres.errors import ServerUnreachable
from memory.postgres.server import Server

if TYPE_CHECKING:
    from bot.cluster.lease_table import Session

Answer = TypeVar("Answer")
Work = Callable[["Session"], object]


class LeaseConnection:
    """Sends one query after another to the server; unusable after the first error.

    The thread may hang if the server neither answers nor hangs up; nothing waits for it then. The server may still
    carry out at any later time what was sent.
    """

    def __init__(self, server: Server, *, on_news: Callable[[], None]) -> None:
        """Open the session in the background; `on_news` is called in the event loop when a notification arrives."""
        self._server = server
        self._on_news = on_news
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = SimpleQueue()
        self._wire: socket.socket | None = None
        self._cutting = threading.Lock()
        self._was_notified = False
        self._listens = False
        self._is_cut = False
        self._fault: Exception | None = None
        self.is_open = True
        self.ended = asyncio.Event()
        """Set when the thread has ended."""
        threading.Thread(target=self._serve, name="leases", daemon=True).start()

    async def run(self, work: "Callable[[Session], Answer]", *, seconds: float) -> Answer:
        """Run `work` in the thread and return its result.

        Raises MemoryFault if that fails or takes longer than `seconds`.
        """
        if not self.is_open:
            raise self._fault or ServerUnreachable("{server} does not answer", server=self._server.shown)
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._listen(False)
        self._jobs.put((work, answer))
        try:
            async with asyncio.timeout(seconds):
                given = await answer
        except TimeoutError:
            self.abort()
            raise ServerUnreachable(
                "{server} has not answered for {seconds:g} seconds",
                server=self._server.shown,
                seconds=seconds,
            ) from None
        except BaseException:
            self.abort()
            raise
        self._listen(True)
        if self._was_notified:
            self._was_notified = False
            self._on_news()
        return given

    def abort(self) -> None:
        """Hang up at once, even during a query."""
        self.is_open, self._is_cut = False, True
        self._listen(False)
        self._jobs.put(None)
        with self._cutting:
            if self._wire:
                with suppress(OSError):
                    self._wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up once all queries are answered."""
        self.is_open = False
        self._listen(False)
        self._jobs.put(None)

    def _listen(self, wanted: bool) -> None:
        """Start or stop watching the socket for notifications; the thread must not be reading meanwhile."""
        if wanted != self._listens and self._wire:
            self._listens = wanted
            if wanted:
                self._loop.add_reader(self._wire, self._read_notifications)
            else:
                self._loop.remove_reader(self._wire)

    def _read_notifications(self) -> None:
        self._listen(False)  # until the next query has read them
        self._on_news()

    def _serve(self) -> None:
        """Open the session and run jobs until the first error; runs in the thread."""
        waiting: asyncio.Future[Any] | None = None
        try:
            with self._server.session() as session:
                with self._cutting:
                    self._wire = socket.socket(fileno=dup(session.fileno()))
                session.add_notify_handler(self._on_notify)
                prepare(session)
                while (job := self._jobs.get()) and not self._is_cut:
                    work, waiting = job
                    self._resolve(waiting, work(session), None)
        except Exception as error:  # noqa: BLE001 - reported to the caller
            self._fail_pending(waiting, error)
        finally:
            with self._cutting:
                wire, self._wire = self._wire, None
            if wire:
                wire.close()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.ended.set)

    def _on_notify(self, _: object) -> None:
        self._was_notified = True

    def _fail_pending(self, waiting: "asyncio.Future[Any] | None", error: Exception) -> None:
        self._fault, self.is_open = error, False
        if waiting:
            self._resolve(waiting, None, error)
        while not self._jobs.empty():
            if job := self._jobs.get():
                self._resolve(job[1], None, error)

    def _resolve(self, waiting: "asyncio.Future[Any]", given: object, error: Exception | None) -> None:
        def tell() -> None:
            if waiting.done():
                return
            if error:
                waiting.set_exception(error)
            else:
                waiting.set_result(given)

        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(tell)
