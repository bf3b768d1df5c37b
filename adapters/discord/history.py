"""What was said while the bot could not hear it: in which channels, and page by page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import discord
from discord import ChannelType
from discord.utils import time_snowflake

from adapters.discord.private_api import http_client

DIRECT_SINCE = timedelta(days=14)
ROOMS_SINCE = timedelta(days=3)
"""Nobody waits for an answer to what was said longer ago. The inbox must know messages for longer than either."""
PAGE = 100
"""Messages that Discord gives at once."""
TRANSIENT_ERRORS = (
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    discord.RateLimited,
    discord.HTTPException,
    RuntimeError,
)
"""What may be better in a while. RuntimeError: the library's connection was closed meanwhile."""

ReadableChannel = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


class HistoryUnreadable(Exception):
    """Discord does not give the history of a channel, now or later."""

    def __init__(self, *, is_gone: bool = False) -> None:
        """`is_gone`: the channel itself is not there any more."""
        super().__init__()
        self.is_gone = is_gone


@dataclass(frozen=True, slots=True)
class MissedChannel:
    """A channel in which something was said."""

    channel: int
    name: str
    after: int
    """The message up to which all is taken in."""
    is_readable: bool
    """Whether the bot may read what was said there."""


def find_missed(guild: discord.Guild, mark_of: Callable[[int], int]) -> list[MissedChannel]:
    """Tell in which channels and open threads something was said that the bot could see, by what the guild tells.

    Nothing of before the bot came there counts.
    """
    me: discord.Member | None = guild.me  # None where Discord has not told of it
    came = time_snowflake(me.joined_at) if me and me.joined_at else 0
    found: list[MissedChannel] = []
    for channel in (*guild.channels, *guild.threads):
        last = channel.last_message_id if isinstance(channel, ReadableChannel) else None
        after = max(mark_of(channel.id), came)
        if last is None or last <= after:
            continue
        permissions = _permissions(channel, me)
        if permissions is None or permissions.read_messages:
            is_readable = permissions is None or permissions.read_message_history
            found.append(MissedChannel(channel.id, channel.name, after, is_readable))
    return found


def _permissions(channel: Any, me: discord.Member | None) -> discord.Permissions | None:
    if me is None:
        return None
    try:
        permissions = channel.permissions_for(me)
    except discord.ClientException:  # a thread whose channel is not known
        return None
    return permissions if isinstance(permissions, discord.Permissions) else None


async def find_channel(client: discord.Client, channel: int, *, is_direct: bool) -> Any:
    """What a history is read from; asks Discord where it is not known. Raises CannotRead, and those of PASSING."""
    if is_direct:
        return client.get_partial_messageable(channel, type=ChannelType.private)
    if known := client.get_channel(channel):
        return known
    try:
        return await client.fetch_channel(channel)
    except (discord.Forbidden, discord.InvalidData) as error:
        raise HistoryUnreadable from error
    except discord.NotFound as error:
        raise HistoryUnreadable(is_gone=True) from error


async def find_member(guild: discord.Guild, person: int) -> discord.Member | None:
    """Ask for a member of a guild; None for who is none, or no longer. Raises those of PASSING."""
    try:
        return await guild.fetch_member(person)
    except discord.HTTPException as error:
        if error.status in (400, 403, 404):
            return None
        raise


async def read_page(client: discord.Client, channel: int, after: int) -> Sequence[dict[str, Any]]:
    """The next messages of a channel as they come, the oldest first: so that one that is bad is no harm to others.

    Raises CannotRead, and those of PASSING.
    """
    try:
        raw: Any = await http_client(client).logs_from(channel, PAGE, after=after)
    except discord.Forbidden as error:
        raise HistoryUnreadable from error
    except discord.NotFound as error:
        raise HistoryUnreadable(is_gone=True) from error
    return sorted(raw, key=lambda message: int(message["id"]))


def oldest_message(*, is_direct: bool) -> int:
    """The number of a message before which nothing is answered any more."""
    return time_snowflake(datetime.now(UTC) - (DIRECT_SINCE if is_direct else ROOMS_SINCE))
