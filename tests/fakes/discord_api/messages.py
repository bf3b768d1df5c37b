"""API calls about messages: sending, editing, reading, reactions and typing."""

from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.api_call import ApiRequest, find_channel, find_message, may
from tests.fakes.discord_api.chats import Channel, Message
from tests.fakes.discord_api.mentions import find_mentions
from tests.fakes.discord_api.message_body import SETTABLE, Draft, read_draft
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.refusals import Refusal, make_refusal, wrong

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

NONCE_SECONDS = 300.0
"""How long the same nonce returns the same message."""
MAX_REACTIONS = 20
EDITABLE = chats.SUPPRESS_EMBEDS | chats.COMPONENTS_V2


def message_response(world: "World", message: Message, ask: ApiRequest) -> Json:
    """Return a message over HTTP, where the application's setting counts, not the gateway's intents."""
    return wire.message_json(world, message, ask.bot, has_intent=bool(ask.bot.granted & wire.CONTENT))


def create_message(world: "World", ask: ApiRequest) -> Json:
    channel = find_channel(world, ask)
    check_may_write(channel, ask)
    draft = read_draft(world, channel, ask.bot, ask.body)
    reference = _reference(world, channel, ask)
    if draft.empty:
        raise make_refusal(50006)
    if draft.files and channel.guild and not may(channel, ask.bot, "attach_files"):
        raise make_refusal(50013)
    if isinstance(channel.person, Person) and channel.person.refuses:
        raise make_refusal(channel.person.refuses)
    if ask.fields.get("enforce_nonce") and (same := _find_by_nonce(world, ask, draft)):
        return message_response(world, same, ask)
    return message_response(world, write(world, channel, ask, draft, reference), ask)


def write(
    world: "World",
    channel: Channel,
    ask: ApiRequest,
    draft: Draft,
    reference: Message | None = None,
    **more: Any,
) -> Message:
    return world.post(
        channel,
        ask.bot,
        content=draft.content or "",
        type=chats.REPLY if reference else chats.DEFAULT,
        reference=reference,
        allowed_mentions=draft.allowed_mentions,
        attachments=draft.files or [],
        components=draft.components or [],
        embeds=draft.embeds or [],
        flags=(draft.flags or 0) & SETTABLE,
        nonce=draft.nonce,
        **more,
    )


def check_may_write(channel: Channel, ask: ApiRequest) -> None:
    if channel.kind == chats.FORUM:
        raise make_refusal(40058)
    speaks = "send_messages_in_threads" if channel.is_thread else "send_messages"
    if not may(channel, ask.bot, speaks):
        raise make_refusal(50013)
    if channel.locked and not may(channel, ask.bot, "manage_threads"):
        raise make_refusal(160005)


def _reference(world: "World", channel: Channel, ask: ApiRequest) -> Message | None:
    given = ask.fields.get("message_reference")
    if not isinstance(given, dict):
        return None
    there = channel.message(int(given.get("message_id") or 0))
    if there is None or there.ephemeral:
        if given.get("fail_if_not_exists", True):
            raise wrong("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
        return None
    if not may(channel, ask.bot, "read_message_history"):
        raise make_refusal(160002)
    if there.type not in (chats.DEFAULT, chats.REPLY, chats.COMMAND):
        raise wrong(
            "message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message"
        )
    return there


def _find_by_nonce(world: "World", ask: ApiRequest, draft: Draft) -> Message | None:
    if draft.nonce is None:
        return None
    for channel in world.channels.values():
        for one in reversed(channel.messages):
            if one.time < world.clock() - NONCE_SECONDS:
                break
            if one.author is ask.bot and str(one.nonce) == str(draft.nonce) and not one.deleted:
                return one
    return None


def edit_message(world: "World", ask: ApiRequest) -> Json:
    channel = find_channel(world, ask)
    message = find_message(channel, ask.ids["message"])
    hides_preview = set(ask.fields) == {"flags"} and may(channel, ask.bot, "manage_messages")
    if message.author is not ask.bot and not hides_preview:
        raise make_refusal(50005)
    if channel.archived:
        raise make_refusal(50083)
    change(world, message, ask, read_draft(world, channel, ask.bot, ask.body, edited=message))
    return message_response(world, message, ask)


def change(
    world: "World",
    message: Message,
    ask: ApiRequest,
    draft: Draft,
    *,
    default_mentions: set[str] | None = None,
) -> None:
    """Apply the fields of the draft; the rest stays."""
    if message.flags & chats.VOICE_MESSAGE:
        raise make_refusal(50162)
    details: Json = {}
    if draft.components is not None:
        details["components"] = draft.components
    if draft.embeds is not None:
        details["embeds"] = draft.embeds
    if draft.files is not None:
        details["attachments"] = draft.files
    if draft.flags is not None:
        details["flags"] = (message.flags & ~EDITABLE) | (draft.flags & EDITABLE)
    content = message.content if draft.content is None else draft.content
    left: list[Any] = [content]
    left += [details.get(name, getattr(message, name)) for name in ("embeds", "components", "attachments")]
    if not any(left):
        raise make_refusal(50006)
    mentions = None
    if draft.content is not None:
        mentions = find_mentions(
            content,
            message.channel,
            ask.bot,
            allowed=draft.allowed_mentions,
            default=default_mentions,
            reply_to=message.reference if message.type == chats.REPLY else None,
        )
    world.change_message(message, content=draft.content, mentions=mentions, **details)


def delete_message(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask)
    message = find_message(channel, ask.ids["message"])
    if message.author is not ask.bot:
        if channel.guild is None:
            raise Refusal(403, "Cannot execute action on a DM channel", 50003)
        if not may(channel, ask.bot, "manage_messages"):
            raise make_refusal(50013)
    world.delete_message(message)


def get_message(world: "World", ask: ApiRequest) -> Json:
    channel = find_channel(world, ask, "read_message_history")
    return message_response(world, find_message(channel, ask.ids["message"]), ask)


def history(world: "World", ask: ApiRequest) -> list[Json]:
    """Return messages, always the newest first."""
    channel = find_channel(world, ask)
    try:
        limit = int(ask.query.get("limit", 50))
        marks = {name: int(ask.query[name]) for name in ("after", "before", "around") if name in ask.query}
    except ValueError:
        raise wrong("limit", "NUMBER_TYPE_COERCE", "Value is not an integer.") from None
    if not 1 <= limit <= 100:
        raise wrong("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
    if not may(channel, ask.bot, "read_message_history"):
        return []
    there = sorted(channel.visible, key=lambda one: one.id)
    if "around" in marks:
        before = [one for one in there if one.id < marks["around"]][-(limit // 2) :]
        there = before + [one for one in there if one.id >= marks["around"]][: limit - len(before)]
    elif "after" in marks:
        there = [one for one in there if one.id > marks["after"]][:limit]
    else:
        there = [one for one in there if one.id < marks.get("before", 1 << 63)][-limit:]
    return [message_response(world, one, ask) for one in reversed(there)]


def typing(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask)
    check_may_write(channel, ask)
    channel.typing.append(world.clock())
    world.notify_waiters()


def react(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask, "read_message_history")
    message = find_message(channel, ask.ids["message"])
    emoji = ask.ids["emoji"]
    if emoji.isascii() and ":" not in emoji:
        raise make_refusal(10014)
    if emoji not in message.reactions:
        if not may(channel, ask.bot, "add_reactions"):
            raise make_refusal(50013)
        if len(message.reactions) >= MAX_REACTIONS:
            raise make_refusal(30010)
    world.react(message, ask.bot, emoji)


def unreact(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask)
    message = find_message(channel, ask.ids["message"])
    world.react(message, ask.bot, ask.ids["emoji"], remove=True)
