"""Convert a Discord message to an incoming message; no I/O."""

from dataclasses import dataclass, replace
from datetime import UTC

import discord
from discord import ChannelType, MessageReferenceType, MessageType

from adapters.discord.incoming_contents import read_contents, read_embeds
from adapters.discord.incoming_text import MentionNames, mentions_bot, read_text
from adapters.incoming_contents import QUOTED_CHARS, Contents
from adapters.incoming_text import clean_line
from bot import english
from bot.messages import ChatId, IncomingMessage, PersonId, Quoted

CHANNEL = "discord"
PERSON = "@"
"""Prefix of a person's id in the name of their direct chat."""
TEXT_MESSAGE_TYPES = (MessageType.default, MessageType.reply)
"""Message types that people write; Discord itself creates all others."""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message, or an edit of one."""

    message: IncomingMessage
    is_hidden: bool = False
    """Whether it is meant for the bot but Discord hides its text."""
    in_thread: bool = False
    guild: int = 0
    """The message's guild; 0 for a direct message."""
    parent: int | None = None
    """The parent channel if it was sent in a thread."""
    roles: tuple[int, ...] | None = None
    """The sender's roles in the guild; None if unknown, such as in a direct message."""
    last_edit: str = ""
    """The id that the message's last edit has or would have; "" if never edited."""


def read_message(message: discord.Message, me: int) -> ReceivedMessage | None:
    """Convert a message; None if it is irrelevant. `me` is the bot's own id."""
    return _read_any(message, me, id=str(message.id))


def read_edit(message: discord.Message, me: int) -> ReceivedMessage | None:
    """Convert an edited message; None if only Discord added a preview."""
    if message.edited_at is None:
        return None
    return _read_any(message, me, id=_make_edit_id(message), edit_of=str(message.id))


def _make_edit_id(message: discord.Message) -> str:
    return f"{message.id}.{int(message.edited_at.timestamp() * 1000)}" if message.edited_at else ""


def channel_chat(channel: int) -> ChatId:
    """Return the chat of a channel or thread."""
    return ChatId(CHANNEL, str(channel))


def direct_chat(person: PersonId) -> ChatId:
    """Return the direct chat with a person; the same for every bot, and known before Discord opens it."""
    return ChatId(CHANNEL, f"{PERSON}{person.id}")


def person_id(user: int) -> PersonId:
    """Return the person with this id."""
    return PersonId(CHANNEL, str(user))


def display_name(user: discord.User | discord.Member) -> str:
    """Return the name that people see."""
    return clean_line(user.display_name)


def channel_title(channel: object, guild: discord.Guild | None) -> str:
    """Return a channel's title, such as `#general · Guild`; "" for a direct channel."""
    if guild is None:
        return ""
    name = clean_line(getattr(channel, "name", ""))
    if isinstance(channel, discord.Thread):
        parent = clean_line(channel.parent.name) if channel.parent else ""
        name = english.TOPIC_TITLE.format(chat=f"#{parent}", topic=name) if parent else name
    elif name:
        name = f"#{name}"
    return " · ".join(filter(None, [name, clean_line(guild.name)]))


def _read_any(message: discord.Message, me: int, *, id: str, edit_of: str = "") -> ReceivedMessage | None:  # noqa: A002
    if message.type not in TEXT_MESSAGE_TYPES or message.author.bot or message.webhook_id:
        return None
    in_room = message.guild is not None or message.channel.type is not ChannelType.private
    names = _make_names(message, me)
    contents = read_contents(message)
    is_forward = bool(message.message_snapshots)
    written = [read_text(message.content, names)]
    written += [read_text(snapshot.content, names) for snapshot in message.message_snapshots]
    text = "\n\n".join(filter(None, [*written, contents.words]))
    replied_to = _find_replied_to(message)
    is_reply_to_me = replied_to is not None and replied_to.author.id == me
    is_mine = isinstance(message.channel, discord.Thread) and message.channel.owner_id == me
    is_called = any(user.id == me for user in message.mentions) or mentions_bot(message.content, names)
    addressed = not in_room or is_called or is_reply_to_me or is_mine
    if not (text or contents):
        if in_room and not is_called:  # the same as when Discord hides everything
            incoming = _make_message(message, id=id, edit_of=edit_of, text="", addressed=addressed)
            return ReceivedMessage(incoming, is_hidden=True) if addressed else None
        text = english.SENT_SOMETHING
    quoted, quoted_contents = _read_quoted(replied_to, names, mine=is_reply_to_me)
    incoming = _make_message(
        message,
        id=id,
        edit_of=edit_of,
        text=text,
        addressed=addressed,
        contents=Contents(attachments=contents.attachments + quoted_contents.attachments),
        quoted=quoted,
        # Discord does not say who wrote a forwarded message.
        forwarded_from=english.SENT_BY_SOMEBODY if is_forward else "",
    )
    in_thread = isinstance(message.channel, discord.Thread)
    guild = message.guild.id if message.guild else 0
    return ReceivedMessage(
        incoming,
        in_thread=in_thread,
        guild=guild,
        parent=find_parent(message.channel),
        roles=read_roles(message.author),
        last_edit=_make_edit_id(message),
    )


def _make_message(
    message: discord.Message,
    *,
    id: str,  # noqa: A002
    edit_of: str,
    text: str,
    addressed: bool,
    contents: Contents = Contents(),  # noqa: B008
    quoted: Quoted | None = None,
    forwarded_from: str = "",
) -> IncomingMessage:
    moment = message.edited_at if edit_of and message.edited_at else message.created_at
    in_room = message.guild is not None or message.channel.type is not ChannelType.private
    sender = person_id(message.author.id)
    return IncomingMessage(
        id=id,
        chat=channel_chat(message.channel.id) if in_room else direct_chat(sender),
        sender=sender,
        text=text,
        sent_at=moment.astimezone(UTC),
        sender_name=display_name(message.author),
        chat_name=channel_title(message.channel, message.guild),
        in_room=in_room,
        addressed=addressed,
        edit_of=edit_of,
        attachments=contents.attachments,
        quoted=quoted,
        forwarded_from=forwarded_from,
    )


def _make_names(message: discord.Message, me: int) -> MentionNames:
    guild = message.guild
    users = {user.id: display_name(user) for user in message.mentions}

    def role_name(role: int) -> str:
        found = guild.get_role(role) if guild else None
        return clean_line(found.name) if found else ""

    def channel_name(channel: int) -> str:
        found = guild.get_channel_or_thread(channel) if guild else None
        return clean_line(found.name) if found else ""

    my_role = guild.self_role if guild else None
    return MentionNames(me, frozenset([my_role.id] if my_role else []), users, role_name, channel_name)


def _find_replied_to(message: discord.Message) -> discord.Message | None:
    """Return the message replied to, if it still exists; forwards do not count."""
    reference = message.reference
    if reference is None or reference.type is not MessageReferenceType.reply:
        return None
    return reference.resolved if isinstance(reference.resolved, discord.Message) else None


def _read_quoted(
    replied_to: discord.Message | None, names: MentionNames, *, mine: bool
) -> tuple[Quoted | None, Contents]:
    """Return the quoted message and its readable attachments."""
    if replied_to is None:
        return None, Contents()
    contents = Contents() if mine else read_contents(replied_to)
    passed_on = [snapshot.content for snapshot in replied_to.message_snapshots]
    its_names = MentionNames(
        names.me,
        names.my_roles,
        {**names.users, **{user.id: display_name(user) for user in replied_to.mentions}},
        names.roles,
        names.channels,
    )
    written = [read_text(text, its_names) for text in (replied_to.content, *passed_on)]
    text = "\n\n".join(filter(None, [*written, contents.words])) or read_embeds(replied_to)
    readable = tuple(replace(one, quoted=True) for one in contents.attachments if one.kind != "other")
    quoted = Quoted(text[:QUOTED_CHARS], sender_name=display_name(replied_to.author), mine=mine)
    return quoted, Contents(attachments=readable)


def read_roles(author: discord.User | discord.Member) -> tuple[int, ...] | None:
    """Return the sender's role ids, including everyone's; None if only the user is known."""
    return tuple(role.id for role in author.roles) if isinstance(author, discord.Member) else None


def find_parent(channel: object) -> int | None:
    """Return the parent channel of a thread; None for other channels."""
    return channel.parent_id if isinstance(channel, discord.Thread) else None
