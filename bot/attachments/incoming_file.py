"""A file on disk that is being fetched."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from bot import phrases
from bot.messages import AttachmentLost


class IncomingFile:
    """A file without a name, so that the system frees its space even after a crash. A context manager."""

    def __init__(
        self, folder: Path | None, *, max_bytes: int, grown: Callable[[int], None] = lambda size: None
    ) -> None:
        """`folder`: on a real disk, since /tmp may be in memory; None for the system's. `max_bytes`: maximum bytes.

        `grown` gets the new size after each piece. Raises OSError.
        """
        # Unbuffered: a child process gets the same descriptor with its position.
        self.file = cast("BinaryIO", tempfile.TemporaryFile(dir=folder, prefix="fetched-", buffering=0))  # noqa: SIM115
        self._max_bytes = max_bytes
        self._grown = grown
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    async def write(self, piece: bytes) -> None:
        """Append a piece. Raises AttachmentLost if the file becomes too large, and OSError."""
        self.size += len(piece)
        if self.size > self._max_bytes:
            raise AttachmentLost(phrases.ATTACHMENT_TOO_LARGE.format(most=self._max_bytes >> 20))
        self._grown(self.size)
        await asyncio.to_thread(_write_all, self.file, piece)

    def clear(self) -> None:
        """Start over with an empty file."""
        self.file.seek(0)
        self.file.truncate()
        self.size = 0

    def read_beginning(self, length: int) -> bytes:
        """Return the first bytes, at most `length`."""
        self.file.seek(0)
        return self.file.read(length)


def _write_all(file: BinaryIO, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[file.write(left) :]
