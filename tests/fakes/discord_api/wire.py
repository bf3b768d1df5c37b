"""JSON of the API and the gateway."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.fakes.discord_api import chats
from tests.fakes.discord_api.chats import Attachment, Bot, Channel, Guild, Interaction, Member, Message, Role
from tests.fakes.discord_api.permissions import Permission, channel_permissions, guild_permissions

if TYPE_CHECKING:
    from tests.fakes.discord_api.chats import User
    from tests.fakes.discord_api.world import World

Json = dict[str, Any]

PRESENCE, MEMBERS, CONTENT = 1 << 8, 1 << 1, 1 << 15
"""The privileged intents."""
PRIVILEGED = PRESENCE | MEMBERS | CONTENT
FLAG_OF_INTENT = {PRESENCE: 1 << 13, MEMBERS: 1 << 15, CONTENT: 1 << 19}
"""Application flags for the intents, for an application that needs no verification."""
MAX_FILE_BYTES = 10 * 1024 * 1024


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def user_json(user: "User") -> Json:
    told: Json = {
        "id": str(user.id),
        "username": user.name,
        "discriminator": "0",
        "global_name": None,
        "avatar": None,
        "public_flags": 0,
    }
    if isinstance(user, Bot):
        return {**told, "discriminator": "4242", "bot": True}
    return {**told, "global_name": user.display_name or None}


def me_json(bot: Bot) -> Json:
    more = {
        "verified": True,
        "mfa_enabled": True,
        "locale": "en-US",
        "email": None,
        "flags": 0,
        "banner": None,
    }
    return {**user_json(bot), **more, "accent_color": None}


def application_json(bot: Bot, owner: "User") -> Json:
    flags = sum(flag for intent, flag in FLAG_OF_INTENT.items() if bot.granted & intent)
    return {
        "id": str(bot.id),
        "name": bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot": user_json(bot),
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "00" * 32,
        "flags": flags | 1 << 23,
        "owner": user_json(owner),
        "team": None,
        "tags": [],
        "interactions_endpoint_url": None,
        "integration_types_config": {"0": {}},
    }


def role_json(role: Role) -> Json:
    return {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "icon": None,
        "unicode_emoji": None,
        "position": role.position,
        "permissions": str(int(role.permissions)),
        "managed": role.bot is not None,
        "mentionable": role.mentionable,
        "flags": 0,
        **({"tags": {"bot_id": str(role.bot.id)}} if role.bot else {}),
    }


def member_json(member: Member, *, with_user: bool = True) -> Json:
    told: Json = {
        "roles": [str(role.id) for role in member.roles],
        "nick": member.nick or None,
        "avatar": None,
        "banner": None,
        "joined_at": moment(member.joined),
        "premium_since": None,
        "pending": False,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "communication_disabled_until": None,
    }
    return {**told, "user": user_json(member.user)} if with_user else told


def channel_json(channel: Channel, bot: Bot | None = None) -> Json:
    last = str(channel.last_message_id) if channel.last_message_id else None
    told: Json = {"id": str(channel.id), "type": channel.kind, "flags": 0, "last_message_id": last}
    if channel.guild is None:
        return {**told, "recipients": [user_json(channel.person)] if channel.person else []}
    told |= {
        "guild_id": str(channel.guild.id),
        "name": channel.name,
        "parent_id": str(channel.parent.id) if channel.parent else None,
        "rate_limit_per_user": 0,
    }
    if channel.is_thread:
        return {**told, **_thread_json(channel, bot)}
    told |= {
        "position": channel.position,
        "topic": None,
        "nsfw": False,
        "permission_overwrites": [
            {"id": str(one.id), "type": one.kind, "allow": str(int(one.allow)), "deny": str(int(one.deny))}
            for one in channel.overwrites.values()
        ],
    }
    if channel.kind == chats.VOICE:
        told |= {"bitrate": 64000, "user_limit": 0, "rtc_region": None}
    if channel.kind == chats.FORUM:
        told |= {
            "available_tags": [
                {"id": str(number), "name": name, "moderated": False, "emoji_id": None, "emoji_name": None}
                for number, name in channel.tags.items()
            ],
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
            "flags": 1 << 4 if channel.needs_tag else 0,
        }
    return told


def _thread_json(thread: Channel, bot: Bot | None) -> Json:
    joined = moment(thread.created)
    told: Json = {
        "owner_id": str(thread.owner.id) if thread.owner else None,
        "message_count": len(thread.visible),
        "total_message_sent": len(thread.messages),
        "member_count": min(len(thread.thread_members), 50),
        "thread_metadata": {
            "archived": thread.archived,
            "archive_timestamp": joined,
            "auto_archive_duration": thread.archive_minutes,
            "locked": thread.locked,
            "create_timestamp": joined,
        },
        "applied_tags": [str(number) for number in thread.tags],
    }
    if bot and bot.id in thread.thread_members:
        ids = {"id": str(thread.id), "user_id": str(bot.id)}
        told["member"] = {**ids, "join_timestamp": joined, "flags": 1}
    return told


def guild_json(guild: Guild, bot: Bot, *, whole: bool = True) -> Json:
    """`whole`: include everything that GUILD_CREATE has and GET /guilds lacks."""
    told: Json = {
        "id": str(guild.id),
        "name": guild.name,
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "description": None,
        "banner": None,
        "owner_id": str(guild.owner.id),
        "region": "deprecated",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role_json(role) for role in guild.roles.values()],
        "emojis": [],
        "stickers": [],
        "features": ["COMMUNITY"],
        "mfa_level": 0,
        "application_id": None,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "public_updates_channel_id": None,
        "max_members": 500000,
        "vanity_url_code": None,
        "premium_tier": 0,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "nsfw_level": 0,
        "premium_progress_bar_enabled": False,
        "safety_alerts_channel_id": None,
    }
    if not whole:
        return told
    there = [one for one in guild.channels.values() if not one.deleted]
    threads = [one for one in there if one.is_thread and not one.archived]
    return {
        **told,
        "joined_at": moment(guild.members[bot.id].joined),
        "large": False,
        "member_count": len(guild.members),
        "voice_states": [],
        # Without the presence intent only the bot itself is listed.
        "members": [member_json(guild.members[bot.id])],
        "channels": [channel_json(one) for one in there if not one.is_thread],
        "threads": [
            channel_json(one, bot)
            for one in threads
            if channel_permissions(one, bot) & Permission.view_channel
        ],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def attachment_json(world: "World", file: Attachment) -> Json:
    url = f"{world.url}{attachment_path(file)}?{world.signature(file)}"
    told: Json = {
        "id": str(file.id),
        "filename": file.name,
        "size": file.size,
        "url": url,
        "proxy_url": url,
        "content_type": file.media_type,
    }
    if file.description:
        told["description"] = file.description
    if file.waveform:
        told |= {"duration_secs": file.seconds, "waveform": file.waveform}
    if file.media_type.startswith("image/"):
        told |= {"width": 64, "height": 64}
    if file.ephemeral:
        told["ephemeral"] = True
    return told


def attachment_path(file: Attachment) -> str:
    kind = "ephemeral-attachments" if file.ephemeral else "attachments"
    return f"/{kind}/{file.channel_id}/{file.id}/{file.name}"


def sees_content(bot: Bot, message: Message, *, has_intent: bool) -> bool:
    """Return whether the bot sees the content; without the intent only its own, direct messages and mentions."""
    return (
        has_intent
        or message.author is bot
        or message.channel.guild is None
        or bot in message.mentions.users
        or message.ephemeral
    )


def message_json(
    world: "World",
    message: Message,
    bot: Bot,
    *,
    has_intent: bool,
    live: bool = False,
    nested: bool = False,
) -> Json:
    """`has_intent`: whether message content may be included; `live`: as an event, with members."""
    guild = message.channel.guild
    open_to_bot = sees_content(bot, message, has_intent=has_intent)
    mentions = [user_json(user) for user in message.mentions.users]
    if live and guild and not message.ephemeral:
        for told_user, user in zip(mentions, message.mentions.users, strict=True):
            if (member := guild.members.get(user.id)) is not None:
                told_user["member"] = member_json(member, with_user=False)
    told: Json = {
        "id": str(message.id),
        "channel_id": str(message.channel.id),
        "author": user_json(message.author),
        "content": message.content if open_to_bot else "",
        "timestamp": moment(message.time),
        "edited_timestamp": moment(message.edits[-1].time) if message.edits else None,
        "tts": False,
        "mention_everyone": message.mentions.everyone,
        "mentions": mentions,
        "mention_roles": [str(role.id) for role in message.mentions.roles],
        "attachments": [attachment_json(world, one) for one in message.attachments] if open_to_bot else [],
        "embeds": message.embeds if open_to_bot and not message.embeds_suppressed else [],
        "components": message.components if open_to_bot else [],
        "pinned": False,
        "type": message.type,
        "flags": message.flags,
    }
    if message.nonce is not None:
        told["nonce"] = message.nonce
    if message.reactions:
        told["reactions"] = [
            {
                "emoji": {"id": None, "name": emoji},
                "count": len(users),
                "count_details": {"burst": 0, "normal": len(users)},
                "burst_colors": [],
                "me": bot in users,
                "me_burst": False,
            }
            for emoji, users in message.reactions.items()
        ]
    if message.thread is not None and not nested:
        told["thread"] = channel_json(message.thread, bot)
    if message.reference is not None:
        there = message.reference
        place: Json = {"message_id": str(there.id), "channel_id": str(there.channel.id), "type": 0}
        if guild:
            place["guild_id"] = str(guild.id)
        told["message_reference"] = place
        if not nested:
            told["referenced_message"] = (
                None if there.deleted else message_json(world, there, bot, has_intent=has_intent, nested=True)
            )
    if message.interaction is not None:
        told |= _answer_json(message.interaction)
    if live and guild and not message.ephemeral:
        told["guild_id"] = str(guild.id)
        member = guild.members.get(message.author.id)
        if member and message.interaction is None:
            told["member"] = member_json(member, with_user=False)
    if live:
        told["channel_type"] = message.channel.kind
    return told


def _answer_json(interaction: Interaction) -> Json:
    user, kind = user_json(interaction.person), interaction.kind
    told: Json = {
        "webhook_id": str(interaction.bot.id),
        "application_id": str(interaction.bot.id),
        "interaction_metadata": {
            "id": str(interaction.id),
            "type": kind,
            "user": user,
            "authorizing_integration_owners": _owners(interaction),
        },
    }
    if kind == 2:
        told["interaction"] = {"id": str(interaction.id), "type": 2, "name": interaction.name, "user": user}
    return told


def _owners(interaction: Interaction) -> Json:
    guild = interaction.channel.guild
    return {"0": str(guild.id) if guild else "0"}


def interaction_json(world: "World", interaction: Interaction) -> Json:
    channel, bot, person = interaction.channel, interaction.bot, interaction.person
    guild = channel.guild
    told: Json = {
        "id": str(interaction.id),
        "application_id": str(bot.id),
        "type": interaction.kind,
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": str(channel.id),
        "channel": {**channel_json(channel, bot), "permissions": str(channel_permissions(channel, person))},
        "locale": person.locale,
        "entitlements": [],
        "entitlement_sku_ids": [],
        "authorizing_integration_owners": _owners(interaction),
        "context": 0 if guild else 1,
        "attachment_size_limit": MAX_FILE_BYTES,
        "app_permissions": str(channel_permissions(channel, bot)),
    }
    if guild:
        member = member_json(guild.members[person.id])
        told |= {
            "guild_id": str(guild.id),
            "guild": {"id": str(guild.id), "locale": "en-US", "features": []},
            "guild_locale": "en-US",
            "member": {
                **member,
                "permissions": str(channel_permissions(channel, person) or guild_permissions(guild, person)),
            },
        }
    else:
        told["user"] = user_json(person)
    if interaction.message is not None:
        told["message"] = message_json(world, interaction.message, bot, has_intent=True)
    return told
