"""Whether the service on this machine is well: for Docker's HEALTHCHECK, so with as little as possible to import."""

import os
import socket
import sys

TIMEOUT_SECONDS = 4.0
"""Seconds of silence; how long all of it may take is Docker's business."""
MAX_ANSWER_BYTES = 64 * 1024
"""Bytes of it that are read."""


def main() -> int:
    """Print what `/healthz` says; return 0 where all is well, else 1."""
    port = os.environ.get("COMMONPLACE_SERVER__PORT") or "8321"
    try:
        status, told = fetch_health(int(port))
    except (OSError, ValueError, OverflowError) as error:
        print(f"nobody answers on port {port}: {error}")
        return 1
    print(told)
    return 0 if status == 200 else 1


def fetch_health(port: int, *, patience: float = TIMEOUT_SECONDS) -> tuple[int, str]:
    """Ask the service on this port of 127.0.0.1: the status of HTTP and what it says. Raises OSError, ValueError."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        connection.sendall(f"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = b""
        while len(answer) < MAX_ANSWER_BYTES and (piece := connection.recv(MAX_ANSWER_BYTES)):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    version, status = head.split(maxsplit=2)[:2]
    if not version.startswith(b"HTTP/"):
        raise ValueError("what answers is no web server")
    return int(status), body.decode("utf-8", "replace").strip()


if __name__ == "__main__":
    sys.exit(main())
