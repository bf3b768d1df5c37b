"""The service's HTTP server on a port, with a client that speaks to it byte by byte."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.config.settings import Settings
from bot.service.http import serve_on_sockets
from bot.service.open_assistant import open_assistant
from bot.services import Services
from bot.web.app import build_web_app
from bot.web.auth import Network
from tests.fakes.fresh_state import copy_fresh_state

ANSWERED_SECONDS = 30.0
"""Maximum seconds until a request is answered or its connection closed, even on a busy machine."""


@dataclass(frozen=True, slots=True)
class HttpService:
    port: int

    async def say(self, *pieces: bytes, pause: float = 0.0, ends: bool = True) -> bytes:
        """Send pieces one after the other; return everything received until the connection is closed.

        `ends`: close our side after sending, as a program does when it exits.
        """
        async with asyncio.timeout(ANSWERED_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            came = bytearray()
            with suppress(ConnectionError):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(pause)
                if ends:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pause or 0.05):
                            came += await reader.read(65_536)
                    writer.write_eof()
                while more := await reader.read(65_536):
                    came += more
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        return bytes(came)


@asynccontextmanager
async def serve_http(
    folder: Path, *, token: str = "", **sections: Any
) -> AsyncIterator[tuple[HttpService, Services]]:
    """Serve as the service does, with settings by section; maintenance does not run."""
    settings = Settings.model_validate({"workspace": folder, "server": {"token": token}, **sections})
    copy_fresh_state(settings.private_folder / "state.db")
    async with open_assistant(settings, alone=True) as assistant:
        services = assistant.services
        app = build_web_app(channels=services.channels.health, memory=services.memory, services=services)
        async with serve_app(app, proxies=settings.server.proxies) as served:
            yield served, services


@asynccontextmanager
async def serve_app(app: web.Application, *, proxies: Sequence[Network] = ()) -> AsyncIterator[HttpService]:
    """Serve any application as the service does, on a local port."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        listening.setblocking(False)
        async with serve_on_sockets(app, [listening], proxies=proxies):
            yield HttpService(listening.getsockname()[1])
