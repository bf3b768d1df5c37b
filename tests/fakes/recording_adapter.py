"""A channel without a platform: records what it shows, and can be slow or broken."""

import asyncio
from dataclasses import dataclass, field

from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelHealth,
    ChatId,
    PersonId,
    Reply,
    ReplyPart,
    WriteChunk,
)


@dataclass(slots=True)
class RecordingAdapter:
    """Records every part of every reply."""

    name: str = "terminal"
    shown: list[tuple[str, list[ReplyPart]]] = field(default_factory=list)
    """The id of each message (or the key of a notice) with the parts shown, in order."""
    began: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once text of any reply has been shown."""
    breaks_on: str = ""
    """Id of a message whose reply cannot be shown."""
    breaks_with: BaseException = field(default_factory=lambda: ConnectionError("the platform is gone"))
    pause: float = 0
    """Seconds to show a part."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files to fetch, by handle."""
    fetched: list[str] = field(default_factory=list)
    """Fetched handles, in order."""
    fetch_pause: float = 0
    """Seconds to fetch a file."""

    async def run(self, accept: AcceptMessage) -> None:
        await asyncio.Event().wait()

    @property
    def health(self) -> ChannelHealth:
        return ChannelHealth("up")

    def home_of(self, person: PersonId) -> ChatId | None:
        return ChatId(person.channel, person.id)

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        self.fetched.append(attachment.handle)
        await asyncio.sleep(self.fetch_pause)
        if attachment.handle not in self.files:
            raise AttachmentLost("That is gone.")
        await write(self.files[attachment.handle])

    def serves(self, chat: ChatId) -> bool:
        return chat.channel == self.name

    async def render(self, reply: Reply) -> None:
        if reply.to and reply.to.id == self.breaks_on:
            raise self.breaks_with
        shown: list[ReplyPart] = []
        self.shown.append((reply.to.id if reply.to else reply.key, shown))
        async for part in reply.parts:
            shown.append(part)
            if part.text:
                self.began.set()
            await asyncio.sleep(self.pause)

    def replies(self) -> dict[str, str]:
        """Return the last text shown for each message."""
        return {key: parts[-1].text for key, parts in self.shown if parts}
