"""Read messages that the bot missed: which channels have some, and their pages."""

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
"""Age after which messages are no longer answered. The inbox must remember messages for longer than either."""
PAGE = 100
"""Maximum messages per page at Discord."""
TRANSIENT_ERRORS = (
    aiohttp.ClientError,
    OSError,
    TimeoutError,
    discord.RateLimited,
    discord.HTTPException,
    RuntimeError,
)
"""Errors that may pass. RuntimeError: the library's connection was closed meanwhile."""

ReadableChannel = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


class HistoryUnreadable(Exception):
    """Discord refuses to show a channel's history."""

    def __init__(self, *, is_gone: bool = False) -> None:
        """`is_gone`: the channel no longer exists."""
        super().__init__()
        self.is_gone = is_gone


@dataclass(frozen=True, slots=True)
class MissedChannel:
    """A channel with unread messages."""

    channel: int
    name: str
    after: int
    """Id of the last message that was accepted."""
    is_readable: bool
    """Whether the bot may read the channel's history."""


def find_missed(guild: discord.Guild, mark_of: Callable[[int], int]) -> list[MissedChannel]:
    """Return the guild's visible channels and open threads with messages newer than the marks.

    Messages from before the bot joined do not count.
    """
    me: discord.Member | None = guild.me  # None if Discord did not report it
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
    except discord.ClientException:  # a thread whose channel is unknown
        return None
    return permissions if isinstance(permissions, discord.Permissions) else None


async def find_channel(client: discord.Client, channel: int, *, is_direct: bool) -> Any:
    """Return the channel to read from, asking Discord if it is unknown.

    Raises HistoryUnreadable and TRANSIENT_ERRORS.
    """
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
    """Fetch a member of a guild; None if there is no such member. Raises TRANSIENT_ERRORS."""
    try:
        return await guild.fetch_member(person)
    except discord.HTTPException as error:
        if error.status in (400, 403, 404):
            return None
        raise


async def read_page(client: discord.Client, channel: int, after: int) -> Sequence[dict[str, Any]]:
    """Return the next raw messages of a channel, oldest first; raw, so that one bad message harms no others.

    Raises HistoryUnreadable and TRANSIENT_ERRORS.
    """
    try:
        raw: Any = await http_client(client).logs_from(channel, PAGE, after=after)
    except discord.Forbidden as error:
        raise HistoryUnreadable from error
    except discord.NotFound as error:
        raise HistoryUnreadable(is_gone=True) from error
    return sorted(raw, key=lambda message: int(message["id"]))


def oldest_message(*, is_direct: bool) -> int:
    """Return the message id before which nothing is answered any more."""
    return time_snowflake(datetime.now(UTC) - (DIRECT_SINCE if is_direct else ROOMS_SINCE))
