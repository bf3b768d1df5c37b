"""Replies for the tests of what shows them."""

import asyncio
from collections.abc import AsyncIterator

from bot.messages import Choice, ReplyPart


async def said(
    *texts: str, choices: tuple[Choice, ...] = (), pause: float = 0.06
) -> AsyncIterator[ReplyPart]:
    """A reply that grows, and then is all of its last text."""
    for text in texts:
        yield ReplyPart(text)
        await asyncio.sleep(pause)
    yield ReplyPart(texts[-1], final=True, choices=choices)


async def at_once(text: str, choices: tuple[Choice, ...] = ()) -> AsyncIterator[ReplyPart]:
    """A reply that is complete from the start."""
    yield ReplyPart(text, final=True, choices=choices)
