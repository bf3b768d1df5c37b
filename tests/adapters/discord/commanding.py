"""The real assistant behind commands and buttons, on a server that behaves like Discord."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from discord.ui import View

from adapters.discord.autocomplete import Autocomplete, AutocompleteSources
from adapters.discord.buttons import make_buttons
from adapters.discord.command_registration import CommandRegistration
from adapters.discord.interaction_handle import InteractionHandle, parse_handle
from adapters.discord.interactions import Interactions
from bot.access import Access
from bot.channel_store import ChannelStore
from bot.commands.registry import COMMANDS
from bot.config.settings import AccessSettings
from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    ReplyPart,
    WriteChunk,
)
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.harness import Harness, open_harness

MODELS = ("openai/gpt-4.1", "anthropic/claude-sonnet", "builtin/notebook")


@dataclass
class Answers:
    """Shows the reply to a command or press as what it was announced as, once it is whole."""

    client: discord.Client
    interactions: Interactions | None = None
    name: str = "discord"
    health: ChannelHealth = field(default_factory=lambda: ChannelHealth("up"))
    messages: list[IncomingMessage] = field(default_factory=list)
    """What was answered."""

    async def run(self, accept: AcceptMessage) -> None:
        await asyncio.Event().wait()

    def serves(self, chat: ChatId) -> bool:
        return chat.channel == self.name

    def home_of(self, person: PersonId) -> ChatId | None:
        return None

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        raise AttachmentLost("That is gone.")

    async def render(self, reply: Reply) -> None:
        last: ReplyPart | None = None
        async for part in reply.parts:
            last = part
        assert reply.to
        assert last
        assert self.interactions
        await self.interactions.acknowledged(reply.to)
        self.messages.append(reply.to)
        answerable = parse_handle(reply.to.handle)
        assert answerable
        await edit_original(self.client, answerable, last.text[:2000], make_buttons(last.choices))


async def edit_original(
    client: discord.Client, answerable: InteractionHandle, text: str, view: View | None = None
) -> None:
    """Answer with nothing but what the handle holds."""
    webhook = discord.Webhook.partial(answerable.application, answerable.token, client=client)
    original: Any = "@original"
    await webhook.edit_message(original, content=text, view=view)


@dataclass
class Commanding:
    """A bot that is up."""

    api: DiscordApi
    client: discord.Client
    interactions: Interactions
    house: Harness
    answers: Answers
    notes: list[str]
    """Paths that can be picked."""
    accept: Callable[[IncomingMessage], Awaitable[bool]]
    """What takes messages in; may be replaced."""
    until_notes: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)
    """What the list of notes waits for."""


@asynccontextmanager
async def open_client(
    api: DiscordApi, *, token: str = "", gateway: bool = True
) -> AsyncIterator[discord.Client]:
    """The library's client, logged in, and connected where the gateway is wanted."""
    Route.BASE = api.api_base
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(api.gateway_url)
    client = discord.Client(
        intents=discord.Intents(guilds=True, dm_messages=True),
        max_messages=None,
        member_cache_flags=discord.MemberCacheFlags.none(),
        guild_ready_timeout=0.02,
    )
    await client.login(token or api.token)
    task = asyncio.create_task(client.connect()) if gateway else None
    try:
        if task:
            async with asyncio.timeout(5):
                await client.wait_until_ready()
        yield client
    finally:
        await client.close()
        if task:
            await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def commanding(
    api: DiscordApi,
    folder: Path,
    *,
    owners: Sequence[str] = (),
    allow: Sequence[str] = (),
    guests: Sequence[str] = (),
    pairing: bool = False,
    timeout_seconds: float = 0.1,
    complete_seconds: float = 2.0,
) -> AsyncIterator[Commanding]:
    """Have commands registered and answered; people by their ids as in the settings."""
    rules = AccessSettings(owners=tuple(owners), allow=tuple(allow), guests=tuple(guests), pairing=pairing)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(api))
        answers = Answers(client)
        house = await stack.enter_async_context(open_harness(folder, access=rules, channels=[answers]))
        access = Access(rules, house.state)

        async def all_notes() -> Sequence[str]:
            await bot.until_notes()
            return bot.notes

        completion = Autocomplete(
            AutocompleteSources(
                models=lambda: MODELS,
                notes=all_notes,
                reminders=house.reminders.list_active,
                removed=house.memory.removed,
            ),
            commands=COMMANDS,
            standing=lambda said: access.standing_of(said.message.sender),
            memory_is_open=access.is_memory_open,
        )
        interactions = Interactions(
            lambda said: bot.accept(said.message),
            commands=COMMANDS,
            completion=completion,
            timeout_seconds=timeout_seconds,
            complete_seconds=complete_seconds,
            pauses=(0.02, 0.05),
        )
        answers.interactions = interactions
        bot = Commanding(api, client, interactions, house, answers, [], house.assistant.accept)
        stack.push_async_callback(interactions.close)
        interactions.listen(client)
        store = ChannelStore(house.state, "discord")
        await CommandRegistration(store, commands=COMMANDS).register(client)
        yield bot
