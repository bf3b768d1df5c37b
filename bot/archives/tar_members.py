"""Reads the members of an untrusted tar file one by one, with little memory.

`tarfile` is made for trusted archives: it follows chains of headers, keeps what global ones say, fills in sparse files
(two hundred bytes become a terabyte), and parses a header with an expression that takes minutes for a megabyte. Our
archives need none of that: they have regular files, each with at most one short pax header, for a name or size that
does not fit into the old one.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

BLOCK = tarfile.BLOCKSIZE
MAX_EXTENDED_BYTES = 16 << 10
"""Bytes of a pax header; a path has at most 4 kB."""
_KEYS = ("path", "size", "mtime", "hdrcharset")
"""Keys that such a header may have; the last one marks a name that is not UTF-8."""
_MAX_DIGITS = 20
_CHUNK_BYTES = 1 << 18


class ForeignArchive(Exception):
    """The archive was not written by us."""


class _ByteSource(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class MemberContent:
    """Content of one member, to be read once, before the next member."""

    file: _ByteSource
    left: int

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; b"" at the end. Raises EOFError if the archive is incomplete."""
        piece = self.file.read(min(size, self.left))
        if self.left and size and not piece:
            raise EOFError("the archive ends in the middle of a file")
        self.left -= len(piece)
        return piece


def read_members(file: _ByteSource) -> Iterator[tuple[tarfile.TarInfo, MemberContent]]:
    """Yield each member's header and content, up to the end mark. Raises ForeignArchive, EOFError, tarfile.TarError.

    Members are regular files. Neither their names nor the truth of their sizes is checked.
    """
    while (member := _next_header(file)) is not None:
        extended: dict[str, str] = {}
        if member.type == tarfile.XHDTYPE:
            extended = _read_extended(file, member)
            member = _next_header(file)
        if member is None or member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
            raise ForeignArchive
        member.name = extended.get("path", member.name)
        if "size" in extended:
            member.size = _number(extended["size"])
        if "mtime" in extended:
            member.mtime = float(extended["mtime"])
        if member.size < 0:
            raise ForeignArchive
        content = MemberContent(file, member.size)
        yield member, content
        while content.read(_CHUNK_BYTES):
            pass
        _skip_padding(file, member.size)


def _next_header(file: _ByteSource) -> tarfile.TarInfo | None:
    """Read one header; None for the end mark."""
    block = _read_exactly(file, BLOCK)
    return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape") if block.strip(b"\0") else None


def _read_extended(file: _ByteSource, header: tarfile.TarInfo) -> dict[str, str]:
    """Read a pax header: records such as `27 path=memory/täglich.md` and a line end, where 27 is the byte count."""
    if not 0 < header.size <= MAX_EXTENDED_BYTES:
        raise ForeignArchive
    data, found = _read_exactly(file, header.size), dict[str, str]()
    _skip_padding(file, header.size)
    at = 0
    while at < len(data):
        digits, _, _ = data[at : at + _MAX_DIGITS].partition(b" ")
        end = at + _number(digits.decode("ascii", "replace"))
        key, equals, value = data[at + len(digits) + 1 : end].partition(b"=")
        name = key.decode("ascii", "replace")
        if end > len(data) or not equals or not value.endswith(b"\n") or name not in _KEYS:
            raise ForeignArchive
        found[name] = value[:-1].decode("utf-8", "surrogateescape")
        at = end
    return found


def _number(digits: str) -> int:
    if not (0 < len(digits) <= _MAX_DIGITS and digits.isascii() and digits.isdigit()):
        raise ForeignArchive
    return int(digits)


def _skip_padding(file: _ByteSource, size: int) -> None:
    _read_exactly(file, -size % BLOCK)


def _read_exactly(file: _ByteSource, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError("the archive ends too early")
    return data
