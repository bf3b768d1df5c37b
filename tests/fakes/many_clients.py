"""Many clients that connect at once and then stall."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

HALF_HEAD = b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
HALF_BODY = (
    b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\ntoken=a"
)


@contextmanager
def raise_descriptor_limit(count: int) -> Iterator[None]:
    """Raise this process's limit on open files by `count`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 512
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted if hard < 0 else min(wanted, hard)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def open_clients(port: int, count: int, said: bytes) -> AsyncIterator[list[socket.socket]]:
    """Open connections to a local port, all at once, send the same bytes on each, and yield them open."""
    loop = asyncio.get_running_loop()
    with raise_descriptor_limit(count), contextlib.ExitStack() as stack:

        async def one() -> socket.socket:
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            await loop.sock_connect(client, ("127.0.0.1", port))
            with contextlib.suppress(ConnectionError):  # already closed by the server to make room
                await loop.sock_sendall(client, said)
            return client

        yield await asyncio.gather(*(one() for _ in range(count)))


async def wait_closed(client: socket.socket, *, within: float = 5.0) -> bool:
    """Return whether the other side closes a connection within the time; received data is discarded."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within):
            while await loop.sock_recv(client, 1 << 16):
                pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def is_still_open(client: socket.socket) -> bool:
    """Return whether nothing indicates that a connection is closed."""
    try:
        return client.recv(1 << 16, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
