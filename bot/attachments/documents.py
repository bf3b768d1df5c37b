"""From a document's bytes to its text, by what it holds and not by what its sender calls it."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from bot import phrases
from bot.child_environment import child_environment
from memory.charset import decode

DocumentKind = Literal["PDF", "Markdown", "CSV", "JSON", "HTML", "code", "text", "picture", "other"]

MOST_CHARACTERS = 2_000_000
PDF_SECONDS = 25.0
"""From the start of the process to its end; what it has read by then counts."""

_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM")
_HEIC = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1", b"avif", b"avis")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\b\x1b") + b"\x7f"
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
    """What could be read of a document."""

    kind: DocumentKind
    text: str = ""
    characters: int | None = None
    """How many there are in all; None where it was not read to its end."""
    pages: int = 0
    """0 where it has none."""
    pages_read: int = 0
    problem: str = ""
    """Why there is no text, as a sentence for people; "" where there is some."""

    @property
    def is_whole(self) -> bool:
        """Whether `text` is all of it."""
        return self.characters == len(self.text)


async def text_of(
    content: bytes, *, name: str = "", media_type: str = "", most_characters: int = MOST_CHARACTERS
) -> DocumentText:
    """Read a document; raises OSError where no process can be started for a PDF. `media_type` is not believed."""
    if b"%PDF-" in content[:1024]:
        document = await _text_of_pdf(content, most_characters)
        # Some text tells of PDF files, and is none.
        if document.problem != phrases.PDF_DAMAGED or content.startswith(b"%PDF-") or not _is_text(content):
            return document
    return await asyncio.to_thread(_text_of_file, content, name, most_characters)


def is_picture(content: bytes) -> bool:
    """Whether it begins as a picture does, of whatever format."""
    webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return webp or is_heic(content) or content.startswith(_PICTURES[:-1]) or _is_bitmap(content)


def is_heic(content: bytes) -> bool:
    """Whether it is HEIC or AVIF."""
    return content[4:8] == b"ftyp" and content[8:12] in _HEIC


def _is_bitmap(content: bytes) -> bool:
    # Text may begin with BM too; four bytes of a bitmap's head are always zero.
    return content[:2] == b"BM" and content[6:10] == bytes(4)


# -- text -------------------------------------------------------------------------------------------------------


def _text_of_file(content: bytes, name: str, most_characters: int) -> DocumentText:
    if not content.strip():
        return DocumentText("other", problem=phrases.DOCUMENT_EMPTY)
    if is_picture(content):
        return DocumentText("picture", problem=phrases.DOCUMENT_IS_PICTURE)
    if content.startswith((_ZIP, _OLD_OFFICE)):
        return DocumentText("other", problem=phrases.DOCUMENT_IS_PACKED)
    if not _is_text(content):
        return DocumentText("other", problem=phrases.DOCUMENT_IS_BINARY)
    text = decode(content).text
    kind = _KINDS.get(PurePosixPath(name.lower()).suffix, "text")
    return DocumentText(kind, text[:most_characters], len(text))


def _is_text(content: bytes) -> bool:
    if content.startswith(_MARKS):
        return True
    if b"\0" in content:
        return False
    controls = len(content) - len(content.translate(None, _CONTROLS))
    return controls <= len(content) // 100


# -- PDF --------------------------------------------------------------------------------------------------------


async def _text_of_pdf(content: bytes, most_characters: int) -> DocumentText:
    process = await _start(most_characters)
    written = bytearray()
    too_long = False
    try:
        async with asyncio.timeout(PDF_SECONDS):
            await asyncio.gather(_give(process, content), _take(process, written))
            await process.wait()
    except TimeoutError:
        too_long = True
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())
    return _pdf_from(
        list(_lines(written)), most_characters, ended_well=not too_long and process.returncode == 0
    )


async def _start(most_characters: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bot.attachments.pdf", str(most_characters)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=child_environment(),
        start_new_session=True,  # a Ctrl-C in the terminal is not for it
    )


async def _give(process: Process, content: bytes) -> None:
    assert process.stdin
    with suppress(OSError):  # it has ended before it had read all
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()
    with suppress(OSError):
        await process.stdin.wait_closed()


async def _take(process: Process, written: bytearray) -> None:
    assert process.stdout
    while piece := await process.stdout.read(1 << 16):
        written += piece


def _lines(written: bytearray) -> Iterator[dict[str, Any]]:
    for line in bytes(written).split(b"\n")[:-1]:  # what was cut has no end
        yield json.loads(line)


def _pdf_from(lines: list[dict[str, Any]], most_characters: int, *, ended_well: bool) -> DocumentText:
    pages = next((line["pages"] for line in lines if "pages" in line), 0)
    read = [line for line in lines if "page" in line]
    text = "\n\n".join(line["text"] for line in read if line.get("text"))[:most_characters]
    last = read[-1]["page"] if read else 0
    if text:
        whole = ended_well and last == pages and not any("problem" in line for line in read)
        enough = len(text) >= most_characters
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
