"""Finds the lines of a note that say the same as a fact, word for word; pure."""

import re

from bot.models.notebook.phrases import fold
from bot.models.notebook.quoting import quote_line
from memory.normalization import normalize

_STOPS = r"[.,;:!?…\"“”«»()\[\]—–-]|[。，、；：！？।॥؟،؛「」『』（）]"
"""The words between two of these are a statement of their own."""


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
