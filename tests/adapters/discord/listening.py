"""The real library and connection on a server that behaves like Discord; the assistant is one that only listens."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import discord
from pydantic import SecretStr

from adapters.discord.connection import ConnectionEvents, ConnectionTimes, GatewayConnection
from adapters.discord.connection_health import ReconnectTimes
from adapters.discord.incoming import ReceivedMessage
from adapters.discord.receiving import ReceiveTimes
from bot.channel_store import ChannelStore
from bot.config.discord import DiscordSettings
from bot.messages import ChannelHealth, ChatId, IncomingMessage, NotAccepted, PersonId
from bot.state.database import State
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.fresh_state import copy_fresh_state

QUICK = ReconnectTimes(
    first=0.02,
    longest=0.1,
    refused=0.2,
    told=0.1,
    given_up=1.0,
    settled=60.0,
    call=1.0,
    guilds=0.05,
    identify=0.02,
)
PAUSES = ReceiveTimes(first=0.02, longest=0.05, save=0.02, slack=0.0)


@dataclass
class Ear:
    """An assistant that takes everything in once, unless told otherwise, and remembers it over restarts."""

    messages: list[IncomingMessage] = field(default_factory=list)
    said: list[ReceivedMessage] = field(default_factory=list)
    known: set[tuple[str, str]] = field(default_factory=set)
    twice: int = 0
    refuses: Callable[[IncomingMessage], Exception | None] = lambda _: None
    withdrawn: list[tuple[str, str]] = field(default_factory=list)
    """Chat and id of messages that were deleted."""
    health: list[ChannelHealth] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def accept(self, said: ReceivedMessage) -> bool:
        message = said.message
        await asyncio.sleep(0)
        if error := self.refuses(message):
            raise error
        if (str(message.chat), message.id) in self.known:
            self.twice += 1
            return False
        self.known.add((str(message.chat), message.id))
        self.messages.append(message)
        self.said.append(said)
        self.changed.set()
        return message.addressed

    async def withdraw(self, chat: ChatId, message: str) -> None:
        self.withdrawn.append((chat.name, message))
        self.changed.set()

    def report(self, health: ChannelHealth) -> None:
        self.health.append(health)
        self.changed.set()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    @property
    def state(self) -> str:
        return self.health[-1].state if self.health else "starting"

    def texts_in(self, chat: int | str) -> list[str]:
        return [message.text for message in self.messages if message.chat.name == str(chat)]

    async def until(self, condition: Callable[[], Any], *, within: float = 15.0) -> None:
        """Wait for something that depends on what was heard or reported."""
        try:
            async with asyncio.timeout(within):
                while not condition():
                    self.changed.clear()
                    if not condition():
                        await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {within} s; {self.texts}; {self.health[-3:]}") from None


@dataclass
class Listening:
    """A bot that listens."""

    api: DiscordApi
    connection: GatewayConnection
    ear: Ear
    ready: list[discord.Client]


def refuses_all(_: IncomingMessage) -> Exception:
    return NotAccepted("the disk is full: make room")


@asynccontextmanager
async def listening(
    api: DiscordApi,
    folder: Path,
    ear: Ear,
    *,
    people: tuple[Person, ...] = (),
    token: str = "",
    api_base: str = "",
    times: ReconnectTimes = QUICK,
    pauses: ReceiveTimes = PAUSES,
    is_up: bool = True,
) -> AsyncIterator[Listening]:
    """Run it, with its state in `folder`; `is_up`: wait until it hears."""
    settings = DiscordSettings(token=SecretStr(token or api.token), api_base=api_base or api.api_base)
    ready: list[discord.Client] = []

    async def known() -> list[PersonId]:
        return [PersonId("discord", str(person.id)) for person in people]

    def is_ready(client: discord.Client) -> None:
        ready.append(client)
        ear.changed.set()

    async with State(copy_fresh_state(folder / "state.db")) as state:
        connection = GatewayConnection(
            settings,
            ChannelStore(state, "discord"),
            people=known,
            events=ConnectionEvents(health=ear.report, ready=is_ready),
            withdraw=ear.withdraw,
            times=ConnectionTimes(waits=times, pauses=pauses, client=0.3),
        )
        running = asyncio.create_task(connection.run(ear.accept))
        try:
            if is_up:
                await ear.until(lambda: ready or running.done())
            yield Listening(api, connection, ear, ready)
            assert not running.done(), running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
