"""A port for a server that starts later, or restarts."""

import random
import socket
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a free port of 127.0.0.1 outside the range that the system assigns, so that it stays free."""
    lowest_given = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768
    chance = random.SystemRandom()
    for _ in range(100):
        port = chance.randrange(10_240, max(lowest_given, 20_000))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port is free")
