"""The channels of this process: its own, or shared ones that are each open while their lease is held."""

import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot.assistant import Assistant
from bot.messages import Adapter
from bot.service.adapters import hook_paths, open_channel, open_terminal
from bot.state.database import StateFault

if TYPE_CHECKING:
    from bot.cluster.leased_channel import LeasedChannel
    from bot.cluster.membership import Membership
    from bot.config.channel import ChannelSettings
    from bot.web.webhooks import WebhookRoute

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunningChannels:
    """The open channels."""

    adapters: tuple[Adapter, ...] = ()
    hooks: "tuple[WebhookRoute, ...]" = ()
    """Webhook routes of the platforms."""
    leased: "tuple[LeasedChannel, ...]" = ()
    """Those of the adapters that other instances may take."""

    async def release(self) -> None:
        """Close the leased channels and release them for other instances."""
        for channel in self.leased:
            await channel.close()


@asynccontextmanager
async def open_channels(
    assistant: Assistant, *, at_terminal: bool, page: str = "", membership: "Membership | None" = None
) -> AsyncIterator[RunningChannels]:
    """Open the configured channels and attach them to the assistant.

    `membership` if other instances share the channels. `page`: the status page's address, for the terminal.
    """
    async with (
        open_leased_channels(assistant, membership)
        if membership
        else open_own_channels(assistant) as channels
    ):
        if at_terminal:
            terminal = await open_terminal(assistant, session="main", page=page)
            channels = replace(channels, adapters=(*channels.adapters, terminal))
        for adapter in channels.adapters:
            assistant.attach(adapter)
        yield channels


@asynccontextmanager
async def open_own_channels(assistant: Assistant) -> AsyncIterator[RunningChannels]:
    """Open the channels that no other instance shares."""
    adapters: list[Adapter] = []
    async with AsyncExitStack() as stack:
        for section in configured(assistant).values():
            adapter = await stack.enter_async_context(open_channel(section, assistant))
            adapters.append(adapter)
        hooks = [hook for adapter in adapters for hook in getattr(adapter, "hooks", ())]
        yield RunningChannels(tuple(adapters), tuple(hooks))


@asynccontextmanager
async def open_leased_channels(
    assistant: Assistant, membership: "Membership"
) -> AsyncIterator[RunningChannels]:
    """Open each channel while its lease is held; webhook requests are refused while another instance has it."""

    async def take_up() -> None:
        try:
            await assistant.resume()
        except StateFault as fault:  # retried later
            log.warning("%s", fault)

    async with AsyncExitStack() as stack:
        leased: list[LeasedChannel] = []
        hooks: list[WebhookRoute] = []
        for name, section in configured(assistant).items():
            opens = partial(open_channel, section, assistant)
            channel = membership.channel(name, section.token.get_secret_value(), opens=opens, resume=take_up)
            leased.append(await stack.enter_async_context(channel))
            hooks += relay_hooks(channel, hook_paths(section))
        yield RunningChannels(tuple(leased), tuple(hooks), tuple(leased))


def configured(assistant: Assistant) -> "Mapping[str, ChannelSettings]":
    """Return the sections of the channels that have a token, by name."""
    channels = assistant.services.settings.channels
    return {name: section for name, section in channels.items() if section.is_configured}


def relay_hooks(channel: "LeasedChannel", paths: Sequence[str]) -> "Iterator[WebhookRoute]":
    """Yield routes that pass requests at these paths to a channel, which knows whether it is held."""
    from bot.web.webhooks import WebhookRoute

    for path in paths:
        yield WebhookRoute(path, partial(channel.receive, path))
