"""Decides before a search which chats a person may search."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bot.access import TERMINAL, Standing
from bot.messages import ChatId, PersonId
from bot.state import access
from bot.state.imports import IMPORTED
from bot.state.speakers import read_chats_beginning, read_rooms_with_memory

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.channel import ChannelSettings
    from bot.services import Services


async def searchable_chats(
    services: "Services", person: PersonId, chat: ChatId, *, groups: Iterable[str] = ()
) -> frozenset[str]:
    """Return the chats (`channel:name`) whose conversations a person who asks in `chat` may search.

    In a private chat: their private and imported chats, those of all their linked ids, and the rooms with the memory
    on in which they wrote. In a room: that room alone, if its memory is on. Guests and strangers may search nothing.
    `groups`: what counts for the person in this chat, as in IncomingMessage. Raises StateFault.
    """
    if await services.access.standing_of(person, groups) < Standing.ALLOWED:
        return frozenset()
    channels = services.settings.channels

    def read(db: "Connection") -> frozenset[str]:
        if not is_private(person, chat, channels):
            return frozenset({str(chat)} if access.is_memory_open(db, str(chat)) else ())
        ids = services.access.find_ids(db, person)
        own = [_read_own_chats(db, each, channels) for each in ids]
        return frozenset().union(*own, read_rooms_with_memory(db, map(str, ids)))

    return await services.state.read(read)


def is_private(person: PersonId, chat: ChatId, channels: "Mapping[str, ChannelSettings]") -> bool:
    """Return whether nobody else can read a chat of this person: the terminal, or a private chat or a part of it."""
    if TERMINAL in (person.channel, chat.channel):
        return person.channel == chat.channel
    name = _private_name(person, channels)
    return bool(name) and ChatId(chat.channel, chat.name.partition("/")[0]) == ChatId(person.channel, name)


def _private_name(person: PersonId, channels: "Mapping[str, ChannelSettings]") -> str:
    channel = channels.get(person.channel)
    return channel.private_chat(person.id) if channel else ""


def _read_own_chats(
    db: "Connection", person: PersonId, channels: "Mapping[str, ChannelSettings]"
) -> frozenset[str]:
    """Return the chats that only this person reads, parts such as topics among them, and the imported ones."""
    imported = str(ChatId(IMPORTED, str(person)))
    if person.channel == TERMINAL:
        return read_chats_beginning(db, f"{TERMINAL}:") | {imported}
    if not (name := _private_name(person, channels)):
        return frozenset({imported})
    private = str(ChatId(person.channel, name))
    return read_chats_beginning(db, f"{private}/") | {private, imported}
