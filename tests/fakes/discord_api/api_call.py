"""One API call of a bot, and checks that several of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api.chats import Bot, Channel, Guild, Message
from tests.fakes.discord_api.permissions import Permission, channel_permissions
from tests.fakes.discord_api.refusals import make_refusal
from tests.fakes.discord_api.requests import Body

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World


@dataclass(slots=True)
class ApiRequest:
    """The caller and its request."""

    bot: Bot
    ids: dict[str, Any]
    """Values from the path: numbers, and the text of tokens and emoji."""
    query: Mapping[str, str]
    body: Body

    @property
    def fields(self) -> dict[str, Any]:
        return self.body.fields


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response with a status other than 200, or 204 without a body."""

    given: Any
    status: int = 201


def find_channel(world: "World", ask: ApiRequest, *names: str) -> Channel:
    """Return the channel in the path if the bot sees it and has all these permissions."""
    channel = world.channels.get(ask.ids["channel"])
    if channel is None:
        raise make_refusal(10003)
    bits = channel_permissions(channel, ask.bot)
    if not bits & Permission.view_channel:
        raise make_refusal(50001)
    if any(not bits & Permission[name] for name in names):
        raise make_refusal(50013)
    return channel


def find_message(channel: Channel, number: int) -> Message:
    """Return a message, unless only one person sees it."""
    message = channel.message(number)
    if message is None or message.ephemeral:
        raise make_refusal(10008)
    return message


def find_guild(world: "World", ask: ApiRequest) -> Guild:
    guild = world.guilds.get(ask.ids["guild"])
    if guild is None:
        raise make_refusal(10004)
    if ask.bot.id not in guild.members:
        raise make_refusal(50001)
    return guild


def may(channel: Channel, bot: Bot, name: str) -> bool:
    return bool(channel_permissions(channel, bot) & Permission[name])
