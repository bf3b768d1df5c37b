"""What the service shows over HTTP, opened as the service opens it, with a client for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bot.assistant import Assistant
from bot.config.settings import Settings
from bot.service.opening import open_assistant
from bot.services import Services
from bot.web.app import build_web_app
from tests.fakes.first_start import laid_state

TOKEN = "correct horse battery staple"


@dataclass(frozen=True, slots=True)
class Website:
    client: TestClient[web.Request, web.Application]
    assistant: Assistant
    settings: Settings
    folder: Path

    @property
    def services(self) -> Services:
        """What the assistant is made of."""
        return self.assistant.services

    @property
    def token(self) -> dict[str, str]:
        """The header that lets a program in."""
        return {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def open_website(folder: Path, *, token: str = "", **sections: Any) -> AsyncIterator[Website]:
    """Open it in `folder`, with settings by section; upkeep is not entered."""
    settings = Settings.model_validate({"workspace": folder, "server": {"token": token}, **sections})
    laid_state(settings.private_folder / "state.db")
    async with open_assistant(settings, alone=True) as assistant:
        services = assistant.services
        app = build_web_app(channels=services.channels.health, memory=services.memory, services=services)
        async with TestClient(TestServer(app)) as client:
            yield Website(client, assistant, settings, folder)
