"""A channel without a platform: keeps what it was given to show, and can be slow or broken."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from bot.messages import Accept, ChatId, IncomingMessage, ReplyPart


@dataclass(slots=True)
class RecordingAdapter:
    """Shows every part that it gets, in a list."""

    name: str = "terminal"
    shown: list[tuple[str, list[ReplyPart]]] = field(default_factory=list)
    """The id of each message, with the parts of its reply, in the order in which the replies began."""
    began: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when text of some reply has been shown."""
    breaks_on: str = ""
    """The id of a message whose reply cannot be shown."""
    breaks_with: BaseException = field(default_factory=lambda: ConnectionError("the platform is gone"))
    pause: float = 0
    """Seconds that it takes to show a part."""

    async def run(self, accept: Accept) -> None:
        await asyncio.Event().wait()

    async def render(self, message: IncomingMessage, parts: AsyncIterator[ReplyPart]) -> None:
        if message.id == self.breaks_on:
            raise self.breaks_with
        shown: list[ReplyPart] = []
        self.shown.append((message.id, shown))
        async for part in parts:
            shown.append(part)
            if part.text:
                self.began.set()
            await asyncio.sleep(self.pause)

    async def send(self, chat: ChatId, text: str) -> None:
        raise NotImplementedError

    def replies(self) -> dict[str, str]:
        """The last text shown for each message."""
        return {key: parts[-1].text for key, parts in self.shown if parts}
