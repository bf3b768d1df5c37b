"""Where something was written in a note."""

import re
from dataclasses import dataclass

from memory.charset import DecodedNote

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Where something was written; lines are 1-based and inclusive."""

    path: str
    line_start: int
    line_end: int
    offset: int
    """Bytes of the note before it."""


def locate_block(path: str, note: DecodedNote, at: int, block: str) -> WriteResult:
    """Return the location of a block that begins at character offset `at` of the note's text."""
    line = note.text.count("\n", 0, at) + 1
    raw_at = 0
    for _ in range(line - 1):
        raw_at = next(_LINE_END.finditer(note.raw, raw_at)).end()
    offset = len(note.mark) + len(note.encode(note.raw[:raw_at]))
    return WriteResult(path, line, line + block.count("\n"), offset)
