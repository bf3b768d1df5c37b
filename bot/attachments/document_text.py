"""Extracts the text of a document, judging by its content and not by its name."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal

from bot import phrases
from bot.attachments.child_process import run_child
from memory.charset import PieceDecoder
from memory.deadline import Deadline

DocumentKind = Literal["PDF", "Markdown", "CSV", "JSON", "HTML", "code", "text", "picture", "other"]

READING_SECONDS = 25.0
"""For all files that are answered together: an album, or messages in a row. Waiting and fetching do not count. What was
read in time is used."""
MAX_CHARACTERS = 2_000_000
BEGINNING_BYTES = 1024
"""Bytes at the beginning of a file that show its format."""
PIECE_BYTES = 1 << 18
"""Bytes of text read in one step, so that no step blocks other threads for long."""

_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM")
_HEIC = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis")
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b") + b"\x7f"
_BLANKS = b" \t\n\r\v\f"
_MAX_LINE_BYTES = 1 << 20
"""Bytes of a JSON line: more than twelve for each character of a line of text."""
_MAX_LINES = 10_000
_ZIP = b"PK\x03\x04"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_KINDS: dict[str, DocumentKind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), "Markdown"),
    **dict.fromkeys((".csv", ".tsv"), "CSV"),
    **dict.fromkeys((".json", ".jsonl", ".geojson", ".ipynb"), "JSON"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "HTML"),
    **dict.fromkeys(
        (
            *(".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp"),
            *(".java", ".kt", ".swift", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".hs", ".scala", ".cs"),
            *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".sql", ".css", ".scss", ".xml", ".svg", ".yaml"),
            *(".yml", ".toml", ".ini", ".cfg", ".conf", ".diff", ".patch", ".tex", ".proto", ".nix"),
        ),
        "code",
    ),
}


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document, as far as it could be read."""

    kind: DocumentKind
    text: str = ""
    characters: int | None = None
    """Total number; None if the document was not read to its end."""
    pages: int = 0
    """0 if it has no pages."""
    pages_read: int = 0
    problem: str = ""
    """Why there is no text, as a sentence for people; "" if there is some."""

    @property
    def is_whole(self) -> bool:
        """Whether `text` is the complete text."""
        return self.characters == len(self.text)


async def read_document(
    file: BinaryIO,
    *,
    name: str = "",
    max_characters: int = MAX_CHARACTERS,
    seconds: float = READING_SECONDS,
    process: AbstractAsyncContextManager[float] | None = None,
) -> DocumentText:
    """Read a document; its name only decides the kind of a text. Raises OSError if no process can be started.

    `process` is entered before a process is started and yields the seconds that it may run; the default is `seconds`.
    """
    file.seek(0)
    beginning = file.read(BEGINNING_BYTES)
    if b"%PDF-" not in beginning:
        return await asyncio.to_thread(_read_text_file, file, name, max_characters, seconds)
    async with process or nullcontext(seconds) as limit:
        document = await _read_pdf(file, max_characters, limit)
    if document.problem != phrases.PDF_DAMAGED or beginning.startswith(b"%PDF-"):
        return document
    # A text may mention PDF files without being one.
    text = await asyncio.to_thread(_read_text_file, file, name, max_characters, seconds)
    return text if text.text else document


def is_picture(content: bytes) -> bool:
    """Return whether a file begins like a picture of any format."""
    webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return webp or is_heic(content) or content.startswith(_PICTURES[:-1]) or _is_bitmap(content)


def is_heic(content: bytes) -> bool:
    """Return whether a file is HEIC or AVIF."""
    return content[4:8] == b"ftyp" and content[8:12] in _HEIC


def _is_bitmap(content: bytes) -> bool:
    # Text may begin with BM too; four bytes of a bitmap's header are always zero.
    return content[:2] == b"BM" and content[6:10] == bytes(4)


# -- text -------------------------------------------------------------------------------------------------------


def _read_text_file(file: BinaryIO, name: str, max_characters: int, seconds: float) -> DocumentText:
    file.seek(0)
    piece = file.read(PIECE_BYTES)
    if is_picture(piece):
        return DocumentText("picture", problem=phrases.DOCUMENT_IS_PICTURE)
    if piece.startswith((_ZIP, _OLD_OFFICE)):
        return DocumentText("other", problem=phrases.DOCUMENT_IS_PACKED)
    text = _TextCollector(piece, max_characters)
    deadline = Deadline.after(seconds)
    while piece and text.is_text and not (text.is_full and deadline.has_passed):
        text.add(piece)
        piece = file.read(PIECE_BYTES)
    if text.is_blank and not piece:
        return DocumentText("other", problem=phrases.DOCUMENT_EMPTY)
    if not text.is_text:
        return DocumentText("other", problem=phrases.DOCUMENT_IS_BINARY)
    kind = _KINDS.get(PurePosixPath(name.lower()).suffix, "text")
    shown, characters = text.end()
    return DocumentText(kind, shown, None if piece else characters)


class _TextCollector:
    """Collects the beginning of a text that is read piece by piece, and counts its characters."""

    def __init__(self, beginning: bytes, max_characters: int) -> None:
        self._decoder = PieceDecoder(beginning[:4])
        self._most = max_characters
        self._kept: list[str] = []
        self._room = max_characters
        self._characters = 0
        self._bytes = 0
        self._controls = 0
        self._has_zero = False
        self._is_marked = beginning.startswith(_BYTE_ORDER_MARKS)
        self.is_blank = True
        """Whether only white space has come."""

    @property
    def is_text(self) -> bool:
        """Whether everything so far can be text."""
        return self._is_marked or not (self._has_zero or self._controls > self._bytes // 100)

    @property
    def is_full(self) -> bool:
        """Whether there is enough text."""
        return self._room <= 0

    def add(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if not self._is_marked:
            self._has_zero = self._has_zero or b"\0" in piece
            self._controls += len(piece) - len(piece.translate(None, _CONTROLS))
        self.is_blank = self.is_blank and not piece.strip(_BLANKS)
        self._keep(self._decoder.decode(piece))

    def end(self) -> tuple[str, int]:
        """Return the kept text, and the total number of characters."""
        self._keep(self._decoder.decode(b"", final=True))
        return "".join(self._kept), self._characters

    def _keep(self, text: str) -> None:
        self._characters += len(text)
        if self._room > 0:
            self._kept.append(text[: self._room])
            self._room -= len(text)


# -- PDF --------------------------------------------------------------------------------------------------------


async def _read_pdf(file: BinaryIO, max_characters: int, seconds: float) -> DocumentText:
    lines = _PdfOutput(max_characters)
    ended_well = await run_child(
        "bot.attachments.pdf_worker", str(max_characters), file=file, seconds=seconds, take=lines.take
    )
    return _parse_pdf_output(lines.found, max_characters, ended_well=ended_well)


@dataclass(slots=True)
class _PdfOutput:
    """Collects the output lines of the PDF process."""

    max_characters: int
    found: list[dict[str, Any]] = field(default_factory=list)
    cut: bytes = b""
    """The beginning of an incomplete line."""
    characters: int = 0

    def take(self, piece: bytes) -> bool:
        """Add output; return False if it is invalid or more than the process may write."""
        *lines, self.cut = (self.cut + piece).split(b"\n")
        for line in lines:
            try:
                read = json.loads(line)
            except ValueError:
                return False
            self.characters += len(read.get("text", ""))
            self.found.append(read)
        return (
            len(self.cut) <= _MAX_LINE_BYTES
            and len(self.found) <= _MAX_LINES
            and self.characters <= self.max_characters
        )


def _parse_pdf_output(lines: list[dict[str, Any]], max_characters: int, *, ended_well: bool) -> DocumentText:
    pages = next((line["pages"] for line in lines if "pages" in line), 0)
    read = [line for line in lines if "page" in line]
    texts: dict[int, list[str]] = {}
    for line in read:
        if line.get("text"):
            texts.setdefault(line["page"], []).append(line["text"])
    text = "\n\n".join("".join(each) for each in texts.values())[:max_characters]
    last = read[-1]["page"] if read else 0
    if text:
        whole = ended_well and last == pages and not any("problem" in line for line in read)
        enough = len(text) >= max_characters
        return DocumentText("PDF", text, len(text) if whole and not enough else None, pages, last)
    problems = {line["problem"] for line in lines if "problem" in line}
    if "locked" in problems:
        problem = phrases.PDF_LOCKED
    elif problems & {"memory"} or not ended_well:
        problem = phrases.PDF_TOO_MUCH
    elif problems:
        problem = phrases.PDF_DAMAGED
    else:
        problem = phrases.PDF_HAS_NO_TEXT
    return DocumentText("PDF", pages=pages, pages_read=last, problem=problem)
