"""From a note's bytes to its text and back, whatever program wrote them, with no byte lost."""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le", 4),
    (b"\x00\x00\xfe\xff", "utf-32-be", 4),
    (b"\xff\xfe", "utf-16-le", 2),
    (b"\xfe\xff", "utf-16-be", 2),
    (b"\xef\xbb\xbf", "utf-8", 1),
)
_AS_WINDOWS_1252 = {0xDC00 + byte: bytes([byte]).decode("cp1252", "replace") for byte in range(0x80, 0x100)}


@dataclass(frozen=True, slots=True)
class DecodedNote:
    """A note's text, reversibly: in UTF-8 a byte that fits nowhere stands as a lone surrogate."""

    mark: bytes
    codec: str
    unit: int
    """Bytes of the smallest character: 1, 2 or 4."""
    raw: str
    """As on disk: line ends as they are, bytes that are no UTF-8 as U+DC80 to U+DCFF."""
    clean: bool
    """True where every byte fitted the codec."""

    @property
    def encoding(self) -> str:
        """The encoding's name; `windows-1252` where some bytes were no UTF-8 and were read as that."""
        return self.codec if self.clean or self.unit > 1 else "windows-1252"

    @property
    def shown(self) -> str:
        """The text to be read, character for character beside `raw`."""
        return self.raw if self.clean else self.raw.translate(_AS_WINDOWS_1252)

    @property
    def text(self) -> str:
        """The text to be read; the only line end is LF."""
        return normalize_newlines(self.shown)

    @property
    def line_end(self) -> str:
        """The line end that the note uses."""
        first = self.raw.find("\n")
        return "\r\n" if first > 0 and self.raw[first - 1] == "\r" else "\n"

    def encode(self, raw: str) -> bytes:
        """Give the bytes for a piece of text of this note, without the mark."""
        return raw.encode(self.codec, "surrogateescape" if self.unit == 1 else "strict")


def decode(data: bytes) -> DecodedNote:
    """Decode a whole note: UTF-8, UTF-16 or UTF-32 with their mark; stray bytes count as Windows-1252.

    UTF-8 and stray bytes may stand beside each other: one old line, or one torn by a crash, spoils no other.
    """
    mark, codec, unit = _detect_bom(data)
    body = data[len(mark) :]
    try:
        return DecodedNote(mark, codec, unit, body.decode(codec), clean=True)
    except UnicodeDecodeError:
        return DecodedNote(
            mark, codec, unit, body.decode(codec, "surrogateescape" if unit == 1 else "replace"), clean=False
        )


class PieceDecoder:
    """Decodes a file piece by piece into the same text as `decode` gives of the whole."""

    def __init__(self, beginning: bytes) -> None:
        """`beginning`: at least the first four bytes of the file, if it has as many."""
        mark, codec, unit = _detect_bom(beginning)
        self.mark = mark
        self._skip = len(mark)
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape" if unit == 1 else "replace")
        self._line_ends = io.IncrementalNewlineDecoder(None, translate=True)

    def decode(self, piece: bytes, *, final: bool = False) -> str:
        """Give the text of the next piece, as far as it is known yet; `final`: nothing comes after it."""
        skipped, self._skip = self._skip, max(0, self._skip - len(piece))
        text = self._decoder.decode(piece[skipped:], final)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                text = text.translate(_AS_WINDOWS_1252)
        return self._line_ends.decode(text, final)


def read_raw_lines(file: io.BufferedReader) -> Iterator[bytes]:
    """Go through an open note line by line, in bytes for `decode`, holding one line at a time."""
    mark, codec, unit = _detect_bom(file.peek(4)[:4])
    file.seek(len(mark))
    if unit > 1:
        for line in io.TextIOWrapper(file, codec, "replace", newline=None):
            yield line.encode()
        return
    for raw in file:
        if b"\r" in raw:
            yield from raw.splitlines(keepends=True)
        else:
            yield raw


def decode_lines(raw: list[bytes]) -> str:
    """Give the text of lines that `read_raw_lines` gave; the only line end is LF."""
    data = b"".join(raw)
    try:
        return normalize_newlines(data.decode())
    except UnicodeDecodeError:
        return normalize_newlines(data.decode("utf-8", "surrogateescape").translate(_AS_WINDOWS_1252))


def normalize_newlines(text: str) -> str:
    """Make every line end LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _detect_bom(data: bytes) -> tuple[bytes, str, int]:
    for mark, codec, unit in _MARKS:
        if data.startswith(mark):
            return mark, codec, unit
    return b"", "utf-8", 1
