"""Threads opened by answers: a conversation started in a channel continues below its first message."""

from dataclasses import replace
from typing import Any, Final

import discord

from adapters.api_errors import ApiRefused
from adapters.discord.api_calls import ApiCalls
from adapters.discord.incoming import channel_chat
from adapters.discord.private_api import http_client
from bot.messages import IncomingMessage
from bot.sanitize import one_line

IN = "in:"
"""Prefix of the handle of a message answered in its own thread, followed by the channel's id."""
NAME_CHARS = 80
MINUTES: Final = 1440
"""Minutes without messages after which Discord archives the thread; a new message reopens it."""
THREAD_EXISTS = 160004


def assign_thread(message: IncomingMessage, client: discord.Client | None) -> IncomingMessage:
    """Return the message as part of the thread that its answer will open, if the bot may open one.

    The thread gets the message's id, so its conversation is known in advance.
    """
    number = message.edit_of or message.id
    if not (message.in_room and message.addressed and number.isdigit()) or client is None:
        return message
    channel = client.get_channel(int(message.chat.name))
    if not isinstance(channel, discord.TextChannel):
        return message
    may = channel.permissions_for(channel.guild.me)
    if not (may.create_public_threads and may.send_messages_in_threads):
        return message
    return replace(message, chat=channel_chat(int(number)), handle=f"{IN}{channel.id}")


def find_thread_channel(message: IncomingMessage | None) -> int | None:
    """Return the channel of a message answered in its own thread; None for other messages."""
    number = message.handle.removeprefix(IN) if message and message.handle.startswith(IN) else ""
    return int(number) if number.isdigit() else None


async def open_thread(calls: ApiCalls, message: IncomingMessage, channel: int) -> bool:
    """Open a message's thread, if needed; return False if Discord refuses. Raises ChannelFault."""
    name = one_line(message.text, limit=NAME_CHARS) or one_line(message.sender_name, limit=NAME_CHARS) or "…"

    async def start(client: discord.Client) -> None:
        # Discord reports an existing thread as an error.
        number: Any = int(message.chat.name)
        try:
            await http_client(client).start_thread_with_message(
                channel, number, name=name, auto_archive_duration=MINUTES
            )
        except discord.HTTPException as error:
            if error.code != THREAD_EXISTS:
                raise

    try:
        await calls.make(start)
    except ApiRefused:
        return False
    return True
