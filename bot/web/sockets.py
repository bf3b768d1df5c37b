"""Opens the sockets of the HTTP server."""

import errno
import socket
from typing import TYPE_CHECKING, Any

from bot.cannot_start import CannotStart

if TYPE_CHECKING:
    from bot.config.settings import ServerSettings

QUEUED_CONNECTIONS = 2048
"""Connections that the system queues until they are accepted; further clients retry after a second."""


def open_sockets(server: "ServerSettings") -> list[socket.socket]:
    """Open the port. Raises CannotStart if it is in use or the address is not this machine's."""
    try:
        addresses = socket.getaddrinfo(
            server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise CannotStart(
            f"server.host is {server.host}, which is not an address: {error.strerror or error}"
        ) from error
    opened: list[socket.socket] = []
    absent: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            opened.append(_open_listener(family, address))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                absent = error  # such as the ::1 of "localhost" without IPv6
                continue
            for each in opened:
                each.close()
            taken = error.errno == errno.EADDRINUSE
            reason = (
                "is in use, perhaps by another Commonplace (commonplace chat works beside it)"
                if taken
                else f"cannot be opened ({error.strerror})"
            )
            raise CannotStart(
                f"port {server.port} of {server.host} {reason}: set server.port to another port, "
                "or server.enabled to false"
            ) from error
    if not opened:
        raise CannotStart(
            f"server.host is {server.host}, which is not an address of this machine; set it to one, such as 127.0.0.1"
        ) from absent
    return opened


def _open_listener(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(QUEUED_CONNECTIONS)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
