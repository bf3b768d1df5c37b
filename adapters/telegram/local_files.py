"""Files that a Bot API server of one's own has put on this computer, and tells by their path."""

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

from bot import phrases
from bot.messages import AttachmentLost, WriteChunk
from memory import disk

PIECE_BYTES = 1 << 18


async def copy_file(path: Path, write: WriteChunk, *, most: int, token: str) -> None:
    """Copy `most` bytes at most and one more. Raises AttachmentLost, OSError, and what `write` raises."""
    with await asyncio.to_thread(open_local_file, path, token=token) as file:
        left = most + 1
        while left and (piece := await asyncio.to_thread(file.read, min(left, PIECE_BYTES))):
            left -= len(piece)
            await write(piece)


def open_local_file(path: Path, *, token: str) -> BinaryIO:
    """Open a file. Raises AttachmentLost for what such a server has not put there itself; OSError.

    It keeps the files of each bot in a folder that is named after its token (on Windows with "~" for the colon).
    No other file of ours is read because it says so.
    """
    real = Path(os.path.realpath(path))
    if not {token, token.replace(":", "~")}.intersection(real.parent.parts):
        raise AttachmentLost(phrases.ATTACHMENT_GONE)
    folder = os.open(real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.fdopen(disk.open_file(real.name, os.O_RDONLY, folder=folder), "rb")
    finally:
        os.close(folder)
