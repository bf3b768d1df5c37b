"""Statements that do not wait for ever for a server that hangs, or a host that has vanished without a word."""

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
"""A statement that has no answer for so long is looked after, and again after as long."""
RECHECK_FACTOR = 3
"""So many times sooner where the first look has failed."""


def make_watched_connection(
    still_at_it: "Callable[[Connection[tuple[Any, ...]]], bool]", *, after: float = SILENT_SECONDS
) -> "type[Connection[tuple[Any, ...]]]":
    """A class of connections that do not wait for ever, whatever the statement: many take minutes, and may.

    `still_at_it` is asked whether the server is about to answer on a connection. Where it is not, or where that cannot
    be told (OperationalError), twice in a row, the connection is closed, and what waits raises OperationalError. Twice:
    an answer may be on its way, and a server that is busy may let nobody in for a moment.
    """
    import psycopg

    class LookedAfter(psycopg.Connection[tuple[Any, ...]]):
        def wait(self, gen: Generator[Any, Any, Any], *how: Any, **named: Any) -> Any:
            return super().wait(self._watched(gen), *how, **named)

        def _watched(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
            """The same steps; whoever takes them tells at each whether something came, ten times a second."""
            began = time.monotonic()
            look_at, is_doubted = began + after, False
            try:
                wish = next(steps)
                while True:
                    came = yield wish
                    if not came and time.monotonic() >= look_at:
                        doubt, rest = self._look()
                        if doubt and is_doubted:
                            self.close()
                            silent = time.monotonic() - began
                            raise psycopg.OperationalError(f"no answer for {silent:.0f} seconds: {doubt}")
                        look_at, is_doubted = time.monotonic() + rest, bool(doubt)
                    wish = steps.send(came)
            except StopIteration as end:
                return end.value

        def _look(self) -> tuple[str, float]:
            """Why it is to be doubted that an answer comes, "" where it is not; and when to look again."""
            try:
                return ("" if still_at_it(self) else "it is at nothing", after)
            except psycopg.OperationalError:
                return "it answers nobody", after / RECHECK_FACTOR

    return LookedAfter


@contextmanager
def cut_after(connection: "Connection[tuple[Any, ...]]", seconds: float) -> Iterator[None]:
    """Cut the connection where the block takes longer: what waits for an answer in it then raises OperationalError.

    The server's own timeouts are of no use where it is the server that hangs.
    """
    watch = threading.Timer(seconds, _cut_connection, (connection,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _cut_connection(connection: "Connection[tuple[Any, ...]]") -> None:
    # Shut down and not closed: another thread is waiting at it.
    with suppress(Exception):
        handle = socket.socket(fileno=os.dup(connection.fileno()))
        with handle:
            handle.shutdown(socket.SHUT_RDWR)
