"""Checks whether the service on this machine is healthy; imports little, since Docker's HEALTHCHECK runs it often."""

import os
import socket
import sys

TIMEOUT_SECONDS = 4.0
"""Seconds without a byte; Docker limits the total time."""
MAX_ANSWER_BYTES = 64 * 1024
"""Bytes of the answer that are read."""


def main() -> int:
    """Print the answer of `/healthz`; return 0 if the service is healthy, else 1."""
    port = os.environ.get("COMMONPLACE_SERVER__PORT") or "8321"
    try:
        status, told = fetch_health(int(port))
    except (OSError, ValueError, OverflowError) as error:
        print(f"nobody answers on port {port}: {error}")
        return 1
    print(told)
    return 0 if status == 200 else 1


def fetch_health(port: int, *, timeout_seconds: float = TIMEOUT_SECONDS) -> tuple[int, str]:
    """Return the HTTP status and the body of `/healthz` on this port of 127.0.0.1. Raises OSError, ValueError."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_seconds) as connection:
        connection.sendall(f"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        answer = b""
        while len(answer) < MAX_ANSWER_BYTES and (piece := connection.recv(MAX_ANSWER_BYTES)):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    version, status = head.split(maxsplit=2)[:2]
    if not version.startswith(b"HTTP/"):
        raise ValueError("it is not a web server that answers")
    return int(status), body.decode("utf-8", "replace").strip()


if __name__ == "__main__":
    sys.exit(main())
