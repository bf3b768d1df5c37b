"""Discord's data that tests inspect: bots, guilds, channels, messages, interactions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

from tests.fakes.discord_api.mentions import Mentions
from tests.fakes.discord_api.permissions import Permission

if TYPE_CHECKING:
    from tests.fakes.discord_api.gateway import Session
    from tests.fakes.discord_api.people import Person
    from tests.fakes.discord_api.world import World

Json: TypeAlias = dict[str, Any]
User: TypeAlias = Union["Person", "Bot"]

TEXT, DM, VOICE, ANNOUNCEMENT = 0, 1, 2, 5
ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 10, 11, 12, 15
THREADS = (ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD)

DEFAULT, REPLY, COMMAND, THREAD_STARTER = 0, 19, 20, 21
MEMBER_JOIN, THREAD_CREATED = 7, 18

SUPPRESS_EMBEDS, EPHEMERAL, LOADING, DISK_SILENT, VOICE_MESSAGE = 1 << 2, 1 << 6, 1 << 7, 1 << 12, 1 << 13
HAS_THREAD, COMPONENTS_V2 = 1 << 5, 1 << 15
LINK = re.compile(r"(?<!<)https?://[^\s<>]+")


class Watch(Protocol):
    """Waits for what a bot does."""

    async def __call__(
        self, condition: Callable[[], Any], *, within: float = ..., what: str = ...
    ) -> Any: ...


@dataclass(slots=True, eq=False)
class Bot:
    """One bot, as configured in the developer portal. Its application has the same id."""

    id: int
    token: str
    name: str
    granted: int
    """The privileged intents that are enabled."""
    commands: dict[int, list[Json]] = field(default_factory=dict, repr=False)
    """By guild; 0 for the global ones."""
    commands_written: int = field(default=0, repr=False)
    """Number of command updates."""
    commands_created: int = field(default=0, repr=False)
    """Number of created commands; Discord allows 200 a day."""
    shards: int = 1
    """Shards that the gateway requires; with more than one it rejects connections without sharding."""
    starts_left: int = 1000
    """Remaining IDENTIFY calls of 1000 a day."""
    sessions: list["Session"] = field(default_factory=list, repr=False)
    opened: set[int] = field(default_factory=set, repr=False)
    """Ids of the people whose direct messages it has opened."""

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    def command(self, name: str, guild: "Guild | None" = None) -> Json | None:
        """Return a registered command; a guild's own takes precedence over the global one."""
        for place in [guild.id, 0] if guild else [0]:
            for one in self.commands.get(place, []):
                if one["name"] == name:
                    return one
        return None


@dataclass(slots=True, eq=False)
class Role:
    """A role; every member has the one whose id is the guild's."""

    id: int
    name: str
    permissions: int = 0
    mentionable: bool = False
    position: int = 1
    bot: Bot | None = None
    """The bot that this role belongs to."""

    @property
    def mention(self) -> str:
        return f"<@&{self.id}>"


@dataclass(slots=True, eq=False)
class Member:
    """A person or bot in a guild."""

    user: User
    roles: list[Role]
    joined: float
    nick: str = ""


@dataclass(slots=True)
class Overwrite:
    """Permissions that a channel grants to or denies a role, a person or a bot."""

    id: int
    kind: int
    """0 for a role, 1 for a member."""
    allow: int = 0
    deny: int = 0


@dataclass(slots=True, eq=False, repr=False)
class Guild:
    """A guild ("server"). Bots are told of its changes."""

    world: "World"
    id: int
    name: str
    owner: "Person"
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    channels: dict[int, "Channel"] = field(default_factory=dict)
    """Including threads and archived threads."""
    available: bool = True
    kicked: set[int] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"<guild {self.name} {self.id}>"

    @property
    def everyone(self) -> Role:
        return self.roles[self.id]

    def text(self, name: str = "general", *, announcement: bool = False) -> "Channel":
        return self.world.add_channel(self, name, ANNOUNCEMENT if announcement else TEXT)

    def voice(self, name: str = "Voice") -> "Channel":
        return self.world.add_channel(self, name, VOICE)

    def forum(self, name: str = "help", *, tags: Sequence[str] = (), needs_tag: bool = False) -> "Channel":
        channel = self.world.add_channel(self, name, FORUM)
        channel.tags = {self.world.new_id(): tag for tag in tags}
        channel.needs_tag = needs_tag
        return channel

    def role(self, name: str, permissions: int = 0, *, mentionable: bool = False) -> Role:
        return self.world.add_role(self, name, permissions, mentionable=mentionable)

    def join(self, user: User, *roles: Role) -> Member:
        return self.world.join(self, user, roles)

    def give(self, user: User, *roles: Role) -> None:
        self.world.change_roles(self, user, [*self.members[user.id].roles, *roles])

    def take(self, user: User, *roles: Role) -> None:
        self.world.change_roles(self, user, [one for one in self.members[user.id].roles if one not in roles])

    def kick(self, user: User) -> None:
        """Remove a user; also simulates a bot that leaves."""
        self.world.leave(self, user)

    def lose(self) -> None:
        """Simulate an outage of this guild: it becomes unavailable."""
        self.world.set_available(self, available=False)

    def recover(self) -> None:
        self.world.set_available(self, available=True)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message."""

    id: int
    channel_id: int
    name: str
    media_type: str
    data: bytes = field(repr=False)
    size: int
    """Bytes as reported by Discord."""
    description: str = ""
    seconds: float = 0.0
    """Length of a voice message."""
    waveform: str = ""
    ephemeral: bool = False

    @property
    def text(self) -> str:
        return self.data.decode()


@dataclass(frozen=True, slots=True)
class Edit:
    """The new content of an edited message."""

    time: float
    content: str
    components: list[Json]
    flags: int
    mentions: Mentions
    """Mentions of the new text; edits notify nobody."""


@dataclass(slots=True, eq=False, repr=False)
class Message:
    """One message; times in seconds since 1970."""

    id: int
    channel: "Channel"
    author: User
    time: float
    content: str = ""
    type: int = DEFAULT
    attachments: list[Attachment] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    embeds: list[Json] = field(default_factory=list)
    flags: int = 0
    reference: "Message | None" = None
    """The message that it replies to."""
    allowed_mentions: Json | None = None
    """As sent."""
    mentions: Mentions = field(default_factory=Mentions)
    """Current mentions."""
    pinged: list[User] = field(default_factory=list)
    """Everyone who was ever notified of it."""
    nonce: str | int | None = None
    interaction: "Interaction | None" = None
    """The interaction that it answers."""
    thread: "Channel | None" = None
    edits: list[Edit] = field(default_factory=list)
    deleted: bool = False
    reactions: dict[str, list[User]] = field(default_factory=dict)
    first_content: str = ""
    """As it was sent, before any edit."""

    @property
    def from_bot(self) -> bool:
        return isinstance(self.author, Bot)

    @property
    def text(self) -> str:
        return self.content

    @property
    def ephemeral(self) -> bool:
        """Return whether only one person sees it."""
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        """Return whether it only says that the bot is thinking."""
        return bool(self.flags & LOADING)

    @property
    def embeds_suppressed(self) -> bool:
        return bool(self.flags & SUPPRESS_EMBEDS)

    @property
    def previews(self) -> list[str]:
        """Return the URLs shown with a preview."""
        return [] if self.embeds_suppressed else LINK.findall(self.content)

    @property
    def buttons(self) -> list[Json]:
        """Return all buttons and select menus, including nested ones."""
        return list(_inner(self.components))

    @property
    def labels(self) -> list[str]:
        """Return the labels of its buttons."""
        return [one.get("label", "") for one in self.buttons if one["type"] == 2]

    def __repr__(self) -> str:
        state = " deleted" if self.deleted else f" edited {len(self.edits)}x" if self.edits else ""
        state += " ephemeral" if self.ephemeral else ""
        return f"<{self.id} in {self.channel.name or self.channel.id} by {self.author.name}{state}: {self.content!r}>"


@dataclass(slots=True, eq=False, repr=False)
class Channel:
    """One channel or thread, with all messages ever written in it."""

    id: int
    kind: int
    watch: Watch
    guild: Guild | None = None
    name: str = ""
    position: int = 0
    person: "Person | None" = None
    """The person of a direct message channel."""
    bot: Bot | None = None
    """The bot of a direct message channel."""
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    parent: "Channel | None" = None
    owner: User | None = None
    """Creator of a thread."""
    thread_members: set[int] = field(default_factory=set)
    archived: bool = False
    locked: bool = False
    archive_minutes: int = 4320
    created: float = 0.0
    tags: dict[int, str] = field(default_factory=dict)
    """Available tags of a forum; those of a post."""
    needs_tag: bool = False
    deleted: bool = False
    messages: list[Message] = field(default_factory=list)
    """All messages in order, including deleted ones and those for one person only."""
    by_id: dict[int, Message] = field(default_factory=dict)
    typing: list[float] = field(default_factory=list)
    """When a bot showed that it was typing, which is visible for 10 s."""
    last_message_id: int | None = None

    def __repr__(self) -> str:
        kind = "direct messages" if self.guild is None else "thread" if self.is_thread else "channel"
        return f"<{kind} {self.name} {self.id}, {len(self.messages)} messages>"

    @property
    def mention(self) -> str:
        return f"<#{self.id}>"

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS

    @property
    def private_thread(self) -> bool:
        return self.kind == PRIVATE_THREAD

    @property
    def participants(self) -> list[User]:
        """Return the two users of a direct message channel."""
        return [one for one in (self.person, self.bot) if one is not None]

    @property
    def people(self) -> dict[int, User]:
        """Return the users who can be mentioned here, by id."""
        if self.guild is not None:
            return {member.user.id: member.user for member in self.guild.members.values()}
        return {one.id: one for one in self.participants}

    @property
    def visible(self) -> list[Message]:
        """Return the messages that everybody sees."""
        return [one for one in self.messages if not one.deleted and not one.ephemeral]

    @property
    def replies(self) -> list[Message]:
        """Return the bots' messages that everybody sees."""
        return [one for one in self.visible if one.from_bot and not one.loading]

    @property
    def texts(self) -> list[str]:
        """Return the current texts of the bots' messages."""
        return [one.content for one in self.replies]

    @property
    def threads(self) -> list["Channel"]:
        there = self.guild.channels.values() if self.guild else ()
        return [one for one in there if one.parent is self and one.is_thread]

    def message(self, number: int) -> Message | None:
        """Return the message with this id; None if it does not exist or was deleted."""
        found = self.by_id.get(number)
        return None if found is None or found.deleted else found

    def allow(self, who: Role | User, *names: str) -> None:
        """Grant permissions here, by name."""
        self._overwrite(who, allow=_bits(names))

    def deny(self, who: Role | User, *names: str) -> None:
        """Deny permissions here, as in `deny(api.bot, "send_messages")`."""
        self._overwrite(who, deny=_bits(names))

    def reset(self, who: Role | User) -> None:
        """Remove the overwrite, so that the guild's permissions count."""
        self.overwrites.pop(who.id, None)
        self._tell()

    def _overwrite(self, who: Role | User, allow: int = 0, deny: int = 0) -> None:
        one = self.overwrites.setdefault(who.id, Overwrite(who.id, 0 if isinstance(who, Role) else 1))
        one.allow = (one.allow | allow) & ~deny
        one.deny = (one.deny | deny) & ~allow
        self._tell()

    def _tell(self) -> None:
        if self.guild is not None:
            self.guild.world.tell_channel("CHANNEL_UPDATE", self)

    async def answer(
        self, after: Message | None = None, *, containing: str = "", within: float = 15.0
    ) -> Message:
        """Wait for a bot's first message after `after`, by default after the last message of a person."""
        if after is None:
            after = next((one for one in reversed(self.messages) if not one.from_bot), None)
        start = self.messages.index(after) + 1 if after in self.messages else 0

        def answered() -> Message | None:
            later = [one for one in self.messages[start:] if one.from_bot and not one.deleted]
            shown = [one for one in later if not (one.ephemeral or one.loading)]
            return next((one for one in shown if containing in one.content), None)

        what = f"an answer in {self!r}" + (f" with {containing!r}" if containing else "")
        found: Message = await self.watch(answered, within=within, what=what)
        return found


@dataclass(slots=True, eq=False, repr=False)
class Interaction:
    """A command, button press, choice or form that a person sent to a bot."""

    id: int
    token: str
    kind: int
    """2 command, 3 button or select, 4 autocomplete, 5 form."""
    bot: Bot
    person: "Person"
    channel: Channel
    time: float
    """When it was sent; seconds since 1970."""
    watch: Watch
    data: Json
    message: Message | None = None
    """The message whose button was pressed."""
    name: str = ""
    """Name of the command."""
    acknowledged: float | None = None
    """When it was answered or deferred; None if it was not."""
    callback: int = 0
    """4 message, 5 deferred message, 6 deferred edit, 7 edit, 8 choices, 9 form."""
    ephemeral: bool = False
    original: Message | None = None
    """Its first answer; for a button's edit, the button's message."""
    messages: list[Message] = field(default_factory=list)
    """All its answers."""
    choices: list[Json] = field(default_factory=list)
    """Autocomplete choices."""
    form: Json = field(default_factory=dict)
    """The modal sent as an answer."""

    @property
    def seconds(self) -> float:
        """Return the seconds from sending to acknowledgement."""
        assert self.acknowledged is not None, "not acknowledged"
        return self.acknowledged - self.time

    @property
    def texts(self) -> list[str]:
        return [one.content for one in self.messages if not one.deleted and not one.loading]

    def __repr__(self) -> str:
        state = f"acknowledged by {self.callback}" if self.callback else "not acknowledged"
        return f"<interaction {self.kind} {self.name or self.data.get('custom_id', '')} {state}, {self.messages}>"

    async def acknowledgement(self, *, within: float = 15.0) -> None:
        await self.watch(lambda: self.callback, within=within, what=f"an acknowledgement of {self!r}")

    async def answer(self, *, containing: str = "", within: float = 15.0) -> Message:
        """Wait for the first visible message, whether for all or for this person only."""

        def answered() -> Message | None:
            for one in self.messages:
                if not one.deleted and not one.loading and containing in one.content:
                    return one
            return None

        found: Message = await self.watch(answered, within=within, what=f"an answer to {self!r}")
        return found


def _inner(components: list[Json]) -> list[Json]:
    found: list[Json] = []
    for one in components:
        if "custom_id" in one or one.get("type") == 2:
            found.append(one)
        found += _inner(one.get("components", []))
        if isinstance(accessory := one.get("accessory"), dict):
            found += _inner([accessory])
        if isinstance(inner := one.get("component"), dict):
            found += _inner([inner])
    return found


def _bits(names: Sequence[str]) -> int:
    bits = 0
    for name in names:
        bits |= Permission[name]
    return bits
