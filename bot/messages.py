"""The types between channels and the assistant: incoming messages, replies, adapters."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, Self, runtime_checkable


@dataclass(frozen=True, slots=True)
class ChatId:
    """One chat of one channel; written `channel:name`, such as `telegram:-100123`."""

    channel: str
    name: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `channel:name`. Raises ValueError if it has no colon."""
        channel, colon, name = text.partition(":")
        if not (channel and colon and name):
            raise ValueError(f"{text!r} is not channel:name")
        return cls(channel, name)


@dataclass(frozen=True, slots=True)
class PersonId:
    """One person on one channel; written `channel:id`, such as `discord:9876`."""

    channel: str
    id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `channel:id`. Raises ValueError if it has no colon."""
        channel, colon, person = text.partition(":")
        if not (channel and colon and person):
            raise ValueError(f"{text!r} is not channel:id")
        return cls(channel, person)


OWNER_AT_TERMINAL = PersonId("terminal", "owner")
"""Whoever sits at the machine."""

AttachmentKind = Literal["picture", "document", "voice", "other"]
"""`voice` is anything to listen to; `other` is anything that cannot be read here, such as a film."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message. Its content is fetched on demand; the other fields are the sender's claims."""

    kind: AttachmentKind
    handle: str
    """What its adapter fetches it by; stored, but never shown or logged."""
    name: str = ""
    """The name of the sender's file; never use it as a path."""
    media_type: str = ""
    size: int = 0
    """Bytes; 0 if unknown."""
    seconds: float = 0.0
    """Playing time."""
    quoted: bool = False
    """Whether it belongs to the message that is replied to, which may be somebody else's."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """The message that is replied to, or the selected part of it."""

    text: str
    sender_name: str = ""
    mine: bool = False
    """Whether the bot said it."""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """What a person said, as it came from the channel."""

    id: str
    """Unique within its chat; the platform's own id if there is one."""
    chat: ChatId
    sender: PersonId
    text: str
    sent_at: datetime
    """Timezone-aware."""
    sender_name: str = ""
    chat_name: str = ""
    """What people call the chat; "" for the sender's name."""
    in_room: bool = False
    """Whether other people can read it: a group, a guild channel."""
    addressed: bool = True
    """In a room: whether the bot is mentioned or replied to, or the message is a command for it."""
    alone: bool = False
    """Whether the message needs an answer of its own, like a line of a script; others in a row may share one."""
    edit_of: str = ""
    """Id of the message that its sender has replaced by this one."""
    former_id: str = ""
    """Id that an earlier version gave the message; it is not accepted again under the new one."""
    handle: str = ""
    """What the platform needs to answer, such as a token or a topic; stored, but never interpreted or logged here."""
    attachments: tuple[Attachment, ...] = ()
    """Including those of the message that it replies to."""
    quoted: Quoted | None = None
    forwarded_from: str = ""
    """Author of forwarded words; they are never a command, whatever they look like."""
    groups: tuple[str, ...] = ()
    """Entries of `[access]` that apply to the sender in this chat, besides their own id; without the channel's name,
    such as `GUILD/@ROLE`."""
    more_soon: bool = False
    """Whether another part is on its way, as in an album; it is awaited for a moment."""
    language: str = ""
    """Code of the language that the sender's app is set to, such as `de` or `zh-CN`; "" if unknown."""

    @property
    def is_blank(self) -> bool:
        """Whether the message has neither text nor attachments."""
        return not (self.text.strip() or self.attachments)

    @property
    def title(self) -> str:
        """What people call the chat; "" if it has no name."""
        return self.chat_name or ("" if self.in_room else self.sender_name)


@dataclass(frozen=True, slots=True)
class Choice:
    """A suggested answer, shown as a button if the channel has buttons; pressing it is the same as saying it."""

    label: str
    says: str
    """A command line of at most 64 bytes; it comes back as a message of the person who pressed the button."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """The whole reply so far, as Markdown; a later part replaces an earlier one."""

    text: str
    final: bool = False
    choices: tuple[Choice, ...] = ()
    """Offered below a final text. The text itself also says how to answer."""
    answers: tuple[str, ...] = ()
    """For a final part: ids of the messages that this answers; more than one if several came in a row."""


@dataclass(slots=True)
class Sending:
    """Whether the sending of a finished reply was stopped, and whether a stop would leave anything out."""

    is_stopped: bool = False
    """What has not been sent by then goes as one file, or is left out."""
    is_left: bool | None = None
    """Whether a stop would leave anything out now; None if unknown."""

    def stop(self) -> bool:
        """Send no more of the reply; return False if nothing is left to stop."""
        if self.is_stopped or self.is_left is False:
            return False
        self.is_stopped = True
        return True


@dataclass(frozen=True, slots=True)
class Reply:
    """Something to show in a chat: the answer to a message, or a notice."""

    chat: ChatId
    to: IncomingMessage | None
    """None for a reminder and other notices."""
    key: str
    """Permanent key of this reply, the same after a crash; a platform's nonce is derived from it."""
    parts: AsyncIterator[ReplyPart]
    """If the last one is not `final`, the reply goes on later in another Reply with the same key."""
    keep: Callable[[Sequence[str]], Awaitable[None]]
    """Call with the platform's ids of all messages that show the reply, whenever there is a new one."""
    shown: tuple[str, ...] = ()
    """Ids stored before a crash: edit these messages instead of sending them again."""
    in_passing: bool = False
    """Whether the message was not accepted: then what it replies to, such as a question with its buttons, stays."""
    sending: Sending = field(default_factory=Sending)
    """Stopped when nobody wants to read more of it; the sender notes there whether anything is left."""


MAX_WAIT_SECONDS = 3600.0
"""Maximum seconds of a pause that a platform asks for; after that it may ask again."""


def bounded_wait(seconds: float) -> float:
    """Return the seconds to wait for a platform's figure, which may be negative, infinite or NaN."""
    # This order of `max` and `min` also turns NaN into a number.
    return max(0.0, min(MAX_WAIT_SECONDS, seconds))


class ChannelFault(Exception):
    """Raised by an adapter when its platform fails; one line without secrets."""

    def __init__(self, detail: str, *, retry_after: float = 0.0) -> None:
        """`retry_after`: seconds that the platform asked to wait."""
        super().__init__(detail)
        self.retry_after = bounded_wait(retry_after)


class AttachmentLost(Exception):
    """Raised by an adapter when an attachment cannot be fetched, now or later; one line for its sender."""


WriteChunk = Callable[[bytes], Awaitable[None]]
"""Write the next piece of a file. Raises AttachmentLost if the file is larger than allowed, and OSError."""


class NotAccepted(Exception):
    """A message could not be stored at the moment; the text is one line that says how to fix it."""


AcceptMessage = Callable[[IncomingMessage], Awaitable[bool]]
"""Hand a message to the assistant; return whether a Reply to it will come. Raises NotAccepted.

When it returns, the message is safe and may be acknowledged. There is no Reply to a message that was known
already, that needs no answer, or that shares the answer of another one.
"""


WithdrawMessage = Callable[[ChatId, str], Awaitable[None]]
"""Report that a sender has withdrawn a message, by its id; a waiting message is then not answered."""


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """The state of a channel."""

    state: Literal["starting", "up", "down", "standby", "stand-in"]
    """`standby`: another instance has the channel, all is well. `stand-in`: a second process of this one has it."""
    detail: str = ""
    """Why it is not up, or what hampers it: one line that says how to fix it; for a standby, who has the channel."""


class Adapter(Protocol):
    """One channel; nothing else knows its platform."""

    @property
    def name(self) -> str:
        """The channel's name, as in `ChatId.channel`."""
        ...

    @property
    def health(self) -> ChannelHealth:
        """The channel's current state."""
        ...

    def serves(self, chat: ChatId) -> bool:
        """Return whether this adapter can show something in this chat."""
        ...

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return the chat for messages that only this person should read; None if there is none."""
        ...

    async def run(self, accept: AcceptMessage) -> None:
        """Receive messages and pass each to `accept`, until cancelled or until the channel has ended."""
        ...

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; return when its last part was delivered, or never can be.

        Raises an error if it should be tried again later.
        """
        ...

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Write an attachment's content piece by piece, until `write` raises AttachmentLost as it is too large.

        Raises AttachmentLost, ChannelFault, OSError, and what `write` raises.
        """
        ...


@runtime_checkable
class TracksWithdrawals(Protocol):
    """An adapter whose platform can be asked whether a message is still there."""

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Return whether a message was withdrawn without anybody being told; False if unknown."""
        ...
