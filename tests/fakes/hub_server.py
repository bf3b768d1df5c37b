"""A model hub on this machine: it describes a file, and redirects downloads to another server."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

REPOSITORY = "someone/models"
REFERENCE = f"hf:{REPOSITORY}/small/tiny.gguf"
FILE = f"/{REPOSITORY}/resolve/main/small/tiny.gguf"
COPY = "/copy?signature=secret"


@dataclass(frozen=True, slots=True)
class HubRequest:
    """One request."""

    server: Literal["hub", "store"]
    method: str
    path: str
    range: str
    authorization: str


@dataclass(slots=True)
class ModelHub:
    """What the servers hold, and how they behave; may be changed while they run."""

    content: bytes
    url: str = ""
    store_url: str = ""
    asked: list[HubRequest] = field(default_factory=list)
    token: str = ""
    """Requests without it get 401."""
    cuts: list[int] = field(default_factory=list)
    """The next responses with content end after this many bytes."""
    statuses: list[int] = field(default_factory=list)
    """The next responses of the hub are these errors."""
    direct: bool = False
    """Whether the hub sends the file itself, as a plain server does."""
    takes_ranges: bool = True
    tells_hash: bool = True
    hash: str = ""
    """The SHA-256 that it claims; empty for the true one."""
    seconds_per_piece: float = 0.0
    silent: bool = False
    """Whether connections are accepted and never answered."""
    over: threading.Event = field(default_factory=threading.Event)

    def downloads(self) -> list[HubRequest]:
        """Requests for content."""
        return [one for one in self.asked if one.method == "GET" and (self.direct or one.server == "store")]


@contextmanager
def running_hub(content: bytes) -> Iterator[ModelHub]:
    """Serve `content` as REFERENCE."""
    hub = ModelHub(content)
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _answers(hub, name)) for name in ("hub", "store")]
    hub.url, hub.store_url = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever, args=[0.02]) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        hub.over.set()
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


def _answers(hub: ModelHub, server: Any) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            headers = self.headers
            found = headers.get("Range", ""), headers.get("Authorization", "")
            hub.asked.append(HubRequest(server, self.command, self.path, *found))
            if hub.silent:
                hub.over.wait()
                return
            if server == "hub":
                self.at_hub()
            elif self.path != COPY:
                self.say(404)
            elif self.command == "HEAD":
                self.say(403)  # the URL is signed for GET only
            else:
                self.send_content()

        def at_hub(self) -> None:
            if hub.statuses:
                self.say(hub.statuses.pop(0), retry_after="7")
            elif hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
                self.say(401)
            elif self.path != FILE:
                self.say(404)
            elif hub.direct:
                self.send_content()
            else:
                self.send_response(302)
                self.send_header("Location", f"{hub.store_url}{COPY}")
                if hub.tells_hash:
                    self.send_header("X-Linked-Size", str(len(hub.content)))
                    self.send_header("X-Linked-ETag", f'"{self.hash()}"')
                self.send_header("Content-Length", "0")
                self.end_headers()

        def hash(self) -> str:
            return hub.hash or hashlib.sha256(hub.content).hexdigest()

        def say(self, status: int, retry_after: str = "") -> None:
            self.send_response(status)
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def send_content(self) -> None:
            whole = len(hub.content)
            asked = self.headers.get("Range", "") if hub.takes_ranges else ""
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            if start >= whole:
                self.say(416)
                return
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
            if hub.tells_hash:
                self.send_header("ETag", f'"{self.hash()}"')
            self.send_header("Content-Length", str(whole - start))
            self.end_headers()
            if self.command == "GET":
                self.send_pieces(hub.content[start:])

        def send_pieces(self, body: bytes) -> None:
            end = hub.cuts.pop(0) if hub.cuts else len(body)
            step = 4096 if hub.seconds_per_piece else len(body)
            for at in range(0, min(end, len(body)), step):
                self.wfile.write(body[at : min(at + step, end)])
                if hub.over.wait(hub.seconds_per_piece):
                    return
            self.close_connection = end < len(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):
                time.sleep(0)  # the client is gone, as some tests intend

    return Answer
