"""The channels of this process: its own, or those that instances share, each for as long as its lease is held."""

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot.assistant import Assistant
from bot.messages import Adapter
from bot.service.adapters import open_discord, open_telegram, open_terminal, telegram_paths
from bot.state.database import StateFault

if TYPE_CHECKING:
    from bot.instances.duty import Duty
    from bot.instances.leased_channel import LeasedChannel
    from bot.instances.post import Post
    from bot.web.hooks import Hook

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenChannels:
    """What is open."""

    adapters: tuple[Adapter, ...] = ()
    hooks: "tuple[Hook, ...]" = ()
    """Where platforms bring what happened there."""
    leased: "tuple[LeasedChannel, ...]" = ()
    """Those of the adapters that other instances may have."""

    async def leave(self) -> None:
        """Close those that other instances wait for, and let them have them."""
        for channel in self.leased:
            await channel.close()


@asynccontextmanager
async def open_channels(
    assistant: Assistant, *, at_terminal: bool, page: str = "", post: "Post | None" = None
) -> AsyncIterator[OpenChannels]:
    """Open what is configured, and attach it to the assistant; `post`: where other instances may have it.

    `page`: the address of the status page, for somebody who sits at the terminal.
    """
    async with shared_channels(assistant, post) if post else own_channels(assistant) as channels:
        if at_terminal:
            terminal = open_terminal(assistant, session="main", page=page)
            channels = replace(channels, adapters=(*channels.adapters, terminal))
        for adapter in channels.adapters:
            assistant.attach(adapter)
        yield channels


@asynccontextmanager
async def own_channels(assistant: Assistant) -> AsyncIterator[OpenChannels]:
    """Open the channels that nobody else has."""
    settings, channels = assistant.services.settings, OpenChannels()
    async with AsyncExitStack() as stack:
        if settings.telegram.token.get_secret_value():
            telegram = await stack.enter_async_context(open_telegram(assistant))
            channels = OpenChannels((telegram,), tuple(telegram.hooks))
        if settings.discord.token.get_secret_value():
            discord = await stack.enter_async_context(open_discord(assistant))
            channels = replace(channels, adapters=(*channels.adapters, discord))
        yield channels


@asynccontextmanager
async def shared_channels(assistant: Assistant, post: "Post") -> AsyncIterator[OpenChannels]:
    """Wait for the lease of each channel; what a platform brings is refused while another instance has it."""
    settings = assistant.services.settings

    async def take_up() -> None:
        try:
            await assistant.take_up()
        except StateFault as fault:  # it is tried again and again
            log.warning("%s", fault)

    def telegram(duty: "Duty") -> AbstractAsyncContextManager[Adapter]:
        return open_telegram(assistant, duty)

    def discord(duty: "Duty") -> AbstractAsyncContextManager[Adapter]:
        return open_discord(assistant, duty)

    async with AsyncExitStack() as stack:
        leased: list[LeasedChannel] = []
        hooks: list[Hook] = []
        if token := settings.telegram.token.get_secret_value():
            channel = post.channel("telegram", token, opens=telegram, take_up=take_up)
            leased.append(await stack.enter_async_context(channel))
            hooks += relayed_hooks(channel, telegram_paths(settings))
        if token := settings.discord.token.get_secret_value():
            channel = post.channel("discord", token, opens=discord, take_up=take_up)
            leased.append(await stack.enter_async_context(channel))
        yield OpenChannels(tuple(leased), tuple(hooks), tuple(leased))


def relayed_hooks(channel: "LeasedChannel", paths: Sequence[str]) -> "Iterator[Hook]":
    """Hand what comes at these paths to a channel, which knows whether it is there."""
    from bot.web.hooks import Hook

    for path in paths:
        yield Hook(path, partial(channel.receive, path))
