"""Permissions in a guild: the bits, and how roles and channel overwrites combine."""

from enum import IntFlag
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.discord_api.chats import Channel, Guild, User


class Permission(IntFlag):
    """The permissions that matter to a bot that talks."""

    kick_members = 1 << 1
    administrator = 1 << 3
    manage_channels = 1 << 4
    manage_guild = 1 << 5
    add_reactions = 1 << 6
    view_channel = 1 << 10
    send_messages = 1 << 11
    manage_messages = 1 << 13
    embed_links = 1 << 14
    attach_files = 1 << 15
    read_message_history = 1 << 16
    mention_everyone = 1 << 17
    manage_roles = 1 << 28
    use_application_commands = 1 << 31
    manage_threads = 1 << 34
    create_public_threads = 1 << 35
    create_private_threads = 1 << 36
    send_messages_in_threads = 1 << 38
    send_voice_messages = 1 << 46


P = Permission
EVERYTHING = (1 << 53) - 1
USUAL = (
    P.add_reactions
    | P.view_channel
    | P.send_messages
    | P.embed_links
    | P.attach_files
    | P.read_message_history
    | P.mention_everyone
    | P.use_application_commands
    | P.create_public_threads
    | P.create_private_threads
    | P.send_messages_in_threads
    | P.send_voice_messages
)
"""Permissions of everyone in a new guild, including @everyone mentions."""
IN_DIRECT_MESSAGES = USUAL & ~(P.create_public_threads | P.create_private_threads)


def guild_permissions(guild: "Guild", user: "User") -> int:
    member = guild.members.get(user.id)
    if member is None:
        return 0
    if guild.owner is user:
        return EVERYTHING
    bits = int(guild.everyone.permissions)
    for role in member.roles:
        bits |= role.permissions
    return EVERYTHING if bits & P.administrator else bits


def channel_permissions(channel: "Channel", user: "User") -> int:
    """Return a user's permissions in a channel; a thread has those of its parent."""
    if channel.guild is None:
        return int(IN_DIRECT_MESSAGES) if user in channel.participants else 0
    bits = guild_permissions(channel.guild, user)
    if not bits or bits == EVERYTHING:
        return bits
    place = channel.parent if channel.is_thread and channel.parent else channel
    member = channel.guild.members[user.id]
    bits = _apply_overwrites(bits, place, [channel.guild.id])
    bits = _apply_overwrites(bits, place, [role.id for role in member.roles])
    bits = _apply_overwrites(bits, place, [user.id])
    if not bits & P.view_channel:
        return 0
    if channel.private_thread and not bits & P.manage_threads and user.id not in channel.thread_members:
        return 0
    speaks = P.send_messages_in_threads if channel.is_thread else P.send_messages
    if not bits & speaks:
        # Without permission to write, files and @everyone mentions are denied too.
        bits &= ~(P.attach_files | P.embed_links | P.mention_everyone)
    return bits


def _apply_overwrites(bits: int, channel: "Channel", ids: list[int]) -> int:
    """Apply the overwrites of these ids: first everything denied to any, then everything allowed to any."""
    here = [channel.overwrites[number] for number in ids if number in channel.overwrites]
    for one in here:
        bits &= ~one.deny
    for one in here:
        bits |= one.allow
    return bits
