"""Fetch a file into memory."""

from typing import Protocol

from bot.attachments.incoming_file import IncomingFile
from bot.messages import Attachment, WriteChunk


class Fetcher(Protocol):
    """An adapter, or the part of it that fetches files."""

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None: ...


async def fetch_bytes(source: Fetcher, attachment: Attachment, *, max_bytes: int) -> bytes:
    """Return a file's content; raises what the source raises."""
    with IncomingFile(None, max_bytes=max_bytes) as file:
        await source.fetch(attachment, file.write)
        return file.read_beginning(max_bytes)
