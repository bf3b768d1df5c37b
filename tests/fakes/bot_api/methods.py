"""The Bot API's methods. Each validates its parameters as the server does, then changes the world."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes.bot_api import wire
from tests.fakes.bot_api.chats import GENERAL_TOPIC, Action, Bot, Button, Chat, Draft, Edit, Message
from tests.fakes.bot_api.entities import (
    MAX_CAPTION_UNITS,
    MAX_UNITS,
    MarkedText,
    check_link,
    parse_entities,
    utf16_length,
)
from tests.fakes.bot_api.media import MAX_DOWNLOAD_BYTES, MAX_UPLOAD_BYTES, File, Upload
from tests.fakes.bot_api.receiving import Webhook
from tests.fakes.bot_api.refusals import Refusal, bad_request, forbidden, too_many
from tests.fakes.bot_api.requests import Parameters
from tests.fakes.bot_api.world import World

Method = Callable[[World, Bot, Parameters], Any | Awaitable[Any]]

METHODS: dict[str, Method] = {}
"""By lower-case name."""

ACTIONS = {
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
}  # fmt: skip
_REACTIONS = (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 "
    "🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 "
    "🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡 "
)
REACTIONS = frozenset(_REACTIONS.split())
"""Without the variation selector for emoji."""
QUERY_SECONDS = 15 * 60.0
"""How long a button press may be answered; the real time is not published."""
DELETE_SECONDS = 48 * 3600.0
COMMAND = re.compile(r"[a-z0-9_]{1,32}")
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)


def method(name: str) -> Callable[[Method], Method]:
    def add(function: Method) -> Method:
        METHODS[name.lower()] = function
        return function

    return add


# -- the bot and its updates -----------------------------------------------------------------------------------


@method("getMe")
def get_me(world: World, bot: Bot, given: Parameters) -> Any:
    return bot.as_json() | {
        "can_join_groups": True,
        "can_read_all_group_messages": not bot.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": False,
        "allows_users_to_create_topics": False,
    }


@method("getUpdates")
async def get_updates(world: World, bot: Bot, given: Parameters) -> Any:
    bot.inbox.allow(given.get("allowed_updates"))
    return await bot.inbox.get(
        offset=_number(given, "offset"),
        limit=_number(given, "limit") or 100,
        timeout=_number(given, "timeout"),
    )


@method("setWebhook")
def set_webhook(world: World, bot: Bot, given: Parameters) -> Any:
    url = str(given.get("url", ""))
    if not url:
        return delete_webhook(world, bot, given)
    scheme, _, rest = url.partition("://")
    loopback = re.match(r"(127\.0\.0\.1|localhost|\[::1\])(:|/|$)", rest)
    if scheme != "https" and not (scheme == "http" and loopback):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    secret = str(given.get("secret_token", ""))
    if len(secret) > 256:
        raise bad_request("secret token is too long")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", secret):
        raise bad_request("secret token contains unallowed characters")
    if given.get("drop_pending_updates"):
        bot.inbox.drop()
    bot.inbox.allow(given.get("allowed_updates"))
    connections = min(max(_number(given, "max_connections") or 40, 1), 100)
    bot.inbox.set_webhook(Webhook(url, secret, connections))
    return True


@method("deleteWebhook")
def delete_webhook(world: World, bot: Bot, given: Parameters) -> Any:
    if given.get("drop_pending_updates"):
        bot.inbox.drop()
    bot.inbox.set_webhook(None)
    return True


@method("getWebhookInfo")
def get_webhook_info(world: World, bot: Bot, given: Parameters) -> Any:
    return bot.inbox.webhook_json()


# -- messages --------------------------------------------------------------------------------------------------


@method("sendMessage")
def send_message(world: World, bot: Bot, given: Parameters) -> Any:
    marked = _text(given)
    buttons = _buttons(given)
    chat = _chat(world, bot, given)
    thread = _thread(chat, given)
    reply = _reply(chat, given)
    _spend(world, bot, chat, "sendMessage")
    _may_write(bot, chat, thread)
    if utf16_length(marked.text) > MAX_UNITS:
        raise bad_request("message is too long")
    _check_data(buttons)
    preview = given.get("link_preview_options")
    message = world.post(
        chat,
        bot,
        marked,
        thread=thread,
        buttons=buttons,
        silent=bool(given.get("disable_notification")),
        preview=preview if isinstance(preview, dict) else {},
        **reply,
    )
    return wire.message_json(message)


@method("sendDocument")
def send_document(world: World, bot: Bot, given: Parameters) -> Any:
    file = _file(world, given)
    marked = _marked(str(given.get("caption", "")), given, "caption_entities")
    buttons = _buttons(given)
    chat = _chat(world, bot, given)
    thread = _thread(chat, given)
    reply = _reply(chat, given)
    _spend(world, bot, chat, "sendDocument")
    _may_write(bot, chat, thread)
    if utf16_length(marked.text) > MAX_CAPTION_UNITS:
        raise bad_request("message caption is too long")
    _check_data(buttons)
    message = world.post(
        chat,
        bot,
        marked,
        thread=thread,
        buttons=buttons,
        silent=bool(given.get("disable_notification")),
        document=file,
        media=True,
        **reply,
    )
    return wire.message_json(message)


@method("sendMessageDraft")
def send_message_draft(world: World, bot: Bot, given: Parameters) -> Any:
    marked = _marked(str(given.get("text", "")), given, "entities")
    chat = _chat(world, bot, given)
    thread = _thread(chat, given)
    if chat.kind != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if not _number(given, "draft_id"):
        raise bad_request("RANDOM_ID_INVALID")
    _spend(world, bot, chat, "sendMessageDraft")
    _may_write(bot, chat, thread)
    if utf16_length(marked.text) > MAX_UNITS:
        raise bad_request("MESSAGE_TOO_LONG")
    draft = Draft(world.clock(), _number(given, "draft_id"), marked.text, marked.entities, thread)
    chat.drafts.append(draft)
    world.notify_waiters()
    return True


@method("editMessageText")
def edit_message_text(world: World, bot: Bot, given: Parameters) -> Any:
    marked = _text(given)
    buttons = _buttons(given)
    message = _own_message(world, bot, given)
    if message.media:
        raise bad_request("there is no text in the message to edit")
    _spend(world, bot, message.chat, "editMessageText")
    _reachable(message.chat)
    if utf16_length(marked.text) > MAX_UNITS:
        raise bad_request("MESSAGE_TOO_LONG")
    _check_data(buttons)
    if (marked.text, marked.entities, buttons) == (message.text, message.entities, message.buttons):
        raise bad_request(NOT_MODIFIED)
    message.text, message.entities, message.found = marked.text, marked.entities, marked.found
    message.dropped = marked.dropped
    if isinstance(given.get("link_preview_options"), dict):
        message.preview = given["link_preview_options"]
    return _edited(world, message, buttons)


@method("editMessageReplyMarkup")
def edit_message_reply_markup(world: World, bot: Bot, given: Parameters) -> Any:
    buttons = _buttons(given)
    message = _own_message(world, bot, given)
    _spend(world, bot, message.chat, "editMessageReplyMarkup")
    _reachable(message.chat)
    _check_data(buttons)
    if buttons == message.buttons:
        raise bad_request(NOT_MODIFIED)
    return _edited(world, message, buttons)


@method("deleteMessage")
def delete_message(world: World, bot: Bot, given: Parameters) -> Any:
    if not _number(given, "message_id"):
        raise bad_request("message identifier is not specified")
    chat = _chat(world, bot, given)
    message = chat.message(_number(given, "message_id"))
    if message is None:
        raise bad_request("message to delete not found")
    mine = message.sender is bot
    if chat.is_group and not mine and bot.id not in chat.admins:
        raise bad_request("message can't be deleted")
    if world.clock() - message.time > DELETE_SECONDS:
        raise bad_request("message can't be deleted for everyone")
    message.deleted = True
    world.notify_waiters()
    return True


@method("sendChatAction")
def send_chat_action(world: World, bot: Bot, given: Parameters) -> Any:
    if given.get("action") not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    chat = _chat(world, bot, given)
    thread = _number(given, "message_thread_id") or None
    _reachable(chat)
    chat.actions.append(Action(world.clock(), str(given["action"]), thread))
    world.notify_waiters()
    return True


@method("setMessageReaction")
def set_message_reaction(world: World, bot: Bot, given: Parameters) -> Any:
    wanted = given.get("reaction") or []
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        raise bad_request("can't parse reaction types JSON object")
    chat = _chat(world, bot, given, to="read")
    message = chat.message(_number(given, "message_id"))
    if message is None:
        raise bad_request("message to react not found")
    _reachable(chat)
    emoji = [str(one.get("emoji", "")).replace("\ufe0f", "") for one in wanted]
    if not all(one in REACTIONS for one in emoji):
        raise bad_request("REACTION_INVALID")
    if len(emoji) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    message.reactions[bot.id] = emoji
    world.notify_waiters()
    return True


@method("answerCallbackQuery")
def answer_callback_query(world: World, bot: Bot, given: Parameters) -> Any:
    press = world.presses.get(str(given.get("callback_query_id", "")))
    if press is None or press.answered or world.clock() - press.time > QUERY_SECONDS:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    text = str(given.get("text", ""))
    if utf16_length(text) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    press.answered, press.text, press.alert = True, text, bool(given.get("show_alert"))
    world.notify_waiters()
    return True


# -- commands and descriptions ---------------------------------------------------------------------------------


@method("setMyCommands")
def set_my_commands(world: World, bot: Bot, given: Parameters) -> Any:
    commands = given.get("commands", [])
    if not isinstance(commands, list):
        raise bad_request("expected an Array of BotCommand")
    key = (_scope(world, bot, given), _language(given))
    if len(commands) > 100:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    bot.commands[key] = [_command(one) for one in commands]
    world.notify_waiters()
    return True


@method("getMyCommands")
def get_my_commands(world: World, bot: Bot, given: Parameters) -> Any:
    return bot.commands.get((_scope(world, bot, given), _language(given)), [])


@method("deleteMyCommands")
def delete_my_commands(world: World, bot: Bot, given: Parameters) -> Any:
    bot.commands.pop((_scope(world, bot, given), _language(given)), None)
    world.notify_waiters()
    return True


def _describes(name: str, kind: str, field: str, limit: int, error: str) -> None:
    """Register the two methods for one of the texts in a bot's profile."""

    @method(f"setMy{name}")
    def change(world: World, bot: Bot, given: Parameters) -> Any:
        text = str(given.get(field, ""))
        if len(text) > limit:
            raise bad_request(error)
        bot.descriptions[(kind, _language(given))] = text
        return True

    @method(f"getMy{name}")
    def tell(world: World, bot: Bot, given: Parameters) -> Any:
        usual = bot.name if kind == "name" else ""
        return {field: bot.descriptions.get((kind, _language(given)), usual)}


_describes("Description", "long", "description", 512, "BOT_DESCRIPTION_TOO_LONG")
_describes("ShortDescription", "short", "short_description", 120, "BOT_ABOUT_TOO_LONG")
_describes("Name", "name", "name", 64, "BOT_TITLE_INVALID")


def _command(one: Any) -> dict[str, str]:
    if not isinstance(one, dict):
        raise bad_request("can't parse BotCommand: expected an Object")
    for field in ("command", "description"):
        if not isinstance(one.get(field), str):
            raise bad_request(f"can't parse BotCommand: Can't find field \"{field}\"")
    name, description = one["command"].removeprefix("/"), one["description"].strip()
    if not name:
        raise bad_request("command must be non-empty")
    if len(name) > 32:
        raise bad_request("command length must not exceed 32")
    if not description:
        raise bad_request("command description must be non-empty")
    if len(description) > 256:
        raise bad_request("command description length must not exceed 256")
    if not COMMAND.fullmatch(name):
        raise bad_request("BOT_COMMAND_INVALID")
    return {"command": name, "description": description}


def _language(given: Parameters) -> str:
    code = str(given.get("language_code", ""))
    if code and not re.fullmatch(r"[a-z]{2}", code):
        raise bad_request("invalid language code specified")
    return code


def _scope(world: World, bot: Bot, given: Parameters) -> str:
    scope = given.get("scope") or {"type": "default"}
    if not isinstance(scope, dict):
        raise bad_request("can't parse BotCommandScope JSON object")
    kind = scope.get("type")
    if kind in ("default", "all_private_chats", "all_group_chats", "all_chat_administrators"):
        return str(kind)
    if kind not in ("chat", "chat_administrators", "chat_member"):
        raise bad_request("can't parse BotCommandScope: Unsupported type specified")
    chat = _chat(world, bot, scope, to="read")
    if kind == "chat_member":
        return f"{kind}:{chat.id}:{scope.get('user_id')}"
    return f"{kind}:{chat.id}"


# -- files and chats -------------------------------------------------------------------------------------------


@method("getFile")
def get_file(world: World, bot: Bot, given: Parameters) -> Any:
    wanted = str(given.get("file_id", ""))
    file = world.files.by_id.get(wanted)
    if file is None:
        short = len(wanted) < 10
        raise bad_request(
            "invalid file_id" if short else "wrong file_id or the file is temporarily unavailable"
        )
    if file.size > MAX_DOWNLOAD_BYTES:
        raise bad_request("file is too big")
    return file.as_json() | {"file_path": file.path}


@method("getChat")
def get_chat(world: World, bot: Bot, given: Parameters) -> Any:
    chat = _chat(world, bot, given, to="read")
    return wire.chat_json(chat) | {
        "accent_color_id": 3,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": True,
            "limited_gifts": True,
            "unique_gifts": True,
            "premium_subscription": True,
            "gifts_from_channels": True,
        },
    }


@method("getChatMember")
def get_chat_member(world: World, bot: Bot, given: Parameters) -> Any:
    chat = _chat(world, bot, given, to="read")
    number = _number(given, "user_id")
    user = chat.members.get(number)
    if user is None:
        known = world.people.get(number)
        if known is None:
            raise bad_request("PARTICIPANT_ID_INVALID")
        return wire.member_json(known, "left")
    if number in chat.admins:
        creator = chat.is_group and next(iter(chat.members)) == number
        return wire.member_json(user, "creator" if creator else "administrator")
    return wire.member_json(user, "member")


@method("leaveChat")
def leave_chat(world: World, bot: Bot, given: Parameters) -> Any:
    chat = _chat(world, bot, given)
    if not chat.is_group:
        raise bad_request("chat member status can't be changed in private chats")
    chat.members.pop(bot.id, None)
    chat.admins.discard(bot.id)
    world.notify_waiters()
    return True


# -- shared by several methods
# ---------------------------------------------------------------------------------


def _number(given: Parameters, name: str) -> int:
    """Return an integer parameter; 0 if it is missing or not a number, as the server reads it."""
    value = given.get(name, 0)
    return value if isinstance(value, int) else 0


def _chat(world: World, bot: Bot, given: Parameters, *, to: str = "write") -> Chat:
    """Return the requested chat if the bot may `read` or `write` there."""
    if given.get("chat_id") in (None, ""):
        raise bad_request("chat_id is empty")
    chat = world.find_chat(bot, _number(given, "chat_id"))
    if chat is None:
        raise bad_request("chat not found")
    if chat.migrated_to and to == "write":
        raise Refusal(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            migrate_to=chat.migrated_to.id,
        )
    if chat.is_group and bot.id not in chat.members and not chat.migrated_to:
        how = "was kicked from" if bot.id in chat.kicked else "is not a member of"
        raise forbidden(f"bot {how} the {chat.kind} chat")
    return chat


def _reachable(chat: Chat) -> None:
    """Reject a private chat for reasons that only the server behind the Bot API knows."""
    if chat.person is None:
        return
    if chat.person.gone:
        raise forbidden("user is deactivated")
    if chat.blocked:
        raise forbidden("bot was blocked by the user")
    if not chat.started:
        raise forbidden("bot can't initiate conversation with a user")


def _may_write(bot: Bot, chat: Chat, thread: int | None) -> None:
    _reachable(chat)
    if bot.id in chat.admins:
        return
    if chat.is_group and not chat.may_write:
        raise bad_request("not enough rights to send text messages to the chat")
    if thread and (topic := chat.topics.get(thread)) and topic.closed:
        raise bad_request("TOPIC_CLOSED")


def _thread(chat: Chat, given: Parameters) -> int | None:
    wanted = _number(given, "message_thread_id")
    if chat.kind == "private":
        if wanted:
            raise bad_request("message thread not found")
        return None
    if not chat.forum:
        # Reply chains in supergroups have such ids too; they have no effect.
        return None
    if wanted and wanted not in chat.topics:
        raise bad_request("message thread not found")
    return wanted or GENERAL_TOPIC


def _reply(chat: Chat, given: Parameters) -> dict[str, Any]:
    wanted = given.get("reply_parameters")
    if wanted is None:
        wanted = {
            "message_id": _number(given, "reply_to_message_id"),
            "allow_sending_without_reply": given.get("allow_sending_without_reply"),
        }
    if not isinstance(wanted, dict):
        raise bad_request("object expected as reply parameters")
    number = wanted.get("message_id", 0)
    if not number:
        return {}
    original = chat.message(int(number))
    if original is None:
        if wanted.get("allow_sending_without_reply"):
            return {}
        raise bad_request("message to be replied not found")
    quote = str(wanted.get("quote", ""))
    if quote and quote not in original.text:
        raise bad_request("QUOTE_TEXT_INVALID")
    position = utf16_length(original.text[: original.text.index(quote)]) if quote else 0
    return {"reply_to": original.id, "quote": quote, "quote_position": position}


def _text(given: Parameters) -> MarkedText:
    if not given.get("text"):
        raise bad_request("message text is empty")
    marked = _marked(str(given["text"]), given, "entities")
    if not marked.text.strip():
        raise bad_request("text must be non-empty")
    return marked


def _marked(text: str, given: Parameters, field: str) -> MarkedText:
    if str(given.get("parse_mode", "none")).lower() not in ("", "none"):
        # The bot is expected to send entities.
        raise bad_request("unsupported parse_mode")
    entities = given.get(field)
    # The server treats anything but a list as none.
    return parse_entities(text, entities if isinstance(entities, list) else None)


def _buttons(given: Parameters) -> tuple[tuple[Button, ...], ...]:
    markup = given.get("reply_markup")
    if not markup:
        return ()
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    rows = markup.get("inline_keyboard")
    if rows is None:
        raise bad_request("the fake knows inline keyboards only")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    read = tuple(tuple(_button(one) for one in row) for row in rows)
    if sum(len(row) for row in read) > 100:
        raise bad_request("reply markup is too long")
    return tuple(row for row in read if row)


def _button(one: Any) -> Button:
    if not isinstance(one, dict):
        raise bad_request("can't parse inline keyboard button: InlineKeyboardButton must be an Object")
    if not isinstance(one.get("text"), str):
        raise bad_request("can't parse inline keyboard button: Can't find field \"text\"")
    if not one["text"].strip():
        raise bad_request("inline keyboard button text must be non-empty")
    data, url = one.get("callback_data"), one.get("url")
    if data is None and url is None:
        raise bad_request(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"
        )
    if url is not None:
        check_link(str(url), "inline keyboard button URL")
    return Button(one["text"], str(data or ""), str(url or ""))


def _check_data(buttons: tuple[tuple[Button, ...], ...]) -> None:
    for button in (button for row in buttons for button in row):
        if not button.url and not 1 <= len(button.data.encode()) <= 64:
            raise bad_request("BUTTON_DATA_INVALID")


def _own_message(world: World, bot: Bot, given: Parameters) -> Message:
    chat = _chat(world, bot, given)
    message = chat.message(_number(given, "message_id"))
    if message is None:
        raise bad_request("message to edit not found")
    if message.sender is not bot or message.service:
        raise bad_request("message can't be edited")
    return message


def _edited(world: World, message: Message, buttons: tuple[tuple[Button, ...], ...]) -> Any:
    message.buttons = buttons
    message.edits.append(Edit(world.clock(), message.text, list(message.entities), buttons))
    world.notify_waiters()
    return wire.message_json(message)


def _file(world: World, given: Parameters) -> File:
    wanted = given.get("document")
    if isinstance(wanted, str) and wanted.startswith("attach://"):
        wanted = given.get(wanted.removeprefix("attach://"))
    if isinstance(wanted, str) and wanted in world.files.by_id:
        return world.files.by_id[wanted]
    if isinstance(wanted, str) and wanted:
        raise bad_request("wrong file identifier/HTTP URL specified")
    if not isinstance(wanted, Upload):
        raise bad_request("there is no document in the request")
    if not wanted.data:
        raise bad_request("file must be non-empty")
    if len(wanted.data) > MAX_UPLOAD_BYTES:
        raise Refusal(413, "Request Entity Too Large")
    return world.files.add("documents", wanted.data, name=wanted.name, media_type=wanted.media_type)


def _spend(world: World, bot: Bot, chat: Chat, name: str) -> None:
    """Count a message against the limits."""
    flood = bot.meter.take(name, chat.id, group=chat.is_group)
    if flood:
        world.floods.append(flood)
        if world.enforces_limits:
            raise too_many(flood.retry_after)
