"""The latest part of a reply, for who is slower than it grows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from bot.messages import ReplyPart


class LatestPart:
    """Reads the parts as they come; what was overtaken is skipped."""

    def __init__(self, parts: AsyncIterator[ReplyPart]) -> None:
        self.text = ""
        self.ended: asyncio.Task[ReplyPart | None] = asyncio.create_task(self._read_parts(parts))
        self._news = asyncio.Event()
        self.ended.add_done_callback(lambda _: self._news.set())

    async def _read_parts(self, parts: AsyncIterator[ReplyPart]) -> ReplyPart | None:
        part: ReplyPart | None = None
        async for part in parts:
            if not part.final and part.text.strip():
                self.text = part.text
                self._news.set()
        return part

    async def wait_for_change(self, patience: float | None = None) -> bool:
        """Wait until there is more, or for `patience` seconds; false once all of it is there."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._news.wait()
        if not self.ended.done():
            self._news.clear()
        return not self.ended.done()

    def recheck(self) -> None:
        """Have `wait_for_change` tell once more of what it has told already."""
        self._news.set()

    async def last(self) -> ReplyPart | None:
        """The last part; raises what the parts have raised."""
        return await self.ended

    async def close(self) -> None:
        """Let go of the parts: whoever made them may close them now."""
        self.ended.cancel()
        await asyncio.wait([self.ended])
