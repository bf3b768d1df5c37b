"""Download received files when needed, by URLs that expire after a day."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import aiohttp
import discord

from adapters.discord.connection_health import describe_error
from adapters.discord.incoming_contents import AttachmentHandle
from bot import phrases
from bot.messages import Attachment, AttachmentLost, ChannelFault, WriteChunk

PIECE_BYTES = 65_536
SECONDS = 60.0
EXPIRED = (401, 403, 404, 410)
DISCORD_HOSTS = ("discordapp.com", "discordapp.net", "discord.com")
"""Domains where Discord stores files."""


class _UrlExpired(Exception):
    """The URL has expired or is not Discord's."""


async def fetch_file(
    attachment: Attachment,
    write: WriteChunk,
    *,
    api_base: str,
    client: Callable[[], Awaitable[discord.Client]],
) -> None:
    """Download a file in chunks. Raises AttachmentLost, ChannelFault, OSError, and what `write` raises.

    `client` returns a logged-in client; it is only called if the URL has expired.
    """
    try:
        handle = AttachmentHandle.parse(attachment.handle)
    except ValueError as error:
        raise AttachmentLost(phrases.ATTACHMENT_GONE) from error
    try:
        try:
            await _download(handle.address, write, api_base=api_base)
        except _UrlExpired:
            address = await _refresh_url(await client(), handle)
            await _download(address, write, api_base=api_base)
    except _UrlExpired as error:
        raise AttachmentLost(phrases.ATTACHMENT_GONE) from error
    except (aiohttp.ClientError, discord.DiscordException, TimeoutError) as error:
        wait = error.retry_after if isinstance(error, discord.RateLimited) else 0.0
        raise ChannelFault(describe_error(error), retry_after=wait) from error


async def _download(address: str, write: WriteChunk, *, api_base: str) -> None:
    if not is_discord_url(address, api_base=api_base):
        raise _UrlExpired
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with (
        # Not decompressed: a chunk could grow a thousandfold.
        aiohttp.ClientSession(
            timeout=timeout, auto_decompress=False, headers={"Accept-Encoding": "identity"}
        ) as session,
        session.get(address, allow_redirects=False) as answer,
    ):
        if answer.status in EXPIRED or 300 <= answer.status < 400:
            raise _UrlExpired
        answer.raise_for_status()
        async for piece in answer.content.iter_chunked(PIECE_BYTES):
            await write(piece)


def is_discord_url(address: str, *, api_base: str) -> bool:
    """Return whether the URL belongs to Discord or to the host of `api_base`, which may be a proxy.

    This keeps such a proxy from leading us to other machines in this network.
    """
    try:
        parts, base = urlsplit(address), urlsplit(api_base)
        host = parts.hostname or ""
        its_own = (parts.scheme, host, parts.port) == (base.scheme, base.hostname, base.port)
    except ValueError:
        return False
    return its_own or (parts.scheme == "https" and host.endswith(tuple(f".{each}" for each in DISCORD_HOSTS)))


async def _refresh_url(client: discord.Client, handle: AttachmentHandle) -> str:
    """Fetch the message again for a new URL."""
    if not handle.message:
        raise _UrlExpired
    channel = client.get_partial_messageable(handle.channel)
    try:
        message = await channel.fetch_message(handle.message)
    except (discord.NotFound, discord.Forbidden) as error:
        raise _UrlExpired from error
    files = [*message.attachments, *(one for each in message.message_snapshots for one in each.attachments)]
    for file in files:
        if file.id == handle.attachment:
            return file.url
    raise _UrlExpired
