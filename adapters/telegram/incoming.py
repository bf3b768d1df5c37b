"""Convert a Telegram update to an event; no I/O."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from telegram import (
    CallbackQuery,
    Chat,
    ChatMemberRestricted,
    ChatMemberUpdated,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Update,
    User,
)

from adapters.incoming_contents import QUOTED_CHARS, Contents
from adapters.incoming_text import clean_line
from adapters.telegram.incoming_contents import read_contents
from adapters.telegram.incoming_text import BotIdentity, MessageText, utf16_length
from bot import english
from bot.messages import ChatId, IncomingMessage, PersonId, Quoted
from memory.surrogates import replace_surrogates

CHANNEL = "telegram"
ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
"""All update types that are read here; Telegram does not send others."""
CUT_UNITS = 2048
"""A longer text may be the first part of a split one: clients look for a place to split in the second half of the
4,096 units of a message."""
ROOMS = (Chat.GROUP, Chat.SUPERGROUP)
_FRAME = {"message_id", "message_thread_id", "from", "sender_chat", "chat", "date", "is_topic_message"}


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message, or an edit of one."""

    message: IncomingMessage
    topic: str = ""
    """Name of the message's topic, if known."""
    album: str = ""
    """Id of the album that it belongs to."""


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A button press."""

    query: str
    """Id of the callback query to answer."""
    message: IncomingMessage | None
    """The button's command as a message; None if the button is not ours."""


@dataclass(frozen=True, slots=True)
class GroupMigrated:
    """A group got a new id."""

    old: ChatId
    new: ChatId


CloseReason = Literal["blocked", "kicked", "left", "restricted", "closed"]


@dataclass(frozen=True, slots=True)
class ReachChanged:
    """The bot gained or lost the right to write in a chat."""

    chat: ChatId
    closed: CloseReason | Literal[""]
    """The reason if it lost it, otherwise ""."""


@dataclass(frozen=True, slots=True)
class TopicNamed:
    """A topic was created or renamed."""

    chat: ChatId
    topic: str


TelegramEvent = ReceivedMessage | ButtonPress | GroupMigrated | ReachChanged | TopicNamed


def read_update(update: Update, me: BotIdentity, *, now: datetime) -> TelegramEvent | None:
    """Convert an update; None if it is irrelevant."""
    if update.message:
        return _read_message(update.message, me)
    if update.edited_message:
        return _read_edit(update.edited_message, me, update.update_id)
    if update.callback_query:
        return _read_press(update.callback_query, now)
    return _read_reach(update.my_chat_member) if update.my_chat_member else None


def _read_message(message: Message, me: BotIdentity) -> TelegramEvent | None:
    if message.chat.type not in (Chat.PRIVATE, *ROOMS):
        return None
    chat = _read_chat(message)
    if message.migrate_to_chat_id:
        return GroupMigrated(chat, ChatId(CHANNEL, _format_id(message.migrate_to_chat_id)))
    if message.migrate_from_chat_id:
        return GroupMigrated(ChatId(CHANNEL, _format_id(message.migrate_from_chat_id)), chat)
    if message.forum_topic_closed:
        return ReachChanged(chat, "closed")
    if message.forum_topic_reopened:
        return ReachChanged(chat, "")
    if named := message.forum_topic_created or message.forum_topic_edited:
        return TopicNamed(chat, clean_line(named.name)) if named.name else None
    return _read_text_message(message, me, id=_format_id(message.message_id))


def _read_edit(message: Message, me: BotIdentity, update: int) -> ReceivedMessage | None:
    if message.location and message.location.live_period:  # a live location
        return None
    if message.chat.type not in (Chat.PRIVATE, *ROOMS) or message.edit_date is None:
        return None
    number = _format_id(message.message_id)
    # Edit times have only seconds, and update ids restart now and then: both are needed.
    former = f"{number}.{int(message.edit_date.timestamp())}"
    said = _read_text_message(message, me, id=f"{former}.{_format_id(update)}", edit_of=number)
    return replace(said, message=replace(said.message, former_id=former)) if said else None


def _read_text_message(
    message: Message,
    me: BotIdentity,
    *,
    id: str,  # noqa: A002
    edit_of: str = "",
) -> ReceivedMessage | None:
    sender = _read_sender(message)
    if sender is None:
        return None
    written = _read_text(message, me)
    contents = read_contents(message)
    text = "\n\n".join(filter(None, [written.read(), contents.words]))
    if not (text or contents):
        if not _is_unknown_kind(message):
            return None
        text = english.SENT_SOMETHING
    replied_to = _find_replied_to(message)
    quoted, quoted_contents = _read_quoted(message, replied_to, me)
    in_room = message.chat.type != Chat.PRIVATE
    person, name = sender
    incoming = IncomingMessage(
        id=id,
        chat=_read_chat(message),
        sender=person,
        text=text,
        sent_at=(message.edit_date if edit_of and message.edit_date else message.date).astimezone(UTC),
        sender_name=name,
        chat_name=clean_line(message.chat.title),
        language=_read_language(message.from_user),
        in_room=in_room,
        addressed=not in_room
        or written.mentions_bot
        or written.is_own_command
        or _is_from_bot(replied_to, me),
        edit_of=edit_of,
        attachments=contents.attachments + quoted_contents.attachments,
        quoted=quoted,
        forwarded_from=_read_forward_origin(message),
        more_soon=not edit_of
        and bool(message.media_group_id or utf16_length(message.text or "") > CUT_UNITS),
    )
    return ReceivedMessage(incoming, topic=_read_topic(message), album=str(message.media_group_id or ""))


def _read_chat(message: Message) -> ChatId:
    """Return the chat; only topics are separate chats, although Telegram also has threads of replies."""
    topic = (
        f"/{_format_id(message.message_thread_id)}"
        if message.is_topic_message and message.message_thread_id
        else ""
    )
    return ChatId(CHANNEL, f"{_format_id(message.chat.id)}{topic}")


def _read_sender(message: Message) -> tuple[PersonId, str] | None:
    """Return the sender and their name; None for bots and for Telegram's own copies.

    A person who writes as a group or channel counts as that chat, as Telegram hides the person.
    """
    if message.is_automatic_forward:
        return None
    if as_chat := message.sender_chat:
        name = clean_line(message.author_signature or as_chat.effective_name)
        return PersonId(CHANNEL, _format_id(as_chat.id)), name
    user = message.from_user
    if user is None or user.is_bot:
        return None
    return _read_person(user)


def _read_person(user: User) -> tuple[PersonId, str]:
    return PersonId(CHANNEL, _format_id(user.id)), clean_line(user.full_name)


def _read_language(user: User | None) -> str:
    """Return the code of the language that somebody's app is set to; "" if Telegram does not say."""
    return clean_line(user.language_code) if user and not user.is_bot else ""


def _read_text(message: Message, me: BotIdentity) -> MessageText:
    if message.text is not None:
        return MessageText(message.text, message.entities, me)
    return MessageText(message.caption or "", message.caption_entities, me)


def _is_unknown_kind(message: Message) -> bool:
    """Return whether the message only has content newer than the library."""
    if not message.api_kwargs:
        return False
    known = {name for name, value in message.to_dict().items() if value and name not in message.api_kwargs}
    return known <= _FRAME


def _find_replied_to(message: Message) -> Message | None:
    """Return the message replied to; not a topic's first message, which everything in a topic replies to."""
    replied_to = message.reply_to_message
    if replied_to is None or replied_to.forum_topic_created:
        return None
    is_topic = message.is_topic_message and replied_to.message_id == message.message_thread_id
    return None if is_topic else replied_to


def _read_topic(message: Message) -> str:
    first = message.reply_to_message
    if first is None or not message.is_topic_message or first.message_id != message.message_thread_id:
        return ""
    return clean_line(first.forum_topic_created.name) if first.forum_topic_created else ""


def _is_from_bot(message: Message | None, me: BotIdentity) -> bool:
    return bool(message and message.from_user and message.from_user.id == me.id)


def _read_quoted(
    message: Message, replied_to: Message | None, me: BotIdentity
) -> tuple[Quoted | None, Contents]:
    """Return the quoted message and its readable attachments."""
    part = MessageText(message.quote.text, message.quote.entities or (), me).read() if message.quote else ""
    if replied_to is not None:
        mine = _is_from_bot(replied_to, me)
        contents = Contents() if mine else read_contents(replied_to)
        text = part or "\n\n".join(filter(None, [_read_text(replied_to, me).read(), contents.words]))
        name = _sender_name(replied_to)
    elif elsewhere := message.external_reply:
        mine, contents = False, read_contents(elsewhere)
        text = part or contents.words
        name = _origin_name(elsewhere.origin)
    else:
        return None, Contents()
    readable = tuple(replace(one, quoted=True) for one in contents.attachments if one.kind != "other")
    quoted = Quoted(replace_surrogates(text)[:QUOTED_CHARS], sender_name=name, mine=mine)
    return quoted, Contents(attachments=readable)


def _sender_name(message: Message) -> str:
    if message.sender_chat:
        return clean_line(message.author_signature or message.sender_chat.effective_name)
    return clean_line(message.from_user.full_name) if message.from_user else ""


def _read_forward_origin(message: Message) -> str:
    """Return the origin of a message not written by its sender, such as a forward or an inline bot's text."""
    if message.forward_origin:
        return _origin_name(message.forward_origin) or english.SENT_BY_SOMEBODY
    return f"@{clean_line(message.via_bot.username)}" if message.via_bot else ""


def _origin_name(origin: MessageOrigin) -> str:
    match origin:
        case MessageOriginUser():
            return clean_line(origin.sender_user.full_name)
        case MessageOriginHiddenUser():
            return clean_line(origin.sender_user_name)
        case MessageOriginChat():
            return clean_line(origin.author_signature or origin.sender_chat.effective_name)
        case MessageOriginChannel():
            return clean_line(origin.chat.effective_name)
    return ""


def _read_press(query: CallbackQuery, now: datetime) -> ButtonPress:
    """Convert a press; only commands are accepted, as clients can send any data."""
    shown, says = query.message, replace_surrogates(query.data or "")
    if shown is None or query.from_user.is_bot or not says.startswith("/"):
        return ButtonPress(query.id, None)
    person, name = _read_person(query.from_user)
    # Telegram reports no topic for very old messages.
    chat = _read_chat(shown) if isinstance(shown, Message) else ChatId(CHANNEL, _format_id(shown.chat.id))
    message = IncomingMessage(
        id=f"press-{query.id}",
        chat=chat,
        sender=person,
        text=says,
        sent_at=now,
        sender_name=name,
        chat_name=clean_line(shown.chat.title),
        language=_read_language(query.from_user),
        in_room=shown.chat.type != Chat.PRIVATE,
        handle=_format_id(shown.message_id),
    )
    return ButtonPress(query.id, message)


def _read_reach(change: ChatMemberUpdated) -> ReachChanged | None:
    if change.chat.type not in (Chat.PRIVATE, *ROOMS):
        return None
    chat = ChatId(CHANNEL, _format_id(change.chat.id))
    mine = change.new_chat_member
    if mine.status == mine.BANNED:
        return ReachChanged(chat, "blocked" if change.chat.type == Chat.PRIVATE else "kicked")
    if mine.status == mine.LEFT:
        return ReachChanged(chat, "left")
    if isinstance(mine, ChatMemberRestricted) and not (mine.is_member and mine.can_send_messages):
        return ReachChanged(chat, "restricted" if mine.is_member else "left")
    return ReachChanged(chat, "")


def _format_id(number: int) -> str:
    """Return an id as text; raises for other types, which the library does not check."""
    return f"{number:d}"
