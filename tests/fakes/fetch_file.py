"""Fetch a file into memory."""

from typing import Protocol

from bot.messages import Attachment, WriteChunk


class Fetcher(Protocol):
    """An adapter, or the part of it that fetches files."""

    async def fetch(self, attachment: Attachment, write: WriteChunk, *, most: int) -> None: ...


async def fetch_bytes(source: Fetcher, attachment: Attachment, *, most: int) -> bytes:
    """Return a file's content; raises what the source raises."""
    content = bytearray()

    async def write(piece: bytes) -> None:
        content.extend(piece)

    await source.fetch(attachment, write, most=most)
    return bytes(content)
