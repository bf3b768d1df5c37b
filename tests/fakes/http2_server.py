"""A TLS server that speaks HTTP/2 frame by frame, and records what its clients do with their connections."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded

PATH = b"/v1/chat/completions"
Behaviour = Literal["answers", "goes on for ever", "is dead"]


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Create a certificate for localhost and its key. Needs the program openssl."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def event(text: str, *, ends: bool = False) -> bytes:
    choice = {"delta": {"content": text}, "finish_reason": "stop" if ends else None}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


@dataclass
class Http2Server:
    """Chat completions over HTTP/2; `behaves` scripts each connection, counted from 0."""

    certificate: Path
    key: Path
    behaves: Callable[[int], Behaviour] = lambda connection: "answers"
    connections: int = 0
    open: set[int] = field(default_factory=set)
    """The open connections."""
    requests: list[int] = field(default_factory=list)
    """The connection of each request."""
    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["h2"])
        self._server = await asyncio.start_server(self._serve, "localhost", 0, ssl=context)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()

    @property
    def base_url(self) -> str:
        assert self._server
        return f"https://localhost:{self._server.sockets[0].getsockname()[1]}/v1"

    async def wait_closed(self, connection: int) -> None:
        """Wait until a connection is closed."""
        async with asyncio.timeout(5):
            while connection in self.open:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.connections = self.connections, self.connections + 1
        self.open.add(number)
        http = H2Connection(H2Configuration(client_side=False))
        http.initiate_connection()
        answers: set[asyncio.Task[None]] = set()
        strays: set[int] = set()
        try:
            writer.write(http.data_to_send())
            while data := await reader.read(65_536):
                if self.requests.count(number) and self.behaves(number) == "is dead":
                    continue
                for each in http.receive_data(data):
                    match each:
                        case RequestReceived(headers=headers, stream_id=stream):
                            if (b":path", PATH) not in {(name, value) for name, value in headers or ()}:
                                strays.add(stream or 0)
                        case DataReceived(flow_controlled_length=length, stream_id=stream):
                            http.acknowledge_received_data(length or 0, stream or 0)
                        case StreamEnded(stream_id=stream) if stream in strays:
                            http.send_headers(stream or 0, [(":status", "404")], end_stream=True)
                        case StreamEnded(stream_id=stream):
                            self.requests.append(number)
                            if self.behaves(number) != "is dead":
                                answers.add(
                                    asyncio.create_task(self._answer(http, writer, stream or 0, number))
                                )
                writer.write(http.data_to_send())
        except OSError:
            pass
        finally:
            self.open.discard(number)
            for answer in answers:
                answer.cancel()
            writer.close()

    async def _answer(
        self, http: H2Connection, writer: asyncio.StreamWriter, stream: int, number: int
    ) -> None:
        http.send_headers(stream, [(":status", "200"), ("content-type", "text/event-stream")])
        while self.behaves(number) == "goes on for ever":
            if http.local_flow_control_window(stream) > 1000:
                http.send_data(stream, event("and on "))
                writer.write(http.data_to_send())
            await asyncio.sleep(0.002)
        http.send_data(stream, event("Hello.", ends=True) + b"data: [DONE]\n\n", end_stream=True)
        writer.write(http.data_to_send())
