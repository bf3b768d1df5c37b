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


def looked_after(
    still_at_it: Callable[[int], bool], *, after: float = SILENT_SECONDS
) -> "type[Connection[tuple[Any, ...]]]":
    """A class of connections that do not wait for ever, whatever the statement: many take minutes, and may.

    `still_at_it` is asked about the process of the server that owes us an answer. Where it is not, twice in a row since
    an answer may be on its way, or where that cannot be told (OperationalError), the connection is closed, and what
    waits raises OperationalError.
    """
    import psycopg

    class LookedAfter(psycopg.Connection[tuple[Any, ...]]):
        def wait(self, gen: Generator[Any, Any, Any], *how: Any, **named: Any) -> Any:
            return super().wait(self._watched(gen), *how, **named)

        def _watched(self, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
            """The same steps; whoever takes them tells at each whether something came, ten times a second."""
            look_at, doubted = time.monotonic() + after, False
            try:
                wish = next(steps)
                while True:
                    came = yield wish
                    if not came and time.monotonic() >= look_at:
                        doubted = self._look(doubted)
                        look_at = time.monotonic() + after
                    wish = steps.send(came)
            except StopIteration as end:
                return end.value

        def _look(self, doubted: bool) -> bool:
            """Whether it is to be doubted that an answer comes."""
            try:
                if still_at_it(self.info.backend_pid):
                    return False
                if not doubted:
                    return True
            except psycopg.OperationalError as error:
                self.close()
                raise psycopg.OperationalError(f"no answer for {after:g} seconds") from error
            self.close()
            raise psycopg.OperationalError(f"no answer for {2 * after:g} seconds")

    return LookedAfter


@contextmanager
def answered_within(connection: "Connection[tuple[Any, ...]]", seconds: float) -> Iterator[None]:
    """Cut the connection where the block takes longer: what waits for an answer in it then raises OperationalError.

    The server's own timeouts are of no use where it is the server that hangs.
    """
    watch = threading.Timer(seconds, _cut, (connection,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _cut(connection: "Connection[tuple[Any, ...]]") -> None:
    # Shut down and not closed: another thread is waiting at it.
    with suppress(Exception):
        handle = socket.socket(fileno=os.dup(connection.fileno()))
        with handle:
            handle.shutdown(socket.SHUT_RDWR)
