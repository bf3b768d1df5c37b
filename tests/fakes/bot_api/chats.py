"""Telegram's data that tests inspect: bots, chats, topics, messages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tests.fakes.bot_api.entities import Entity
from tests.fakes.bot_api.limits import Meter
from tests.fakes.bot_api.receiving import Inbox

if TYPE_CHECKING:
    from tests.fakes.bot_api.media import File
    from tests.fakes.bot_api.people import Person

ChatKind = Literal["private", "group", "supergroup"]
GENERAL_TOPIC = 1
DRAFT_SECONDS = 30.0
"""How long a draft is shown."""

Json: TypeAlias = dict[str, Any]


class Watch(Protocol):
    """Waits for what a bot does."""

    async def __call__(
        self, condition: Callable[[], Any], *, within: float = ..., what: str = ...
    ) -> Any: ...


@dataclass(slots=True, eq=False)
class Bot:
    """One bot, as configured with BotFather and by its owner."""

    token: str
    username: str
    name: str = field(repr=False)
    inbox: Inbox = field(repr=False)
    meter: Meter = field(repr=False)
    privacy: bool = True
    """Whether in groups it only gets messages addressed to it."""
    commands: dict[tuple[str, str], list[Json]] = field(default_factory=dict, repr=False)
    """By scope (as `chat:-100123`) and language."""
    descriptions: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    """By kind (`long`, `short`, `name`) and language."""

    @property
    def id(self) -> int:
        return int(self.token.partition(":")[0])

    def as_json(self) -> Json:
        return {"id": self.id, "is_bot": True, "first_name": self.name, "username": self.username}


@dataclass(frozen=True, slots=True)
class Button:
    """A button below a message."""

    text: str
    data: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """The new content of an edited message."""

    time: float
    text: str
    entities: list[Entity]
    buttons: tuple[tuple[Button, ...], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that a bot showed while still writing."""

    time: float
    id: int
    text: str
    entities: list[Entity]
    thread: int | None


@dataclass(frozen=True, slots=True)
class Action:
    """A chat action of a bot, such as `typing`."""

    time: float
    kind: str
    thread: int | None


@dataclass(slots=True, eq=False)
class Press:
    """A press of a button."""

    id: str
    time: float
    person: "Person"
    data: str
    answered: bool = False
    text: str = ""
    alert: bool = False


@dataclass(slots=True, eq=False)
class Topic:
    """A topic of a forum; its id is that of the message that opened it."""

    id: int
    name: str
    closed: bool = False


@dataclass(slots=True, eq=False, repr=False)
class Message:
    """One message; times in seconds since 1970."""

    id: int
    chat: "Chat"
    sender: "Person | Bot"
    time: float
    text: str = ""
    """The text, or a caption."""
    entities: list[Entity] = field(default_factory=list)
    """The sender's entities that Telegram shows."""
    found: list[Entity] = field(default_factory=list)
    """Entities that Telegram found by itself."""
    dropped: list[Entity] = field(default_factory=list)
    """The sender's entities that Telegram dropped."""
    reply_to: int | None = None
    quote: str = ""
    quote_position: int = 0
    buttons: tuple[tuple[Button, ...], ...] = ()
    thread: int | None = None
    """Id of its topic."""
    silent: bool = False
    preview: Json = field(default_factory=dict)
    """Its `link_preview_options`."""
    document: "File | None" = None
    media: bool = False
    """Whether its text is a caption."""
    service: bool = False
    content: Json = field(default_factory=dict)
    """Further fields of its JSON."""
    edits: list[Edit] = field(default_factory=list)
    deleted: bool = False
    reactions: dict[int, list[str]] = field(default_factory=dict)
    """By id of the person or bot."""
    first_text: str = ""
    """As it was sent, before any edit."""

    @property
    def from_bot(self) -> bool:
        return isinstance(self.sender, Bot)

    def __repr__(self) -> str:
        who = self.sender.username if isinstance(self.sender, Bot) else self.sender.first_name
        state = " deleted" if self.deleted else f" edited {len(self.edits)}x" if self.edits else ""
        return f"<{self.id} in {self.chat.id} by {who}{state}: {self.text or ', '.join(self.content)!r}>"

    @property
    def labels(self) -> list[str]:
        """Return the labels of its buttons."""
        return [button.text for row in self.buttons for button in row]


@dataclass(slots=True, eq=False, repr=False)
class Chat:
    """One chat, with all messages ever written in it."""

    id: int
    kind: ChatKind
    watch: Watch
    title: str = ""
    person: "Person | None" = None
    """The person of a private chat."""
    bot: Bot | None = None
    """The bot of a private chat."""
    forum: bool = False
    topics: dict[int, Topic] = field(default_factory=dict)
    members: dict[int, "Person | Bot"] = field(default_factory=dict)
    kicked: set[int] = field(default_factory=set)
    """Ids of removed bots."""
    admins: set[int] = field(default_factory=set)
    may_write: bool = True
    """Whether members may send text; administrators always may."""
    started: bool = False
    """Private chats: whether the person has ever written to the bot."""
    blocked: bool = False
    """Private chats: whether the person has blocked the bot."""
    migrated_to: "Chat | None" = None
    messages: list[Message] = field(default_factory=list)
    """All messages in order, including deleted ones."""
    drafts: list[Draft] = field(default_factory=list)
    """All drafts ever shown, in order."""
    actions: list[Action] = field(default_factory=list)
    by_id: dict[int, Message] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{self.kind} chat {self.id}, {len(self.messages)} messages>"

    @property
    def is_group(self) -> bool:
        return self.kind != "private"

    @property
    def visible(self) -> list[Message]:
        """Return the messages that a person who opens the chat sees."""
        return [message for message in self.messages if not message.deleted]

    @property
    def replies(self) -> list[Message]:
        """Return the bots' messages that still exist, without service messages."""
        return [message for message in self.visible if message.from_bot and not message.service]

    @property
    def texts(self) -> list[str]:
        """Return the current texts of the bots' messages."""
        return [message.text for message in self.replies]

    def message(self, number: int) -> Message | None:
        """Return the message with this id; None if it does not exist or was deleted."""
        found = self.by_id.get(number)
        return None if found is None or found.deleted else found

    def draft(self, now: float) -> Draft | None:
        """Return the draft that is shown at `now`."""
        if not self.drafts:
            return None
        last = self.drafts[-1]
        answered = any(one.from_bot and one.time >= last.time for one in self.messages[-20:])
        return None if answered or now - last.time > DRAFT_SECONDS else last

    async def answer(
        self,
        after: Message | None = None,
        *,
        containing: str = "",
        thread: int | None = None,
        within: float = 15.0,
    ) -> Message:
        """Wait for a bot's first message after `after`, by default after the last message of a person."""
        if after is None:
            after = next((one for one in reversed(self.messages) if not one.from_bot), None)
        start = self.messages.index(after) + 1 if after else 0

        def answered() -> Message | None:
            return next(
                (
                    one
                    for one in self.messages[start:]
                    if one.from_bot
                    and not one.deleted
                    and not one.service
                    and containing in one.text
                    and (thread is None or one.thread == thread)
                ),
                None,
            )

        what = f"an answer in chat {self.id}" + (f" with {containing!r}" if containing else "")
        found: Message = await self.watch(answered, within=within, what=what)
        return found
