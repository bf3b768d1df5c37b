"""Files that a self-hosted Bot API server has stored on this computer and reports by path."""

import asyncio
import os
from pathlib import Path
from typing import BinaryIO

from bot import phrases
from bot.messages import AttachmentLost, WriteChunk
from memory import disk

PIECE_BYTES = 1 << 18


async def copy_file(path: Path, write: WriteChunk, *, token: str) -> None:
    """Copy a file in chunks. Raises AttachmentLost, OSError, and what `write` raises."""
    with await asyncio.to_thread(open_local_file, path, token=token) as file:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            await write(piece)


def open_local_file(path: Path, *, token: str) -> BinaryIO:
    """Open a file. Raises AttachmentLost if the Bot API server cannot have stored it, and OSError.

    The server keeps each bot's files in a folder named after its token (on Windows with "~" for the colon). Other
    files are never read, whatever path it reports.
    """
    real = Path(os.path.realpath(path))
    if not {token, token.replace(":", "~")}.intersection(real.parent.parts):
        raise AttachmentLost(phrases.ATTACHMENT_GONE)
    folder = os.open(real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.fdopen(disk.open_file(real.name, os.O_RDONLY, folder=folder), "rb")
    finally:
        os.close(folder)
