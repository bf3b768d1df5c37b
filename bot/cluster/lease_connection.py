"""A session on the server in a thread of its own, that can be cut where the server does not answer."""

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
    """Asks the server one thing after the other; after the first fault it is of no use any more.

    The thread may hang, with a server that neither answers nor hangs up, and then nobody waits for it. What it had
    asked may still be done by the server at any later time.
    """

    def __init__(self, server: Server, *, on_news: Callable[[], None]) -> None:
        """Open it in the background. `on_news` is called in the loop when the server tells something unasked."""
        self._server = server
        self._on_news = on_news
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Work, asyncio.Future[Any]] | None] = SimpleQueue()
        self._wire: socket.socket | None = None
        self._cutting = threading.Lock()
        self._heard = False
        self._listens = False
        self._is_cut = False
        self._fault: Exception | None = None
        self.is_open = True
        self.ended = asyncio.Event()
        """Set once the thread is through."""
        threading.Thread(target=self._serve, name="leases", daemon=True).start()

    async def run(self, work: "Callable[[Session], Answer]", *, seconds: float) -> Answer:
        """Have the thread do this; raise MemoryFault where it cannot be done, or takes longer than that."""
        if not self.is_open:
            raise self._fault or ServerUnreachable(f"{self._server.shown} does not answer")
        answer: asyncio.Future[Answer] = self._loop.create_future()
        self._listen(False)
        self._jobs.put((work, answer))
        try:
            async with asyncio.timeout(seconds):
                given = await answer
        except TimeoutError:
            self.abort()
            raise ServerUnreachable(
                f"{self._server.shown} has not answered for {seconds:g} seconds"
            ) from None
        except BaseException:
            self.abort()
            raise
        self._listen(True)
        if self._heard:
            self._heard = False
            self._on_news()
        return given

    def abort(self) -> None:
        """Hang up, whatever is under way."""
        self.is_open, self._is_cut = False, True
        self._listen(False)
        self._jobs.put(None)
        with self._cutting:
            if self._wire:
                with suppress(OSError):
                    self._wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up once what was asked is answered."""
        self.is_open = False
        self._listen(False)
        self._jobs.put(None)

    def _listen(self, wanted: bool) -> None:
        """Have the loop look for what comes unasked; the thread must not be reading then."""
        if wanted != self._listens and self._wire:
            self._listens = wanted
            if wanted:
                self._loop.add_reader(self._wire, self._read_notifications)
            else:
                self._loop.remove_reader(self._wire)

    def _read_notifications(self) -> None:
        self._listen(False)  # until somebody has read it
        self._on_news()

    def _serve(self) -> None:
        """The thread: open the session, and do what is asked of it, until the first fault."""
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
        except Exception as error:  # noqa: BLE001 - told to who asked
            self._fail_pending(waiting, error)
        finally:
            with self._cutting:
                wire, self._wire = self._wire, None
            if wire:
                wire.close()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.ended.set)

    def _on_notify(self, _: object) -> None:
        self._heard = True

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

        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self._loop.call_soon_threadsafe(tell)
