"""JSON that bots receive."""

from typing import TYPE_CHECKING, Any

from tests.fakes.bot_api.chats import GENERAL_TOPIC, Bot, Chat, Message
from tests.fakes.bot_api.entities import MarkedText
from tests.fakes.bot_api.media import document_json

if TYPE_CHECKING:
    from tests.fakes.bot_api.people import Person

Json = dict[str, Any]


def user_json(user: "Person | Bot") -> Json:
    return user.as_json()


def chat_json(chat: Chat) -> Json:
    if chat.kind == "private":
        assert chat.person
        shown = {
            key: value
            for key, value in chat.person.as_json().items()
            if key in ("first_name", "last_name", "username")
        }
        return {"id": chat.id, **shown, "type": "private"}
    told: Json = {"id": chat.id, "title": chat.title, "type": chat.kind}
    if chat.forum:
        told["is_forum"] = True
    if chat.kind == "group":
        told["all_members_are_administrators"] = False
    return told


def message_json(message: Message, *, with_reply: bool = True) -> Json:
    """Return a message with the one it replies to, but without what that replied to."""
    chat = message.chat
    told: Json = {
        "message_id": message.id,
        "from": user_json(message.sender),
        "chat": chat_json(chat),
        "date": int(message.time),
    }
    if message.edits and not message.service:
        told["edit_date"] = int(message.edits[-1].time)
    thread = thread_of(message)
    if thread:
        told["message_thread_id"] = thread
    if with_reply:
        # In a topic, messages that reply to nothing reply to the message that opened the topic.
        root = message.reply_to or (message.thread if is_in_topic(message) else None)
        original = chat.message(root) if root and root != message.id else None
        if original:
            told["reply_to_message"] = message_json(original, with_reply=False)
    if message.quote:
        told["quote"] = {"text": message.quote, "position": message.quote_position, "is_manual": True}
    told |= message.content
    if message.document:
        told["document"] = document_json(message.document)
    if message.text:
        entities = MarkedText(message.text, message.entities, message.found).all
        named = ("caption", "caption_entities") if message.media else ("text", "entities")
        told[named[0]] = message.text
        if entities:
            told[named[1]] = entities
    if message.preview:
        told["link_preview_options"] = message.preview
    if message.buttons:
        told["reply_markup"] = {"inline_keyboard": buttons_json(message)}
    if is_in_topic(message):
        told["is_topic_message"] = True
    return told


def thread_of(message: Message) -> int | None:
    """Return a forum's topic; in other supergroups, the root message of a reply chain."""
    if is_in_topic(message):
        return message.thread
    if message.chat.kind != "supergroup" or message.chat.forum:
        return None
    root, seen = message, 0
    while root.reply_to and (above := message.chat.by_id.get(root.reply_to)) and seen < 1000:
        root, seen = above, seen + 1
    return root.id if root is not message else None


def is_in_topic(message: Message) -> bool:
    return message.chat.forum and message.thread not in (None, GENERAL_TOPIC)


def buttons_json(message: Message) -> list[list[Json]]:
    return [
        [
            {"text": button.text, **({"url": button.url} if button.url else {"callback_data": button.data})}
            for button in row
        ]
        for row in message.buttons
    ]


def member_json(user: "Person | Bot", status: str) -> Json:
    told: Json = {"user": user_json(user), "status": status}
    if status == "kicked":
        told["until_date"] = 0
    if status == "administrator":
        told |= {
            "can_be_edited": False,
            "is_anonymous": False,
            "can_manage_chat": True,
            "can_delete_messages": True,
            "can_manage_video_chats": True,
            "can_restrict_members": True,
            "can_promote_members": False,
            "can_change_info": True,
            "can_invite_users": True,
            "can_post_stories": False,
            "can_edit_stories": False,
            "can_delete_stories": False,
            "can_pin_messages": True,
            "can_manage_topics": True,
        }
    if status == "creator":
        told["is_anonymous"] = False
    return told
