"""Reads an untrusted gzip file with a single member.

Python's own `gzip` reads any number of members, and needs seconds of CPU for the 200,000 empty ones that fit into 4 MB.
"""

import io
import zlib
from typing import BinaryIO

from bot.archives.tar_members import ForeignArchive

_READ_BYTES = 16 << 10
_BUFFER_BYTES = 128 << 10


def open_member(source: BinaryIO) -> io.BufferedReader:
    """Return a reader of the unpacked content. Reading raises ForeignArchive, EOFError, zlib.error, OSError."""
    return io.BufferedReader(_Member(source), _BUFFER_BYTES)


class _Member(io.RawIOBase):
    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)  # 16: with gzip's header and checksum

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        unpacked = b""
        while not (unpacked or self._unpacker.eof):
            packed = self._unpacker.unconsumed_tail or self._source.read(_READ_BYTES)
            if not packed:
                raise EOFError("the archive ends too early")
            unpacked = self._unpacker.decompress(packed, len(buffer))
        if self._unpacker.eof and (self._unpacker.unused_data or self._source.read(1)):
            raise ForeignArchive
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)
