"""The seam between channels and the assistant: what comes in, what goes out."""

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
        """Read `channel:name`; raise ValueError where there is no colon."""
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


AttachmentKind = Literal["picture", "document", "voice", "other"]
"""`voice` is anything that is listened to; `other` what nobody here can read, such as a film."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What came along with a message. Its content is fetched when wanted; the rest is the sender's word for it."""

    kind: AttachmentKind
    handle: str
    """What its adapter fetches it by; kept, never shown or logged."""
    name: str = ""
    """As the sender's file is called: never to be trusted as a path."""
    media_type: str = ""
    size: int = 0
    """Bytes; 0 where that is not known."""
    seconds: float = 0.0
    """How long it plays."""
    quoted: bool = False
    """Whether it came along with what the message replies to, which may be somebody else's."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """What a message replies to, or the part of it that was picked out."""

    text: str
    sender_name: str = ""
    mine: bool = False
    """Whether the bot had said it."""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """What a person said, before anything was done with it."""

    id: str
    """Unique within its chat; the platform's own id where it has one."""
    chat: ChatId
    sender: PersonId
    text: str
    sent_at: datetime
    """Aware."""
    sender_name: str = ""
    chat_name: str = ""
    """What people call the chat; "" for the sender's name."""
    in_room: bool = False
    """True where others listen too: a group, a guild channel."""
    addressed: bool = True
    """In a room: whether the bot is mentioned or replied to, or the message is a command for it."""
    alone: bool = False
    """True where each message has its own answer, as a line of a program has; else those in a row may share one."""
    edit_of: str = ""
    """The id of the message in whose place this one was put by its sender."""
    former_id: str = ""
    """The id that an earlier version gave it: a message that is known by it is not taken in once more."""
    handle: str = ""
    """What the platform wants to have with the answer, such as a token or a topic; kept, never read or logged by us."""
    attachments: tuple[Attachment, ...] = ()
    """Also those of the message that it replies to."""
    quoted: Quoted | None = None
    forwarded_from: str = ""
    """Whose words these are, where the sender passes them on: they are no command, whatever they look like."""
    groups: tuple[str, ...] = ()
    """What counts for the sender where it was said, beside their own id: entries of `[access]` without the channel's
    name, such as `GUILD/@ROLE`."""
    more_soon: bool = False
    """Whether another that belongs to it is on its way, as in an album: it is waited for a moment."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing is said with it and nothing comes along."""
        return not (self.text.strip() or self.attachments)

    @property
    def title(self) -> str:
        """What people call the chat; "" where it has no name."""
        return self.chat_name or ("" if self.in_room else self.sender_name)


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that is offered, as a button where the channel has such; pressing it is the same as saying it."""

    label: str
    says: str
    """A line with a command, of 64 bytes at most: it comes back as a message of whoever chose it."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """The whole reply so far, as Markdown; a later part replaces the earlier one."""

    text: str
    final: bool = False
    choices: tuple[Choice, ...] = ()
    """Offered below the text, where it is final. The text says without them what can be answered."""
    answers: tuple[str, ...] = ()
    """Ids of the messages that this answers, where it is final: more than one where several came in a row."""


@dataclass(slots=True)
class Sending:
    """Whether somebody wants to read no more of a reply that is whole, and whether that leaves anything out."""

    is_stopped: bool = False
    """What is not sent by then goes as one file, or is left out."""
    is_left: bool | None = None
    """Whether a stop would leave anything out now; None where nobody knows yet."""

    def stop(self) -> bool:
        """Send no more of it; return False where nothing is left to stop."""
        if self.is_stopped or self.is_left is False:
            return False
        self.is_stopped = True
        return True


@dataclass(frozen=True, slots=True)
class Reply:
    """Something to be shown in a chat: the answer to a message, or what nobody asked for just now."""

    chat: ChatId
    to: IncomingMessage | None
    """None for a reminder and the like."""
    key: str
    """Names this reply for ever, also after a crash: what a platform's nonce is made of."""
    parts: AsyncIterator[ReplyPart]
    """Where the last one is not `final`, the reply goes on later, in another Reply of the same key."""
    keep: Callable[[Sequence[str]], Awaitable[None]]
    """To be told the platform's ids of the messages that show it, all of them, as soon as there is one more."""
    shown: tuple[str, ...] = ()
    """Ids that were kept before a crash: these messages are to be edited, not sent once more."""
    in_passing: bool = False
    """Whether what it is put to was not taken in: then that stays as it is, such as a question with its buttons."""
    sending: Sending = field(default_factory=Sending)
    """Is stopped where somebody wants to read no more of it; whoever sends it notes there whether anything is left."""


LONGEST_WAIT = 3600.0
"""Seconds for which a platform is left alone that wants that; then it may say so again."""


def bounded_wait(seconds: float) -> float:
    """Return how long to wait where a platform has named a time, which may be less than nothing, endless or NaN."""
    # `max` and `min` in this order also turn NaN into a number.
    return max(0.0, min(LONGEST_WAIT, seconds))


class ChannelFault(Exception):
    """What an adapter raises where its platform fails; one line, with no secret in it."""

    def __init__(self, detail: str, *, retry_after: float = 0.0) -> None:
        """`retry_after`: seconds for which the platform wants to be left alone, as it said so."""
        super().__init__(detail)
        self.retry_after = bounded_wait(retry_after)


class AttachmentLost(Exception):
    """What an adapter raises where an attachment cannot be had, now or later; one line for the person who sent it."""


WriteChunk = Callable[[bytes], Awaitable[None]]
"""Take the next piece of a file; raises AttachmentLost where the file has more bytes than are wanted, OSError."""


class NotAccepted(Exception):
    """A message was not taken in, since it cannot be kept just now; the text is one line with the mend in it."""


AcceptMessage = Callable[[IncomingMessage], Awaitable[bool]]
"""Hand a message to the assistant; returns once the message is safe and may be acknowledged. Raises NotAccepted.

Tells whether a Reply to it will come: not to one that was known, that nobody is to answer, or that goes into another's.
"""


WithdrawMessage = Callable[[ChatId, str], Awaitable[None]]
"""Tell the assistant that a message, by its id, was taken back by its sender: while it waits, it is not answered."""


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """How a channel fares."""

    state: Literal["starting", "up", "down", "standby", "stand-in"]
    """`standby`: another instance has the channel, and all is well. `stand-in`: a second process of this one has it."""
    detail: str = ""
    """Why it is not up, or what hampers it: one line with the mend in it; of a standby, who has the channel."""


class Adapter(Protocol):
    """One channel. Only the adapter knows its platform."""

    @property
    def name(self) -> str:
        """The channel's name, as in `ChatId.channel`."""
        ...

    @property
    def health(self) -> ChannelHealth:
        """How the channel fares just now."""
        ...

    def serves(self, chat: ChatId) -> bool:
        """Tell whether what is for this chat can be shown by this adapter."""
        ...

    def home_of(self, person: PersonId) -> ChatId | None:
        """Where a person of this channel is told something that others should not read; None where there is no such."""
        ...

    async def run(self, accept: AcceptMessage) -> None:
        """Receive until cancelled or until the channel has ended; every message goes to `accept`."""
        ...

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; return when its last part has been delivered, or never can be.

        Raises what should be tried again later.
        """
        ...

    async def fetch(self, attachment: Attachment, write: WriteChunk, *, most: int) -> None:
        """Get an attachment's content piece by piece, of `most` bytes at most.

        Raises AttachmentLost, ChannelFault, OSError, and what `write` raises.
        """
        ...


@runtime_checkable
class TracksWithdrawals(Protocol):
    """An adapter whose platform can be asked whether a message is still there."""

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Return whether a message was taken back while nobody was told of it; False where that is not known."""
        ...
