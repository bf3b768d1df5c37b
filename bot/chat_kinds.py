"""Tells private chats, rooms and imported conversations apart, by the names of their chats."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from bot.access import TERMINAL
from bot.state.imports import IMPORTED

if TYPE_CHECKING:
    from bot.config.channel import ChannelSettings

ChatKind = Literal["person", "room", "imported"]


def kind_of_chat(chat: str, channels: "Mapping[str, ChannelSettings]") -> ChatKind:
    """Return what a chat (`channel:name`) is; a part of one, such as a topic, is what the whole is."""
    channel, _, name = chat.partition(":")
    if channel == IMPORTED:
        return "imported"
    settings = channels.get(channel)
    if channel == TERMINAL or (settings and settings.is_private_chat(name.partition("/")[0])):
        return "person"
    return "room"
