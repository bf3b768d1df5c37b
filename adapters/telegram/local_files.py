"""Files that a Bot API server of one's own has put on this computer, and tells by their path."""

import os
from pathlib import Path

from bot import phrases
from bot.messages import AttachmentLost
from memory import disk


def beginning_of(path: Path, most: int, *, token: str) -> bytes:
    """Read `most` bytes at most. Raises AttachmentLost for what such a server has not put there itself; OSError.

    It keeps the files of each bot in a folder that is named after its token (on Windows with "~" for the colon).
    No other file of ours is read because it says so.
    """
    real = Path(os.path.realpath(path))
    if not {token, token.replace(":", "~")}.intersection(real.parent.parts):
        raise AttachmentLost(phrases.ATTACHMENT_GONE)
    folder = os.open(real.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.fdopen(disk.open_file(real.name, os.O_RDONLY, folder=folder), "rb") as file:
            return file.read(most)
    finally:
        os.close(folder)
