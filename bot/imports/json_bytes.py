"""Makes the bytes of an export safe to parse: any encoding as UTF-8, no half characters, no endless text."""

import codecs
import re
from collections.abc import Callable
from typing import Protocol

from bot.imports.errors import ImportFault

MAX_TEXT_BYTES = 32 * 1024 * 1024
"""Maximum size of a single text; the parser holds a text as a whole."""
_READ_BYTES = 262_144
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_QUOTE = re.compile(rb'(?<!\\)"')
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_FIRST_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_HALF_LENGTH = 6
_LONGEST_ESCAPE = 12


class Readable(Protocol):
    """A file that is open for reading."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; b"" at the end."""
        ...


class JsonBytes:
    """A file with JSON, as the parser reads it. `read` raises ImportFault and OSError."""

    def __init__(
        self, file: Readable, *, name: str, report: Callable[[int], None] = lambda size: None
    ) -> None:
        """`report` gets the size of each piece as it is read."""
        self._file = file
        self._name = name
        self._report = report
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held = b""
        self._without_quote = 0

    def read(self, size: int = _READ_BYTES) -> bytes:
        """Return the next bytes, valid UTF-8 without lone surrogates; b"" at the end."""
        if size == 0:  # how the parser finds out what it is given
            return b""
        while True:
            piece = self._file.read(max(size, _READ_BYTES))
            self._report(len(piece))
            if self._decoder is None:
                self._decoder = codecs.getincrementaldecoder(_find_encoding(piece))("replace")
            text = self._held + self._decoder.decode(piece, not piece).encode()
            self._check_length(text)
            cut = _find_cut(text) if piece else len(text)
            self._held = text[cut:]
            if cut or not piece:
                return _replace_lone_surrogates(text[:cut])

    def _check_length(self, text: bytes) -> None:
        self._without_quote = 0 if _QUOTE.search(text) else self._without_quote + len(text)
        if self._without_quote > MAX_TEXT_BYTES:
            raise ImportFault(
                f"{self._name} contains a text of more than {MAX_TEXT_BYTES >> 20} MiB; "
                "no export has that, so it was read only up to there"
            )


def _find_encoding(beginning: bytes) -> str:
    """Return the encoding by its mark; without one, JSON shows it by where its first characters have zeros."""
    for mark, encoding in _MARKS:
        if beginning.startswith(mark):
            return encoding
    match [bool(byte) for byte in beginning[:4]]:
        case [False, False, False, True]:
            return "utf-32-be"
        case [True, False, False, False]:
            return "utf-32-le"
        case [False, True, *_]:
            return "utf-16-be"
        case [True, False, *_]:
            return "utf-16-le"
    return "utf-8"


def _find_cut(text: bytes) -> int:
    """Return where the text can be cut without splitting an escape or a pair of them."""
    first = text.find(b"\\", max(0, len(text) - _LONGEST_ESCAPE))
    if first < 0:
        return len(text)
    end = first
    while text[end : end + 1] == b"\\":
        end += 1
    cut = end - 1 - _count_backslashes(text, end - 1) % 2
    half = cut - _HALF_LENGTH
    if half >= 0 and _FIRST_HALF.match(text, half) and not _count_backslashes(text, half) % 2:
        return half
    return cut


def _count_backslashes(text: bytes, end: int) -> int:
    """Return how many backslashes are directly before `end`; they count in pairs."""
    start = end
    while start and text[start - 1 : start] == b"\\":
        start -= 1
    return end - start


def _replace_lone_surrogates(text: bytes) -> bytes:
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)
