"""A file as it is fetched, in memory."""

from typing import Protocol

from bot.messages import Attachment, Write


class Fetches(Protocol):
    """An adapter, or the part of it that fetches."""

    async def fetch(self, attachment: Attachment, write: Write, *, most: int) -> None: ...


async def fetched(source: Fetches, attachment: Attachment, *, most: int) -> bytes:
    """Fetch a file; raises what the source raises."""
    content = bytearray()

    async def write(piece: bytes) -> None:
        content.extend(piece)

    await source.fetch(attachment, write, most=most)
    return bytes(content)
