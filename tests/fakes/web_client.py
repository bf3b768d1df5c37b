"""The service's HTTP pages, opened as the service opens them, with a client."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.assistant import Assistant
from bot.config.settings import Settings
from bot.service.open_assistant import open_assistant
from bot.services import Services
from bot.web.app import build_web_app
from bot.web.session import SESSION, new_session
from tests.fakes.fresh_state import copy_fresh_state

TOKEN = "correct horse battery staple"


@dataclass(frozen=True, slots=True)
class WebClient:
    client: TestClient[web.Request, web.Application]
    assistant: Assistant
    settings: Settings
    folder: Path

    @property
    def services(self) -> Services:
        """The assistant's services."""
        return self.assistant.services

    @property
    def token(self) -> dict[str, str]:
        """The header that authorises a program."""
        return {"Authorization": f"Bearer {TOKEN}"}

    @property
    def cookie(self) -> dict[str, str]:
        """The header of a browser that has signed in."""
        return {"Cookie": f"{SESSION}={new_session(TOKEN, now=time.time())}"}


@asynccontextmanager
async def open_web_client(folder: Path, *, token: str = "", **sections: Any) -> AsyncIterator[WebClient]:
    """Open it in `folder`, with settings by section; maintenance does not run."""
    settings = Settings.model_validate({"workspace": folder, "server": {"token": token}, **sections})
    async with open_configured_client(settings) as site:
        yield site


@asynccontextmanager
async def open_configured_client(settings: Settings) -> AsyncIterator[WebClient]:
    """Open it with settings that were loaded."""
    copy_fresh_state(settings.private_folder / "state.db")
    async with open_assistant(settings, alone=True) as assistant:
        services = assistant.services
        app = build_web_app(channels=services.channels.health, memory=services.memory, services=services)
        async with TestClient(TestServer(app)) as client:
            yield WebClient(client, assistant, settings, settings.workspace)
