"""The seam between channels and the assistant: what comes in, what goes out."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self


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
    in_room: bool = False
    """True where others listen too: a group, a guild channel."""


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """The whole reply so far, as Markdown; a later part replaces the earlier one."""

    text: str
    final: bool = False


Accept = Callable[[IncomingMessage], Awaitable[None]]
"""Hand a message to the assistant; returns once the message is safe and may be acknowledged."""


class Adapter(Protocol):
    """One channel. Only the adapter knows its platform."""

    @property
    def name(self) -> str:
        """The channel's name, as in `ChatId.channel`."""
        ...

    async def run(self, accept: Accept) -> None:
        """Receive until cancelled or until the channel has ended; every message goes to `accept`."""
        ...

    async def render(self, message: IncomingMessage, parts: AsyncIterator[ReplyPart]) -> None:
        """Show the reply to `message` as it grows; return when its last part has been delivered."""
        ...

    async def send(self, chat: ChatId, text: str) -> None:
        """Deliver a message that nobody asked for, such as a reminder."""
        ...
