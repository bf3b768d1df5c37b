"""Keep only the latest part of a reply, for a slow consumer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from bot.messages import ReplyPart

SETTLE_SECONDS = 0.2
"""Time to wait after a reply's first words, so that a short one is never shown in part: its end would have to wait for
the rate limit."""


class LatestPart:
    """Reads parts as they come; only the latest is kept."""

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

    async def wait_for_change(self, timeout_seconds: float | None = None) -> bool:
        """Wait up to `timeout_seconds` seconds for a new part; return False once the reply is complete."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._news.wait()
        if not self.ended.done():
            self._news.clear()
        return not self.ended.done()

    async def settle(self, seconds: float) -> None:
        """Wait for the first part, and then up to `seconds` for the end; the next `wait_for_change` returns at once."""
        if await self.wait_for_change():
            await asyncio.wait([self.ended], timeout=seconds)
            self._news.set()

    async def last(self) -> ReplyPart | None:
        """Return the last part. Raises what the parts raised."""
        return await self.ended

    async def close(self) -> None:
        """Stop reading the parts; their producer may close them now."""
        self.ended.cancel()
        await asyncio.wait([self.ended])
