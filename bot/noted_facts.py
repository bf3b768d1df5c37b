"""Find the lines of notes that already state a fact in the same words."""

import re
from typing import NamedTuple

from bot.models.notebook.phrases import fold
from bot.models.notebook.quoting import quote_line
from memory.attribution import find_says
from memory.document_paths import is_document
from memory.errors import MemoryFault
from memory.memory import CORE_NOTE, Memory
from memory.normalization import normalize

SEARCH_LIMIT = 5
"""Passages searched for a note that already says the same."""

_STOPS = r"[.,;:!?…\"“”«»()\[\]—–-]|[。，、；：！？।॥؟،؛「」『』（）]"
"""The words between two of these are a statement of their own."""


class NotedLines(NamedTuple):
    """Lines of a note, 1-based and inclusive."""

    path: str
    line_start: int
    line_end: int


async def find_noted(memory: Memory, fact: str, *, in_core: bool = False) -> NotedLines | None:
    """Return the lines of a note that state a fact; None if none does, or if the notes cannot be read.

    `in_core`: only MEMORY.md counts.
    """
    try:
        for hit in (await memory.search(fact, limit=SEARCH_LIMIT)).hits:
            # A document or a marked line has somebody else's words; what was superseded is noted again.
            if hit.superseded_by or is_document(hit.path) or (in_core and hit.path != CORE_NOTE):
                continue
            lines = hit.line_end - hit.line_start + 1
            note = await memory.get(hit.path, line=hit.line_start, limit=lines)
            own = (line if not find_says(line) else "" for line in note.text.split("\n"))
            if (place := find_lines("\n".join(own), fact)) is not None:
                first, last = place
                return NotedLines(hit.path, hit.line_start + first, hit.line_start + last)
    except MemoryFault:
        pass
    return None


def find_lines(text: str, fact: str) -> tuple[int, int] | None:
    """Return the first and last line (0-based) of a text that state a fact; None if none does.

    Only case, punctuation around it, and list markers may differ: "I like tea" is not said by "I like tea no more".
    The lines of a fact of several lines may stand anywhere in the text.
    """
    lines = [_plain(line) for line in text.splitlines()]
    wanted = [plain for line in fact.splitlines() if (plain := _plain(line))]
    places = list[int]()
    for each in wanted:
        place = next((index for index, line in enumerate(lines) if _says(line, each)), None)
        if place is None:
            return None
        places.append(place)
    return (min(places), max(places)) if places else None


def _plain(line: str) -> str:
    """Return a line in lower case, without list markers and without the punctuation at its ends."""
    return fold(normalize("NFC", quote_line(line))).strip().strip(".!。！…।॥ ")


def _says(line: str, fact: str) -> bool:
    at = line.find(fact)
    while at >= 0:
        before, after = line[:at].rstrip(), line[at + len(fact) :].lstrip()
        if (not before or re.search(f"(?:{_STOPS})\\Z", before)) and (not after or re.match(_STOPS, after)):
            return True
        at = line.find(fact, at + 1)
    return False
