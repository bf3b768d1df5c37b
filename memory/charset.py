"""Convert a note's bytes to text and back, whatever program wrote them, without losing a byte."""

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
    """A note's text in reversible form: in UTF-8, an invalid byte becomes a lone surrogate."""

    mark: bytes
    codec: str
    unit: int
    """Bytes of the smallest character: 1, 2 or 4."""
    raw: str
    """The text as on disk, with its own line ends, and invalid UTF-8 bytes as U+DC80 to U+DCFF."""
    clean: bool
    """True if every byte was valid."""

    @property
    def encoding(self) -> str:
        """The encoding's name; `windows-1252` if bytes that are not UTF-8 were read as that."""
        return self.codec if self.clean or self.unit > 1 else "windows-1252"

    @property
    def shown(self) -> str:
        """The readable text, with as many characters as `raw`."""
        return self.raw if self.clean else self.raw.translate(_AS_WINDOWS_1252)

    @property
    def text(self) -> str:
        """The readable text, with LF line ends."""
        return normalize_newlines(self.shown)

    @property
    def line_end(self) -> str:
        """The line end that the note uses."""
        first = self.raw.find("\n")
        return "\r\n" if first > 0 and self.raw[first - 1] == "\r" else "\n"

    @property
    def can_encode(self) -> bool:
        """Return whether its text can be written again without losing what was damaged in it."""
        return self.unit == 1 or self.clean

    def encode(self, raw: str) -> bytes:
        """Return the bytes of some text of this note, without the byte-order mark."""
        return raw.encode(self.codec, "surrogateescape" if self.unit == 1 else "strict")


def decode(data: bytes) -> DecodedNote:
    """Decode a whole note: UTF-8, UTF-16 or UTF-32 by its mark; invalid bytes are read as Windows-1252.

    UTF-8 and invalid bytes may be mixed: one old line, or one cut off by a crash, affects no other.
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
    """Decodes a file piece by piece, with the same result as `decode` for the whole."""

    def __init__(self, beginning: bytes) -> None:
        """Detect the encoding from `beginning`, the file's first four bytes or more, if it has as many."""
        mark, codec, unit = _detect_bom(beginning)
        self.mark = mark
        self._skip = len(mark)
        self._decoder = codecs.getincrementaldecoder(codec)("surrogateescape" if unit == 1 else "replace")
        self._line_ends = io.IncrementalNewlineDecoder(None, translate=True)

    def decode(self, piece: bytes, *, final: bool = False) -> str:
        """Return the text of the next piece, except for an incomplete character; `final` marks the last piece."""
        skipped, self._skip = self._skip, max(0, self._skip - len(piece))
        text = self._decoder.decode(piece[skipped:], final)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                text = text.translate(_AS_WINDOWS_1252)
        return self._line_ends.decode(text, final)


def read_raw_lines(file: io.BufferedReader) -> Iterator[bytes]:
    """Yield the lines of an open note as bytes for `decode`, holding one line at a time."""
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
    """Decode lines from `read_raw_lines`; the result has LF line ends."""
    data = b"".join(raw)
    try:
        return normalize_newlines(data.decode())
    except UnicodeDecodeError:
        return normalize_newlines(data.decode("utf-8", "surrogateescape").translate(_AS_WINDOWS_1252))


def normalize_newlines(text: str) -> str:
    """Return the text with LF line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _detect_bom(data: bytes) -> tuple[bytes, str, int]:
    for mark, codec, unit in _MARKS:
        if data.startswith(mark):
            return mark, codec, unit
    return b"", "utf-8", 1
