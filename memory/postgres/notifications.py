"""Notifications of other instances' changes by NOTIFY, and by polling a number, since notifications get lost."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.postgres.errors import translate_errors
from memory.postgres.server import Server
from memory.postgres.timeouts import cut_after

if TYPE_CHECKING:
    from psycopg import Connection

CHANNEL = "commonplace_news"
POLL_SECONDS = 2.0
"""Seconds between two polls."""

MAX_PAUSE_SECONDS = 30.0
_MIN_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_STOP_SECONDS = 0.5
# The server ends the session of a vanished host within half a minute.
_LISTEN = (
    f"LISTEN {CHANNEL}; SELECT set_config('tcp_keepalives_idle', '10', false),"
    " set_config('tcp_keepalives_interval', '5', false), set_config('tcp_keepalives_count', '3', false)"
)


def notify_change(connection: "Connection[tuple[Any, ...]]", by: str) -> None:
    """Notify all instances, when the transaction commits, that `by` (a short id) changed something."""
    connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, by))


@dataclass(frozen=True, slots=True)
class NotificationState:
    """The state of the subscription."""

    listening: bool
    problem: str
    """Why no notifications arrive; "" while they do."""


class ChangeNotifications:
    """Notifies of other instances' changes while somebody listens, in a session of its own."""

    def __init__(
        self,
        server: Server,
        *,
        number: str,
        mine: Callable[[str], bool],
        poll: float = POLL_SECONDS,
        sign: "Callable[[Connection[tuple[Any, ...]]], None]" = lambda _: None,
        sign_every: float = 20.0,
    ) -> None:
        """Connect to nothing yet.

        `number` is a statement whose value changes with every change; `mine` returns whether an announcement
        is our own. `sign` is called with the session every `sign_every` seconds, so that others see that we
        are running.
        """
        self._server = server
        self._number = number.encode()
        self._mine = mine
        self._poll = poll
        self._sign, self._sign_every = sign, sign_every
        self._state = NotificationState(listening=False, problem="")

    @property
    def state(self) -> NotificationState:
        """The current state."""
        return self._state

    async def changes(self) -> AsyncGenerator[None, None]:
        """Yield after changes, once for several, and whenever a session was opened, since earlier ones were missed.

        Ends only when its task is cancelled or it is closed (`aclosing`).
        """
        loop, changed, stop = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop was closed first
                loop.call_soon_threadsafe(changed.set)

        thread = ThreadPoolExecutor(1, "memory-news")
        listening = loop.run_in_executor(thread, self._listen, tell, stop)
        listening.add_done_callback(lambda _: changed.set())
        try:
            while True:
                await changed.wait()
                changed.clear()
                if listening.done():
                    listening.result()  # raises unexpected errors
                yield
        finally:
            stop.set()
            thread.shutdown(wait=False)

    def _listen(self, tell: Callable[[], None], stop: threading.Event) -> None:
        """Listen until `stop`, opening new sessions as needed."""
        rest = _MIN_PAUSE_SECONDS
        while not stop.is_set():
            try:
                with self._server.session() as connection:
                    with cut_after(connection, _ANSWER_SECONDS):
                        connection.execute(_LISTEN.encode())
                        number = connection.execute(self._number).fetchone()
                        self._sign(connection)
                    self._state, rest = NotificationState(listening=True, problem=""), _MIN_PAUSE_SECONDS
                    tell()
                    self._listen_on(connection, number, tell, stop)
            except (IndexUnavailable, IndexCorrupted) as error:
                self._state = NotificationState(listening=False, problem=str(error))
                stop.wait(rest)
                rest = min(2 * rest, MAX_PAUSE_SECONDS)
        self._state = NotificationState(listening=False, problem="")

    def _listen_on(
        self,
        connection: "Connection[tuple[Any, ...]]",
        number: "tuple[Any, ...] | None",
        tell: Callable[[], None],
        stop: threading.Event,
    ) -> None:
        poll_at, sign_at = time.monotonic() + self._poll, time.monotonic() + self._sign_every
        while not stop.is_set():
            with translate_errors(self._server.shown):
                heard = list(connection.notifies(timeout=min(_STOP_SECONDS, self._poll), stop_after=1))
            others = [told for told in heard if not self._mine(told.payload)]
            if not others and not heard and time.monotonic() < poll_at:
                continue
            with translate_errors(self._server.shown), cut_after(connection, _ANSWER_SECONDS):
                before, number = number, connection.execute(self._number).fetchone()
                if time.monotonic() >= sign_at:
                    self._sign(connection)
                    sign_at = time.monotonic() + self._sign_every
            # Our own announcements account for a new number.
            if others or (number != before and not heard):
                tell()
            poll_at = time.monotonic() + self._poll
