"""Threads that answers open: what is said to the bot in a channel is gone on with below its message."""

from dataclasses import replace
from typing import Any, Final

import discord

from adapters.discord.api_calls import ApiCalls, ApiRefused
from adapters.discord.incoming import channel_chat
from adapters.discord.private_api import http_client
from bot.messages import IncomingMessage
from bot.sanitize import one_line

IN = "in:"
"""Begins the handle of a message that is answered in a thread of its own: in which channel it stands."""
NAME_CHARS = 80
MINUTES: Final = 1440
"""After a day in which nothing is said there, Discord puts it away; whoever writes in it opens it again."""
THREAD_EXISTS = 160004


def assign_thread(message: IncomingMessage, client: discord.Client | None) -> IncomingMessage:
    """A message as one of the thread that its answer will open, if one may be opened where it stands.

    Such a thread has the number of its message: so the conversation in it is known before there is one.
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
    """The channel of a message that is answered in a thread of its own; None for all others."""
    number = message.handle.removeprefix(IN) if message and message.handle.startswith(IN) else ""
    return int(number) if number.isdigit() else None


async def open_thread(calls: ApiCalls, message: IncomingMessage, channel: int) -> bool:
    """Have the thread of a message; false where there can be none. Raises ChannelFault."""
    name = one_line(message.text, limit=NAME_CHARS) or one_line(message.sender_name, limit=NAME_CHARS) or "…"

    async def start(client: discord.Client) -> None:
        # Whoever starts one that is there already is told so, by an error that is none.
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
