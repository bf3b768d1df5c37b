"""Statements that do not wait for ever for a server that hangs, or a host that has vanished without a word."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection


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
