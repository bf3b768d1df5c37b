"""Discord behind its API: bots, people and guilds, and the events that bots receive."""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.fakes.discord_api import chats, wire
from tests.fakes.discord_api.chats import (
    Attachment,
    Bot,
    Channel,
    Edit,
    Guild,
    Interaction,
    Json,
    Member,
    Message,
    Role,
    User,
)
from tests.fakes.discord_api.gateway import (
    DIRECT_MESSAGES,
    DIRECT_REACTIONS,
    DIRECT_TYPING,
    GUILD_MEMBERS,
    GUILD_MESSAGES,
    GUILD_REACTIONS,
    GUILD_TYPING,
    GUILDS,
    Gateway,
    Session,
)
from tests.fakes.discord_api.limits import Flood, Limits
from tests.fakes.discord_api.mentions import Mentions, find_mentions
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.permissions import USUAL, Permission, channel_permissions
from tests.fakes.local_platform import Watched

EPOCH = 1_420_070_400_000
"""Milliseconds from 1970 to Discord's epoch, the start of 2015."""
RESUME_PATH = "/resume"
TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GtEsTx.fake-token-of-the-fake-discord-api-x"
LINK_SECONDS = 24 * 3600
"""How long an attachment's URL is valid."""


class World(Watched):
    """Create people and guilds with `person` and `guild`; they do everything else themselves."""

    def __init__(self, *, limits: Limits | None = None, clock: Callable[[], float] = time.time) -> None:
        """Without limits nothing is rejected; `floods` lists what would have been.

        `clock`: seconds since 1970, for ids, dates, deadlines.
        """
        super().__init__()
        self.clock = clock
        self.enforces_limits = limits is not None
        self.limits = limits or Limits()
        self.url = ""
        self.bots: dict[int, Bot] = {}
        self.people: dict[str, Person] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        """All channels, including direct messages and threads."""
        self.files: dict[int, Attachment] = {}
        self.interactions: dict[str, Interaction] = {}
        """By token."""
        self.floods: list[Flood] = []
        self.acknowledge_seconds = 3.0
        """How long an interaction waits for its first answer."""
        self.token_seconds = 900.0
        """How long an interaction can be answered at all."""
        self.gateway = Gateway(self)
        self._last_id = 0
        self._direct: dict[tuple[int, int], Channel] = {}
        self.bot = self.add_bot("commonplace", TOKEN)

    @property
    def resume_url(self) -> str:
        """The URL in READY for resuming, different from the first."""
        return f"{self.url.replace('http', 'ws', 1)}{RESUME_PATH}"

    def new_id(self) -> int:
        """Return a snowflake: later ones are higher."""
        self._last_id = max(self._last_id + 1, (int(self.clock() * 1000) - EPOCH) << 22)
        return self._last_id

    # -- people, bots and guilds -----------------------------------------------------------------------------

    def add_bot(self, name: str, token: str = "", *, granted: int = wire.CONTENT) -> Bot:
        """Add a bot; `granted`: the privileged intents that are enabled."""
        bot = Bot(self.new_id(), token or f"token-of-{name}-{secrets.token_hex(8)}", name, granted)
        self.bots[bot.id] = bot
        return bot

    def person(self, name: str, *, display_name: str = "", locale: str = "en-US") -> Person:
        """Return the person with this name, created if necessary."""
        if name not in self.people:
            self.people[name] = Person(self, self.new_id(), name, display_name, locale)
        return self.people[name]

    def user(self, number: int) -> User | None:
        if number in self.bots:
            return self.bots[number]
        return next((one for one in self.people.values() if one.id == number), None)

    def guild(self, name: str, owner: Person, *members: User, permissions: int = USUAL) -> Guild:
        """Create a guild with the first bot, unless `members` contains bots; `permissions`: of everyone."""
        guild = Guild(self, self.new_id(), name, owner)
        guild.roles[guild.id] = Role(guild.id, "@everyone", permissions, position=0)
        self.guilds[guild.id] = guild
        self.join(guild, owner)
        bots = [one for one in members if isinstance(one, Bot)]
        for user in [*members, *([] if bots else [self.bot])]:
            self.join(guild, user)
        return guild

    def add_role(self, guild: Guild, name: str, permissions: int = 0, *, mentionable: bool = False) -> Role:
        role = Role(self.new_id(), name, permissions, mentionable, len(guild.roles))
        guild.roles[role.id] = role
        data = {"guild_id": str(guild.id), "role": wire.role_json(role)}
        self.dispatch("GUILD_ROLE_CREATE", data, intent=GUILDS, guild=guild)
        return role

    def join(self, guild: Guild, user: User, roles: Sequence[Role] = ()) -> Member:
        guild.kicked.discard(user.id)
        member = Member(user, list(roles), self.clock())
        if isinstance(user, Bot):
            # Each bot brings a role of its own with its name.
            own = Role(self.new_id(), user.name, 0, position=len(guild.roles), bot=user)
            guild.roles[own.id] = own
            member.roles.append(own)
        guild.members[user.id] = member
        if isinstance(user, Bot):
            self.dispatch(
                "GUILD_CREATE",
                lambda session: wire.guild_json(guild, session.bot),
                intent=GUILDS,
                guild=guild,
                only=user,
            )
        else:
            data = {**wire.member_json(member), "guild_id": str(guild.id)}
            self.dispatch("GUILD_MEMBER_ADD", data, intent=GUILD_MEMBERS, guild=guild)
        self.notify_waiters()
        return member

    def leave(self, guild: Guild, user: User) -> None:
        data = {"guild_id": str(guild.id), "user": wire.user_json(user)}
        if isinstance(user, Bot):
            self.dispatch("GUILD_DELETE", {"id": str(guild.id)}, intent=GUILDS, guild=guild, only=user)
            guild.roles = {number: role for number, role in guild.roles.items() if role.bot is not user}
        del guild.members[user.id]
        guild.kicked.add(user.id)
        self.dispatch("GUILD_MEMBER_REMOVE", data, intent=GUILD_MEMBERS, guild=guild)
        self.notify_waiters()

    def change_roles(self, guild: Guild, user: User, roles: Sequence[Role]) -> None:
        member = guild.members[user.id]
        member.roles = list(roles)
        data = {**wire.member_json(member), "guild_id": str(guild.id)}
        # A bot gets events about itself even without the intent.
        intent = 0 if isinstance(user, Bot) else GUILD_MEMBERS
        only = user if isinstance(user, Bot) else None
        self.dispatch("GUILD_MEMBER_UPDATE", data, intent=intent, guild=guild, only=only)

    def set_available(self, guild: Guild, *, available: bool) -> None:
        if available:
            guild.available = True
            self.dispatch(
                "GUILD_CREATE",
                lambda session: {**wire.guild_json(guild, session.bot), "unavailable": False},
                intent=GUILDS,
                guild=guild,
            )
        else:
            data = {"id": str(guild.id), "unavailable": True}
            self.dispatch("GUILD_DELETE", data, intent=GUILDS, guild=guild)
            guild.available = False
        self.notify_waiters()

    # -- channels --------------------------------------------------------------------------------------------

    def direct(self, person: Person, bot: Bot | None = None) -> Channel:
        bot = bot or self.bot
        key = (bot.id, person.id)
        if key not in self._direct:
            channel = Channel(self.new_id(), chats.DM, self.wait_until, person=person, bot=bot)
            self._direct[key] = self.channels[channel.id] = channel
        return self._direct[key]

    def add_channel(self, guild: Guild, name: str, kind: int) -> Channel:
        channel = Channel(self.new_id(), kind, self.wait_until, guild, name, len(guild.channels))
        guild.channels[channel.id] = self.channels[channel.id] = channel
        self.tell_channel("CHANNEL_CREATE", channel)
        return channel

    def remove_channel(self, channel: Channel) -> None:
        self.tell_channel("THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE", channel)
        for one in [channel, *channel.threads]:
            one.deleted = True
            self.channels.pop(one.id, None)
        self.notify_waiters()

    def open_thread(
        self,
        parent: Channel,
        name: str,
        by: User,
        *,
        message: Message | None = None,
        private: bool = False,
        minutes: int = 4320,
    ) -> Channel:
        """Open a thread; if it starts from a message it has that message's id."""
        kind = chats.ANNOUNCEMENT_THREAD if parent.kind == chats.ANNOUNCEMENT else chats.PUBLIC_THREAD
        thread = Channel(
            message.id if message else self.new_id(),
            chats.PRIVATE_THREAD if private else kind,
            self.wait_until,
            parent.guild,
            name,
            parent=parent,
            owner=by,
            thread_members={by.id},
            archive_minutes=minutes,
            created=self.clock(),
        )
        assert parent.guild
        parent.guild.channels[thread.id] = self.channels[thread.id] = thread
        if parent.kind == chats.FORUM:
            parent.last_message_id = thread.id
        self.tell_channel("THREAD_CREATE", thread, newly_created=True)
        if message is not None:
            message.thread = thread
            message.flags |= chats.HAS_THREAD
            self.tell_message("MESSAGE_UPDATE", message)
            self.post(thread, by, type=chats.THREAD_STARTER, reference=message)
        elif parent.kind != chats.FORUM and not private:
            self.post(parent, by, content=name, type=chats.THREAD_CREATED)
        self.notify_waiters()
        return thread

    def change_thread(self, thread: Channel, **details: Any) -> None:
        for name, value in details.items():
            setattr(thread, name, value)
        self.tell_channel("THREAD_UPDATE", thread)
        self.notify_waiters()

    def tell_channel(self, event: str, channel: Channel, **more: Any) -> None:
        self.dispatch(
            event,
            lambda session: {**wire.channel_json(channel, session.bot), **more},
            intent=GUILDS,
            guild=channel.guild,
            channel=channel if channel.is_thread else None,
        )
        self.notify_waiters()

    # -- messages --------------------------------------------------------------------------------------------

    def post(
        self,
        channel: Channel,
        author: User,
        *,
        content: str = "",
        allowed_mentions: Json | None = None,
        default_mentions: set[str] | None = None,
        ping_reply: bool = True,
        reference: Message | None = None,
        number: int | None = None,
        **details: Any,
    ) -> Message:
        """Post a message and notify the bots; `number`: its id, if not a new one."""
        reply = details.get("type", chats.DEFAULT) == chats.REPLY
        mentions = find_mentions(
            content,
            channel,
            author,
            allowed=allowed_mentions,
            default=default_mentions,
            reply_to=reference if reply else None,
            ping_reply=ping_reply,
        )
        message = Message(
            number or self.new_id(),
            channel,
            author,
            self.clock(),
            content,
            reference=reference,
            allowed_mentions=allowed_mentions,
            mentions=mentions,
            first_content=content,
            **details,
        )
        if not message.flags & (chats.DISK_SILENT | chats.LOADING):
            message.pinged = mentions.pinged
        channel.messages.append(message)
        channel.by_id[message.id] = message
        if not message.ephemeral:
            channel.last_message_id = message.id
        if channel.archived and not message.ephemeral:
            self.change_thread(channel, archived=False)
        self.tell_message("MESSAGE_CREATE", message)
        self.notify_waiters()
        return message

    def change_message(
        self,
        message: Message,
        *,
        content: str | None = None,
        mentions: Mentions | None = None,
        **details: Any,
    ) -> None:
        """Edit a message; fields not given stay."""
        if content is not None:
            message.content = content
            message.mentions = mentions or find_mentions(content, message.channel, message.author)
        for name, value in details.items():
            setattr(message, name, value)
        if message.loading:
            # The first text of a deferred answer counts as sent, not as edited.
            message.flags &= ~chats.LOADING
            message.first_content = message.content
            message.pinged = [] if message.flags & chats.DISK_SILENT else message.mentions.pinged
        message.edits.append(
            Edit(self.clock(), message.content, message.components, message.flags, message.mentions)
        )
        self.tell_message("MESSAGE_UPDATE", message)
        self.notify_waiters()

    def unfurl(self, message: Message) -> None:
        """Show previews of its links, which bots see a moment later as an update without an edit time."""
        for url in message.previews:
            message.embeds.append({"type": "link", "url": url, "title": "A page"})
        if message.previews:
            self.tell_message("MESSAGE_UPDATE", message)
        self.notify_waiters()

    def delete_message(self, message: Message) -> None:
        message.deleted = True
        channel = message.channel
        told: Json = {"id": str(message.id), "channel_id": str(channel.id)}
        if channel.guild:
            told["guild_id"] = str(channel.guild.id)
        intent = GUILD_MESSAGES if channel.guild else DIRECT_MESSAGES
        if not message.ephemeral:
            self.dispatch("MESSAGE_DELETE", told, intent=intent, guild=channel.guild, channel=channel)
        self.notify_waiters()

    def delete_messages(self, *messages: Message) -> None:
        """Delete messages of one channel in bulk, as a moderator does."""
        channel = messages[0].channel
        for message in messages:
            message.deleted = True
        told = {"ids": [str(each.id) for each in messages], "channel_id": str(channel.id)}
        if channel.guild:
            told["guild_id"] = str(channel.guild.id)
        intent = GUILD_MESSAGES if channel.guild else DIRECT_MESSAGES
        self.dispatch("MESSAGE_DELETE_BULK", told, intent=intent, guild=channel.guild, channel=channel)
        self.notify_waiters()

    def tell_message(self, event: str, message: Message) -> None:
        """Send an event for a message; what only one person sees is sent to its bot like a direct message."""
        channel = message.channel
        private = channel.guild is None or message.ephemeral

        def told(session: Session) -> Json:
            has_intent = bool(session.intents & wire.CONTENT)
            return wire.message_json(self, message, session.bot, has_intent=has_intent, live=True)

        self.dispatch(
            event,
            told,
            intent=DIRECT_MESSAGES if private else GUILD_MESSAGES,
            guild=None if message.ephemeral else channel.guild,
            channel=channel,
            only=message.author if message.ephemeral and isinstance(message.author, Bot) else None,
        )

    def react(self, message: Message, user: User, emoji: str, *, remove: bool = False) -> None:
        there = message.reactions.setdefault(emoji, [])
        if (user in there) != remove:
            return
        if remove:
            there.remove(user)
            if not there:
                del message.reactions[emoji]
        else:
            there.append(user)
        channel = message.channel
        told: Json = {
            "user_id": str(user.id),
            "channel_id": str(channel.id),
            "message_id": str(message.id),
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if channel.guild:
            told["guild_id"] = str(channel.guild.id)
            if not remove:
                told["member"] = wire.member_json(channel.guild.members[user.id])
        if not remove:
            told["message_author_id"] = str(message.author.id)
        self.dispatch(
            "MESSAGE_REACTION_REMOVE" if remove else "MESSAGE_REACTION_ADD",
            told,
            intent=GUILD_REACTIONS if channel.guild else DIRECT_REACTIONS,
            guild=channel.guild,
            channel=channel,
        )
        self.notify_waiters()

    def tell_typing(self, channel: Channel, person: Person) -> None:
        told: Json = {
            "channel_id": str(channel.id),
            "user_id": str(person.id),
            "timestamp": int(self.clock()),
        }
        if channel.guild:
            told["guild_id"] = str(channel.guild.id)
            told["member"] = wire.member_json(channel.guild.members[person.id])
        self.dispatch(
            "TYPING_START",
            told,
            intent=GUILD_TYPING if channel.guild else DIRECT_TYPING,
            guild=channel.guild,
            channel=channel,
        )

    def add_file(self, channel: Channel, name: str, media_type: str, data: bytes, **more: Any) -> Attachment:
        size = more.pop("size", None)
        file = Attachment(
            self.new_id(),
            channel.id,
            name,
            media_type,
            data,
            len(data) if size is None else size,
            **more,
        )
        self.files[file.id] = file
        return file

    def signature(self, file: Attachment, until: int | None = None) -> str:
        """Return the query of an attachment's URL: its expiry and a signature."""
        until = until if until is not None else int(self.clock() + LINK_SECONDS)
        proof = hashlib.sha256(f"{file.id} {until}".encode()).hexdigest()
        return f"ex={until:x}&is={until - LINK_SECONDS:x}&hm={proof}&"

    # -- interactions ----------------------------------------------------------------------------------------

    def interact(
        self,
        person: Person,
        channel: Channel,
        kind: int,
        data: Json,
        *,
        bot: Bot | None = None,
        message: Message | None = None,
        name: str = "",
    ) -> Interaction:
        bot = bot or channel.bot or self.bot
        interaction = Interaction(
            self.new_id(),
            f"aW50ZXJhY3Rpb246{secrets.token_urlsafe(120)}",
            kind,
            bot,
            person,
            channel,
            self.clock(),
            self.wait_until,
            data,
            message,
            name,
        )
        self.interactions[interaction.token] = interaction
        told = wire.interaction_json(self, interaction)
        self.dispatch("INTERACTION_CREATE", told, guild=channel.guild, only=bot)
        self.notify_waiters()
        return interaction

    # -- events ----------------------------------------------------------------------------------------------

    def dispatch(
        self,
        event: str,
        data: Json | Callable[[Session], Json],
        *,
        intent: int = 0,
        guild: Guild | None = None,
        channel: Channel | None = None,
        only: User | None = None,
    ) -> None:
        """Send an event to the sessions that want it and may get it; `channel`: only bots that see it."""
        for bot in self._listeners(guild, channel, only):
            for session in bot.sessions:
                if session.wants(intent, guild):
                    session.send(event, data(session) if callable(data) else data)

    def _listeners(self, guild: Guild | None, channel: Channel | None, only: User | None) -> Iterable[Bot]:
        for bot in self.bots.values():
            if only is not None and bot is not only:
                continue
            if guild is not None and (bot.id not in guild.members or not guild.available):
                continue
            if channel is not None and not channel_permissions(channel, bot) & Permission.view_channel:
                continue
            yield bot

    def tell_members(self, session: Session, data: Json) -> None:
        """Answer REQUEST_GUILD_MEMBERS by name or id, as allowed to bots without the intent."""
        guild = self.guilds.get(int(data.get("guild_id", 0)))
        if guild is None or session.bot.id not in guild.members:
            return
        members = list(guild.members.values())
        if ids := data.get("user_ids"):
            wanted = {int(one) for one in (ids if isinstance(ids, list) else [ids])}
            members = [one for one in members if one.user.id in wanted]
        elif query := data.get("query"):
            members = [one for one in members if one.user.name.startswith(query)]
        elif not session.intents & GUILD_MEMBERS:
            members = []
        told: Json = {
            "guild_id": str(guild.id),
            "members": [wire.member_json(one) for one in members[: data.get("limit") or None]],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [],
        }
        if data.get("nonce"):
            told["nonce"] = data["nonce"]
        session.send("GUILD_MEMBERS_CHUNK", told)

    # -- for tests -------------------------------------------------------------------------------------------

    def report(self) -> str:
        """Describe what happened, for readers of a failed test."""
        lines: list[str] = []
        for channel in self.channels.values():
            lines.append(repr(channel))
            lines += [f"  {_cut(repr(message))}" for message in channel.messages[-8:]]
        lines += [_cut(repr(one)) for one in list(self.interactions.values())[-8:]]
        for bot in self.bots.values():
            lines.append(f"@{bot.name}: {len(bot.sessions)} sessions, {len(self.gateway.open)} connections")
        return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) < 200 else f"{text[:200]}…"
