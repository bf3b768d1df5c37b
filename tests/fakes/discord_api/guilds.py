"""API calls about the bot itself, people, guilds, channels, threads."""

from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.api_call import (
    ApiRequest,
    ApiResponse,
    find_channel,
    find_guild,
    find_message,
    may,
)
from tests.fakes.discord_api.chats import Channel
from tests.fakes.discord_api.message_body import read_draft
from tests.fakes.discord_api.messages import message_response, write
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.refusals import Form, make_refusal, wrong
from tests.fakes.discord_api.requests import Body

if TYPE_CHECKING:
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]
DURATIONS = (60, 1440, 4320, 10080)


def gateway(world: "World", ask: ApiRequest) -> Json:
    return {"url": world.url.replace("http", "ws", 1)}


def gateway_bot(world: "World", ask: ApiRequest) -> Json:
    limit = {
        "total": 1000,
        "remaining": max(ask.bot.starts_left, 0),
        "reset_after": 14_400_000,
        "max_concurrency": 1,
    }
    return {**gateway(world, ask), "shards": ask.bot.shards, "session_start_limit": limit}


def me(world: "World", ask: ApiRequest) -> Json:
    return wire.me_json(ask.bot)


def application(world: "World", ask: ApiRequest) -> Json:
    owner = next(iter(world.people.values()), None) or ask.bot
    return wire.application_json(ask.bot, owner)


def user(world: "World", ask: ApiRequest) -> Json:
    found = world.user(ask.ids["user"])
    if found is None:
        raise make_refusal(10013)
    return wire.user_json(found)


def create_dm(world: "World", ask: ApiRequest) -> Json:
    """Return the direct message channel; whether the person accepts messages only shows when one is sent."""
    found = world.user(int(ask.fields.get("recipient_id") or 0))
    if not isinstance(found, Person):
        raise make_refusal(50033)
    ask.bot.opened.add(found.id)
    return wire.channel_json(world.direct(found, ask.bot), ask.bot)


def my_guilds(world: "World", ask: ApiRequest) -> list[Json]:
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "owner": False,
            "permissions": "0",
            "features": [],
        }
        for guild in world.guilds.values()
        if ask.bot.id in guild.members
    ]


def leave_guild(world: "World", ask: ApiRequest) -> None:
    world.leave(find_guild(world, ask), ask.bot)


def guild(world: "World", ask: ApiRequest) -> Json:
    return wire.guild_json(find_guild(world, ask), ask.bot, whole=False)


def guild_channels(world: "World", ask: ApiRequest) -> list[Json]:
    there = find_guild(world, ask).channels.values()
    return [wire.channel_json(one, ask.bot) for one in there if not one.is_thread and not one.deleted]


def roles(world: "World", ask: ApiRequest) -> list[Json]:
    return [wire.role_json(role) for role in find_guild(world, ask).roles.values()]


def member(world: "World", ask: ApiRequest) -> Json:
    """Return one member by id, which needs no intent."""
    found = find_guild(world, ask).members.get(ask.ids["user"])
    if found is None:
        raise make_refusal(10007 if world.user(ask.ids["user"]) else 10013)
    return wire.member_json(found)


def members(world: "World", ask: ApiRequest) -> list[Json]:
    there = find_guild(world, ask)
    if not ask.bot.granted & wire.MEMBERS:
        raise make_refusal(50001)
    return [wire.member_json(one) for one in there.members.values()]


def get_channel(world: "World", ask: ApiRequest) -> Json:
    return wire.channel_json(find_channel(world, ask), ask.bot)


def edit_channel(world: "World", ask: ApiRequest) -> Json:
    """Edit a thread: name, archived, locked."""
    channel = find_channel(world, ask)
    if not channel.is_thread:
        raise make_refusal(50013)
    given = ask.fields
    opens = set(given) == {"archived"} and given["archived"] is False and not channel.locked
    moderates = may(channel, ask.bot, "manage_threads")
    if not moderates and not opens and (channel.owner is not ask.bot or "locked" in given):
        raise make_refusal(50013)
    if "name" in given:
        check_name(given["name"])
    changes = {name: given[name] for name in ("name", "archived", "locked") if given.get(name) is not None}
    world.change_thread(channel, **changes)
    return wire.channel_json(channel, ask.bot)


def delete_channel(world: "World", ask: ApiRequest) -> Json:
    channel = find_channel(world, ask, "manage_threads" if ask_is_thread(world, ask) else "manage_channels")
    told_before = wire.channel_json(channel, ask.bot)
    world.remove_channel(channel)
    return told_before


def ask_is_thread(world: "World", ask: ApiRequest) -> bool:
    channel = world.channels.get(ask.ids["channel"])
    return channel is not None and channel.is_thread


def check_name(name: Any) -> None:
    form = Form()
    form.between("name", str(name or ""), 1, 100)
    form.done()


def _minutes(given: Json) -> int:
    minutes = given.get("auto_archive_duration")
    if minutes is not None and minutes not in DURATIONS:
        told_so = f"Value must be one of {DURATIONS}."
        raise wrong("auto_archive_duration", "BASE_TYPE_CHOICES", told_so)
    return minutes or 4320


def thread_from_message(world: "World", ask: ApiRequest) -> ApiResponse:
    channel = find_channel(world, ask)
    message = find_message(channel, ask.ids["message"])
    if channel.kind not in (chats.TEXT, chats.ANNOUNCEMENT):
        raise make_refusal(50024)
    if not may(channel, ask.bot, "create_public_threads"):
        raise make_refusal(50013)
    check_name(ask.fields.get("name"))
    if message.thread is not None:
        raise make_refusal(160004)
    thread = world.open_thread(
        channel, ask.fields["name"], ask.bot, message=message, minutes=_minutes(ask.fields)
    )
    return ApiResponse(wire.channel_json(thread, ask.bot))


def start_thread(world: "World", ask: ApiRequest) -> ApiResponse:
    """Start a thread, or a forum post with its first message."""
    channel = find_channel(world, ask)
    given = ask.fields
    check_name(given.get("name"))
    if channel.kind == chats.FORUM:
        return _start_post(world, ask, channel)
    if channel.kind not in (chats.TEXT, chats.ANNOUNCEMENT):
        raise make_refusal(50024)
    private = given.get("type", chats.PRIVATE_THREAD) == chats.PRIVATE_THREAD
    if not may(channel, ask.bot, "create_private_threads" if private else "create_public_threads"):
        raise make_refusal(50013)
    thread = world.open_thread(channel, given["name"], ask.bot, private=private, minutes=_minutes(given))
    return ApiResponse(wire.channel_json(thread, ask.bot))


def _start_post(world: "World", ask: ApiRequest, forum: Channel) -> ApiResponse:
    if not may(forum, ask.bot, "send_messages"):
        raise make_refusal(50013)
    given = ask.fields
    if not isinstance(given.get("message"), dict):
        raise wrong("message", "BASE_TYPE_REQUIRED", "This field is required")
    tags = [int(one) for one in given.get("applied_tags") or []]
    if forum.needs_tag and not tags:
        raise make_refusal(40067)
    draft = read_draft(world, forum, ask.bot, Body(given["message"], ask.body.files))
    if draft.empty:
        raise make_refusal(50006)
    thread = world.open_thread(forum, given["name"], ask.bot, minutes=_minutes(given))
    thread.tags = {number: forum.tags[number] for number in tags if number in forum.tags}
    message = write(world, thread, ask, draft, number=thread.id)
    return ApiResponse(
        {**wire.channel_json(thread, ask.bot), "message": message_response(world, message, ask)}
    )


def join_thread(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask)
    if not channel.is_thread:
        raise make_refusal(50024)
    channel.thread_members.add(ask.bot.id)


def leave_thread(world: "World", ask: ApiRequest) -> None:
    channel = find_channel(world, ask)
    if not channel.is_thread:
        raise make_refusal(50024)
    channel.thread_members.discard(ask.bot.id)


def active_threads(world: "World", ask: ApiRequest) -> Json:
    there = find_guild(world, ask).channels.values()
    open_ones = [one for one in there if one.is_thread and not one.archived and not one.deleted]
    seen = [one for one in open_ones if may(one, ask.bot, "view_channel")]
    return {"threads": [wire.channel_json(one, ask.bot) for one in seen], "members": [], "has_more": False}


def archived_threads(world: "World", ask: ApiRequest) -> Json:
    channel = find_channel(world, ask, "read_message_history")
    there = [one for one in channel.threads if one.archived and not one.private_thread]
    return {"threads": [wire.channel_json(one, ask.bot) for one in there], "members": [], "has_more": False}
