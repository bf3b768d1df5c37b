"""Timeouts for statements on a server that hangs or a host that has vanished."""

import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

SILENT_SECONDS = 30.0
"""Seconds without an answer after which a statement is checked, and then checked again."""
RECHECK_FACTOR = 3
"""The second check comes this many times sooner if the first one failed."""


def make_watched_connection(
    is_working: "Callable[[Connection[tuple[Any, ...]]], bool]", *, after: float = SILENT_SECONDS
) -> "type[Connection[tuple[Any, ...]]]":
    """Return a connection class that gives up on a hanging server; long statements, even of minutes, may run.

    `is_working` returns whether the server is working on a connection. If it is not, or the check fails
    (OperationalError), twice in a row, the connection is closed and the statement raises OperationalError.
    Twice, since an answer may be on its way, and a busy server may refuse a connection for a moment.
    """
    import psycopg

    class WatchedConnection(psycopg.Connection[tuple[Any, ...]]):
        def wait(self, gen: Generator[Any, Any, Any], *how: Any, **named: Any) -> Any:
            return super().wait(self._watched(gen), *how, **named)

        def _watched(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
            """Pass on the steps, checking the server while nothing arrives; they report ten times a second."""
            began = time.monotonic()
            look_at, is_doubted = began + after, False
            try:
                wish = next(steps)
                while True:
                    came = yield wish
                    if not came and time.monotonic() >= look_at:
                        doubt, rest = self._check()
                        if doubt and is_doubted:
                            self.close()
                            silent = time.monotonic() - began
                            raise psycopg.OperationalError(f"no answer for {silent:.0f} seconds: {doubt}")
                        look_at, is_doubted = time.monotonic() + rest, bool(doubt)
                    wish = steps.send(came)
            except StopIteration as end:
                return end.value

        def _check(self) -> tuple[str, float]:
            """Return why an answer is unlikely, "" if it is not, and when to check again."""
            try:
                return ("" if is_working(self) else "the server is idle", after)
            except psycopg.OperationalError:
                return "the server does not answer", after / RECHECK_FACTOR

    return WatchedConnection


@contextmanager
def cut_after(connection: "Connection[tuple[Any, ...]]", seconds: float) -> Iterator[None]:
    """Cut the connection if the block takes too long; a waiting statement then raises OperationalError.

    The server's own timeouts do not help if the server hangs.
    """
    watch = threading.Timer(seconds, _cut_connection, (connection,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _cut_connection(connection: "Connection[tuple[Any, ...]]") -> None:
    # Shut down, not closed, since another thread is waiting on the socket.
    with suppress(Exception):
        handle = socket.socket(fileno=os.dup(connection.fileno()))
        with handle:
            handle.shutdown(socket.SHUT_RDWR)
